"""The schedule of binomial checkpointing: where snapshots of a loop's state are taken (treeverse, revolve).

A loop of `l` blocks is reversed from the last block to the first, with room for `s` snapshots, that of its start
included. Advancing from a snapshot at block 0, the next one is taken at a block `m` such that

    t(l, s) = min over m of  m + t(m, s) + t(l - m, s - 1),    t(1, s) = 0,    t(l, 1) = l (l - 1) / 2

is reached: the fewest blocks that have to run only to get further (each block runs once more to be reversed). With
C(s + r - 1, s) < l <= C(s + r, s) that is t(l, s) = r l - C(s + r, s + 1), and no block runs more than r times. See
A. Griewank and A. Walther, Algorithm 799: Revolve, ACM Transactions on Mathematical Software 26 (2000), 19-45.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

from ...ir.builder import Builder
from ...ir.scalar_ops import FLOORDIV, MAX, MIN
from ...ir.structure import Region, Value
from ...ir.types import i64

__all__ = ["Checkpoints", "actions", "emit_stride", "forward_blocks", "repetitions", "stride"]


@dataclass(frozen=True)
class Checkpoints:
    """How the sequential loops of a kernel are reversed with little memory.

    Attributes:
        snapshots: how many states of a loop are stored at most, that of its start included.
        block: how many consecutive iterations are swept and reversed at a time.
        levels: of nested loops, that have snapshots each; 1 for the outermost loops alone. Only the innermost of these
            have blocks of more than one iteration.
    """

    snapshots: int
    block: int
    levels: int = 1

    def __post_init__(self) -> None:
        if min(self.snapshots, self.block, self.levels) < 1:
            numbers = f"{self.snapshots}, {self.block} and {self.levels}"
            raise ValueError(f"snapshots, block and levels are at least 1, not {numbers}")

    def snapshots_of(self, trips: int | None, block: int) -> int:
        """How many states of a loop are stored at most, if it has this trip count (None: unknown) and this block."""
        return self.snapshots if trips is None else max(1, min(self.snapshots, -(-trips // block)))


def repetitions(blocks: int, snapshots: int) -> int:
    """The least r with blocks <= C(snapshots + r, snapshots)."""
    if snapshots == 1:
        return max(blocks - 1, 0)
    r, reach = 0, 1
    while reach < blocks:
        r += 1
        reach = reach * (snapshots + r) // r
    return r


def forward_blocks(blocks: int, snapshots: int) -> int:
    """How many blocks run only to get further: t(blocks, snapshots)."""
    r = repetitions(blocks, snapshots)
    return r * blocks - comb(snapshots + r, snapshots + 1)


def stride(blocks: int, snapshots: int) -> int:
    """How far to go from a snapshot to the next: the largest best m. With one snapshot, up to the last block."""
    if snapshots == 1:
        return blocks - 1
    r = repetitions(blocks, snapshots)
    before = comb(snapshots + r - 1, snapshots)
    return min(before, blocks - comb(snapshots + r - 2, snapshots - 1))


def emit_stride(b: Builder, blocks: Value, snapshots: Value) -> Value:
    """`stride` in a kernel, for at least two blocks."""
    one = b.const(1, i64)
    several = b.gt(snapshots, one)
    condition = Region([Value(i64, "r"), Value(i64, "reach")])
    with b.into(condition):
        r, reach = condition.args
        b.yield_(b.and_(b.lt(reach, blocks), several), r, reach)
    body = Region([Value(i64, "r"), Value(i64, "reach")])
    with b.into(body):
        r, reach = body.args
        r = b.add(r, one)
        b.yield_(r, b.emit(FLOORDIV, b.mul(reach, b.add(snapshots, r)), r))
    r, reach = b.while_([b.const(0, i64), one], condition, body)
    both = b.add(snapshots, r)
    before = b.emit(FLOORDIV, b.mul(reach, r), both)  # C(s + r - 1, s)
    right = b.emit(FLOORDIV, b.mul(before, snapshots), b.emit(MAX, b.sub(both, one), one))  # C(s + r - 2, s - 1)
    return b.select(several, b.emit(MIN, before, b.sub(blocks, right)), b.sub(blocks, one))


def actions(blocks: int, snapshots: int) -> Iterator[tuple[str, int, int]]:
    """What a checkpointed loop does, in order: ("advance", from, to), ("snapshot", block, slot), ("reverse", block, 0).

    This is the program that `blocks.py` emits, in Python.
    """
    stored = [0]
    for end in range(blocks, 0, -1):
        at = stored[-1]
        while at < end - 1:
            free = snapshots - len(stored)
            to = at + stride(end - at, free + 1)
            yield "advance", at, to
            if free and to < end - 1:
                yield "snapshot", to, len(stored)
                stored.append(to)
            at = to
        yield "reverse", end - 1, 0
        if stored[-1] == end - 1:
            stored.pop()
