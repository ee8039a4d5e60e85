"""Reverse mode: `reverse(kernel, adjoints) -> Kernel`.

Requires: a verified kernel, optimised with its accesses kept; `adjoints` gives the gradient place of each
differentiable place by the primal's name. The kernel is not changed. Ensures: a kernel that returns nothing. Its
parameters are those of the kernel, and behind them one for each real number that the kernel returns: the adjoint of
that number, where 0 means that nothing is connected to it. Run after the forward launch, it applies the transpose of
the Jacobian of that launch to these and the gradient places, in place. It writes no primal place.
AdstackDataAccessError if it would need a value that the launch may have overwritten.

Everything is decided first, without emitting anything: `plan_reverse` (planning/planner.py) gives an immutable
`ReversePlan`, which `print_plan` (planning/text.py) prints. The emission here only reads it.

The reverse kernel has, for each stretch of serial code and each parallel loop, last first, a *sweep* that runs the
forward part again without its effects, saving what the plan says, and the reversal, op by op backwards. A value's
adjoint is an SSA value; a carried value's adjoint is carried by the reversed loop. Saved values of loops go to
adstacks, addressed by a count of the loop's iterations that all stacks of a loop share.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..ir.builder import Builder
from ..ir.ops import LOAD
from ..ir.structure import Kernel, Op, Place, Region, Value
from ..transforms.rewriting.options import DEFAULT
from ..transforms.rewriting.rewrite import clone_op
from ..transforms.scalar.dce import dce
from ..transforms.scalar.unread import drop_unread
from .checkpointing.blocks import Blocks
from .checkpointing.schedule import Checkpoints
from .emission.backward import Backward
from .emission.journal import Journal, JournalRow, iteration_row, serial_row
from .emission.state import Counters, Names, Stacks, counter, scoped
from .emission.sweep import Sweep, on_copies
from .emission.trips import trip_count
from .overwrite.conflicts import overwritten, refuse_lost, refuse_overwritten
from .overwrite.repeat import drop_effects
from .overwrite.versions import copy_place
from .planning.plan import Nest, Parallel, ReversePlan, Serial
from .planning.planner import plan_reverse

__all__ = ["Checkpoints", "emit", "reverse"]


def reverse(
    kernel: Kernel,
    adjoints: Mapping[str, Place],
    replayed: Collection[str] = (),
    checkpoints: Checkpoints | None = None,
    journal: Journal | None = None,
) -> Kernel:
    """The kernel that propagates adjoints.

    Args:
        kernel: what is differentiated.
        adjoints: the gradient place of each differentiable place, by the primal's name.
        replayed: names of places that are scratch memory for the reverse kernel: they hold what was there before the
            launch, and sweeps repeat their stores and atomic adds. See `replay.py`.
        checkpoints: with them sequential loops run again, so that the depth of their adstacks does not grow with their
            trip counts. See `checkpointing`.
        journal: with it the launch has logged what it has overwritten since; `kernel` is then the one that the journal
            was made of, its `while`s rotated. See `journal.py`.
    """
    return emit(plan_reverse(kernel, adjoints, replayed, checkpoints, journal))


def emit(plan: ReversePlan) -> Kernel:
    """The reverse kernel of a plan, which is only read.

    AdstackDataAccessError if it would read memory that the launch may have overwritten, or a value that only the launch
    has seen.
    """
    return _Emission(plan).emit()


class _Emission:
    """Emits one reverse kernel.

    Attributes:
        plan: what it does.
        b: emits its ops.
        lost: constants that stand for values that only the launch has seen, and the ops that gave these.
        blocks: emits checkpointed loops.
        again: for ops that are swept twice, the names in which they are the second time, and reversed.
    """

    def __init__(self, plan: ReversePlan) -> None:
        self.plan = plan
        self.params = [Value(v.type, v.name) for v in plan.source.params]
        self.seeds = [Value(v.type, f"seed{number}") for number, v in enumerate(plan.returned)]
        self.b = Builder(Region([*self.params, *self.seeds]))
        self.lost: dict[Value, Op] = {}
        self.blocks = Blocks(self.b, plan.saves, plan.replayed, self.lost)
        self.temps = plan.journal is None
        self.again: dict[Op, Names] = {}

    def emit(self) -> Kernel:
        """Sweep the serial code, then everything backwards."""
        names: Names = dict(zip(self.plan.source.params, self.params, strict=True))
        counters: Counters = {}
        stacks: Stacks = {}
        for stretch in self.plan.stretches:
            with self.b.at(stretch.op.loc):
                self._forward(stretch, names, counters, stacks)
        backward = self._backward(stacks)
        backward.open_arrays(self.plan.source.body)
        for value, seed in zip(self.plan.returned, self.seeds, strict=True):
            if value in self.plan.activity:
                backward.adjoints.add(value, seed, loose=True)
        for stretch in reversed(self.plan.stretches):
            if stretch.reversed:
                with self.b.at(stretch.op.loc):
                    self._reverse(stretch, names, counters, stacks, backward)
        self.b.return_()
        return self._finished()

    def _backward(self, stacks: Stacks) -> Backward:
        plan = self.plan
        return Backward(self.b, plan.activity, plan.saves, plan.places, stacks, plan.stored_again, self.blocks)

    def _finished(self) -> Kernel:
        """The kernel without dead code; AdstackDataAccessError if it reads what the launch may have overwritten."""
        plan, body = self.plan, self.b.region
        dce(body, DEFAULT)
        drop_unread(body, plan.replayed)
        refuse_lost(body, self.lost)
        if plan.journal is None:
            refuse_overwritten(overwritten(plan.source, self._repeated_loads(body), plan.analyses))
        sums = (place for one in plan.stretches if isinstance(one, Parallel) for place in one.sums.values())
        places = {**plan.source.places, **{place.name: place for place in (*plan.places.values(), *sums)}}
        used = {op.attrs["place"].name for op in body.walk() if "place" in op.attrs}
        places = {name: place for name, place in places.items() if name in used or place.kind != "temp"}
        return Kernel(f"{plan.source.name}.grad", body, places, (), plan.source.loc)

    def _repeated_loads(self, body: Region) -> list[Op]:
        """The loads of the source whose values the reverse kernel reads again, of places that the source writes."""
        wanted = {
            (op.loc, op.attrs["place"].name)
            for op in body.walk()
            if op.opdef is LOAD
            and op.attrs["place"].name in self.plan.written - self.plan.replayed
            and op.attrs["place"].kind != "temp"
        }
        loads = (op for op in self.plan.source.body.walk() if op.opdef is LOAD)
        return [op for op in loads if (op.loc, op.attrs["place"].name) in wanted]

    # ---- forward

    def _forward(self, stretch: Serial | Parallel, names: Names, counters: Counters, stacks: Stacks) -> None:
        """Sweep a stretch for what later ones, and the reversal, need of it."""
        if isinstance(stretch, Serial) and stretch.swept_twice:
            ops = self.plan.source.body.ops
            self.again[stretch.op] = on_copies(self.b, stretch.op, names, ops[ops.index(stretch.op) + 1 :])
            self._sweep_results(stretch.op, names)
        elif isinstance(stretch, Serial):
            self._sweep_nest(stretch.nest, names, counters, stacks, self._serial_row(), temps=self.temps)
        elif stretch.repeated:
            again = clone_op(stretch.op, dict(names))
            self.lost.update(drop_effects(again.regions[0]))
            self.b.region.ops.append(again)

    def _serial_row(self) -> JournalRow | None:
        return None if self.plan.journal is None else serial_row(self.plan.journal, self.b)

    def _sweep_results(self, op: Op, names: Names) -> None:
        """One op of serial code, forward, for its results alone."""
        row = self._serial_row()
        counters: Counters = {loop: counter(self.b) for loop in (op, *self.plan.saves.counters_in(op))}
        sweep = Sweep(self.b, self.plan.saves, None, self.temps, self.plan.replayed, self.lost, row=row)
        sweep.op(op, names, counters, None)

    def _sweep_nest(
        self, nest: Nest, names: Names, counters: Counters, stacks: Stacks, row: JournalRow | None, *, temps: bool
    ) -> None:
        """An op outside loops: its adstacks, then the op, which saves on them."""
        for loop in self.plan.saves.counters_of(nest.op):
            counters[loop] = counter(self.b)
        if nest.saved:
            self.blocks.enter(nest.checkpointed, row)
            capacities = self._capacities(nest, names, counters, row)
            for loop, values in nest.saved.items():
                for one in values:
                    stack = self.b.stack(one.value.dtype, capacities[loop], nest.around[loop], one.inside)
                    stack.name = one.value.name
                    stacks[one.region, one.value] = stack
            self.blocks.open(nest.checkpointed, stacks)
        sweep = Sweep(self.b, self.plan.saves, stacks, temps, self.plan.replayed, self.lost, self.blocks, row)
        sweep.op(nest.op, names, counters, None)

    def _capacities(self, nest: Nest, names: Names, counters: Counters, row: JournalRow | None) -> Counters:
        """How often each loop's body runs: at once for a single `for`, else by running the control flow."""
        op = nest.op
        if nest.capacity == "blocks":
            return self.blocks.capacities(op, nest.checkpointed, names, counters, row)
        if nest.capacity == "trip count":
            lo, hi = (names.get(v, v) for v in op.operands[:2])
            return {op: trip_count(self.b, lo, hi)}
        counts = dict(counters)
        sweep = Sweep(self.b, self.plan.saves, None, lost=self.lost, row=row)
        sweep.op(op, on_copies(self.b, op, names), counts, None)
        return counts

    # ---- backward

    def _reverse(
        self, stretch: Serial | Parallel, names: Names, counters: Counters, stacks: Stacks, backward: Backward
    ) -> None:
        if isinstance(stretch, Parallel):
            self._parallel(stretch, names, backward)
            return
        if stretch.swept_twice:
            names = self.again[stretch.op]
            self._sweep_nest(stretch.nest, names, counters, stacks, self._serial_row(), temps=self.temps)
        backward.op(stretch.op, names, counters, None)

    def _parallel(self, loop: Parallel, names: Names, backward: Backward) -> None:
        """A parallel loop: each iteration sweeps its own part and reverses it."""
        source = loop.op.regions[0]
        args = [Value(v.type, v.name) for v in source.args]
        body = Region(args)
        local: Names = scoped(names)
        local.update(zip(source.args, args, strict=True))
        bounds = [names.get(v, v) for v in loop.op.operands]
        for before, temp in loop.restored:
            copy_place(self.b, before, temp)
        with self.b.into(body), backward.adjoints.inner():
            self._iteration(loop, local, args, bounds)
        self.b.parallel_for(list(zip(bounds[::2], bounds[1::2], strict=True)), body)
        for value, place in loop.sums.items():
            backward.adjoints.add(value, self.b.load(place), loose=True)
            # the same temp serves the next loop that uses the value
            self.b.store(place, (), self.b.const(0.0, value.dtype))

    def _iteration(self, loop: Parallel, names: Names, args: list[Value], bounds: list[Value]) -> None:
        """The body of a reversed parallel loop, whose indices are `args`."""
        journal = self.plan.journal
        row = None if journal is None else iteration_row(journal, self.b, args, bounds)
        counters: Counters = {}
        stacks: Stacks = {}
        for nest in loop.nests:
            with self.b.at(nest.op.loc):
                self._sweep_nest(nest, names, counters, stacks, row, temps=False)
        thread = self._backward(stacks)
        thread.region(loop.op.regions[0], names, counters)
        for value, place in loop.sums.items():
            adjoint = thread.adjoints.take(value)
            if adjoint is not None:
                self.b.atomic("add", place, (), adjoint)
        self.b.yield_()
