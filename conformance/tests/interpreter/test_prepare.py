"""Preparing IR: when values die, how slots are shared."""

from __future__ import annotations

from interpreter_kit import read, serial

from adstack.interpreter import run
from adstack.interpreter.prepare import Scope, deaths_in
from adstack.ir.builder import Builder
from adstack.ir.structure import Kernel, Region, Value
from adstack.ir.types import f64, i32


def chain(length: int) -> Kernel:
    """A kernel of one parameter that doubles it `length` times by adding it to itself."""
    x = Value(f64)
    b = Builder(Region([x]))
    value = x
    for _ in range(length):
        value = b.add(value, value)
    b.return_(value)
    return Kernel("k", b.region, {}, (f64,))


def test_memory_does_not_grow_with_the_length_of_straight_code():
    kernel = chain(500)
    scope = Scope({}, False)
    scope.region(kernel.body)
    assert len(scope.template) <= 4
    assert run(kernel, {}, (1.0,)) == (2.0**500,)


def test_memory_does_not_grow_with_the_number_of_regions():
    x = Value(i32)
    b = Builder(Region([x]))
    value = x
    for _ in range(50):
        with b.into(Region([Value(i32), Value(i32)])) as body:
            b.yield_(b.add(body.args[1], x))
        (value,) = b.for_(x, value, [x], body)
    b.return_(value)
    scope = Scope({}, False)
    scope.region(b.region)
    assert len(scope.template) <= 6


NEST = """
  %one = const 1 : i32
  %early = add %a, %one : i32
  %late = add %early, %one : i32
  %unused = add %a, %a : i32
  %r = for %i = %one to %a carry (%s = %one) {
    %t = add %s, %late : i32
    yield %t
  }
  return %r
"""


def test_a_value_dies_after_its_last_use_nested_uses_included():
    body = read(serial(NEST, "(%a: i32) -> (i32)")).body
    deaths = [sorted(value.name for value in dead) for dead in deaths_in(body)]
    assert deaths == [[], [], ["early"], ["unused"], ["late", "one"], ["r"]]


def test_constants_keep_their_slots():
    b = Builder()
    values = [b.const(n, i32) for n in range(3)]
    b.return_(b.add(values[0], b.add(values[1], values[2])))
    kernel = Kernel("k", b.region, {}, (i32,))
    assert run(kernel, {}) == run(kernel, {}) == (3,)
