"""Loops whose iterations fill all lanes, or fewer than there could be, and loops that add up over lanes."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kit import compiled, tasks_of
from interpreter_kit import parallel, same_bits

from adstack import interpreter
from adstack.analysis.manager import Analyses
from adstack.backends.cpu.grain import grain
from adstack.backends.cpu.lanes import is_masked, is_whole, lanes_of
from adstack.ir.structure import Program

PLACES = "place @x : f32[?] field\nplace @t : i32[?] field"
LONG = """%v = load @x[%i] : f32
%trips = load @t[%i] : i32
%r = for %j = %zero to %trips carry (%s = %v) {
%p = mul %s, %v : f32
%q = add %p, %v : f32
yield %q
}
store @x[%i], %r"""
"""A body with a loop whose trips memory says."""

GRID = """kernel @k() {{
  place @x : f32[?, ?] field
  place @y : f32[?, ?] field
  %zero = const 0 : i32
  %n = const {rows} : i32
  %m = const {columns} : i32
  parallel_for (%i = %zero to %n, %j = %zero to %m) {{
    %v = load @x[%i, %j] : f32
    %r = for %k = %zero to %i carry (%s = %v) {{
      %p = add %s, %v : f32
      yield %p
    }}
    {store}
    yield
  }}
  return
}}
"""


def long(n: int) -> Program:
    return tasks_of(parallel(LONG, n, PLACES))


def grid(rows: int, columns: int, store: str = "store @y[%i, %j], %r") -> Program:
    return tasks_of(GRID.format(rows=rows, columns=columns, store=store))


def lanes(program: Program, vector_bytes: int) -> int:
    return lanes_of(program.tasks[0], 0, vector_bytes, Analyses(), debug=False)


def check(program: Program, memory: dict[str, np.ndarray], widths: tuple[int, ...] = (0, 8, 64)) -> None:
    """With any number of threads and lanes the cpu leaves what the interpreter does."""
    wanted = {name: array.copy() for name, array in memory.items()}
    interpreter.run(program, wanted, ())
    for threads in (1, 2, 3):
        for width in widths:
            left = {name: array.copy() for name, array in memory.items()}
            compiled(program, width, threads=threads)(left)
            assert all(same_bits(wanted[name], left[name]) for name in memory), (threads, width)


def trips(n: int, most: int = 9) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(n)
    return {"x": draw.random(n).astype(np.float32), "t": draw.integers(0, most, n).astype(np.int32)}


@pytest.mark.parametrize("n", [4, 5, 8, 15, 16, 17, 20, 31])
def test_fewer_iterations_than_lanes_run_side_by_side_where_masks_cost_little(n):
    program, many = long(n), lanes(long(1000), 64)
    assert lanes(program, 64) == 1 << (n - 1).bit_length() <= many
    assert is_masked(program.tasks[0], 64)
    assert lanes(program, 32) == (lanes(long(1000), 32) if n >= lanes(long(1000), 32) else 1)
    check(program, trips(n), (0,))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_iterations_run_one_by_one(n):
    assert lanes(long(n), 64) == 1


def test_few_iterations_of_a_body_without_loops_run_one_by_one():
    body = "%v = load @x[%i] : f32\n%w = mul %v, %v : f32\nstore @x[%i], %w"
    assert lanes(tasks_of(parallel(body, 20, PLACES)), 64) == 1


def test_few_iterations_over_two_axes_run_one_by_one():
    assert lanes(grid(2, 3), 64) == 1


def test_a_loop_all_of_whose_iterations_run_side_by_side_is_one_piece_and_others_are_timed():
    assert grain(long(20).tasks[0], 32) == 32
    assert grain(long(32).tasks[0], 32) == 32
    assert grain(long(33).tasks[0], 32) == -32
    assert grain(long(1).tasks[0], 1) == -1


@pytest.mark.parametrize(
    ("n", "lanes", "whole"),
    [
        (192, 64, True),
        (192, 8, True),
        (192, 1, False),
        (192, 128, False),
        (128, 32, False),
        (200, 8, False),
        (4096, 32, True),
    ],
)
def test_lanes_are_full_where_the_pool_cuts_a_loop_into_whole_vectors(n, lanes, whole):
    assert is_whole(long(n).tasks[0], lanes) == whole


def test_rows_are_whole_vectors_where_their_length_is_a_multiple_of_the_lanes():
    assert is_whole(grid(64, 64).tasks[0], 32)
    assert not is_whole(grid(64, 48).tasks[0], 32)
    assert is_whole(grid(64, 48).tasks[0], 16)


def test_blocks_of_tiled_updates_begin_anywhere_unless_there_are_rows():
    one, two = "%one = const 1 : i32\n%far = add %i, %one : i32\n", "%o = atomic add @{}, %r : f32"
    line = tasks_of(parallel(LONG.replace("store @x[%i], %r", f"{one}{two.format('y[%far]')}\n{two.format('y[%i]')}")
                             .replace("%o = atomic add @y[%i]", "%p2 = atomic add @y[%i]"),
                             2112, f"{PLACES}\nplace @y : f32[?] field"))  # fmt: skip
    assert {op.attrs.get("sums") for op in line.tasks[0].body.walk() if "sums" in op.attrs} == {"tiled"}
    assert not is_whole(line.tasks[0], 32)
    rows = grid(64, 64, f"{one}{two.format('y[%far, %j]')}")
    assert is_whole(rows.tasks[0], 32)


@pytest.mark.parametrize("n", [128, 129, 160, 192, 256, 320, 2112])
def test_every_iteration_runs_once(n):
    check(long(n), trips(n))


@pytest.mark.parametrize(("rows", "columns"), [(3, 64), (7, 64), (64, 64), (8, 96), (40, 8), (64, 33)])
def test_every_point_of_a_grid_runs_once(rows, columns):
    x = np.random.default_rng(rows).random((rows, columns)).astype(np.float32)
    check(grid(rows, columns), {"x": x, "y": np.zeros_like(x)})


@pytest.mark.parametrize("n", [128, 192])
def test_iterations_that_take_long_are_cut_into_whole_vectors_too(n):
    """The first ones are timed, and the others shared in pieces; 64 that are left are too few for whole vectors."""
    check(long(n), {**trips(n), "t": np.full(n, 20_000, np.int32)}, (0, 64))


def test_a_loop_that_adds_up_over_lanes_gets_more_of_them():
    """There are more values than registers for all lanes: that costs less than to add up lanes more often."""
    loads = "\n".join(f"%v{k} = load @x{k}[%i, %j] : f32" for k in range(4))
    sums = "\n".join(f"%s{k + 1} = add %s{k}, %v{k} : f32" for k in range(4))
    places = "\n".join(f"place @x{k} : f32[64, 64] field" for k in range(4))
    text = f"""kernel @k() {{
      {places}
      place @y : f32[64, 64] field
      %zero = const 0 : i32
      %n = const 64 : i32
      parallel_for (%i = %zero to %n, %j = %zero to %n) {{
        {loads}
        for %k = %zero to %n {{
          %s0 = load @x0[%k, %j] : f32
          {sums}
          %o = atomic add @y[AT], %s4 : f32
          yield
        }}
        yield
      }}
      return
    }}
    """
    summed, stored = (lanes(tasks_of(text.replace("AT", at)), 64) for at in ("%i, %k", "%k, %j"))
    assert summed > stored


@pytest.mark.parametrize("count", [7, 8])
def test_values_that_a_loop_does_not_use_need_no_registers_in_it(count):
    loads = "\n".join(f"%v{k} = load @x{k}[%i] : f32" for k in range(count))
    stores = "\n".join(f"store @x{k}[%i], %v{k}" for k in range(count))
    places = "\n".join(f"place @x{k} : f32[?] field" for k in range(count))
    chain = "%p = mul %s, %v0 : f32\n%q = add %p, %v0 : f32\nyield %q"
    loop = f"%r = for %j = %zero to %n carry (%s = %v0) {{\n{chain}\n}}\nstore @y[%i], %r"
    places += "\nplace @y : f32[?] field"
    around, ahead = f"{loads}\n{loop}\n{stores}", f"{loads}\n{stores}\n{loop}"
    assert lanes(tasks_of(parallel(around, 1000, places)), 64) == lanes(tasks_of(parallel(ahead, 1000, places)), 64)
