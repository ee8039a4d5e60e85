"""What checkpointed loops take, and the best that a limit on memory allows: `plan_checkpoints(kernel, adjoints)`.

Requires: a kernel that `reverse` does not refuse. AdstackDataAccessError if no loop of it can run again.
Ensures: `CheckpointPlan.bytes(checkpoints)` is what one lane's adstacks take in the kernel that `reverse` makes with
these checkpoints, laid out as in `runtime/adstacks/layout.py`, if the loops inside a checkpointed one run `inner` times
per iteration of it at most; what loops save that can't run again comes on top. The choice is the one that runs the
fewest iterations again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import AdstackDataAccessError
from ..ir.location import Loc
from ..ir.ops import PARALLEL_FOR
from ..ir.structure import Kernel, Op, Place, Value
from ..ir.types import ArrayType, i64
from .checkpointing.loops import CheckpointedLoop
from .checkpointing.schedule import Checkpoints, forward_blocks
from .emission.journal import Journal
from .planning.planner import plan_reverse
from .saving.plan import Saved, Sides

__all__ = ["CheckpointPlan", "LoopPlan", "plan_checkpoints"]

LONG = 1 << 20
"""The trip count to prepare for if none is known."""

Rows = Mapping[int, int]
"""Size of an element in bytes -> a number of elements."""


@dataclass(frozen=True)
class LoopPlan:
    """What the adstacks of one loop take.

    Attributes:
        loc: the loop's location in the source.
        task: the number of the stretch of the kernel that it is in.
        around: the branches that it is in.
        constant: its trip count, if that is a constant.
        state: the elements of one snapshot.
        once: the elements that are copied once, whatever the number of snapshots.
        saved: the elements that an iteration saves; `inner`: those that it saves for each iteration of the loops inside
        it
            that save everything.
        nested: the loops inside that are checkpointed, too.
    """

    loc: Loc
    task: int
    around: Sides
    constant: int | None
    state: Rows
    once: Rows
    saved: Rows
    inner: Rows
    nested: tuple[LoopPlan, ...] = ()

    def in_full(self, checkpoints: Checkpoints) -> bool:
        """Whether the loop is so short that it saves everything, with all loops inside it."""
        short = self.constant is not None and self.constant <= checkpoints.block
        return short and all(loop.in_full(checkpoints) for loop in self.nested)

    def block(self, checkpoints: Checkpoints) -> int:
        """How many iterations are reversed at a time."""
        return checkpoints.block if all(loop.in_full(checkpoints) for loop in self.nested) else 1

    def rows(self, checkpoints: Checkpoints, inner: int) -> Rows:
        """How many elements of each size one lane's adstacks have for the loop and all loops inside it."""
        in_full, block = self.in_full(checkpoints), self.block(checkpoints)
        trips = (self.constant or 0) if in_full else block
        own = [(trips, self.saved), (inner * trips, self.inner)]
        # what runs in blocks of one iteration is there once, whatever saves everything once per iteration of a block
        own += [(trips, loop.rows(checkpoints, inner)) for loop in self.nested]
        if not in_full:
            own += [(checkpoints.snapshots_of(self.constant, block), self.state), (1, self.once)]
        return _sum(*own)

    def told(self, checkpoints: Checkpoints) -> Iterator[str]:
        """A line of text about this loop and one about each checkpointed loop inside it."""
        where = f"loop at line {self.loc.line}"
        if self.in_full(checkpoints):
            yield f"{where}: {self.constant} trips, kept in full"
            return
        block = self.block(checkpoints)
        snapshots = checkpoints.snapshots_of(self.constant, block)
        taken = f"{snapshots} snapshot{'s' * (snapshots > 1)} of {_bytes(self.state)} bytes"
        yield f"{where}: checkpointed, {taken}, blocks of {block} trip{'s' * (block > 1)}"
        for loop in self.nested:
            yield from loop.told(checkpoints)

    def least(self) -> Iterator[str]:
        """The least memory that the loop takes at once, as text; also of each checkpointed loop inside it."""
        own = f"{_bytes(self.saved)} that a trip keeps" + (", and more in loops inside" if _bytes(self.inner) else "")
        yield f"line {self.loc.line}: a state of {_bytes(_sum((1, self.state), (1, self.once)))} bytes, {own}"
        for loop in self.nested:
            yield from loop.least()

    @property
    def depth(self) -> int:
        """How many levels of loops are checkpointed, one inside the other."""
        return 1 + max((loop.depth for loop in self.nested), default=0)


@dataclass(frozen=True)
class CheckpointPlan:
    """What the adstacks of a kernel's checkpointed loops take.

    Attributes:
        loops: the outermost of these loops.
        refused: for each loop that can't be checkpointed, the reason.
        levels: how many levels of nested loops are checkpointed.
        deeper: whether there are loops further inside that could be.
    """

    loops: tuple[LoopPlan, ...]
    refused: tuple[AdstackDataAccessError, ...] = ()
    levels: int = 1
    deeper: bool = False

    def bytes(self, checkpoints: Checkpoints, inner: int = 1) -> int:
        """The bytes of one lane's adstacks, in the stretch of the kernel that takes most."""
        tasks: dict[int, list[tuple[Sides, Rows]]] = {}
        for loop in self.loops:
            tasks.setdefault(loop.task, []).append((loop.around, loop.rows(checkpoints, inner)))
        return max((_bytes(_lay(items)) for items in tasks.values()), default=0)

    @property
    def depth(self) -> int:
        """How many levels of loops are checkpointed, one inside the other."""
        return max((loop.depth for loop in self.loops), default=0)

    @property
    def least(self) -> int:
        """The fewest bytes of one lane: with one snapshot of each loop, and blocks of one iteration."""
        return self.bytes(Checkpoints(1, 1, self.levels))

    def inner(self, checkpoints: Checkpoints, stride: int) -> int:
        """How often those loops run that save everything, in an iteration of a checkpointed one: read off a launch."""
        none, one = (self.bytes(checkpoints, inner) for inner in (0, 1))
        return 1 if none == one else max(1, -(-(stride - none) // (one - none)))

    def trips(self, stride: int, inner: int = 1) -> int:
        """The trip count, if it is the same for all loops, for which a lane takes so many bytes without checkpoints."""
        unbounded = [replace(loop, constant=None, state={}, once={}, nested=()) for loop in self.loops]
        each = CheckpointPlan(tuple(unbounded)).bytes(Checkpoints(1, 1), inner)
        return max(1, -(-stride // max(1, each)))

    def choose(self, limit: int, trips: int = LONG, inner: int = 1) -> Checkpoints | None:
        """The checkpoints for which the fewest iterations run again; None if nothing fits into `limit` bytes per lane.

        Args:
            limit: bytes of one lane.
            trips: the greatest trip count of a checkpointed loop.
            inner: how often the loops inside it run, in one of its iterations, at most.
        """
        schemes = [scheme for block in _blocks(trips) if (scheme := self._most(limit, block, trips, inner)) is not None]
        return min(schemes, key=lambda scheme: (self.again(scheme, trips), -scheme.block), default=None)

    def again(self, checkpoints: Checkpoints, trips: int = LONG) -> int:
        """How many iterations run only to reach a later one, summed over the levels of nested loops of `trips`."""
        again = checkpoints.block * forward_blocks(-(-trips // checkpoints.block), checkpoints.snapshots)
        return again + (self.depth - 1) * forward_blocks(trips, checkpoints.snapshots)

    def _most(self, limit: int, block: int, trips: int, inner: int) -> Checkpoints | None:
        """Checkpoints with this block and as many snapshots as fit and are of use; None if not one fits."""
        low, high = 0, max(1, -(-trips // block))
        while low < high:
            middle = (low + high + 1) // 2
            fits = self.bytes(Checkpoints(middle, block, self.levels), inner) <= limit
            low, high = (middle, high) if fits else (low, middle - 1)
        return Checkpoints(low, block, self.levels) if low else None

    def told(self, checkpoints: Checkpoints) -> tuple[str, ...]:
        """A line of text for each loop, and one for each that can't be checkpointed."""
        refused = (f"line {reason.loc.line}: {reason.message}" for reason in self.refused if reason.loc is not None)
        return (*(line for loop in self.loops for line in loop.told(checkpoints)), *refused)


def plan_checkpoints(
    kernel: Kernel,
    adjoints: Mapping[str, Place],
    replayed: Collection[str] = (),
    journal: Journal | None = None,
    levels: int = 1,
) -> CheckpointPlan:
    """What `reverse(kernel, adjoints, replayed, checkpoints=..., journal=journal)` takes, of so many levels."""
    plan = plan_reverse(kernel, adjoints, replayed, Checkpoints(1, 1, levels), journal)
    outermost = [loop for nest in plan.nests for loop in nest.checkpointed]
    if plan.refused and not outermost:
        raise plan.refused[0]
    tasks = {inner: _task(number, op) for number, op in enumerate(plan.source.body.ops) for inner in _within(op)}
    loops = tuple(_loop(loop, tasks[loop.op]) for loop in outermost)
    inside = (one for loop in outermost for each in loop.all() for one in each.saved_in_full)
    deeper = any(isinstance(one, Op) for one in inside)
    return CheckpointPlan(loops, plan.refused, levels, deeper)


def _within(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        yield from region.walk()


def _task(number: int, op: Op) -> int:
    """Parallel loops by position, and all serial code as one."""
    return number if op.opdef is PARALLEL_FOR else -1


def _blocks(trips: int) -> list[int]:
    """Sizes of blocks to try: powers of two and what lies between."""
    sizes, size = [], 1
    while size < trips:
        sizes += [size, size + size // 2] if size > 1 else [size]
        size *= 2
    return [size for size in sizes if size < trips] + [max(1, trips)]


# ---- elements


def _loop(loop: CheckpointedLoop, task: int) -> LoopPlan:
    inner = [loop.saved[one] for one in loop.saved_in_full]
    state = _sum(
        (1, {i64.size: 1}),
        *((1, {cell.place.dtype.size: cell.size}) for cell in loop.cells),
        *((1, {loop.state[k].size: 1}) for k in loop.carried),
        *map(_array, loop.arrays),
    )
    once = _sum(*map(_array, loop.frozen))
    saved = _branches(loop.saved_per_iteration)
    in_full = _sum(*((1, _branches(values)) for values in inner))
    nested = tuple(_loop(one, task) for one in loop.nested)
    return LoopPlan(loop.op.loc, task, loop.around, loop.constant, state, once, saved, in_full, nested)


def _bytes(rows: Rows) -> int:
    return sum(size * count for size, count in rows.items())


def _array(array: Value) -> tuple[int, Rows]:
    assert isinstance(array.type, ArrayType)
    return 1, {array.type.dtype.size: array.type.length}


def _branches(values: Sequence[Saved]) -> Rows:
    """What is saved in one iteration, values of branches that exclude each other in the same place."""
    return _lay((one.inside, {one.value.dtype.size: 1}) for one in values)


def _lay(items: Iterable[tuple[Sides, Rows]], level: int = 0) -> Rows:
    """The room that values take in one iteration: sides of one branch share their room, all else adds up."""
    flat: list[tuple[int, Rows]] = []
    branches: dict[int, dict[int, list[tuple[Sides, Rows]]]] = {}
    for sides, rows in items:
        if len(sides) == level:
            flat.append((1, rows))
        else:
            branches.setdefault(sides[level] // 2, {}).setdefault(sides[level], []).append((sides, rows))
    for branch in branches.values():
        ends = [_lay(side, level + 1) for side in branch.values()]
        flat.append((1, {size: max(end.get(size, 0) for end in ends) for end in ends for size in end}))
    return _sum(*flat)


def _sum(*parts: tuple[int, Rows]) -> Rows:
    total: dict[int, int] = {}
    for times, rows in parts:
        for size, count in rows.items():
            total[size] = total.get(size, 0) + times * count
    return total
