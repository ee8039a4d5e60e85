"""What a reverse kernel does, as data: `ReversePlan`.

Source code that is not in a parallel loop is called serial. A *nest* is an op outside sequential loops: its loops, and
the sides of its branches, have adstacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...analysis.manager import Analyses
from ...errors import AdstackDataAccessError
from ...ir.structure import Kernel, Op, Place, Value
from ..activities.activity import Activity
from ..checkpointing.loops import CheckpointedLoop
from ..emission.journal import Journal
from ..saving.plan import Counted, Saved, SavePlan, Sides

__all__ = ["Capacity", "Nest", "Parallel", "ReversePlan", "Serial"]

Capacity = Literal["none", "trip count", "counting sweep", "blocks"]
"""Where the depths of a nest's adstacks come from: it has none; the trip count of its only loop; a sweep that only runs
the control flow, and counts; the sizes of the blocks of checkpointed loops."""


@dataclass(frozen=True)
class Nest:
    """An op outside loops, and the adstacks that it takes to reverse it.

    Attributes:
        op: the op.
        saved: what each loop and each counted side in it saves; those that save nothing are left out.
        around: the branches that each of them is in.
        capacity: how the depths of the adstacks are computed.
        checkpointed: its loops that run again from snapshots, without those inside them.
    """

    op: Op
    saved: Mapping[Counted, Sequence[Saved]]
    around: Mapping[Counted, Sides]
    capacity: Capacity
    checkpointed: tuple[CheckpointedLoop, ...] = ()


@dataclass(frozen=True)
class Serial:
    """An op of serial code.

    Attributes:
        nest: the op and its adstacks.
        swept_twice: whether it is swept for its results alone first, and with its adstacks right before its reversal:
            adstacks can't outlive the reversal of a parallel loop.
        reversed: whether its reversal does anything.
    """

    nest: Nest
    swept_twice: bool
    reversed: bool

    @property
    def op(self) -> Op:
        """The loop itself, a `for` or a `while`."""
        return self.nest.op


@dataclass(frozen=True)
class Parallel:
    """A parallel loop.

    Attributes:
        op: the loop.
        nests: the ops of its body and their adstacks; empty if it is not reversed.
        repeated: whether it runs again in the forward sweep, for what it leaves in temps.
        restored: (source, temp): temps that it overwrites though it has read them are copied again before its reversal.
        sums: for each value from around it, the place in which its iterations sum up the value's adjoint.
        reversed: whether its reversal does anything.
    """

    op: Op
    nests: tuple[Nest, ...]
    repeated: bool
    restored: tuple[tuple[Place, Place], ...]
    sums: Mapping[Value, Place]
    reversed: bool


@dataclass(frozen=True)
class ReversePlan:
    """The plan of a reverse kernel.

    Attributes:
        source: the kernel, its `while`s rotated; never changed.
        analyses: what is known of its body.
        places: the gradient place of each place with one, those of the kernel's temps included.
        written: names of the places that the kernel writes.
        replayed: names of the scratch places whose stores and atomics sweeps repeat.
        activity: which values carry adjoints.
        saves: which values are saved and which are recomputed.
        returned: the real numbers that the kernel returns; the reverse kernel has a parameter for the adjoint of each.
        stored_again: stores whose element may be stored to once more.
        stretches: the serial ops and the parallel loops, in program order; they are reversed from last to first.
        refused: why loops that might be are not checkpointed.
        journal: where the launch has logged values of ops, if it has.
    """

    source: Kernel
    analyses: Analyses
    places: Mapping[str, Place]
    written: frozenset[str]
    replayed: frozenset[str]
    activity: Activity
    saves: SavePlan
    returned: tuple[Value, ...]
    stored_again: frozenset[Op]
    stretches: tuple[Serial | Parallel, ...]
    refused: tuple[AdstackDataAccessError, ...] = ()
    journal: Journal | None = None

    @property
    def nests(self) -> list[Nest]:
        """All ops that are swept with adstacks, in the order in which they are emitted."""
        once = [one.nest for one in self.stretches if isinstance(one, Serial) and not one.swept_twice]
        backwards = [one for one in reversed(self.stretches) if isinstance(one, Parallel) or one.swept_twice]
        return once + [nest for one in backwards for nest in (one.nests if isinstance(one, Parallel) else (one.nest,))]
