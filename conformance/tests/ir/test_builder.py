"""The builder: types come from the table, and ill-typed IR can't be built in silence."""

from __future__ import annotations

import pytest

from adstack.errors import IRError
from adstack.ir.builder import Builder
from adstack.ir.location import UNKNOWN, Loc
from adstack.ir.scalar_ops import POPCNT, SQRT
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.text.printer import print_ir
from adstack.ir.types import ArrayType, StackType, f16, f32, f64, i8, i32, i64, u1, u8
from adstack.ir.verify.verifier import verify

X = Place("x", f32, (4, 4))
M = Place("m", i32, (4,))


def finished(b, *returned, params=()):
    b.region.define(params)
    b.return_(*returned)
    kernel = Kernel("k", b.region, {"x": X, "m": M}, tuple(v.dtype for v in returned))
    verify(kernel)
    return kernel


def test_results_have_the_types_of_the_table():
    b = Builder()
    x, n, c = b.const(1.5, f32), b.const(2, i32), b.const(True, u1)
    floats = [
        b.add(x, x),
        b.sub(x, x),
        b.mul(x, x),
        b.div(x, x),
        b.fma(x, x, x),
        b.neg(x),
        b.abs(x),
        b.sqrt(x),
        b.floor(x),
    ]
    assert {v.type for v in [*floats, b.rint(x), b.select(c, x, x)]} == {f32}
    assert {v.type for v in (b.and_(n, n), b.or_(n, n), b.xor(n, n), b.not_(n), b.shl(n, n), b.shr(n, n))} == {i32}
    assert {v.type for v in (b.eq(x, x), b.ne(x, x), b.lt(x, x), b.le(x, x), b.gt(x, x), b.ge(x, x))} == {u1}
    assert b.emit(POPCNT, n).type is i32
    finished(b)


def test_constants_are_rounded_and_wrapped_to_their_type():
    b = Builder()
    for value, dtype in ((0.1, f32), (0.1, f16), (1, f64), (300, u8), (2.9, i8), (3, u1)):
        b.const(value, dtype)
    values = [op.attrs["value"] for op in b.region.ops]
    assert values == [0.10000000149011612, 0.0999755859375, 1.0, 44, 2, True]
    assert [type(v) for v in values] == [float, float, float, int, int, bool]
    finished(b)


def test_a_conversion_to_the_same_type_is_the_value_itself():
    b = Builder()
    x = b.const(1.0, f32)
    assert b.cast(x, f32) is x
    assert b.bitcast(x, f32) is x
    assert (b.cast(x, i8).type, b.bitcast(x, i32).type) == (i8, i32)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda b, x, n: b.add(x, n), "add: operand 1 must be one of f32, got i32"),
        (lambda b, x, n: b.div(n, n), "div: operand 0 must be one of f16 f32 f64, got i32"),
        (lambda b, x, n: b.emit(SQRT), "sqrt: expected 1 operands"),
        (lambda b, x, n: b.bitcast(x, i64), "bitcast: f32 and i64 differ in width"),
        (lambda b, x, n: b.atomic("frob", M, [n], n), "atomic: unknown kind 'frob'; known are add, mul"),
    ],
)
def test_a_type_error_is_raised_at_once_and_nothing_is_appended(build, message):
    b = Builder()
    x, n = b.const(1.0, f32), b.const(2, i32)
    with pytest.raises(IRError) as caught:
        build(b, x, n)
    assert caught.value.message.startswith(message)
    assert len(b.region.ops) == 2


def test_locations_last_as_long_as_their_block():
    b, loc = Builder(), Loc("f.py", 3)
    before = b.const(1, i32)
    with b.at(loc):
        b.neg(before)
    b.neg(before)
    assert [op.loc for op in b.region.ops] == [UNKNOWN, loc, UNKNOWN]


def test_a_region_is_left_even_after_an_error():
    b, inner = Builder(), Region()
    outer = b.region
    with pytest.raises(ValueError, match="inside"), b.into(inner):
        raise ValueError("inside")
    assert b.region is outer


def test_memory_arrays_and_stacks_have_the_types_of_what_they_hold():
    b = Builder()
    i = b.const(0, i32)
    x = b.load(X, [i, i])
    assert (x.type, b.shape(X, 1).type, b.shape(X, 1, i64).type) == (f32, i32, i64)
    assert (b.atomic("add", M, [i], i).type, b.atomic("cas", M, [i], i, i).type) == (i32, i32)
    b.store(X, [i, i], x)
    array, stack = b.array(f64, 3), b.stack(f32, i)
    assert (array.type, stack.type) == (ArrayType(f64, 3), StackType(f32))
    b.array_store(array, i, b.array_load(array, i))
    b.push(stack, x)
    b.acc_adjoint(stack, b.load_top_adj(stack))
    assert b.load_top(stack).type is f32
    b.pop(stack)
    finished(b)


def region_of(b, args, fill):
    region = Region(args)
    with b.into(region):
        b.yield_(*fill(*args))
    return region


def test_control_flow_passes_carried_values():
    b = Builder()
    n, x, c = Value(i32, "n"), Value(f32, "x"), Value(u1, "c")
    (chosen,) = b.if_(c, region_of(b, [], lambda: [x]), region_of(b, [], lambda: [b.neg(x)]))
    (total,) = b.for_(n, n, [chosen], region_of(b, [Value(i32, "i"), Value(f32)], lambda i, s: [b.add(s, x)]))
    condition = region_of(b, [Value(f32)], lambda s: [b.lt(s, x), s])
    (last,) = b.while_([total], condition, region_of(b, [Value(f32)], lambda s: [b.add(s, s)]))
    b.parallel_for([(n, n), (n, n)], region_of(b, [Value(i32), Value(i32)], lambda i, j: []))
    kernel = finished(b, last, params=[n, x, c])
    assert [op.name for op in kernel.body.ops] == ["if", "for", "while", "parallel_for", "return"]


def test_asserts_and_prints_take_their_arguments():
    b = Builder()
    n, c = b.const(3, i32), b.const(True, u1)
    b.assert_(c, "n is {}", n)  # noqa: PT009 - the op, not unittest's
    b.print_(["n = ", None, "\n"], n)
    assert 'assert %1, "n is {}", %0\n  print "n = ", %0, "\\n"' in print_ir(finished(b))


def test_a_program_is_walked_outer_before_inner():
    b = Builder()
    c = b.const(True, u1)
    b.if_(c, region_of(b, [], lambda: [b.const(1, i8)]), region_of(b, [], lambda: [b.const(2, i8)]))
    names = [op.name for op in finished(b).body.walk()]
    assert names == ["const", "if", "const", "yield", "const", "yield", "return"]
