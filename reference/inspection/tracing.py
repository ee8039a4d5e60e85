"""Programs that write down every value that they compute: `traced(program) -> Traced`.

Each lane has a row of a log. An op with a scalar result is followed by stores of that result's bits, and of the number
of the op, at the lane's next column. This is IR like any other, so that every backend runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..ir.builder import Builder
from ..ir.ops import ATOMIC, PARALLEL_FOR, WHILE
from ..ir.scalar_ops import CONST, MIN, MUL
from ..ir.structure import Op, Place, Program, Region, Task, Value
from ..ir.types import DType, i16, i32, i64, u1
from ..transforms.rewriting.rewrite import clone_region

__all__ = ["COLUMNS", "ROWS", "SERIAL", "Site", "Traced", "traced"]

ROWS: Final = 256
"""How many lanes of a parallel task are written down; the others share one more row, which says nothing."""
COLUMNS: Final = 2048
"""How many values of a lane; one more column takes the rest."""
SERIAL: Final = ROWS + 1
"""The row of serial code."""

_UNSEEN: Final = frozenset({CONST, ATOMIC})
"""Ops whose results are not written down. What an atomic update gives may depend on the order of lanes, and a use of it
would change how updates are added up.
"""


@dataclass(frozen=True)
class Site:
    """An op that is written down.

    Attributes:
        task: the number of its task.
        op: in the program that was traced.
        value: which of its results.
    """

    task: int
    op: Op
    value: Value


@dataclass
class Traced:
    """A program with its log.

    Attributes:
        program: what it was, with stores to three places of its own.
        count: the place with the length of each row; `number`: of the sites; `bits`: of the values.
        sites: by number.
    """

    program: Program
    count: Place = field(default_factory=lambda: Place("trace.count", i32, (ROWS + 2,)))
    number: Place = field(default_factory=lambda: Place("trace.number", i32, (ROWS + 2, COLUMNS + 1)))
    bits: Place = field(default_factory=lambda: Place("trace.bits", i64, (ROWS + 2, COLUMNS + 1)))
    sites: list[Site] = field(default_factory=list)

    @property
    def places(self) -> tuple[Place, ...]:
        """The log."""
        return self.count, self.number, self.bits


def traced(program: Program) -> Traced:
    """A program that does what `program` does, and writes down what it computes on the way.

    Headers of parallel tasks and conditions of `while` loops, where nothing may be stored, are left out.
    """
    trace = Traced(program)
    tasks = [_task(trace, number, task) for number, task in enumerate(program.tasks)]
    places = {**program.places, **{place.name: place for place in trace.places}}
    trace.program = replace(program, tasks=tasks, places=places)
    return trace


def _task(trace: Traced, number: int, task: Task) -> Task:
    body = clone_region(task.body, {})
    loops = [op for op in body.ops if op.opdef is PARALLEL_FOR]
    region = loops[0].regions[0] if loops else body
    b = Builder(Region())
    row = _lane(b, region.args, loops[0].operands) if loops else b.const(SERIAL, i32)
    _region(trace, number, region, row)
    region.ops[:0] = b.region.ops
    return replace(task, body=body)


def _lane(b: Builder, indices: Sequence[Value], bounds: Sequence[Value]) -> Value:
    """The row of an iteration, by its number in row-major order."""
    lane = b.const(0, i32)
    for index, low, high in zip(indices, bounds[::2], bounds[1::2], strict=True):
        extent, offset = (b.cast(b.sub(value, low), i32) for value in (high, index))
        lane = b.add(b.emit(MUL, lane, extent), offset)
    return b.emit(MIN, lane, b.const(ROWS, i32))


def _region(trace: Traced, task: int, region: Region, row: Value) -> None:
    ops, region.ops = region.ops, []
    b = Builder(region)
    for op in ops:
        for inner in op.regions[1:] if op.opdef is WHILE else op.regions:
            _region(trace, task, inner, row)
        region.ops.append(op)
        for value in op.results if op.opdef not in _UNSEEN else ():
            if isinstance(value.type, DType):
                with b.at(op.loc):
                    _log(trace, b, row, Site(task, op, value))


def _log(trace: Traced, b: Builder, row: Value, site: Site) -> None:
    length = b.load(trace.count, (row,))
    column = b.emit(MIN, length, b.const(COLUMNS, i32))
    b.store(trace.number, (row, column), b.const(len(trace.sites), i32))
    b.store(trace.bits, (row, column), _bits(b, site.value))
    b.store(trace.count, (row,), b.add(length, b.const(1, i32)))
    trace.sites.append(site)


def _bits(b: Builder, value: Value) -> Value:
    """The bits of a value in the low bits of an i64."""
    dtype = value.dtype
    if dtype.is_float:
        value = b.bitcast(value, {16: i16, 32: i32, 64: i64}[dtype.bits])
    elif dtype.bits == 64:
        return b.bitcast(value, i64)
    elif dtype is u1:
        value = b.cast(value, i32)
    return b.cast(value, i64)
