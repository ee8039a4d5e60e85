"""What a checkpointed loop is, what its state consists of, and which loops can't be checkpointed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from ...errors import AdstackDataAccessError
from ...ir.structure import Kernel, Op, Region, Value
from ...ir.types import ArrayType, DType
from ...transforms.rewriting.options import DEFAULT
from ...transforms.scalar.dce import dce
from ..activities.free import free_values
from ..emission.state import Kept, Names, Sides
from ..saving.plan import Counted, Planner
from .cells import Cell
from .schedule import Checkpoints

__all__ = ["Site", "bring", "living", "outermost_loops", "refuse_logged", "refuse_unrepeatable", "stored_later"]


@dataclass(eq=False)
class Site:
    """A loop that is checkpointed.

    Attributes:
        op: the loop.
        constant: how often it runs, if that is a number.
        inner: the loops, and the counted branches, inside it; `sides`: those branches that are in none of these loops.
        kept: what it, and those inside it, keep on adstacks.
        around: the branches that it is in.
        row: the row of the thread in what the launch has logged.
        trips: how often it runs, if that is counted ahead of the nest.
        nested: the loops inside it that are checkpointed, too, not those inside them.
        block, snapshots: how many trips a block has, and how many states are held.
        starts: the stack of the blocks at whose start the snapshots were taken.
        carried: the stacks of carried values, by position.
        arrays: the stacks of local arrays that the loop writes, by the array of the source.
        cells: the stacks of elements of scratch memory.
        frozen: the stacks, each of one copy, of local arrays that it only reads and that are written later.
    """

    op: Op
    constant: int | None = None
    inner: list[Counted] = field(default_factory=list)
    sides: list[Region] = field(default_factory=list)
    kept: dict[Counted, Sequence[Kept]] = field(default_factory=dict)
    around: Sides = ()
    row: Value | None = None
    trips: Value | None = None
    nested: list[Site] = field(default_factory=list)
    block: int = 1
    snapshots: int = 1
    starts: Value | None = None
    carried: dict[int, Value] = field(default_factory=dict)
    arrays: dict[Value, Value] = field(default_factory=dict)
    frozen: dict[Value, Value] = field(default_factory=dict)
    cells: dict[Cell, Value | None] = field(default_factory=dict)

    def set_up(self, options: Checkpoints) -> None:
        """Choose the length of its blocks, and no more snapshots than it has blocks."""
        self.block = 1 if self.nested else options.block
        self.snapshots = options.snapshots_of(self.constant, self.block)

    def all(self) -> Iterator[Site]:
        """It and all inside it."""
        yield self
        for site in self.nested:
            yield from site.all()

    @property
    def kept_whole(self) -> list[Counted]:
        """The loops and branches inside that keep everything, and are in no loop inside that is checkpointed."""
        others: set[Counted] = {loop for site in self.nested for loop in (site.op, *site.inner)}
        others.update(self.sides)
        return [loop for loop in self.inner if loop in self.kept and loop not in others]

    @property
    def kept_in_trips(self) -> list[Kept]:
        """What it keeps itself, in one trip at most."""
        own: list[Counted] = [self.op, *self.sides]
        return [one for what in own for one in self.kept.get(what, ())]

    @property
    def counted(self) -> bool:
        """Whether it runs ahead: how much the loops inside keep is not known otherwise."""
        return bool(self.kept_whole) or any(site.counted for site in self.nested)

    @property
    def source(self) -> Region:
        """What runs in each trip."""
        return self.op.regions[-1]

    @property
    def args(self) -> list[Value]:
        """The carried values in a trip."""
        return self.source.args[1:] if self.op.name == "for" else self.source.args

    @property
    def initial(self) -> Sequence[Value]:
        """The carried values before the first trip."""
        return self.op.operands[2:] if self.op.name == "for" else self.op.operands

    def used_arrays(self) -> list[Value]:
        """The local arrays from around it."""
        return [v for v in free_values([self.source], real=False) if isinstance(v.type, ArrayType)]


def outermost_loops(op: Op) -> Iterator[tuple[Op, list[Region]]]:
    """The loops in an op outside loops that are in no other loop, each with the branches around it."""
    if op.name in ("for", "while"):
        yield op, []
    elif op.name == "if":
        for region in op.regions:
            for inner in region.ops:
                for loop, around in outermost_loops(inner):
                    yield loop, [region, *around]


def bring(planner: Planner, loop: Op, around: list[Region]) -> None:
    """Let the branches around a loop give what it uses of them: it runs again where they are reversed."""
    used = [v for v in free_values(loop.regions, real=False) if isinstance(v.type, DType)]
    for region in around:
        own = {v for op in region.ops for v in op.results}
        kept = planner.plans[region].kept
        kept += [v for v in used if v in own and v not in kept]


def living(scratch: Region, trial: Op) -> tuple[list[bool], set[Value], set[Value]]:
    """What a loop needs to keep what it keeps.

    `trial` is the loop as it runs while it keeps, in a region of its own, which is used up. Gives for each argument
    behind the index whether it is needed; then the local arrays that have to be read, and to be written.
    """
    args = trial.regions[0].args[1:]
    dce(scratch, DEFAULT)
    left = set(trial.regions[0].args)
    handles = {name: {op.operands[0] for op in trial.regions[0].walk() if op.name == name} for name in _ARRAYS}
    return [arg in left for arg in args], handles["array.load"], handles["array.store"]


_ARRAYS = ("array.load", "array.store")


def stored_later(kernel: Kernel, loop: Op, array: Value) -> bool:
    """Whether a local array is written after a loop, in program order."""
    order = list(kernel.body.walk())
    behind = order[order.index(loop) + 1 :]
    return any(op.name == "array.store" and op.operands[0] is array for op in behind)


def refuse_unrepeatable(kernel: Kernel, loop: Op) -> None:
    """Raise AdstackDataAccessError if a serial loop can't run again: sweeps change temps that it uses."""
    order = list(kernel.body.walk())
    writes = [op for op in order[order.index(loop) :] if op.name in ("store", "atomic")]
    changed = {op.attrs["place"].name for op in writes if op.attrs["place"].kind == "temp"}
    for op in loop.regions[-1].walk():
        place = op.attrs.get("place")
        if place is not None and place.name in changed and op.name in ("load", "store", "atomic"):
            raise AdstackDataAccessError(
                f"This loop can't be checkpointed: it would have to run again, and {place.label or place.name}, "
                f"which it {'reads' if op.name == 'load' else 'writes'} here, has changed by then",
                loc=op.loc if op.loc.line else None,
                do="raise the memory limit of adstacks, or carry the value in a local variable of the loop",
            )


def refuse_logged(loop: Op, logged: Collection[Op]) -> None:
    """Raise AdstackDataAccessError if loops inside a loop look up what the launch has logged.

    Entries are numbered by all trips of the loop around the op, from the first: of an outermost loop that is the trip.
    """
    inside = (op for op in loop.regions[-1].walk() if op.name in ("for", "while"))
    for op in (one for inner in inside for region in inner.regions for one in region.walk()):
        if op in logged:
            raise AdstackDataAccessError(
                "This loop can't be checkpointed: the launch logs this value for each trip of a loop inside, and how "
                "many entries come before a trip of this one is not part of a snapshot",
                loc=op.loc if op.loc.line else None,
                do="raise the memory limit of adstacks, or don't overwrite what the derivative needs",
            )


def mapped(names: Names, value: Value) -> Value:
    """What stands for a value."""
    return names.get(value, value)
