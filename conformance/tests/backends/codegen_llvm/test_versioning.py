"""Loop versioning: whenever the fast loop misses, the result is that of the full loop."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from cuda_kit import agree_on, device_text
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_kit import parallel

from adstack.analysis.cold_paths import has_cold_path
from adstack.analysis.loop_versioning import fast_loop
from adstack.ir.functions import builtin
from adstack.ir.text.parser import parse_ir

N = 7
PLACES = """place @x : f32[?] field
place @f : f32[?] field
place @y : f32[?] field
place @m : f32[?, ?] field
place @count : i32[?] field
place @bounds : {index}[?] field"""
HEAD = """%one = const 1 : i32
%c0 = const 0 : {index}
%c1 = const 1 : {index}
%lo = load @bounds[%c0] : {index}
%hi = load @bounds[%c1] : {index}
%v0 = load @x[%i] : f32
"""
PLAIN = "%s = call @sin.f32 %v : f32\n%g = load @f[%k] : f32\n%w = mul %s, %g : f32"
COUNTED = f"{PLAIN}\n%old = atomic add @count[%i], %one : i32"
BEFORE = f"%old = atomic add @count[%i], %one : i32\n{PLAIN}"
CHOSEN = """%g = load @f[%k] : f32
%p = gt %g, %v : u1
%w = if %p -> (f32) {
  %s = call @sin.f32 %v : f32
  %t = mul %s, %g : f32
  yield %t
} else {
  %t, %u = call @sincos.f32 %g : f32, f32
  yield %u
}"""
LOOKED_UP = """%s = call @sin.f32 %v : f32
%four = const 4.0 : f32
%a = mul %s, %four : f32
%b = add %a, %four : f32
%at = cast %b : i32
%h = load @f[%at] : f32
%g = load @f[%k] : f32
%w = mul %h, %g : f32"""


def loop(body: str, index: str = "i32", head: str = "", tail: str = "store @y[%i], %r") -> str:
    text = f"{HEAD}{head}%r = for %k = %lo to %hi carry (%v = %v0) {{\n{body}\nyield %w\n}}\n{tail}"
    return parallel(text.replace("{index}", index), N, PLACES.replace("{index}", index))


def buffers(
    lo: int, hi: int, far: int | None, index: str = "i32", counts: Sequence[int] | None = None
) -> dict[str, np.ndarray]:
    """Factors of about 1, except that one turn's makes numbers that the next one reduces in the long way."""
    factors = np.linspace(0.5, 1.5, 24).astype(np.float32)
    if far is not None:
        factors[far] = 3e20
    values = np.linspace(-2, 2, N).astype(np.float32)
    return {
        "x": values,
        "f": factors,
        "m": np.linspace(0.5, 1.5, 48).astype(np.float32).reshape(2, 24),
        "y": np.zeros(N, np.float32),
        "count": np.zeros(N, np.int32) if counts is None else np.array(counts, np.int32),
        "bounds": np.array([lo, hi], np.dtype(index.replace("i", "int").replace("u", "uint"))),
    }


BODIES = [(PLAIN, "i32"), (PLAIN, "u32"), (PLAIN, "u64"), (COUNTED, "i64")]
BODIES += [(body, "i32") for body in (BEFORE, CHOSEN, LOOKED_UP)]


@pytest.mark.parametrize(("body", "index"), BODIES)
def test_whenever_something_rare_comes_the_result_is_right(body, index):
    near = [(lo, hi, None) for lo, hi in ((0, 0), (0, 1), (0, 3), (0, 4), (9, 3))]
    fars = [(lo, hi, far) for lo, hi in ((0, 5), (2, 13)) for far in (0, 2, 3, 4, 7, 12)]
    agree_on(loop(body, index), [(buffers(lo, hi, far, index), ()) for lo, hi, far in near + fars])


def test_a_loop_that_begins_with_something_rare_is_right_too():
    inputs = buffers(0, 12, None)
    inputs["x"][2:4] = 1e30
    inputs["x"][5] = np.inf
    agree_on(loop(PLAIN), [(inputs, ())])


def the_loop(text: str):
    (task,) = [op for op in parse_ir(text).body.ops if op.name == "parallel_for"]
    return next(op for op in task.regions[0].ops if op.name == "for")


@pytest.mark.parametrize(
    ("body", "turns", "look"),
    [
        (PLAIN, 4, 3),
        (COUNTED, 1, 1),  # it looks before it counts
        (BEFORE, None, None),
        (CHOSEN, 4, 3),
        (LOOKED_UP, 1, 1),  # and before it looks up what a number says that may mean nothing
        ("%w = add %v, %v : f32", None, None),
    ],
)
def test_a_turn_does_nothing_in_doubt_that_could_not_be_undone(body, turns, look):
    fast = fast_loop(the_loop(loop(body)), ())
    assert (fast and fast.unroll, fast and fast.check) == (turns, look)


def test_a_load_behind_a_doubtful_condition_waits():
    inside = (
        "%s = call @sin.f32 %v : f32\n%p = gt %s, %v : u1\n"
        "%w = if %p -> (f32) {\n%g = load @f[%k] : f32\nyield %g\n} else {\nyield %s\n}"
    )
    fast = fast_loop(the_loop(loop(inside)), ())
    assert fast is not None
    assert (fast.unroll, fast.check) == (1, 1)


def test_functions_go_far_that_have_one_long_side():
    assert has_cold_path(builtin("sin.f32"))
    assert not has_cold_path(builtin("exp.f32"))


STACKED = {
    "head": "%cap = const {cap} : i64\n%st = stack.alloca %cap : stack<f32>\n%zero64 = const 0 : i64\n"
    "%minus = const -1 : i64\n%n64 = cast %hi : i64\n",
    "body": "%k64 = cast %k : i64\nstack.put %st, %k64, %v\n" + PLAIN,
    "tail": """%q = for %j = %zero64 to %n64 carry (%a = %r) {
  %d = sub %n64, %j : i64
  %e = add %d, %minus : i64
  %p = stack.get %st, %e : f32
  %c = call @cos.f32 %p : f32
  %b = add %a, %c : f32
  yield %b
}
store @y[%i], %q""",
}


def stacked(capacity: int) -> str:
    return loop(STACKED["body"], "i32", STACKED["head"].replace("{cap}", str(capacity)), STACKED["tail"])


@pytest.mark.parametrize("capacity", [0, 1, 4, 7, 16])
def test_what_is_put_is_got_and_no_more_than_there_is_room_for(capacity):
    cases = [(buffers(0, n, far), ()) for n in (0, 1, 4, 6, 7, 13, 16) for far in (None, 1, 5)]
    agree_on(stacked(capacity), cases)


def test_slots_are_counted_up_and_down_without_products():
    text = device_text(stacked(16))
    fast = re.findall(r"^fast\d+:\n(.*?)^rest\d+:", text, re.MULTILINE | re.DOTALL)
    assert [len(re.findall(r"getelementptr i8, ptr %t\d+, i64", body)) for body in fast] == [4, 1, 4, 1]
    for body in fast:
        assert " mul i64" not in body
        assert "icmp uge" not in body


@settings(max_examples=25, deadline=None)
@given(
    lo=st.integers(0, 9),
    trips=st.integers(0, 14),
    capacity=st.integers(0, 20),
    offset=st.integers(0, 6),
    sign=st.sampled_from(["add", "sub"]),
    far=st.one_of(st.none(), st.integers(0, N - 1)),
)
def test_indices_of_any_offset_stay_inside(lo, trips, capacity, offset, sign, far):
    start = offset + (lo + trips if sign == "sub" else 0)
    head = f"%cap = const {capacity} : i64\n%st = stack.alloca %cap : stack<f32>\n%off = const {start} : i64\n"
    body = (
        f"%k64 = cast %k : i64\n%at = {sign} %off, %k64 : i64\nstack.put %st, %at, %v\n"
        "%s = call @sin.f32 %v : f32\n%w = add %s, %v : f32"
    )
    numbers = buffers(lo, lo + trips, None)
    if far is not None:
        numbers["x"][far] = 1e9
    agree_on(loop(body, "i32", head), [(numbers, ())])


def test_nothing_is_quick_in_debug_mode():
    assert "fast" in device_text(loop(PLAIN))
    assert "fast" not in device_text(loop(PLAIN), debug=True)


def test_the_fast_path_of_a_function_is_inlined_wherever_it_is_called() -> None:
    """The whole function is not, where there are more than a few calls of it."""
    names = ["%v", *(f"%s{k}" for k in range(6)), "%w"]
    body = "\n".join(f"{name} = call @sin.f32 {before} : f32" for before, name in pairwise(names))
    heads = re.findall(r'^define internal .*@"(sin\.f32\.x1(?:\.fast)?)"\(.*\) (#\d)', device_text(loop(body)), re.M)
    assert sorted(heads) == [("sin.f32.x1", "#0"), ("sin.f32.x1.fast", "#2")]


GUARDED = {
    "as it is": "%g = load guarded (0) @f[%k] : f32",
    "behind": "%far = const 3 : {index}\n%at = add %k, %far : {index}\n%g = load guarded (0) @f[%at] : f32",
    "in front": "%far = const 3 : {index}\n%at = sub %k, %far : {index}\n%g = load guarded (0) @f[%at] : f32",
    "backwards": "%d = sub %hi, %k : {index}\n%g = load guarded (0) @f[%d] : f32",
    "backwards, in fewer bits": "%k64 = cast %k : i64\n%d = sub %wide, %k64 : i64\n%at = cast %d : i32\n"
    "%g = load guarded (0) @f[%at] : f32",
    "backwards, and below 0": "%far = const 3 : {index}\n%d = sub %far, %k : {index}\n"
    "%g = load guarded (0) @f[%d] : f32",
    "the same": "%g = load guarded (0) @f[%lo] : f32",
    "two": "%a = load guarded (0) @f[%k] : f32\n%b = load guarded (0) @x[%k] : f32\n%g = add %a, %b : f32",
    "under a condition": "%q = const 1.0 : f32\n%p = lt %v, %q : u1\n%g = if %p -> (f32) {\n"
    "%a = load guarded (0) @f[%k] : f32\nyield %a\n} else {\nyield %v\n}",
    "of numbers": "%number = load guarded (0) @count[%k] : i32\n%g = load guarded (0) @f[%number] : f32",
    "on two axes": "%number = load guarded (0) @count[%k] : i32\n%g = load guarded (0, 1) @m[%number, %k] : f32",
    "added to": "%old = atomic guarded (0) add @f[%k], %v : f32\n%g = const 1.0 : f32",
}


@pytest.mark.parametrize("index", ["i32", "u32", "i64"])
@pytest.mark.parametrize("which", GUARDED)
def test_what_is_outside_in_some_iterations_is_0_in_these(which, index):
    """Whether it is at the beginning, at the end, in all iterations or in none; where numbers wrap around, too."""
    body = GUARDED[which].replace("{index}", index) + "\n%w = mul %g, %v : f32"
    ends = [(0, 5), (0, 24), (0, 25), (0, 40), (20, 30), (24, 28), (30, 33), (3, 3), (9, 2)]
    ends += [] if index == "u32" else [(-3, 4), (-9, -2), (-4, 30)]
    most = int(np.iinfo(index.replace("i", "int").replace("u", "uint")).max)
    ends += [(most - 5, most), (most // 2 - 1, most // 2 + 4)]
    source = loop(body, index, "%wide = cast %hi : i64\n")
    text = device_text(source)
    assert "fast" in text
    assert which not in ("behind", "in front") or index != "i32" or f"i64 {2**31})" in text.partition("\nfast")[0]
    counts = [0, 1, -1, 30, 2, 0, 1]
    agree_on(source, [(buffers(lo, hi, None, index, counts), ()) for lo, hi in ends])


ANYWHERE = {
    "of numbers": "%number = load guarded (0) @count[%k] : i32\n%g = load guarded (0) @f[%number] : f32",
    "of numbers of numbers": "%a = load guarded (0) @count[%k] : i32\n%b = load guarded (0) @count[%a] : i32\n"
    "%g = load guarded (0) @f[%b] : f32",
    "of what is carried": "%at = cast %v : i32\n%g = load guarded (0) @f[%at] : f32",
    "under a condition": "%number = load guarded (0) @count[%k] : i32\n%q = const 1.0 : f32\n%p = lt %v, %q : u1\n"
    "%g = if %p -> (f32) {\n%a = load guarded (0) @f[%number] : f32\nyield %a\n} else {\nyield %v\n}",
    "and of a function": "%s = call @sin.f32 %v : f32\n%at = cast %s : i32\n%h = load guarded (0) @f[%at] : f32\n"
    "%g = add %h, %s : f32",
    "on two axes": "%number = load guarded (0) @count[%k] : i32\n%g = load guarded (0, 1) @m[%number, %k] : f32",
}


@pytest.mark.parametrize("which", ANYWHERE)
def test_loads_at_any_index_of_several_iterations_are_on_their_way_together(which):
    """Where one of them is outside, the full loop does that iteration again, and says so: as the interpreter does."""
    source = loop(ANYWHERE[which] + "\n%w = add %g, %v : f32")
    before, _, after = device_text(source).partition("\nfast")
    assert "i64 0, i64 %" in before  # without elements there is none to read instead
    fast = after.partition("\nrest")[0]
    assert "cmpxchg" not in fast
    assert len(re.findall(r"= load float, ptr", fast)) == 4
    cases = []
    for outside in ((), (0,), (3,), (4,), (6, 7), (11,), (13,)):
        counts = np.arange(14) % 2
        counts[list(outside)] = [99, -1][: len(outside)]
        cases += [(buffers(0, hi, None, counts=counts), ()) for hi in (3, 4, 11, 14)]
    nothing = buffers(0, 5, None, counts=range(5))
    cases.append(({**nothing, "f": np.zeros(0, np.float32), "m": np.zeros((2, 0), np.float32)}, ()))
    agree_on(source, cases)


def test_what_cannot_be_done_again_keeps_its_guards():
    body = f"%old = atomic add @count[%i], %one : i32\n{ANYWHERE['of numbers']}\n%w = add %g, %v : f32"
    fast = device_text(loop(body)).partition("\nfast")[2].partition("\nrest")[0]
    assert fast.count("cmpxchg") == 1  # the number's index grows by 1
    agree_on(loop(body), [(buffers(0, 7, None, counts=[0, 1, 99, 3, -1, 5, 6]), ())])


def test_a_load_that_is_in_bounds_because_of_a_number_waits_for_it():
    body = (
        "%number = load guarded (0) @count[%k] : i32\n%top = const 3 : i32\n%at = min %number, %top : i32\n"
        "%g = load @f[%at] : f32\n%w = add %g, %v : f32"
    )
    one = the_loop(loop(body))
    clamped = {op for op in one.regions[0].walk() if "guarded" in op.attrs}
    assert len(clamped) == 1
    assert fast_loop(one, (), clamped=clamped) is None
