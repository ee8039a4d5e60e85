"""How many iterations of a parallel task run side by side, as lanes of vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from adstack.analysis.accumulation import is_ordered
from adstack.analysis.iteration_space import known_extent, row_length, side_by_side, side_by_side_in_row
from adstack.analysis.manager import Analyses
from adstack.backends.codegen_llvm.adstacks.counted import COUNTED_OPS
from adstack.ir.ops import ATOMIC, CALL, FOR, IF, SERIAL_LOOPS, STACK_ALLOCA, STACK_OPS, STACK_PUT, STORE, WHILE, YIELD
from adstack.ir.scalar_ops import DIV, SQRT
from adstack.ir.structure import Op, Region, Task, Value
from adstack.ir.types import DType

__all__ = ["is_masked", "is_whole", "lanes_of"]

_MOST_LANES = 64
_LEAST_LANES = 8
_DEAR = frozenset({FOR, WHILE, CALL})
"""Ops that make a body long."""
_REGISTERS = 24
"""Vectors that may be live at once before they spill; some registers are left for constants."""
_MASKS_FROM = 64
"""Registers of so many bytes (AVX-512) come with masks that cost little."""
_FEWEST = 4
"""Iterations from which on it pays to run fewer than there could be side by side, under a mask."""
_COMBINED = 10
"""Cycles that it takes to add up the lanes of a vector, about."""
_PIECES_OF = 64
"""The pool cuts loops of more iterations at multiples of this, behind as many as there are lanes, which it may time."""
_MOST_LIVE = 64
"""Vectors that may be live at once where waiting costs more than spilling: code that spills takes long to compile."""
_NEAR = 1.08
"""Times of so many times the least are as good: then more vectors are taken, which wait less for each other.

The gradient of Newton's method, whose divisions wait for each other, takes 1.07 times the least by this count, and 0.9
of the time.
"""
_CYCLES = {DIV: (12.0, 20), SQRT: (16.0, 22), CALL: (25.0, 60), STACK_PUT: (1.0, 0)}
"""By the name of an op, for one vector: the cycles that its unit is busy, and those until its result is there."""
_USUAL = (0.5, 4)
"""The same of other ops."""


def lanes_of(task: Task, wanted: int, vector_bytes: int, analyses: Analyses, *, debug: bool) -> int:
    """How many iterations of a task run side by side.

    Args:
        task: of the program.
        wanted: by the user; 0 leaves the choice to this module.
        vector_bytes: of a vector register.
        analyses: what is known of the task.
        debug: whether checks are emitted: one lane at a time then, unless told otherwise.
    """
    if task.kind != "parallel" or _has_machine(task) or is_ordered(task) or (debug and not wanted):
        return 1
    loop = task.body.ops[-2]
    extent = known_extent(loop, task.body.ops[:-2])
    best = wanted or min(_best_lanes(task, vector_bytes, analyses), _row_lanes(task, loop))
    if extent is None or extent >= best or wanted:
        return best
    few = extent < _FEWEST or len(loop.operands) > 2 or not is_masked(task, vector_bytes)
    return 1 if few else 1 << (extent - 1).bit_length()


def is_masked(task: Task, vector_bytes: int) -> bool:
    """Whether a second copy of the body, for one iteration, costs more to compile than masks cost to run."""
    return task.kind == "parallel" and vector_bytes >= _MASKS_FROM and any(op.opdef in _DEAR for op in task.body.walk())


def is_whole(task: Task, lanes: int) -> bool:
    """Whether all lanes run always: pieces of the loop, as the pool cuts it, and rows in them, are whole vectors.

    Blocks of rows, in which tiled updates run, are whole where rows are; without rows they may begin anywhere.
    """
    if task.kind != "parallel" or lanes == 1:
        return False
    *header, loop, _ = task.body.ops
    extent, row = known_extent(loop, header), row_length(loop, header)
    if extent is None or row is None or extent <= 2 * _PIECES_OF or extent % _PIECES_OF or _PIECES_OF % lanes:
        return False
    if len(loop.regions[0].args) > 1:
        return row % lanes == 0
    return all(op.attrs.get("sums") != "tiled" for op in loop.regions[0].walk())


def _has_machine(task: Task) -> bool:
    """Whether the task runs adstacks that count for themselves: one lane at a time."""
    counted = (STACK_ALLOCA, *COUNTED_OPS)
    return any(op.opdef in STACK_OPS and op.opdef not in counted for op in task.body.walk())


def _row_lanes(task: Task, loop: Op) -> int:
    """As many lanes as a row of the last of several axes fills, about."""
    length = row_length(loop, task.body.ops[:-2]) if len(loop.regions[0].args) > 1 else None
    return _MOST_LANES if length is None else max(_LEAST_LANES, 1 << max(0, length - 1).bit_length())


def _best_lanes(task: Task, vector_bytes: int, analyses: Analyses) -> int:
    """As many vectors side by side as take the least time for each of them."""
    body, varying = task.body.ops[-2].regions[0], analyses.get(side_by_side, task.body).varying
    results = [v for op in _inner_loops(body) for v in op.results if v in varying and isinstance(v.type, DType)]
    per_vector = max(2, vector_bytes // max((v.dtype.size for v in results), default=4))
    live, loops = _live(body, varying), [op for op in body.walk() if op.opdef in SERIAL_LOOPS]
    bodies = [loop.regions[-1] for loop in loops]
    counts = [n for n in (4, 2, 1) if n == 1 or live * n <= _MOST_LIVE]
    if len(counts) == 1:
        return min(_MOST_LANES, per_vector)
    in_row = analyses.get(side_by_side_in_row, task.body).varying
    turns = [_Turn.of(body, varying, in_row) for body in bodies] or [_Turn(0, 0, live, 0)]
    times = {n: sum(turn.cycles(n) for turn in turns) for n in counts}
    near = _NEAR * min(times.values())
    return min(_MOST_LANES, per_vector * max(n for n in counts if times[n] <= near))


@dataclass(frozen=True)
class _Turn:
    """An iteration of a loop; without loops, all that counts is whether registers suffice for what is live.

    Attributes:
        latency: see `_latency`.
        work: see `_work`.
        used: see `_used`.
        combined: how many updates add up all lanes first.
    """

    latency: float
    work: float
    used: int
    combined: int

    @staticmethod
    def of(body: Region, varying: Collection[Value], in_row: Collection[Value]) -> _Turn:
        """The iteration of a loop with this body; the values `in_row` differ between lanes that are in one row."""
        combined = sum(_is_combined(op, in_row) for op in _without_loops(body))
        return _Turn(_latency(body, varying), _work(body, varying), _used(body, varying), combined)

    def cycles(self, vectors: int) -> float:
        """The time for one of so many vectors side by side, about.

        What one iteration hands to the next one makes the next one wait, unless other vectors keep the processor busy;
        vectors for which there is no register are stored and loaded, those that a loop does not use outside of it.
        """
        spilled = max(0, self.used * vectors - _REGISTERS)
        return (max(self.latency, vectors * self.work + spilled) + _COMBINED * self.combined) / vectors


def _used(body: Region, varying: Collection[Value]) -> int:
    """The vectors that a loop needs at once, about: those of its own, and those from outside that it uses."""
    own, used = set(body.args), set[Value]()
    for op in body.walk():
        used.update(op.operands)
        own.update(op.results)
        for region in op.regions:
            own.update(region.args)
    return len(used.intersection(varying).difference(own)) + _live(body, varying)


def _is_combined(op: Op, in_row: Collection[Value]) -> bool:
    """Whether an op updates one element for all lanes of a row, whose values are added up first."""
    if op.opdef is not ATOMIC or op.result.uses:
        return False
    return op.attrs.get("sums") != "uniform" and set(op.operands[: op.attrs["place"].rank]).isdisjoint(in_row)


def _work(body: Region, varying: Collection[Value]) -> float:
    """The cycles that a vector keeps the processor's units busy in one iteration, without those of loops inside."""
    own = (op for op in _without_loops(body) if any(v in varying for v in (*op.operands, *op.results)))
    return sum(_CYCLES.get(op.opdef, _USUAL)[0] for op in own)


def _latency(body: Region, varying: Collection[Value]) -> float:
    """The cycles from what a vector takes over from the last iteration to what it hands to the next one."""
    ready = {arg: 0 for arg in body.args if arg in varying}
    for op in _without_loops(body):
        sources = (*op.operands, *(v for region in op.regions for v in region.terminator.operands))
        waits = [ready[v] for v in sources if v in ready]
        if waits and op.opdef not in (YIELD, STORE, ATOMIC):
            ready.update((v, max(waits) + _CYCLES.get(op.opdef, _USUAL)[1]) for v in op.results)
    return max((ready.get(v, 0) for v in body.terminator.operands), default=0)


def _without_loops(body: Region) -> Iterator[Op]:
    """The ops of a region and its branches, in order, a branch before its `if`."""
    for op in body.ops:
        if op.opdef is IF:
            for region in op.regions:
                yield from _without_loops(region)
        if op.opdef not in SERIAL_LOOPS:
            yield op


def _inner_loops(body: Region) -> Iterator[Op]:
    """The ops of the loops in a body, which take its time; all ops where there is none."""
    loops = [op for op in body.walk() if op.opdef in SERIAL_LOOPS]
    for region in (r for loop in loops for r in loop.regions) if loops else (body,):
        yield from region.walk()


def _live(region: Region, varying: Collection[Value]) -> int:
    """The most vectors that are live at once, about: in nested regions those of the outer ones count too."""
    last = dict.fromkeys(region.args, 0)
    for position, op in enumerate(region.ops):
        last.update((v, position) for v in op.results)  # unused, they end where they begin
        for inner in (op, *(o for r in op.regions for o in r.walk())):
            last.update((v, position) for v in inner.operands)
    ending: dict[int, list[Value]] = {}
    for value, position in last.items():
        ending.setdefault(position, []).append(value)
    live = {v for v in region.args if v in varying}
    most = len(live)
    for position, op in enumerate(region.ops):
        nested = max((_live(r, varying) for r in op.regions), default=0)
        live.update(v for v in op.results if v in varying)
        most = max(most, len(live) + nested)
        live.difference_update(ending.get(position, ()))
    return most
