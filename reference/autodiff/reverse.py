"""Reverse mode: `reverse(kernel, adjoints) -> Kernel`.

Requires: a verified kernel, optimised with its accesses kept; `adjoints` gives the gradient place of each
differentiable place by the primal's name. The kernel is not changed. Ensures: a kernel that returns nothing. Its
parameters are those of the kernel, and behind them one for each real number that the kernel returns: the adjoint of
that number, where 0 means that nothing is connected to it. Run after the forward launch, it applies the transpose of
the Jacobian of that launch to these and the gradient places, in place. It writes no primal place.
AdstackDataAccessError if it would need a value that the launch may have overwritten.

The reverse kernel has, for each stretch of serial code and each parallel loop, last first, a *sweep* that runs the
forward part again without its effects, keeping what the plan says (plan.py), and the reversal, op by op backwards. A
value's adjoint is an SSA value; a carried value's adjoint is carried by the reversed loop. Kept values of loops go to
adstacks, addressed by a count of the loop's iterations that all stacks of a loop share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from ..analysis.manager import Analyses
from ..ir.builder import Builder
from ..ir.structure import Kernel, Op, Place, Region, Value
from ..transforms.rewriting.options import DEFAULT
from ..transforms.rewriting.rewrite import clone_kernel, clone_op
from ..transforms.scalar.dce import dce
from .activities.activity import Activity
from .activities.free import free_values
from .checkpointing.blocks import Blocks
from .checkpointing.schedule import Checkpoints
from .emission.backward import Backward
from .emission.journal import Journal
from .emission.rotate import rotate
from .emission.state import Counters, Kept, Names, Sides, Stacks, counter, scoped
from .emission.sweep import Sweep, on_copies
from .emission.trips import trip_count
from .overwrite.conflicts import (
    overwritten,
    refuse_lost,
    refuse_mixed_extremes,
    refuse_ordered,
    refuse_overwritten,
)
from .overwrite.repeat import drop_effects, refuse_second_sweep, refuse_uncounted
from .overwrite.versions import Restored, copy_place, keep_versions
from .saving.plan import Counted, Planner

__all__ = ["Checkpoints", "checkpointed", "reverse"]


def reverse(
    kernel: Kernel,
    adjoints: Mapping[str, Place],
    replayed: Collection[str] = (),
    checkpoints: Checkpoints | None = None,
    journal: Journal | None = None,
) -> Kernel:
    """The kernel that propagates adjoints.

    The places `replayed` are scratch memory for it: they hold what was there before the launch, and sweeps repeat their
    stores and atomic adds. See `replay.py`.

    With `checkpoints` sequential loops run again, so that the depth of their adstacks does not grow with
    their trip counts. See `checkpointing`. With `journal` the launch has logged what it has overwritten since; `kernel`
    is then as the journal knows it, its `while`s rotated. See `journal.py`.
    """
    source, restored = _prepared(kernel, journal)
    return _Reverse(source, dict(adjoints), replayed, restored, checkpoints, journal).emit()


def checkpointed(
    kernel: Kernel,
    adjoints: Mapping[str, Place],
    replayed: Collection[str] = (),
    journal: Journal | None = None,
    levels: int = 1,
) -> tuple[Kernel, Blocks]:
    """The loops that `reverse` would checkpoint, and the kernel that they are in; loads of what was written pass."""
    source, restored = _prepared(kernel, journal)
    reversal = _Reverse(source, dict(adjoints), replayed, restored, Checkpoints(1, 1, levels), journal, refuses=False)
    reversal.emit()
    assert reversal.blocks is not None
    return source, reversal.blocks


def _prepared(kernel: Kernel, journal: Journal | None) -> tuple[Kernel, Restored]:
    """The kernel as it is reversed, and what `keep_versions` says of it; a journal has prepared its own."""
    if journal is not None:
        return kernel, {}
    source = clone_kernel(kernel)
    rotate(source.body)
    return source, keep_versions(source)


class _Reverse:
    """Builds one reverse kernel.

    Attributes:
        source: the kernel, its `while`s rotated; `analyses`: what is known of its body, which stays as it is.
        places: the gradient place of each place, those of temps made up here.
        again: serial ops that are swept once more, right before their reversal.
        returned: the real numbers that the kernel returns; `seeds`: the parameters with their adjoints.
        restored: of parallel loops that overwrite what they have read of temps, what these hold when the loops start.
        b: writes the reverse kernel.
        branches: a number for each `if`.
        refuses: whether loads that may see a value of another time are an error.
    """

    def __init__(
        self,
        source: Kernel,
        adjoints: dict[str, Place],
        replayed: Collection[str],
        restored: Restored,
        checkpoints: Checkpoints | None = None,
        journal: Journal | None = None,
        *,
        refuses: bool = True,
    ) -> None:
        self.source, self.analyses = source, Analyses()
        self.journal = journal
        self.restored = restored
        self.replayed = {*replayed, *(temp.name for pairs in restored.values() for _, temp in pairs)}
        self.refuses = refuses
        self.places = {n: p for n, p in adjoints.items() if n in source.places}
        for place in source.places.values():
            if place.kind == "temp" and place.dtype.is_float:
                grad = replace(place, name=f"{place.name}.grad", role="grad", of=place.name)
                self.places[place.name] = grad
        self.activity = Activity(source.body, self.places)
        writers = ("store", "atomic")
        self.written = {op.attrs["place"].name for op in source.body.walk() if op.name in writers}
        levels = 1 if checkpoints is None else checkpoints.levels
        self.planner = Planner(source.body, self.activity, self.written, levels)
        self.params = [Value(v.type, v.name) for v in source.params]
        self.returned = [v for v in source.body.terminator.operands if v.dtype.is_float]
        self.seeds = [Value(v.type, f"seed{number}") for number, v in enumerate(self.returned)]
        self.b = Builder(Region([*self.params, *self.seeds]))
        self.temps: dict[Value, Place] = {}
        self.branches: dict[Op, int] = {}
        self.lost: dict[Value, Op] = {}
        self.again: set[Op] = set()
        self.blocks: Blocks | None = None
        if checkpoints is not None:
            self.blocks = Blocks(
                self.b, self.planner, source, checkpoints, self.replayed, self.lost, journal, self.analyses
            )
        refuse_mixed_extremes(source, self.places)
        refuse_ordered(source.body, self.activity.values, self.analyses)
        self.overwritten = _stored_again(source)

    def emit(self) -> Kernel:
        """Sweep the serial code, then everything backwards."""
        names: Names = dict(zip(self.source.params, self.params, strict=True))
        counters: Counters = {}
        stacks: Stacks = {}
        for op in self.source.body.ops[:-1]:
            with self.b.at(op.loc):
                self._top_sweep(op, names, counters, stacks)
        backward = Backward(self.b, self.activity, self.planner, self.places, stacks, self.overwritten, self.blocks)
        backward.open_arrays(self.source.body)
        for value, seed in zip(self.returned, self.seeds, strict=True):
            if value in self.activity:
                backward.adjoints.add(value, seed, loose=True)
        for op in reversed(self.source.body.ops[:-1]):
            with self.b.at(op.loc):
                if not self.activity.touches(op):
                    continue
                if op.name == "parallel_for":
                    self._parallel(op, names, backward)
                    continue
                if op in self.again:
                    self._serially(op, names, counters, stacks)
                backward.op(op, names, counters, None)
        self.b.return_()
        return self._finished()

    def _finished(self) -> Kernel:
        places = {**self.source.places, **{p.name: p for p in self.places.values()}}
        places.update((p.name, p) for p in self.temps.values())
        body = self.b.region
        dce(body, DEFAULT)
        refuse_lost(body, self.lost)
        if self.refuses and self.journal is None:
            refuse_overwritten(overwritten(self.source.body, self._repeated(body), self.analyses))
        used = {op.attrs["place"].name for op in body.walk() if "place" in op.attrs}
        kept = {n: p for n, p in places.items() if n in used or p.kind not in ("temp",)}
        return Kernel(f"{self.source.name}.grad", body, kept, (), self.source.loc)

    def _repeated(self, body: Region) -> list[Op]:
        """The loads of the source whose values the reverse kernel reads again, of places that the source writes."""
        wanted = {
            (op.loc, op.attrs["place"].name)
            for op in body.walk()
            if op.name == "load"
            and op.attrs["place"].name in self.written - {*self.replayed}
            and op.attrs["place"].kind != "temp"
        }
        return [
            op for op in self.source.body.walk() if op.name == "load" and (op.loc, op.attrs["place"].name) in wanted
        ]

    # ---- stretches

    def _top_sweep(self, op: Op, names: Names, counters: Counters, stacks: Stacks) -> None:
        """One op of the kernel's own region, forward."""
        if op.name == "parallel_for":
            if self.journal is None:
                self._temps_again(op, names)
            return
        if self._before_parallel(op):
            self.again.add(op)
            self._only_swept(op, names)
        else:
            self._serially(op, names, counters, stacks)

    def _only_swept(self, op: Op, names: Names) -> None:
        """One op of serial code, forward, for its results alone."""
        if self.journal is not None:
            self.journal.row = counter(self.b)
        counters: Counters = {loop: counter(self.b) for loop in (op, *self.planner.counters_in(op))}
        temps = self.journal is None
        sweep = Sweep(self.b, self.planner, None, temps, self.replayed, self.lost, journal=self.journal)
        sweep.op(op, names, counters, None)

    def _serially(self, op: Op, names: Names, counters: Counters, stacks: Stacks) -> None:
        """One op of serial code, forward."""
        if self.journal is not None:
            self.journal.row = counter(self.b)
        self._with_stacks(op, names, counters, stacks, temps=self.journal is None)

    def _before_parallel(self, op: Op) -> bool:
        """Whether adstacks of a serial op would have to outlive the reversal of a parallel loop: they can't.

        Then it is swept again when its own reversal comes. AdstackDataAccessError if that would not be the same again.
        """
        after = self.source.body.ops[self.source.body.ops.index(op) + 1 :]
        loops = self.planner.counters_of(op)
        if not any(self._kept_in(loop) for loop in loops) or not any(
            o.name == "parallel_for" and self.activity.touches(o) for o in after
        ):
            return False
        refuse_second_sweep(op, after, self._repeats)
        return True

    def _repeats(self, op: Op) -> bool:
        """Whether sweeps of serial code repeat a store or an atomic update."""
        place = op.attrs["place"]
        return place.name in self.replayed or (place.kind == "temp" and self.journal is None)

    def _with_stacks(self, op: Op, names: Names, counters: Counters, stacks: Stacks, *, temps: bool) -> None:
        """An op outside loops: adstacks for what is kept in it, then the op."""
        loops = self.planner.counters_of(op)
        for loop in loops:
            counters[loop] = counter(self.b)
        kept = {loop: found for loop in loops if (found := self._kept_in(loop))}
        if kept:
            refuse_uncounted(op, self._repeats, self.planner.counted)
            if self.blocks is not None:
                self.blocks.enter(op, kept, serial=temps)
            capacities = self._capacities(op, names, counters)
            around = dict(self._sides_around(op, ()))
            for loop, values in kept.items():
                for value, inside, region in values:
                    stack = self.b.stack(value.dtype, capacities[loop], around[loop], inside)
                    stack.name = value.name
                    stacks[region, value] = stack
            if self.blocks is not None:
                self.blocks.open(op, names, stacks, around)
        sweep = Sweep(self.b, self.planner, stacks, temps, self.replayed, self.lost, self.blocks, self.journal)
        sweep.op(op, names, counters, None)

    def _kept_in(self, loop: Counted) -> list[Kept]:
        """What a loop's own iterations keep, or a counted side: branches included, what has other counters not."""
        kept: list[Kept] = []
        work: list[tuple[Region, Sides]] = [(loop.regions[-1] if isinstance(loop, Op) else loop, ())]
        while work:
            region, sides = work.pop()
            plan = self.planner.plans.get(region)
            kept += [Kept(value, sides, region) for value in (plan.kept if plan is not None else [])]
            for op in region.ops:
                if op.name == "if":
                    inner = [(k, r) for k, r in enumerate(op.regions) if r not in self.planner.counted]
                    work += [(r, (*sides, self._side(op, k))) for k, r in inner]
        return kept

    def _sides_around(self, op: Op, sides: Sides) -> Iterator[tuple[Counted, Sides]]:
        """What has counters in an op, and the branches around the outermost loop that it is in."""
        if op.name in ("for", "while"):
            yield from ((loop, sides) for loop in self.planner.counters_of(op))
            return
        for k, region in enumerate(op.regions):
            for inner in region.ops:
                yield from self._sides_around(inner, (*sides, self._side(op, k)))

    def _side(self, op: Op, k: int) -> int:
        """The number of a side of an `if`."""
        return 2 * self.branches.setdefault(op, len(self.branches)) + k

    def _capacities(self, op: Op, names: Names, counters: Counters) -> Counters:
        """How often each loop's body runs: at once for a single `for`, else by running the control flow."""
        if self.blocks is not None and self.blocks.takes(op):
            return self.blocks.capacities(op, names, counters)
        if op.name == "for" and not self.planner.counters_in(op):
            lo, hi = (names.get(v, v) for v in op.operands[:2])
            return {op: trip_count(self.b, lo, hi)}
        counts = dict(counters)
        sweep = Sweep(self.b, self.planner, None, lost=self.lost, journal=self.journal)
        sweep.op(op, on_copies(self.b, op, names), counts, None)
        return counts

    def _temps_again(self, op: Op, names: Names) -> None:
        """A parallel loop that gives kernel-level values through temps runs again, for these."""
        writes = [o for o in op.regions[0].walk() if o.name in ("store", "atomic") and o.attrs["place"].kind == "temp"]
        if not writes:
            return
        again = clone_op(op, dict(names))
        self.lost.update(drop_effects(again.regions[0]))
        self.b.region.ops.append(again)

    def _parallel(self, op: Op, names: Names, backward: Backward) -> None:
        """A parallel loop: each iteration sweeps its own part and reverses it."""
        source = op.regions[0]
        around = [v for v in free_values([source]) if v in self.activity]
        for value in around:
            self.temps.setdefault(value, Place(f"adjoint{len(self.temps)}", value.dtype, (), "temp", label=value.name))
        args = [Value(v.type, v.name) for v in source.args]
        body = Region(args)
        local: Names = scoped(names)
        local.update(zip(source.args, args, strict=True))
        counters: Counters = {}
        stacks: Stacks = {}
        bounds = [names.get(v, v) for v in op.operands]
        for before, temp in self.restored.get(op, ()):
            copy_place(self.b, before, temp)
        with self.b.into(body), backward.adjoints.inner():
            if self.journal is not None:
                self.journal.start_row(self.b, args, bounds)
            for inner in source.ops[:-1]:
                with self.b.at(inner.loc):
                    self._with_stacks(inner, local, counters, stacks, temps=False)
            thread = Backward(self.b, self.activity, self.planner, self.places, stacks, self.overwritten, self.blocks)
            thread.region(source, local, counters)
            for value in around:
                adjoint = thread.adjoints.take(value)
                if adjoint is not None:
                    self.b.atomic("add", self.temps[value], (), adjoint)
            self.b.yield_()
        self.b.parallel_for(list(zip(bounds[::2], bounds[1::2], strict=True)), body)
        for value in around:
            backward.adjoints.add(value, self.b.load(self.temps[value]), loose=True)
            # the same temp serves the next loop that uses the value
            self.b.store(self.temps[value], (), self.b.const(0.0, value.dtype))


def _stored_again(kernel: Kernel) -> set[Op]:
    """Stores whose element may be stored to once more: what they stored may not be what is there in the end."""
    stores = [op for op in kernel.body.walk() if op.name == "store"]
    places = Counter(op.attrs["place"].name for op in stores)
    serial = {
        op
        for loop in kernel.body.walk()
        if loop.name in ("for", "while")
        for region in loop.regions
        for op in region.walk()
    }
    return {op for op in stores if places[op.attrs["place"].name] > 1 or op in serial}
