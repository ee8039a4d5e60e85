"""How many iterations a task has, told ahead of a launch: as many as its header computes, or nothing."""

from __future__ import annotations

import pytest
from cpu_kit import tasks_of

from adstack.backends.shared.extents import Extent

PROGRAM = """program @p {{
  place @x : i32[?, 7] ndarray
  task @p.t {kind} (%n: i32, %m: i64, %b: u1, %f: f32, %w: u64, %s: i8) {{
    {body}
    return
  }}
}}
"""
LOOP = """%one = const 1 : i32
    %zero = const 0 : i32
    {header}
    parallel_for (%i = {low} to {high}, %j = %zero to %one) {{
      %o = atomic add @x[%j, %j], %one : i32
      yield
    }}"""


def extent(header: str, low: str, high: str) -> Extent:
    """Of a loop behind a header; its second axis has one iteration."""
    body = LOOP.format(header=header, low=low, high=high)
    return Extent.of(tasks_of(PROGRAM.format(kind="parallel", body=body)).tasks[0])


def count(header: str, low: str, high: str, n: int = 0, m: int = 0, s: int = 0, rows: int = 0) -> int | None:
    """What it is for some arguments."""
    return extent(header, low, high).count([n, m, True, 0.5, 2**63, s], {"x": (rows, 7)})


def test_a_serial_task_is_one():
    body = "%one = const 1 : i32\n    store @x[%one, %one], %one"
    assert Extent.of(tasks_of(PROGRAM.format(kind="serial", body=body)).tasks[0]) == Extent(1)


def test_what_constants_decide_is_known_before_any_launch():
    assert extent("%a = const 12 : i32", "%one", "%a") == Extent(11)
    assert extent("%a = const -3 : i32", "%one", "%a") == Extent(0)
    assert extent("%a = shape @x, 1 : i32", "%zero", "%a") == Extent(7)


def test_arguments_and_extents_decide():
    assert count("", "%one", "%n", n=40) == 39
    assert count("", "%one", "%n", n=-40) == 0
    assert count("%a = shape @x, 0 : i32\n%e = sub %a, %n : i32", "%zero", "%e", n=5, rows=30) == 25
    header = "%k = cast %m : i32\n%a = floordiv %n, %k : i32\n%c = max %a, %one : i32\n%d = mul %c, %k : i32"
    assert count(header, "%zero", "%d", n=-7, m=2) == 2
    assert count(header, "%zero", "%d", n=17, m=2) == 16
    assert count(header, "%zero", "%d", n=17, m=0) == 0
    assert count("%k = cast %b : i32\n%a = add %k, %n : i32", "%zero", "%a", n=5) == 6


def test_numbers_wrap_as_those_of_the_task_do():
    assert count("%a = sub %n, %one : i32\n%c = const 2147483640 : i32", "%c", "%a", n=-(2**31)) == 7
    assert count("%a = add %s, %s : i8\n%k = cast %a : i32", "%zero", "%k", s=100) == 0
    assert count("%a = add %s, %s : i8\n%k = cast %a : u8\n%l = cast %k : i32", "%zero", "%l", s=100) == 200


@pytest.mark.parametrize(
    ("header", "high"),
    [
        ("%a = load @x[%one, %one] : i32", "%a"),
        ("%a = cast %f : i32", "%a"),
        ("%a = cast %w : i32", "%a"),
        ("%c = cast %n : u1\n%a = cast %c : i32", "%a"),
        ("%a = xor %n, %one : i32", "%a"),
        ("%a = load @x[%one, %one] : i32\n%e = add %a, %one : i32", "%e"),
    ],
)
def test_what_the_host_can_not_tell_is_left_to_the_device(header: str, high: str):
    assert extent(header, "%zero", high) == Extent()
    assert count(header, "%zero", high) is None


KERNEL = """kernel @k(%n: i32) {{
  place @x : i32[?, 7] field
  %zero = const 0 : i32
  %two = const 2 : i32
  %rows = shape @x, 0 : i32
  {bound}
  parallel_for (%i = %zero to %b) {{
    store @x[%i, %zero], %i
    yield
  }}
  return
}}
"""


@pytest.mark.parametrize(
    ("bound", "count"),
    [
        ("%b = const 5 : i32", 5),
        ("%b = add %n, %two : i32", 12),
        ("%b = mul %rows, %two : i32", 40),
        ("%b = sub %two, %n : i32", 0),
        ("%b = load @x[%zero, %zero] : i32", None),
    ],
)
def test_the_host_knows_how_many_iterations_there_are_where_it_can(bound, count):
    task = next(t for t in tasks_of(KERNEL.format(bound=bound)).tasks if t.kind == "parallel")
    assert Extent.of(task).count((10,), {"x": (20, 7)}) == count
