"""Loops that poll for interrupts at safepoints: however long, they compute the same, and they poll seldom."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cpu_kit import agree, tasks_of
from interpreter_kit import parallel, serial

from adstack.backends.codegen_llvm.tasks import emit_program
from adstack.backends.cpu.codegen import emit_module
from adstack.ir.types import by_name

COUNTED = """%s, %c = for %k = %lo to %hi carry (%a = %lo, %b = %one) {
  %d = mul %b, %k : {}
  %e = add %d, %a : {}
  yield %b, %e
}
store @y[%i], %c"""


@pytest.mark.parametrize(
    ("dtype", "low"),
    [("i32", 0), ("i32", -(2**31)), ("i64", 2**63 - 9000), ("u32", 2**32 - 9000), ("u64", 0), ("i32", 2**31 - 9000)],
)
def test_a_loop_in_spans_makes_every_round(dtype, low):
    bounds = "%lo = load @x[] : {}\n%m = load @n[] : {}\n%hi = add %lo, %m : {}\n%one = const 1 : {}\n"
    places = f"place @x : {dtype}[] field\nplace @n : {dtype}[] field\nplace @y : {dtype}[?] field"
    text = parallel((bounds + COUNTED).replace("{}", dtype), 9, places)
    to = by_name(dtype).numpy
    for trips in (0, 1, 4095, 4096, 4097, 8192, 8990):
        buffers = {"x": np.array(low, to), "n": np.array(trips, to), "y": np.zeros(9, to)}
        agree(text, buffers, widths=(1, 8))


def test_loops_whose_lanes_end_at_different_times_make_every_round():
    body = """%x = load @x[%i] : i32
%two = const 2 : i32
%s = for %k = %zero to %x carry (%a = %i) {
  %b = mul %a, %two : i32
  %c = xor %b, %k : i32
  yield %c
}
%w, %rest = while (%v = %s, %t = %x) {
  %go = lt %zero, %t : u1
  yield %go, %v, %t
} do (%v, %t) {
  %u = mul %v, %two : i32
  %d = xor %u, %t : i32
  %e = sub %t, %two : i32
  yield %d, %e
}
store @y[%i], %w"""
    text = parallel(body, 9, "place @x : i32[?] field\nplace @y : i32[?] field")
    x = np.array([0, 1, 4095, 4096, 4097, 9000, 8192, 2, 12345], np.int32)
    agree(text, {"x": x, "y": np.zeros(9, np.int32)}, widths=(1, 2, 16))


def test_a_serial_while_makes_every_round():
    body = """%one = const 1 : i32
%n, %s = while (%k = %p, %a = %one) {
  %go = lt %one, %k : u1
  yield %go, %k, %a
} do (%k, %a) {
  %b = mul %a, %k : i32
  %c = add %b, %one : i32
  %l = sub %k, %one : i32
  yield %l, %c
}
return %s"""
    for trips in (1, 4096, 4097, 10000):
        agree(serial(body, "(%p: i32) -> (i32)"), {}, (trips,), widths=(1,))


PLACE = "place @n : i32[] field"
WORK = "store @n[], %zero"
FOR = "for %{} = %zero to %{} {{\n{}\nyield\n}}"


@pytest.mark.parametrize(
    ("loop", "spans"),
    [
        (FOR.format("a", "t", WORK), [4096]),
        (FOR.format("a", "t", FOR.format("b", "t", WORK)), [1024, 4096]),
        (FOR.format("a", "t", FOR.format("b", "t", FOR.format("c", "t", WORK))), [64, 1024, 4096]),
        ("%few = const 4096 : i32\n" + FOR.format("a", "few", WORK), []),
        ("%many = const 4097 : i32\n" + FOR.format("a", "many", WORK), [4096]),
    ],
    ids=["one", "two", "three", "short", "long"],
)
def test_outer_loops_ask_more_often_and_short_ones_never(loop, spans):
    text = emit_program(tasks_of(parallel(f"%t = load @n[] : i32\n{loop}", 9, PLACE)), [1]).text
    assert [int(n) for n in re.findall(r"llvm\.umin\.i32\(i32 %t\d+, i32 (\d+)\)", text)] == spans
    assert len(re.findall(r"call i1 %t\d+\(i64 %seat\)", text)) == len(spans)


def test_a_kernel_without_loops_does_not_look_whether_it_was_told_to_end():
    looks = []
    for body in ("store @n[], %zero", FOR.format("a", "t", WORK)):
        program = tasks_of(serial(f"%t = load @n[] : i32\n%zero = const 0 : i32\n{body}\nreturn", places=PLACE))
        text = emit_module(program, debug=False, lanes=0, vector_bytes=64).text
        looks.append("load atomic i64, ptr %stop" in text)
    assert looks == [False, True]
