"""What may be outside is guarded, and nothing else: an access without a guard is inside in every run."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_kit import read
from transforms_kit import kernel_of, wrap

from adstack.errors import AdstackOutOfBoundsError, IRError
from adstack.interpreter import run
from adstack.ir.structure import Kernel, Program
from adstack.ir.text.parser import parse_ir
from adstack.ir.text.printer import print_ir
from adstack.ir.verify.verifier import verify
from adstack.runtime.assume import Condition, assumed
from adstack.transforms.memory.guard import guard
from adstack.transforms.rewriting.options import Options
from adstack.transforms.tasks.tasks import split

HEAD = """\
place @x : i32[8] field
place @a : f32[?] ndarray
place @b : f32[?, 4] ndarray
place @p : i32[8] field
%0 = const 0 : i32
%1 = const 1 : i32
%7 = const 7 : i32
%8 = const 8 : i32
"""

LOOP = "parallel_for (%i = %0 to %8) {{\n{}\nyield\n}}\nreturn"
ARRAY = "%n0 = shape @a, 0 : i32\nparallel_for (%i = %0 to %n0) {{\n{}\nyield\n}}\nreturn"


def guards(body: str, params: str = "%n: i32") -> list[tuple[int, ...]]:
    """The axes that each access of a body guards, in order."""
    kernel = kernel_of(wrap(HEAD + body, f"kernel @k({params}) {{"))
    guard(kernel.body)
    verify(kernel)
    return [op.attrs.get("guarded", ()) for op in kernel.body.walk() if op.opdef.guards]


INSIDE = {
    "the index of a loop": "%v = load @x[%i] : i32",
    "reversed": "%k = sub %7, %i\n%v = load @x[%k] : i32",
    "a remainder": "%u = add %i, %i\n%k = mod %u, %8\n%v = load @x[%k] : i32",
    "a remainder of anything": "%u = load @p[%i] : i32\n%k = mod %u, %8\n%v = load @x[%k] : i32",
    "a half": "%two = const 2 : i32\n%k = floordiv %i, %two\n%v = load @x[%k] : i32",
    "a mask": "%u = load @p[%i] : i32\n%k = and %u, %7\n%v = load @x[%k] : i32",
    "clamped": "%u = load @p[%i] : i32\n%l = max %u, %0\n%k = min %l, %7\n%v = load @x[%k] : i32",
    "chosen": "%t = gt %i, %0\n%m = sub %i, %1\n%k = select %t, %m, %0\n%v = load @x[%k] : i32",
    "wider": "%k = cast %i : i64\n%v = load @x[%k] : i32",
    "below a condition": "%t = gt %i, %0\n%m = sub %i, %1\nif %t {\n%v = load @x[%m] : i32\nyield\n} else {\nyield\n}",
    "beside a condition": "%t = ge %i, %7\n%m = add %i, %1\nif %t {\nyield\n} else {\n%v = load @x[%m] : i32\nyield\n}",
    "below two": "%u = load @p[%i] : i32\n%s = ge %u, %0\n%r = lt %u, %8\n%t = and %s, %r\n"
    "if %t {\n%v = load @x[%u] : i32\nyield\n} else {\nyield\n}",
    "one and then the other": "%u = load @p[%i] : i32\n%s = ge %u, %0\n%f = const false : u1\n%t = if %s -> (u1) {\n"
    "%r = lt %u, %8\nyield %r\n} else {\nyield %f\n}\nif %t {\n%v = load @x[%u] : i32\nyield\n} else {\nyield\n}",
    "equal to one": "%u = load @p[%i] : i32\n%t = eq %u, %i\n"
    "if %t {\n%v = load @x[%u] : i32\nyield\n} else {\nyield\n}",
    "an inner loop": "%e = add %i, %1\nfor %j = %i to %e {\n%v = load @x[%j] : i32\nyield\n}",
    "a local array": "%h = array.alloc : array<i32, 8>\n%v = array.load %h, %i\narray.store %h, %i, %v",
}

OUTSIDE = {
    "the next one": "%k = add %i, %1\n%v = load @x[%k] : i32",
    "the one before": "%k = sub %i, %1\n%v = load @x[%k] : i32",
    "what memory says": "%k = load @p[%i] : i32\n%v = load @x[%k] : i32",
    "a remainder that keeps the sign": "%u = load @p[%i] : i32\n%k = raw_mod %u, %8\n%v = load @x[%k] : i32",
    "a remainder that begins again at 0": "%five = const 5 : i32\n%u = add %i, %five\n%k = mod %u, %8\n"
    "%m = sub %k, %five\n%v = load @x[%m] : i32",
    "an argument": "%v = load @x[%n] : i32",
    "past the end of the type": "%k = mul %i, %n\n%v = load @x[%k] : i32",
    "beside its condition": "%t = gt %i, %0\n%m = sub %i, %1\n"
    "if %t {\nyield\n} else {\n%v = load @x[%m] : i32\nyield\n}",
    "below another one": "%t = gt %n, %0\n%m = sub %i, %1\nif %t {\n%v = load @x[%m] : i32\nyield\n} else {\nyield\n}",
    "either condition": "%u = load @p[%i] : i32\n%s = ge %u, %0\n%r = lt %u, %8\n%t = or %s, %r\n"
    "if %t {\n%v = load @x[%u] : i32\nyield\n} else {\nyield\n}",
    "a local array": "%h = array.alloc : array<i32, 7>\n%v = array.load %h, %i",
}


@pytest.mark.parametrize("body", INSIDE.values(), ids=INSIDE)
def test_what_is_inside_is_not_guarded(body):
    assert not any(guards(LOOP.format(body)))


@pytest.mark.parametrize("body", OUTSIDE.values(), ids=OUTSIDE)
def test_what_may_be_outside_is_guarded(body):
    assert guards(LOOP.format(body))[-1] == (0,)


def test_an_array_is_inside_along_its_own_extent():
    assert guards(ARRAY.format("%v = load @a[%i] : f32\nstore @a[%i], %v")) == [(), ()]
    assert guards(ARRAY.format("%k = add %i, %1\n%v = load @a[%k] : f32")) == [(0,)]


def test_only_the_axes_that_may_be_outside_are_guarded():
    body = "%three = const 3 : i32\n%k = and %i, %three\n%v = load @b[%i, %k] : f32\n%w = load @b[%k, %i] : f32"
    assert guards(ARRAY.format(body)) == [(0,), (0, 1)]


def test_the_condition_of_a_while_holds_in_its_body():
    body = "while (%c = %n) {\n%r = lt %c, %8\n%s = ge %c, %0\n%t = and %r, %s\nyield %t, %c\n} do (%d) {\n"
    assert guards(LOOP.format(body + "%v = load @x[%d] : i32\n%e = add %d, %1\nyield %e\n}")) == [()]


def test_guards_are_printed_and_read():
    text = wrap(HEAD + LOOP.format("%k = add %i, %1\n%v = load guarded (0) @x[%k] : i32"), "kernel @k() {")
    assert "load guarded (0) @x[%k]" in print_ir(parse_ir(print_ir(kernel_of(text))))


@pytest.mark.parametrize("axes", ["", "1", "0, 0"])
def test_a_guard_of_other_axes_is_refused(axes):
    text = wrap(HEAD + LOOP.format(f"%v = load guarded ({axes}) @x[%i] : i32"), "kernel @k() {")
    with pytest.raises(IRError, match="some of its axes"):
        verify(parse_ir(text))


# ---- launches that need fewer


def program(body: str) -> Program:
    """The guarded program of a body."""
    kernel = read(wrap(HEAD + body, "kernel @k(%n: i32) {"))
    assert isinstance(kernel, Kernel)
    parts = split(kernel, Options())
    for task in parts.tasks:
        guard(task.body)
    return parts


TO_N = "parallel_for (%i = %0 to %n) {{\n{}\nyield\n}}\nreturn"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (ARRAY.format("%f = const 1.0 : f32\nstore @b[%i, %0], %f"), {(Condition(("a", 0), 0, ("b", 0)),)}),
        (TO_N.format("store @x[%i], %n"), {(Condition(0, -8, None),)}),
        (TO_N.format("%f = const 1.0 : f32\n%k = add %i, %1\nstore @a[%k], %f"), {(Condition(0, 1, ("a", 0)),)}),
        (LOOP.format("%f = const 1.0 : f32\nstore @a[%i], %f"), {(Condition(None, 8, ("a", 0)),)}),
        (LOOP.format("store @x[%n], %n"), {(Condition(None, 0, 0),), (Condition(0, -7, None),)}),
        (LOOP.format("%k = add %n, %1\nstore @x[%k], %n"), {(Condition(None, -1, 0),), (Condition(0, -6, None),)}),
        ("parallel_for (%i = %n to %8) {\nstore @x[%i], %n\nyield\n}\nreturn", {(Condition(None, 0, 0),)}),
        (LOOP.format("%k = load @p[%i] : i32\nstore @x[%k], %k"), set()),
    ],
    ids=["another array", "an argument", "one more", "a constant", "an index", "a sum", "from an argument", "memory"],
)
def test_what_would_have_to_be_true(body, wanted):
    conditions = set(assumed(program(body)).conditions)
    assert {choices for choices in conditions if abs(choices[0].by) < 2**29} == wanted


# ---- random indices

BINARY = ("add", "sub", "mul", "min", "max", "floordiv", "mod", "raw_div", "raw_mod", "and", "or", "xor", "shl", "shr")
COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Ops that compute %k from %i and %n, under conditions, which is kept and used as an index."""
    lines: list[str] = []
    names, flags = ["%i", "%n", "%m"], list[str]()

    def some(of: list[str]) -> str:
        return draw(st.sampled_from(of))

    for k in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(["binary", "binary", "const", "compare", "select", "neg"]))
        if kind == "const":
            lines.append(f"%v{k} = const {draw(st.sampled_from([0, 1, 2, 3, 5, 7, 8, 31, 2**31 - 1, -1, -8]))} : i32")
        elif kind == "compare" or (kind == "select" and not flags):
            lines.append(f"%v{k} = {draw(st.sampled_from(COMPARE))} {some(names)}, {some(names)}")
            flags.append(f"%v{k}")
            continue
        elif kind == "select":
            lines.append(f"%v{k} = select {some(flags)}, {some(names)}, {some(names)}")
        elif kind == "neg":
            lines.append(f"%v{k} = neg {some(names)}")
        else:
            lines.append(f"%v{k} = {draw(st.sampled_from(BINARY))} {some(names)}, {some(names)}")
        names.append(f"%v{k}")
    index = names[-1]
    used = [f"store @at[%i], {index}", f"%w = load @x[{index}] : i32", "store @out[%i], %w"]
    for flag in flags[-2:]:
        side = draw(st.booleans())
        used = [f"if {flag} {{", *(used if side else []), "yield", "} else {", *([] if side else used), "yield", "}"]
    return "\n".join([*lines, *used])


PLACES = """\
place @x : i32[8] field
place @at : i32[12] field
place @out : i32[12] field
%0 = const 0 : i32
"""


@settings(max_examples=300, deadline=None)
@given(bodies(), st.integers(-3, 12), st.sampled_from([-(2**31), -1, 0, 3, 2**31 - 1]))
def test_what_is_not_guarded_is_inside(body, n, m):
    """The interpreter stops at an access outside that has no guard, and then not all is as it should be."""
    end = "%12 = const 12 : i32\n%e = min %n, %12\nparallel_for (%i = %0 to %e) {\n" + body + "\nyield\n}\nreturn"
    kernel = kernel_of(wrap(PLACES + end, "kernel @k(%n: i32, %m: i32) {"))
    guard(kernel.body)
    x, at, out = np.arange(1, 9, dtype=np.int32), np.full(12, -7, np.int32), np.full(12, -9, np.int32)
    with contextlib.suppress(AdstackOutOfBoundsError):
        run(kernel, {"x": x, "at": at, "out": out}, (n, m))
    for index, value in zip(at.tolist(), out.tolist(), strict=True):
        if value != -9 or index != -7:
            assert value == (x[index] if 0 <= index < 8 else 0)
