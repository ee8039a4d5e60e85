"""Cells become SSA values, arrays or shared places."""

from __future__ import annotations

import pytest

from adstack.frontend.variables import cells
from adstack.frontend.variables.mem2reg import mem2reg
from adstack.frontend.variables.survey import SELECT_LIMIT
from adstack.ir.builder import Builder
from adstack.ir.scalar_ops import NEG
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.types import i32, u1
from adstack.ir.verify.verifier import verify


def _finish(builder: Builder, *results: Value) -> Kernel:
    builder.return_(*results)
    places: dict[str, Place] = {}
    mem2reg(builder.region, places)
    kernel = Kernel("k", builder.region, places, tuple(v.dtype for v in results))
    verify(kernel)
    return kernel


def _names(kernel: Kernel) -> list[str]:
    return [op.name for op in kernel.body.walk()]


def _cell(builder: Builder, length: int | None = None) -> cells.Cell:
    cell = cells.Cell("c", i32, length)
    cells.alloc(builder, cell, [builder.const(k, i32) for k in range(cell.size)])
    return cell


def test_a_cell_without_control_flow_leaves_no_trace() -> None:
    builder = Builder(Region())
    cell = _cell(builder)
    cells.write(builder, cell, builder.add(cells.read(builder, cell), builder.const(1, i32)))
    kernel = _finish(builder, cells.read(builder, cell))
    assert _names(kernel) == ["const", "const", "add", "return"]
    assert repr(cell) == "<cell c: i32>"


def test_a_cell_that_nothing_reads_is_dropped() -> None:
    builder = Builder(Region())
    cell = _cell(builder)
    cells.write(builder, cell, builder.const(1, i32))
    assert _names(_finish(builder)) == ["const", "const", "return"]


def test_an_if_yields_what_its_branches_change() -> None:
    builder = Builder(Region([Value(u1)]))
    cell, other = _cell(builder), _cell(builder)
    then, orelse = Region(), Region()
    with builder.into(then):
        cells.write(builder, cell, builder.const(5, i32))
        builder.yield_()
    with builder.into(orelse):
        builder.yield_()
    builder.if_(builder.region.args[0], then, orelse)
    kernel = _finish(builder, cells.read(builder, cell), cells.read(builder, other))
    chosen = next(op for op in kernel.body.ops if op.name == "if")
    assert len(chosen.results) == 1


def test_loops_carry_what_their_bodies_change() -> None:
    builder = Builder(Region())
    cell, other = _cell(builder), _cell(builder)
    body = Region([Value(i32)])
    with builder.into(body):
        inner = _cell(builder)
        cells.write(builder, inner, cells.read(builder, other))
        cells.update(builder, cell, "add", [cells.read(builder, inner)])
        builder.yield_()
    builder.for_(builder.const(0, i32), builder.const(3, i32), [], body)
    kernel = _finish(builder, cells.read(builder, cell))
    loop = next(op for op in kernel.body.ops if op.name == "for")
    assert len(loop.results) == 1
    assert [op.name for op in loop.regions[0].ops] == ["const", "add", "yield"]


def test_a_while_carries_what_condition_and_body_change() -> None:
    builder = Builder(Region())
    tested, done = _cell(builder), _cell(builder)
    condition, body = Region(), Region()
    with builder.into(condition):
        cells.update(builder, tested, "add", [builder.const(1, i32)])
        builder.yield_(builder.lt(cells.read(builder, tested), builder.const(9, i32)))
    with builder.into(body):
        cells.write(builder, done, cells.read(builder, tested))
        builder.yield_()
    builder.while_([], condition, body)
    kernel = _finish(builder, cells.read(builder, done))
    loop = next(op for op in kernel.body.ops if op.name == "while")
    assert len(loop.results) == 2


def _in_parallel(builder: Builder, write: bool, cell: cells.Cell) -> None:
    body = Region([Value(i32)])
    with builder.into(body):
        if write:
            cells.update(builder, cell, "add", [body.args[0]], 0 if cell.length is None else body.args[0])
        else:
            value = cells.read(builder, cell, 0 if cell.length is None else body.args[0])
            cells.update(builder, cell, "xchg", [value]) if write else builder.emit(NEG, value)
        builder.yield_()
    builder.parallel_for([(builder.const(0, i32), builder.const(3, i32))], body)


def test_a_cell_that_a_parallel_loop_changes_is_a_temporary_place() -> None:
    builder = Builder(Region())
    cell = _cell(builder)
    _in_parallel(builder, True, cell)
    kernel = _finish(builder, cells.read(builder, cell))
    (place,) = kernel.places.values()
    assert (place.kind, place.label, place.shape) == ("temp", "c", ())
    assert [n for n in _names(kernel) if n in ("store", "atomic", "load")] == ["store", "atomic", "load"]


def test_a_cell_that_a_parallel_loop_only_reads_stays_a_value() -> None:
    builder = Builder(Region())
    cell = _cell(builder)
    _in_parallel(builder, False, cell)
    assert _finish(builder).places == {}


@pytest.mark.parametrize("write", [False, True])
def test_a_large_cell_indexed_in_a_parallel_loop_is_shared(write: bool) -> None:
    builder = Builder(Region())
    cell = _cell(builder, SELECT_LIMIT + 1)
    cells.write(builder, cell, builder.const(7, i32), 3)
    _in_parallel(builder, write, cell)
    kernel = _finish(builder, cells.read(builder, cell, 0))
    (place,) = kernel.places.values()
    assert place.shape == (SELECT_LIMIT + 1,)


@pytest.mark.parametrize(("length", "op"), [(SELECT_LIMIT, "select"), (SELECT_LIMIT + 1, "array.load")])
def test_runtime_indices_select_or_go_to_an_array(length: int, op: str) -> None:
    builder = Builder(Region([Value(i32)]))
    cell = _cell(builder, length)
    at = builder.region.args[0]
    cells.write(builder, cell, builder.const(9, i32), at)
    cells.update(builder, cell, "cas", [builder.const(9, i32), builder.const(1, i32)], at)
    cells.update(builder, cell, "xchg", [builder.const(4, i32)], 2)
    kernel = _finish(builder, cells.read(builder, cell, at))
    assert op in _names(kernel)
    assert ("array.alloc" in _names(kernel)) == (length > SELECT_LIMIT)


def test_promotion_takes_time_linear_in_the_ops() -> None:
    builder = Builder(Region([Value(u1)]))
    pool = [_cell(builder) for _ in range(300)]
    for cell in pool:
        then, orelse = Region(), Region()
        with builder.into(then):
            cells.write(builder, cell, cells.read(builder, pool[0]))
            builder.yield_()
        with builder.into(orelse):
            builder.yield_()
        builder.if_(builder.region.args[0], then, orelse)
    kernel = _finish(builder, *(cells.read(builder, cell) for cell in pool))
    assert all(len(op.results) == 1 for op in kernel.body.walk() if op.name == "if")
