"""How many iterations of a parallel task run side by side, as lanes of vectors."""

from __future__ import annotations

from collections.abc import Iterator

from adstack.analysis.accumulation import is_ordered
from adstack.analysis.iteration_space import known_extent, row_length
from adstack.analysis.manager import Analyses
from adstack.analysis.uniformity import varying_values
from adstack.backends.codegen_llvm.adstacks.counted import COUNTED_OPS
from adstack.ir.structure import Op, Region, Task, Value
from adstack.ir.types import DType

__all__ = ["is_heavy", "lanes_of"]

_MOST_LANES = 64
_LEAST_LANES = 8
_DEAR = frozenset({"for", "while", "call"})
"""Ops that make a body long."""
_REGISTERS = 24
"""Vectors that may be live at once before they spill; some registers are left for constants."""


def lanes_of(task: Task, wanted: int, vector_bytes: int, analyses: Analyses, *, debug: bool) -> int:
    """How many iterations of a task run side by side.

    Args:
        task: of the program.
        wanted: by the user; 0 leaves the choice to this module.
        vector_bytes: of a vector register.
        analyses: asked for which values vary.
        debug: whether checks are emitted: one lane at a time then, unless told otherwise.
    """
    if task.kind != "parallel" or _has_machine(task) or is_ordered(task) or (debug and not wanted):
        return 1
    loop = task.body.ops[-2]
    extent = known_extent(loop, task.body.ops[:-2])
    best = wanted or min(_best_lanes(loop.regions[0], vector_bytes, analyses), _row_lanes(task, loop))
    return 1 if extent is not None and extent < best and not wanted else best


def is_heavy(task: Task) -> bool:
    """Whether a second copy of the body, for one iteration, costs more to compile than masks cost to run."""
    return task.kind == "parallel" and any(op.name in _DEAR for op in task.body.walk())


def _has_machine(task: Task) -> bool:
    """Whether the task runs adstacks that count for themselves: one lane at a time."""
    counted = ("stack.alloca", *COUNTED_OPS)
    return any(op.name.startswith("stack.") and op.name not in counted for op in task.body.walk())


def _row_lanes(task: Task, loop: Op) -> int:
    """As many lanes as a row of the last of several axes fills, about."""
    length = row_length(loop, task.body.ops[:-2]) if len(loop.regions[0].args) > 1 else None
    return _MOST_LANES if length is None else max(_LEAST_LANES, 1 << max(0, length - 1).bit_length())


def _best_lanes(body: Region, vector_bytes: int, analyses: Analyses) -> int:
    """As many vectors side by side as hide the latency of a chain of operations without spilling."""
    varying = analyses.get(varying_values, body)
    results = [v for op in _inner_loops(body) for v in op.results if v in varying and isinstance(v.type, DType)]
    per_vector = max(2, vector_bytes // max((v.dtype.size for v in results), default=4))
    vectors, live = 4, _live(body, varying)
    while vectors > 1 and live * vectors > _REGISTERS:
        vectors //= 2
    return min(_MOST_LANES, per_vector * vectors)


def _inner_loops(body: Region) -> Iterator[Op]:
    """The ops of the loops in a body, which take its time; all ops where there is none."""
    loops = [op for op in body.walk() if op.name in ("for", "while")]
    for region in (r for loop in loops for r in loop.regions) if loops else (body,):
        yield from region.walk()


def _live(region: Region, varying: set[Value]) -> int:
    """The most vectors that are live at once, about: in nested regions those of the outer ones count too."""
    last = dict.fromkeys(region.args, 0)
    for position, op in enumerate(region.ops):
        last.update((v, position) for v in op.results)  # unused, they end where they begin
        for inner in (op, *(o for r in op.regions for o in r.walk())):
            last.update((v, position) for v in inner.operands)
    ending: dict[int, list[Value]] = {}
    for value, position in last.items():
        ending.setdefault(position, []).append(value)
    live = varying.intersection(region.args)
    most = len(live)
    for position, op in enumerate(region.ops):
        nested = max((_live(r, varying) for r in op.regions), default=0)
        live.update(v for v in op.results if v in varying)
        most = max(most, len(live) + nested)
        live.difference_update(ending.get(position, ()))
    return most
