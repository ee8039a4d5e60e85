"""Which accesses of a parallel loop are runs: of elements that follow each other, or of one element of each record."""

from __future__ import annotations

import pytest
from cpu_kit import tasks_of
from interpreter_kit import parallel

from adstack.analysis.strides import Run, Strides
from adstack.analysis.uniformity import varying_in_row, varying_values


def runs(body: str, places: str, *, in_row: bool = False) -> list[Run | None]:
    """Of every load of a loop over %i, or of one over %i and %j."""
    (task,) = tasks_of(body if "kernel" in body else parallel(body, 50, places)).tasks
    loop = task.body.ops[-2]
    varying = varying_in_row(loop.regions[0]) if in_row else varying_values(loop.regions[0])
    loads = [op for op in loop.regions[0].walk() if op.name == "load"]
    return [Strides(loop, varying).run(op.attrs["place"], op.operands) for op in loads]


CONSTANTS = "\n".join(f"%c{k} = const {k} : i32" for k in range(6)) + "\n%minus = const -1 : i32\n"


@pytest.mark.parametrize(
    ("shape", "indices", "run"),
    [
        ("?", "%i", Run(1, 0, 1)),
        ("?, 1", "%i, %c0", Run(1, 0, 2)),
        ("?, 2", "%i, %c0", Run(2, 0, 1)),
        ("?, 2", "%i, %c1", Run(2, 1, 1)),
        ("50, 3", "%i, %c2", Run(3, 2, 1)),
        ("7, 50, 4", "%c5, %i, %c1", Run(4, 1, 2)),
        ("?, 2, 2", "%i, %c1, %c0", Run(4, 2, 1)),
        ("?, 2, 1", "%i, %c1, %c0", Run(2, 1, 1)),
        ("?, 5", "%i, %c1", None),
        ("?, 2", "%i, %c2", None),
        ("?, 2", "%i, %minus", None),
        ("?, ?", "%i, %c0", None),
        ("?, 2", "%c0, %i", Run(1, 0, 2)),
        ("?, 2", "%i, %i", None),
        ("?, 2", "%t, %c0", None),
        ("?", "%t", None),
        ("?, 2", "%d, %c0", None),
        ("?, 2", "%u, %c0", None),
    ],
)
def test_an_element_of_each_record_is_a_run_if_records_follow_each_other(shape, indices, run):
    computed = "%t = mul %i, %c2 : i32\n%d = neg %i : i32\n%w = cast %i : u32\n%five = const 5 : u32\n"
    body = f"{CONSTANTS}{computed}%u = sub %w, %five : u32\n%v = load @x[{indices}] : f32\nstore @y[%i], %v"
    assert runs(body, f"place @x : f32[{shape}] ndarray\nplace @y : f32[50] field") == [run]


GRID = """kernel @k() {{
  place @x : f32[{shape}] field
  place @y : f32[6, 20] field
  %zero = const 0 : i32
  %rows = const 6 : i32
  %columns = const 20 : i32
  parallel_for (%i = %zero to %rows, %j = %zero to %columns) {{
    %one = const 1 : i32
    %v = load @x[%i, %j, %one] : f32
    %w = load @x[%j, %i, %one] : f32
    %s = add %v, %w : f32
    store @y[%i, %j], %s
    yield
  }}
  return
}}
"""


@pytest.mark.parametrize(
    ("shape", "in_row", "run"),
    [
        ("6, 20, 2", False, Run(2, 1, 2)),
        ("6, 20, 2", True, Run(2, 1, 2)),
        ("6, 25, 2", False, None),
        ("6, 25, 2", True, Run(2, 1, 2)),
    ],
)
def test_records_of_a_grid_follow_each_other_in_a_row_and_from_row_to_row_if_it_is_whole(shape, in_row, run):
    assert runs(GRID.format(shape=shape), "", in_row=in_row) == [run, None]
