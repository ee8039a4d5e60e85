"""Decides what a reverse kernel does: `plan_reverse(kernel, adjoints) -> ReversePlan`.

Requires: what `reverse` requires. Ensures: the kernel is not changed, and nothing is emitted. AdstackDataAccessError if
a derivative depends on an order of updates that is not known, or if serial code would have to run again on memory that
it has changed. Loads of memory that the launch has overwritten are not refused here: which of them the reverse kernel
reads is known when its dead code is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ...analysis.manager import Analyses
from ...errors import AdstackDataAccessError
from ...ir.ops import FOR, IF, PARALLEL_FOR, PLACE_WRITES, SERIAL_LOOPS, STORE
from ...ir.scalar_ops import CONST
from ...ir.structure import Kernel, Op, Place, Region, Value
from ...transforms.rewriting.rewrite import clone_kernel
from ..activities.activity import Activity
from ..checkpointing.loops import CheckpointContext, Checkpointing, plan_loops
from ..checkpointing.schedule import Checkpoints
from ..emission.journal import Journal
from ..emission.rotate import rotate
from ..overwrite.conflicts import refuse_mixed_extremes, refuse_order_of_updates, refuse_ordered
from ..overwrite.repeat import refuse_second_sweep, refuse_uncounted
from ..overwrite.versions import Restored, keep_versions
from ..saving.plan import Counted, Saved, Sides
from ..saving.planner import plan_saves
from .plan import Capacity, Nest, Parallel, ReversePlan, Serial

__all__ = ["plan_reverse"]


def plan_reverse(
    kernel: Kernel,
    adjoints: Mapping[str, Place],
    replayed: Collection[str] = (),
    checkpoints: Checkpoints | None = None,
    journal: Journal | None = None,
) -> ReversePlan:
    """The plan of the kernel that `reverse` makes of these arguments; see there."""
    analyses = Analyses()
    source, restored = _prepared(kernel, journal, analyses)
    return _Planner(source, analyses, adjoints, replayed, restored, checkpoints, journal).plan()


def _prepared(kernel: Kernel, journal: Journal | None, analyses: Analyses) -> tuple[Kernel, Restored]:
    """The kernel as it is reversed, and what `keep_versions` says of it; a journal has prepared its own."""
    if journal is not None:
        return kernel, {}
    source = clone_kernel(kernel)
    rotate(source.body)
    return source, keep_versions(source, analyses)


class _Planner:
    """Collects the parts of a plan, from the last stretch of the kernel to the first: so are stretches reversed."""

    def __init__(
        self,
        source: Kernel,
        analyses: Analyses,
        adjoints: Mapping[str, Place],
        replayed: Collection[str],
        restored: Restored,
        checkpoints: Checkpoints | None,
        journal: Journal | None,
    ) -> None:
        self._source, self._restored, self._journal = source, restored, journal
        self._analyses = analyses
        self._replayed = frozenset({*replayed, *(temp.name for pairs in restored.values() for _, temp in pairs)})
        self._places = _gradients(source, adjoints)
        self._activity = Activity(source.body, self._places)
        self._written = frozenset(op.attrs["place"].name for op in source.body.walk() if op.opdef in PLACE_WRITES)
        levels = 1 if checkpoints is None else checkpoints.levels
        self._saves = plan_saves(source.body, self._activity, self._written, levels)
        refuse_mixed_extremes(source, self._places)
        refuse_ordered(source.body, self._activity.values, self._analyses)
        self._context = None if checkpoints is None else self._checkpoint_context(checkpoints)
        self._branches: dict[Op, int] = {}
        self._sums: dict[Value, Place] = {}
        self._refused: list[AdstackDataAccessError] = []
        self._more: dict[Region, list[Value]] = {}

    def _checkpoint_context(self, checkpoints: Checkpoints) -> CheckpointContext:
        constants = (op for op in self._source.body.walk() if op.opdef is CONST and op.result.dtype.is_integer)
        numbers = {op.result: op.attrs["value"] for op in constants}
        return CheckpointContext(
            self._source, self._analyses, self._saves, checkpoints, self._replayed, self._journal, numbers
        )

    def plan(self) -> ReversePlan:
        """The plan of the whole kernel."""
        stretches = self._stretches()
        return ReversePlan(
            source=self._source,
            analyses=self._analyses,
            places=self._places,
            written=self._written,
            replayed=self._replayed,
            activity=self._activity,
            saves=self._saves.with_saved(self._more),
            returned=tuple(v for v in self._source.body.terminator.operands if v.dtype.is_float),
            stored_again=_stored_again(self._source),
            stretches=stretches,
            refused=tuple(self._refused),
            journal=self._journal,
        )

    # ---- stretches

    def _stretches(self) -> tuple[Serial | Parallel, ...]:
        """Serial code that is swept once first, as the kernel runs; then everything that is planned backwards."""
        ops = self._source.body.ops[:-1]
        planned: dict[Op, Serial | Parallel] = {}
        twice = [op for op in ops if op.opdef is not PARALLEL_FOR and not self._sweep_once(op, planned)]
        for op in reversed(ops):
            touched = self._activity.touches(op)
            if op.opdef is PARALLEL_FOR:
                planned[op] = self._parallel(op, touched=touched)
            elif op in twice:
                nest = self._nest(op, serial=True) if touched else Nest(op, {}, {}, "none")
                planned[op] = Serial(nest, swept_twice=True, reversed=touched)
            if touched:
                refuse_order_of_updates(op, self._places)
        return tuple(planned[op] for op in ops)

    def _sweep_once(self, op: Op, planned: dict[Op, Serial | Parallel]) -> bool:
        """Plan an op of serial code, unless it has to be swept twice."""
        if self._is_swept_twice(op):
            return False
        planned[op] = Serial(self._nest(op, serial=True), swept_twice=False, reversed=self._activity.touches(op))
        return True

    def _is_swept_twice(self, op: Op) -> bool:
        """Whether adstacks of a serial op would have to outlive the reversal of a parallel loop.

        AdstackDataAccessError if a second sweep would not be the same again.
        """
        after = self._source.body.ops[self._source.body.ops.index(op) + 1 :]
        if not any(self._saved_in(loop) for loop in self._saves.counters_of(op)) or not any(
            o.opdef is PARALLEL_FOR and self._activity.touches(o) for o in after
        ):
            return False
        refuse_second_sweep(op, after, self._repeats)
        return True

    def _repeats(self, op: Op) -> bool:
        """Whether sweeps of serial code repeat a store or an atomic update."""
        place = op.attrs["place"]
        return place.name in self._replayed or (place.kind == "temp" and self._journal is None)

    def _parallel(self, op: Op, *, touched: bool) -> Parallel:
        writes = (o for o in op.regions[0].walk() if o.opdef in PLACE_WRITES and o.attrs["place"].kind == "temp")
        repeated = self._journal is None and any(writes)
        restored = tuple(self._restored.get(op, ()))
        if not touched:
            return Parallel(op, (), repeated, restored, {}, reversed=False)
        around = self._activity.live_in(*op.regions)
        for value in around:
            sum_ = Place(f"adjoint{len(self._sums)}", value.dtype, (), "temp", label=value.name)
            self._sums.setdefault(value, sum_)
        nests = tuple(self._nest(inner, serial=False) for inner in op.regions[0].ops[:-1])
        return Parallel(op, nests, repeated, restored, {v: self._sums[v] for v in around}, reversed=True)

    # ---- adstacks

    def _nest(self, op: Op, *, serial: bool) -> Nest:
        """An op outside loops, and the adstacks in it."""
        counters = self._saves.counters_of(op)
        saved = {one: values for one in counters if (values := self._saved_in(one))}
        if not saved:
            return Nest(op, {}, {}, "none")
        refuse_uncounted(op, self._repeats, self._saves.counted)
        around = dict(self._sides_around(op, ()))
        loops = Checkpointing()
        if self._context is not None:
            loops = plan_loops(op, saved, around, self._context, serial=serial and self._journal is None)
            self._refused += loops.refused
            for region, used in loops.more.items():
                self._more.setdefault(region, []).extend(used)
        return Nest(op, saved, around, self._capacity(op, loops), loops.loops)

    def _capacity(self, op: Op, loops: Checkpointing) -> Capacity:
        if loops.loops:
            return "blocks"
        return "trip count" if op.opdef is FOR and not self._saves.counters_in(op) else "counting sweep"

    def _saved_in(self, loop: Counted) -> Sequence[Saved]:
        """What a loop's own iterations save, or a counted side: branches included, what has other counters not."""
        saved: list[Saved] = []
        work: list[tuple[Region, Sides]] = [(loop.regions[-1] if isinstance(loop, Op) else loop, ())]
        while work:
            region, sides = work.pop()
            saved += [Saved(value, sides, region) for value in self._saves.saved(region)]
            for op in region.ops:
                if op.opdef is IF:
                    inner = [(k, r) for k, r in enumerate(op.regions) if r not in self._saves.counted]
                    work += [(r, (*sides, self._side(op, k))) for k, r in inner]
        return tuple(saved)

    def _sides_around(self, op: Op, sides: Sides) -> Iterator[tuple[Counted, Sides]]:
        """What has counters in an op, and the branches around the outermost loop that it is in."""
        if op.opdef in SERIAL_LOOPS:
            yield from ((loop, sides) for loop in self._saves.counters_of(op))
            return
        for k, region in enumerate(op.regions):
            for inner in region.ops:
                yield from self._sides_around(inner, (*sides, self._side(op, k)))

    def _side(self, op: Op, k: int) -> int:
        """The number of a side of an `if`."""
        return 2 * self._branches.setdefault(op, len(self._branches)) + k


def _gradients(source: Kernel, adjoints: Mapping[str, Place]) -> dict[str, Place]:
    """The gradient place of each place, those of temps made up here."""
    places = {name: place for name, place in adjoints.items() if name in source.places}
    for place in source.places.values():
        if place.kind == "temp" and place.dtype.is_float:
            places[place.name] = replace(place, name=f"{place.name}.grad", role="grad", of=place.name)
    return places


def _stored_again(kernel: Kernel) -> frozenset[Op]:
    """Stores whose element may be stored to once more: what they stored may not be what is there in the end."""
    stores = [op for op in kernel.body.walk() if op.opdef is STORE]
    places = Counter(op.attrs["place"].name for op in stores)
    serial = {
        op
        for loop in kernel.body.walk()
        if loop.opdef in SERIAL_LOOPS
        for region in loop.regions
        for op in region.walk()
    }
    return frozenset(op for op in stores if places[op.attrs["place"].name] > 1 or op in serial)
