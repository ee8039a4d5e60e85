"""Which loops are checkpointed, and what their state is: `plan_loops(op, saved, around, context) -> Checkpointing`.

The state of a loop is what decides what its later iterations save: carried values, local arrays that it writes, and
elements of scratch memory. Nothing is changed: what is part of the state is read off a trial run of one iteration,
emitted into a region that is thrown away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...analysis.manager import Analyses
from ...errors import AdstackDataAccessError
from ...ir.builder import Builder
from ...ir.def_use import live_in
from ...ir.ops import ARRAY_LOAD, ARRAY_STORE, FOR, IF, SERIAL_LOOPS, WHILE
from ...ir.structure import Kernel, Op, Region, Value
from ...ir.types import ArrayType, DType, StackType, i64
from ...transforms.rewriting.options import DEFAULT
from ...transforms.scalar.dce import dce
from ..emission.journal import Journal, JournalRow
from ..emission.state import Counters, Entries, Names, Stacks, counter, scoped
from ..emission.sweep import Sweep
from ..emission.trips import trips_before
from ..saving.plan import Counted, Saved, SavePlan, Sides
from .cells import Cell, cells_of
from .refusals import refuse_unrepeatable
from .schedule import Checkpoints
from .slabs import Slab

__all__ = ["CheckpointContext", "CheckpointedLoop", "Checkpointing", "outermost_loops", "plan_loops", "run_iteration"]


@dataclass(frozen=True)
class CheckpointContext:
    """What decides about all loops of a kernel.

    Attributes:
        source: the kernel; `analyses`: what is known of its body.
        saves: what its reverse pass saves.
        options: the checkpoints that are asked for.
        replayed: names of places whose stores sweeps repeat.
        journal: where the launch has logged values of ops.
        numbers: the integers of the kernel that are constants.
    """

    source: Kernel
    analyses: Analyses
    saves: SavePlan
    options: Checkpoints
    replayed: Collection[str]
    journal: Journal | None
    numbers: Mapping[Value, int]


@dataclass(frozen=True, eq=False)
class CheckpointedLoop:
    """A loop that is checkpointed.

    Attributes:
        op: the loop.
        constant: its trip count, if that is a number.
        inner: the loops, and the counted sides of `if`s, inside it; `sides`: those sides that are in none of these.
        saved: what it, and those inside it, save on adstacks.
        nested: the loops inside it that are checkpointed, too, not those inside them.
        block, snapshots: how many iterations a block has, and how many states are stored at a time.
        around: the branches that it is in.
        entries: the loops whose entries in the logs of the launch are counted while it runs: those inside it that have
            logs, and it itself if it is in another one.
        carried: the positions, in `state`, of what a snapshot holds.
        arrays: the local arrays that are: it reads and writes them.
        frozen: the local arrays that it only reads, and that are written later or are not there when it is reversed.
        cells: the elements of scratch memory that are part of its state.
    """

    op: Op
    constant: int | None
    inner: tuple[Counted, ...]
    sides: tuple[Region, ...]
    saved: Mapping[Counted, Sequence[Saved]]
    nested: tuple[CheckpointedLoop, ...]
    block: int
    snapshots: int
    entries: tuple[Entries, ...] = ()
    around: Sides = ()
    carried: tuple[int, ...] = ()
    arrays: tuple[Value, ...] = ()
    frozen: tuple[Value, ...] = ()
    cells: tuple[Cell | Slab, ...] = ()

    def all(self) -> Iterator[CheckpointedLoop]:
        """It and all inside it."""
        yield self
        for loop in self.nested:
            yield from loop.all()

    @property
    def saved_in_full(self) -> list[Counted]:
        """The loops and sides inside that save every iteration, and are in no loop inside that is checkpointed."""
        others: set[Counted] = {one for loop in self.nested for one in (loop.op, *loop.inner)}
        others.update(self.sides)
        return [one for one in self.inner if one in self.saved and one not in others]

    @property
    def saved_per_iteration(self) -> list[Saved]:
        """What it saves itself, in one iteration at most."""
        own: list[Counted] = [self.op, *self.sides]
        return [one for what in own for one in self.saved.get(what, ())]

    @property
    def counted(self) -> bool:
        """Whether it runs once to be counted: how much the loops inside save is not known otherwise."""
        return bool(self.saved_in_full) or any(loop.counted for loop in self.nested)

    @property
    def source(self) -> Region:
        """What runs in each iteration."""
        return self.op.regions[-1]

    @property
    def args(self) -> list[Value]:
        """The carried values in an iteration."""
        return self.source.args[1:] if self.op.opdef is FOR else self.source.args

    @property
    def state(self) -> list[DType]:
        """The types of what goes from iteration to iteration: the carried values, then the counts of entries."""
        return [*(v.dtype for v in self.args), *(i64 for _ in self.entries)]

    @property
    def initial(self) -> Sequence[Value]:
        """The carried values before the first iteration."""
        return self.op.operands[2:] if self.op.opdef is FOR else self.op.operands

    def used_arrays(self) -> list[Value]:
        """The local arrays from around it."""
        return [v for v in live_in(self.source) if isinstance(v.type, ArrayType)]


@dataclass(frozen=True)
class Checkpointing:
    """What is decided about the loops of one op outside loops.

    Attributes:
        loops: those that are checkpointed, without those inside them.
        refused: why others can't be; they save every iteration.
        more: what branches around these loops have to save, too: the loops run again where the branches are reversed.
    """

    loops: tuple[CheckpointedLoop, ...] = ()
    refused: tuple[AdstackDataAccessError, ...] = ()
    more: Mapping[Region, Sequence[Value]] = field(default_factory=dict)


def plan_loops(
    op: Op,
    saved: Mapping[Counted, Sequence[Saved]],
    around: Mapping[Counted, Sides],
    context: CheckpointContext,
    *,
    serial: bool,
) -> Checkpointing:
    """Decide about the loops of an op outside loops.

    Args:
        op: the op.
        saved: what loops and counted sides in it save.
        around: the branches that each of them is in.
        context: the kernel, and what is known of it.
        serial: whether the op is serial code that works on temps.
    """
    loops: list[CheckpointedLoop] = []
    refused: list[AdstackDataAccessError] = []
    more: dict[Region, list[Value]] = {}
    for loop, branches in outermost_loops(op):
        planned = _planned(loop, saved, context, context.options.levels)
        if planned is None:
            continue
        try:
            cells = _check(planned, context, serial=serial)
        except AdstackDataAccessError as reason:
            refused.append(reason)
            continue
        inside = {v for one in Region(ops=[op]).walk() for v in one.results}
        loops.append(_with_state(planned, cells, around, inside, context))
        for region, values in _used_of(loop, branches).items():
            more.setdefault(region, []).extend(values)
    return Checkpointing(tuple(loops), tuple(refused), more)


def _planned(
    op: Op, saved: Mapping[Counted, Sequence[Saved]], context: CheckpointContext, levels: int
) -> CheckpointedLoop | None:
    """The plan of a loop and of `levels` - 1 levels of loops inside it; None if it may save every iteration."""
    constant, inner = _trips_of(op, context.numbers), context.saves.counters_in(op)
    sides = tuple(context.saves.sides_in(op.regions[-1]))
    own = {one: saved[one] for one in (op, *inner) if one in saved}
    nested: tuple[CheckpointedLoop, ...] = ()
    if levels > 1:
        inside = [loop for one in op.regions[-1].ops for loop, _ in outermost_loops(one)]
        planned = (_planned(loop, saved, context, levels - 1) for loop in inside)
        nested = tuple(loop for loop in planned if loop is not None)
    block = 1 if nested else context.options.block
    short = constant is not None and constant <= block and not nested
    if short or not own:
        return None
    snapshots = context.options.snapshots_of(constant, block)
    return CheckpointedLoop(op, constant, inner, sides, own, nested, block, snapshots, _logged(op, context, levels))


def _logged(op: Op, context: CheckpointContext, levels: int) -> tuple[Entries, ...]:
    """The loops whose entries in logs a loop at this level counts: it itself only if it is not the outermost."""
    if context.journal is None:
        return ()
    logs, outermost = context.journal.logs, levels == context.options.levels
    loops = (one for one in (op, *context.saves.counters_in(op)) if isinstance(one, Op))
    logging = (loop for loop in loops if any(one in logs for one in _right_inside(loop.regions[-1])))
    return tuple(Entries(loop) for loop in logging if loop is not op or not outermost)


def _right_inside(region: Region) -> Iterator[Op]:
    """The ops of a region, those in branches included and those in loops left out."""
    for op in region.ops:
        yield op
        for side in op.regions if op.opdef is IF else ():
            yield from _right_inside(side)


def _trips_of(op: Op, numbers: Mapping[Value, int]) -> int | None:
    """How often a `for` from a number to a number runs."""
    if op.opdef is WHILE:
        return None
    lo, hi = (numbers.get(v) for v in op.operands[:2])
    return None if lo is None or hi is None else max(0, hi - lo)


def _check(loop: CheckpointedLoop, context: CheckpointContext, *, serial: bool) -> dict[Op, tuple[Cell | Slab, ...]]:
    """The elements of memory in the state of a loop and those in it; AdstackDataAccessError if it can't run again."""
    if serial:
        refuse_unrepeatable(context.source, loop.op)
    body, replayed, analyses = context.source.body, context.replayed, context.analyses
    return {one.op: tuple(cells_of(body, one.op, replayed, analyses, one.constant)) for one in loop.all()}


def outermost_loops(op: Op) -> Iterator[tuple[Op, list[Region]]]:
    """The loops in an op outside loops that are in no other loop, each with the branches around it."""
    if op.opdef in SERIAL_LOOPS:
        yield op, []
    elif op.opdef is IF:
        for region in op.regions:
            for inner in region.ops:
                for loop, around in outermost_loops(inner):
                    yield loop, [region, *around]


def _used_of(loop: Op, around: Sequence[Region]) -> dict[Region, list[Value]]:
    """What a loop uses of what the branches around it compute."""
    used = [v for v in live_in(*loop.regions) if isinstance(v.type, DType)]
    own = {region: {v for op in region.ops for v in op.results} for region in around}
    return {region: [v for v in used if v in own[region]] for region in around}


# ---- the state of a loop


def _with_state(
    loop: CheckpointedLoop,
    cells: Mapping[Op, tuple[Cell | Slab, ...]],
    around: Mapping[Counted, Sides],
    inside: Collection[Value],
    context: CheckpointContext,
) -> CheckpointedLoop:
    """A loop and those in it with their states; `inside` are the values of the op outside loops that it is in."""
    carried, read, written = _living(loop, context)
    arrays: list[Value] = []
    frozen: list[Value] = []
    for array in loop.used_arrays():
        if array in read and array in written:
            arrays.append(array)
        elif array in read and (array in inside or _stored_later(context.source, loop.op, array)):
            frozen.append(array)
    nested = tuple(_with_state(one, cells, around, inside, context) for one in loop.nested)
    return replace(
        loop,
        nested=nested,
        around=around[loop.op],
        carried=carried,
        arrays=tuple(arrays),
        frozen=tuple(frozen),
        cells=cells[loop.op],
    )


def _living(loop: CheckpointedLoop, context: CheckpointContext) -> tuple[tuple[int, ...], set[Value], set[Value]]:
    """What a loop needs to save what it saves: positions of carried values, local arrays read, local arrays written."""
    scratch = Region()
    trial = _trial(loop, context, scratch)
    args = trial.regions[0].args[1:]
    dce(scratch, DEFAULT)
    left = set(trial.regions[0].args)
    carried = tuple(k for k in range(len(loop.state)) if args[k] in left)
    accesses = [op for op in trial.regions[0].walk() if op.opdef in (ARRAY_LOAD, ARRAY_STORE)]
    loaded, stored = ({op.operands[0] for op in accesses if op.opdef is row} for row in (ARRAY_LOAD, ARRAY_STORE))
    scratch.erase()  # its ops use values of the kernel
    return carried, loaded, stored


def _trial(loop: CheckpointedLoop, context: CheckpointContext, scratch: Region) -> Op:
    """Emit the loop as it runs while it saves, into `scratch`; gives that loop."""
    b = Builder(scratch)
    stacks: Stacks = {
        (one.region, one.value): Value(StackType(one.value.dtype)) for many in loop.saved.values() for one in many
    }
    row = None if context.journal is None else JournalRow(context.journal, Value(i64))
    sweep = Sweep(b, context.saves, stacks, replayed=context.replayed, row=row)
    args = [Value(dtype) for dtype in loop.state]
    counts = [Value(i64) for _ in loop.inner]
    index = Value(loop.source.args[0].type if loop.op.opdef is FOR else i64)
    first = b.const(0, index.dtype)
    body = Region([index, *args, *counts])
    names: Names = scoped({})
    names.update(zip(loop.args, args, strict=False))
    if loop.op.opdef is FOR:
        names[loop.source.args[0]] = index
    with b.into(body):
        run_iteration(sweep, loop, names, args, counts, trips_before(b, first, index))
    b.for_(first, first, [*loop.initial, *(counter(b) for _ in (*loop.entries, *counts))], body)
    return scratch.ops[-1]


def run_iteration(
    sweep: Sweep,
    loop: CheckpointedLoop,
    names: Names,
    state: Sequence[Value],
    counts: Sequence[Value],
    slot: Value,
    iteration: Value | None = None,
) -> None:
    """Sweep one iteration of a loop, in a body whose arguments are its state and the counts of what is inside.

    `slot` is that of what it saves, `iteration` the number of the iteration, if that is another one.
    """
    b = sweep.b
    own = Entries(loop.op)
    counters: Counters = dict(zip((*loop.entries, *loop.inner), (*state[len(loop.args) :], *counts), strict=True))
    yielded = sweep.loop_body(loop.source, names, counters, slot, counters.get(own, iteration))
    if own in counters:
        counters[own] = b.add(counters[own], counter(b, 1))
    b.yield_(*yielded, *(counters[one] for one in (*loop.entries, *loop.inner)))


def _stored_later(kernel: Kernel, loop: Op, array: Value) -> bool:
    """Whether a local array is written after a loop, in program order."""
    order = list(kernel.body.walk())
    behind = order[order.index(loop) + 1 :]
    return any(op.opdef is ARRAY_STORE and op.operands[0] is array for op in behind)
