"""Which values carry adjoints, and which ops reversing does anything for."""

from __future__ import annotations

import pytest
from transforms_kit import kernel_of, wrap

from adstack.autodiff.activities.activity import Activity
from adstack.ir.structure import Kernel, Op

HEAD = """kernel @k() {
  place @x : f32[4] field
  place @y : f32[4] field
  place @c : f32[4] field"""
FRONT = """
%0 = const 0 : i32
%4 = const 4 : i32
%k = const 1.5 : f32
%a = load @x[%0]
%f = load @c[%0]
%p = gt %f, %k
"""


def analysed(body: str) -> tuple[Kernel, Activity]:
    kernel = kernel_of(wrap(f"{FRONT}{body}\nreturn", HEAD))
    return kernel, Activity(kernel.body, {"x", "y"})


def active(body: str) -> set[str]:
    """The names of active values."""
    kernel, activity = analysed(body)
    values = [v for op in kernel.body.walk() for v in [*op.results, *(a for r in op.regions for a in r.args)]]
    return {v.name for v in values if v in activity}


WHILE = """
%r, %q = while (%s = {first}, %t = %k) {{
  %g = gt %f, %k
  yield %g, {passed}
}} do (%u, %v) {{
  yield {handed}
}}
store @y[%0], %r
"""


WAYS = {
    "a chain": ("%b = sin %a\n%d = mul %b, %f\n%e = cos %a\nstore @y[%0], %d", "a b d"),
    "no way from input to output": ("%b = sin %f\nstore @y[%0], %b\n%d = sin %a\nstore @c[%0], %d", ""),
    "the second branch": ("%r = if %p {\nyield %k\n} else {\nyield %a\n}\nstore @y[%0], %r", "a r"),
    "the first branch": ("%r = if %p {\nyield %a\n} else {\nyield %k\n}\nstore @y[%0], %r", "a r"),
    "no iteration": ("%r = for %i = %0 to %4 carry (%v = %a) {\nyield %k\n}\nstore @y[%0], %r", "a r"),
    "the last iteration": ("%r = for %i = %0 to %4 carry (%v = %k) {\nyield %a\n}\nstore @y[%0], %r", "a r"),
    "from iteration to iteration": (
        "%r = for %i = %0 to %4 carry (%v = %a) {\n%b = sin %v\nyield %b\n}\nstore @y[%0], %r",
        "a v b r",
    ),
    "from variable to variable": (
        "%r, %q = for %i = %0 to %4 carry (%v = %k, %w = %k) {\nyield %w, %a\n}\nstore @y[%0], %r",
        "a w r",
    ),
    "into a while": (WHILE.format(first="%a", passed="%s, %t", handed="%k, %k"), "a s r"),
    "out of a while's body": (WHILE.format(first="%k", passed="%s, %t", handed="%a, %k"), "a s r"),
    "out of a while's condition": (WHILE.format(first="%k", passed="%a, %t", handed="%k, %k"), "a r"),
    "round a while": (WHILE.format(first="%k", passed="%s, %a", handed="%v, %k"), "a v s r"),
    "an atomic addition": ("%b = sin %a\n%o = atomic add @x[%0], %b", "a b"),
    "the old value of an atomic": ("%o = atomic add @x[%0], %k\n%b = sin %o\nstore @y[%0], %b", "o b"),
    "a local array": (
        "%m = array.alloc : array<f32, 4>\narray.store %m, %0, %a\n%b = array.load %m, %0\nstore @y[%0], %b",
        "a m b",
    ),
    "a local array of constants": (
        "%m = array.alloc : array<f32, 4>\narray.store %m, %0, %k\n%b = array.load %m, %0\nstore @y[%0], %b",
        "",
    ),
    "a local array for nothing": (
        "%m = array.alloc : array<f32, 4>\narray.store %m, %0, %a\n%b = array.load %m, %0\nstore @c[%0], %b",
        "",
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_what_lies_between_inputs_and_outputs_is_active(name: str) -> None:
    body, wanted = WAYS[name]
    assert active(body) == set(wanted.split())


def touched(body: str) -> list[str]:
    """The names of the ops at the kernel's level that reversing does something for, behind the front."""
    kernel, activity = analysed(body)
    ops: list[Op] = kernel.body.ops[6:-1]
    return [op.name for op in ops if activity.touches(op)]


def test_a_constant_clears_the_adjoint_of_what_it_overwrites() -> None:
    assert touched("store @y[%0], %k\nstore @c[%0], %a\n%o = atomic add @y[%0], %k") == ["store", "atomic"]
    array = "%m = array.alloc : array<f32, 4>\narray.store %m, %0, %a\narray.store %m, %0, %k\n%b = array.load %m, %0\n"
    assert touched(f"{array}store @y[%0], %b")[-4:] == ["array.store", "array.store", "array.load", "store"]
    assert touched(f"{array}store @c[%0], %b") == []


def test_what_has_results_may_hold_more_than_gives_them() -> None:
    assert touched("%r = if %p {\nstore @y[%0], %a\nyield %4\n} else {\nyield %0\n}") == ["if"]
    assert touched("%r = if %p {\nstore @c[%0], %a\nyield %4\n} else {\nyield %0\n}") == []
