"""Loops whose checks of adstacks are hoisted, and that count few iterations in 32 bits: nothing else is different."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_kit import parallel
from vulkan_kit import agree_on

from adstack.analysis.induction import Induction, values_in_32_bits
from adstack.ir.text.parser import parse_ir

N = 5
PLACES = """place @x : f32[?] field
place @y : f32[?] field
place @bounds : i32[?] field"""
BODY = """%c0 = const 0 : i32
%c1 = const 1 : i32
%lo = load @bounds[%c0] : i32
%hi = load @bounds[%c1] : i32
%v0 = load @x[%i] : f32
%cap = const {cap} : i64
%st = stack.alloca %cap : stack<f32>
%off = const {offset} : i64
%lo64 = cast %lo : i64
%n64 = cast %hi : i64
%half = const 0.5 : f32
%r = for %k = %lo to %hi carry (%v = %v0) {{
  %k64 = cast %k : i64
  %at = add %off, %k64 : i64
  stack.put %st, %at, %v
  %w = mul %v, %half : f32
  yield %w
}}
%minus = const -1 : i64
%q = for %j = %lo64 to %n64 carry (%a = %r) {{
  %d = sub %n64, %j : i64
  %e = add %d, %lo64 : i64
  %f = add %e, %minus : i64
  %g = add %f, %off : i64
  %p = stack.get %st, %g : f32
  %b = add %a, %p : f32
  yield %b
}}
store @y[%i], %q"""


def source(capacity: int, offset: int = 0) -> str:
    return parallel(BODY.format(cap=capacity, offset=offset), N, PLACES)


def buffers(lo: int, hi: int) -> dict[str, np.ndarray]:
    return {
        "x": np.linspace(1, 2, N).astype(np.float32),
        "y": np.zeros(N, np.float32),
        "bounds": np.array([lo, hi], np.int32),
    }


@pytest.mark.parametrize("capacity", [0, 1, 4, 7])
def test_what_is_put_is_got_and_no_more_than_there_is_room_for(capacity):
    agree_on(source(capacity), [(buffers(0, n), ()) for n in (0, 1, 3, 4, 5, 7, 8)])


@settings(max_examples=15, deadline=None)
@given(lo=st.integers(0, 5), trips=st.integers(-2, 9), capacity=st.integers(0, 12), offset=st.integers(0, 4))
def test_indices_of_any_offset_stay_inside(lo, trips, capacity, offset):
    agree_on(source(capacity, offset), [(buffers(lo, lo + trips), ())])


def loops(text: str):
    (outer,) = [op for op in parse_ir(text).body.ops if op.name == "parallel_for"]
    return outer.regions[0], [op for op in outer.regions[0].ops if op.name == "for"]


def test_affine_induction_variables_are_known():
    _, ops = loops(source(4))
    steps = []
    for loop in ops:
        body = loop.regions[0]
        induction = Induction(body)
        steps.append([induction.step(op.operands[1]) for op in body.ops if op.name.startswith("stack.")])
    assert steps == [[1], [-1]]


def test_casts_of_narrower_integers_fit_in_32_bits():
    body, ops = loops(source(4))
    narrow = values_in_32_bits(body)
    assert narrow.issuperset(ops[1].operands[:2])
    wide = [op.result for op in body.walk() if op.results and op.name in ("add", "sub")]
    assert narrow.isdisjoint(wide)


@pytest.mark.parametrize("dtype", ["i32", "u16", "i8", "u32", "i64"])
def test_bounds_at_the_ends_of_their_types_give_the_right_trip_count(dtype):
    """Loops over i64 whose bounds are casts: few where the type is narrow, else counted as they are."""
    body = f"""%c0 = const 0 : i32
%c1 = const 1 : i32
%a = load @bounds[%c0] : {dtype}
%b = load @bounds[%c1] : {dtype}
%lo = cast %a : i64
%hi = cast %b : i64
%zero64 = const 0 : i64
%one = const 1 : i64
%r, %s = for %k = %lo to %hi carry (%v = %zero64, %u = %zero64) {{
  %w = add %v, %one : i64
  %x = xor %u, %k : i64
  yield %w, %x
}}
store @y[%i, %c0], %r
store @y[%i, %c1], %s"""
    text = parallel(body, 3, f"place @y : i64[?, ?] field\nplace @bounds : {dtype}[?] field")
    numpy = np.dtype(dtype.replace("i", "int").replace("u", "uint"))
    info = np.iinfo(numpy)
    pairs = [(info.max - 3, info.max), (info.min, info.min + 5), (info.max, info.min), (0, 0), (0, 7)]
    cases = [({"y": np.zeros((3, 2), np.int64), "bounds": np.array(pair, numpy)}, ()) for pair in pairs]
    agree_on(text, cases)
