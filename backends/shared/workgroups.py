"""Blocks of threads that a device runs as its own: workgroups, with memory that their threads share, and barriers.

Whether the threads of a block may run side by side is a fact about the program (`adstack.analysis.teams`). Here is what
devices add to that: tasks whose threads may end early can't wait for each other, and a workgroup has room for so many
threads, and so much memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from adstack.analysis.accumulation import is_ordered
from adstack.analysis.shared_updates import Update
from adstack.analysis.teams import Team, team_of
from adstack.ir.ops import ARRAY_ALLOC, STACK_ALLOCA
from adstack.ir.structure import Op, Task, Value

__all__ = ["Room", "TeamArrays", "rows", "team_in"]

T = TypeVar("T")


@dataclass(frozen=True)
class Room:
    """What a workgroup of a device has room for.

    Attributes:
        threads: how many there may be; 0 where blocks are quicker as one thread each.
        memory: bytes that the arrays which threads share may take.
        least: bytes that an element of such an array takes at least.
        own: bytes that the arrays of one thread may take; None where there is no limit.
        coherent: whether threads that have waited for each other see what they have written to memory outside of the
            workgroup's own, too.
        atomics: bits of the integers in memory of a workgroup that its threads update atomically.
    """

    threads: int
    memory: int
    least: int = 1
    own: int | None = None
    coherent: bool = False
    atomics: tuple[int, ...] = ()

    def fits(self, task: Task, team: Team) -> bool:
        """Whether there is room for the blocks of a task, whose arrays are as the team says."""
        shared = sum(max(op.attrs["dtype"].size, self.least) * op.attrs["length"] for op in team.shared)
        if team.threads > self.threads or shared > self.memory:
            return False
        return self.own is None or _own_bytes(task, team) <= self.own


class TeamArrays(Generic[T]):
    """The arrays of a team's threads, as a code generator for structured targets knows them.

    Args:
        team: the blocks.
        shared: arrays that the threads of a block share -> what the target calls them.
        own: arrays with elements for each thread -> the same.
    """

    def __init__(self, team: Team, shared: Mapping[Value, T], own: Mapping[Value, T]) -> None:
        self.team, self.shared, self.own = team, shared, own
        self._parts = {part for update in team.updates.values() for part in (update.load, update.combining)}

    def update(self, store: Op) -> Update | None:
        """The atomic update that a store stands for."""
        return self.team.updates.get(store)

    def is_part(self, op: Op) -> bool:
        """Whether an op is part of an atomic update, for which a store stands."""
        return op in self._parts

    def has(self, array: Value) -> bool:
        """Whether an array is one of the team's."""
        return array in self.shared or array in self.own


def team_in(task: Task, room: Room, *, debug: bool) -> Team | None:
    """The blocks of threads that the iterations of a task are, if a device may run their threads side by side.

    Args:
        task: of a program.
        room: of a workgroup of the device.
        debug: whether checks are emitted: a thread that fails one ends.
    """
    ends_early = debug or any(op.opdef is STACK_ALLOCA for op in task.body.walk())
    if task.kind != "parallel" or ends_early or is_ordered(task):
        return None
    team = team_of(task.body.ops[-2], coherent=room.coherent, atomics=room.atomics)
    return team if team is not None and room.fits(task, team) else None


def rows(array: Op, team: Team) -> int:
    """How many elements a thread has of an array with elements for each thread, which `array` allocates."""
    length: int = array.attrs["length"]
    return length // team.threads


def _own_bytes(task: Task, team: Team) -> int:
    """What a thread keeps: its elements of arrays that have some for each, and arrays that it makes for itself."""
    arrays = [op for op in task.body.walk() if op.opdef is ARRAY_ALLOC and op not in team.shared]
    return sum(op.attrs["dtype"].size * (rows(op, team) if op in team.own else op.attrs["length"]) for op in arrays)
