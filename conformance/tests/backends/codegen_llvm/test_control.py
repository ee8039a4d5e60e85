"""Control flow that lanes take in different ways: what they compute, and what they leave alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from cpu_kit import WIDTHS, agree, agree_on, run_cpu
from interpreter_kit import parallel, serial
from programs_kit import IF, SIDES, XY, N, shapes_of_x

from adstack.ir.types import by_name


def agrees(body: str, widths=WIDTHS) -> None:
    cases = [({"x": x, "y": np.full(N, 77, np.int32)}, ()) for x in shapes_of_x()]
    agree_on(parallel(f"%x = load @x[%i] : i32\n%two = const 2 : i32\n{body}", N, XY), cases, widths)


@pytest.mark.parametrize(("yes", "no"), [(a, b) for a, b in product(SIDES, repeat=2) if a != b])
def test_sides_of_an_if_run_for_their_lanes_only(yes, no):
    agrees(IF.format(yes, no).replace("store @y[%i], %s", "%t = atomic xor @y[%i], %s : i32"), widths=(8, 64))


def test_ifs_in_ifs_narrow_the_lanes():
    inner = """%d = lt %x, %i : u1
      %e = if %d -> (i32) {
        store @y[%i], %x
        yield %x
      } else {
        %o = atomic xor @y[%i], %two : i32
        yield %o
      }
      store @x[%i], %e"""
    agrees(IF.format(inner, "").replace("store @y[%i], %s", ""))


def test_a_for_runs_as_long_as_each_lane_wants():
    agrees("""%s, %t = for %j = %zero to %x carry (%a = %i, %b = %two) {
      %c = add %a, %j : i32
      %d = mul %b, %c : i32
      %o = atomic add @y[%i], %d : i32
      yield %c, %d
    }
    %u = sub %s, %t : i32
    store @x[%i], %u""")
    agrees("""%s = for %j = %x to %two carry (%a = %i) {
      %c = mul %a, %j : i32
      store @y[%i], %j
      yield %c
    }
    store @x[%i], %s""")


@pytest.mark.parametrize("dtype", ["u8", "i8", "u64", "i64"])
def test_a_for_ends_at_the_border_of_its_type(dtype):
    top, low = by_name(dtype).max, by_name(dtype).min
    body = f"""%hi = const {top} : {dtype}
    %x = load @x[%i] : i32
    %d = cast %x : {dtype}
    %lo = sub %hi, %d : {dtype}
    %one = const 1 : i32
    %turns = for %j = %lo to %hi carry (%a = %zero) {{
      %b = add %a, %one : i32
      yield %b
    }}
    %least = const {low} : {dtype}
    %m = for %j2 = %least to %d carry (%a2 = %turns) {{
      %b2 = add %a2, %one : i32
      %few = const 3 : i32
      yield %b2
    }}
    store @y[%i], %m"""
    body = body if dtype.endswith("8") else body.replace("%least to %d", "%d to %d")
    x = np.arange(N, dtype=np.int32) % 7
    agree(parallel(body, N, XY), {"x": x, "y": np.zeros(N, np.int32)})


def test_a_while_goes_on_for_the_lanes_that_want_it():
    agrees("""%one = const 1 : i32
    %s, %t = while (%a = %x, %b = %i) {
      %go = gt %a, %zero : u1
      %seen = add %b, %one : i32
      %o = atomic add @y[%i], %one : i32
      yield %go, %a, %seen
    } do (%c, %d) {
      %e = sub %c, %one : i32
      store @x[%i], %e
      %f = mul %d, %two : i32
      yield %e, %f
    }
    %u = add %s, %t : i32
    store @x[%i], %u""")


def test_a_while_in_a_for_in_an_if():
    agrees("""%one = const 1 : i32
    %c = gt %x, %one : u1
    %r = if %c -> (i32) {
      %s = for %j = %zero to %x carry (%a = %zero) {
        %w = while (%b = %j) {
          %m = mod %b, %two : i32
          %odd = eq %m, %one : u1
          yield %odd, %b
        } do (%d) {
          %h = floordiv %d, %two : i32
          %o = atomic add @y[%i], %h : i32
          yield %h
        }
        %z = add %a, %w : i32
        yield %z
      }
      yield %s
    } else {
      yield %two
    }
    store @x[%i], %r""")


def test_uniform_loops_of_a_parallel_loop_stay_loops():
    body = """%s = for %j = %zero to %p carry (%a = %zero) {
      %v = load @x[%j] : i32
      %b = add %a, %v : i32
      yield %b
    }
    store @y[%i], %s"""
    x = np.arange(N, dtype=np.int32)
    cases = [({"x": x, "y": x.copy()}, [n]) for n in (-1, 0, 1, 40)]
    agree_on(parallel(body, N, XY, "%p: i32"), cases, WIDTHS)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 63, 64, 65, 130])
def test_any_number_of_iterations(n):
    agree(
        parallel("%v = load @x[%i] : i32\n%w = mul %v, %v : i32\nstore @y[%i], %w", n, XY),
        {"x": np.arange(n, dtype=np.int32), "y": np.full(n + 1, 9, np.int32)},
    )


@pytest.mark.parametrize(
    ("dtype", "lo", "hi"),
    [
        ("i64", 2**31 - 3, 2**31 + 70),
        ("i64", -(2**63), -(2**63) + 70),
        ("u64", 2**63 - 5, 2**63 + 70),
        ("u64", 2**64 - 70, 2**64 - 1),
        ("i32", -(2**31), -(2**31) + 66),
        ("i32", 2**31 - 70, 2**31 - 1),
        ("u8", 200, 255),
        ("i8", -128, 127),
        ("i32", 5, -5),
        ("u64", 2**63 + 5, 5),
        ("u32", 2**32 - 9, 2**32 - 1),
    ],
)
def test_ranges_may_lie_anywhere_in_their_type(dtype, lo, hi):
    text = f"""kernel @k() {{
      place @y : {dtype}[300] field
      place @n : i32[1] field
      %lo = const {lo} : {dtype}
      %hi = const {hi} : {dtype}
      %zero = const 0 : i32
      %one = const 1 : i32
      parallel_for (%i = %lo to %hi) {{
        %k = sub %i, %lo : {dtype}
        %j = cast %k : u8
        %w = cast %j : i32
        store @y[%w], %i
        %o = atomic add @n[%zero], %one : i32
        yield
      }}
      return
    }}
    """
    _, memory = agree(text, {"y": np.zeros(300, by_name(dtype).numpy), "n": np.zeros(1, np.int32)})
    assert memory["n"][0] == max(0, hi - lo)


def test_boxes_of_three_axes_are_walked_in_full():
    text = """kernel @k(%a: i32, %b: i32, %c: i32) {
      place @y : i32[?, ?, ?] ndarray
      %one = const 1 : i32
      %ten = const 10 : i32
      parallel_for (%i = %one to %a, %j = %one to %b, %k = %one to %c) {
        %u = mul %i, %ten : i32
        %v = add %u, %j : i32
        %w = mul %v, %ten : i32
        %t = add %w, %k : i32
        %o = atomic add @y[%i, %j, %k], %t : i32
        yield
      }
      return
    }
    """
    extents = [(2, 3, 4), (3, 2, 9), (1, 5, 5), (5, 1, 1), (2, 3, 70), (2, 66, 2), (1, 1, 1)]
    agree_on(text, [({"y": np.zeros(e, np.int32)}, e) for e in extents], WIDTHS)


def test_serial_code_runs_once():
    text = serial(
        "%v = load @x[%n] : i32\n%w = add %v, %n : i32\nstore @x[%n], %w\nreturn %w",
        "(%n: i32) -> (i32)",
        "place @x : i32[5] field",
    )
    assert run_cpu(text, {"x": np.arange(5, dtype=np.int32)}, [3]) == [6]
