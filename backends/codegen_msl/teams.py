"""Blocks of threads as threadgroups: an iteration of the task's loop is run by all threads of a threadgroup.

Code around the loops over threads is run by every thread alike. A loop over threads becomes an `if` for the threads
that there are, with a barrier in front of it where `analysis/waits.py` says so. Arrays that threads share are in the
memory of the threadgroup; of arrays with elements for each thread, a thread has its own.
"""

from __future__ import annotations

from typing import Final

from adstack.analysis.shared_updates import Update
from adstack.analysis.teams import Team
from adstack.backends.shared.workgroups import Room, TeamArrays, rows
from adstack.ir.opdef import OpDef
from adstack.ir.scalar_ops import ADD, AND, MAX, MIN, OR, SUB, XOR
from adstack.ir.structure import Op, Value
from adstack.ir.types import ArrayType

from .spelling import type_name
from .writer import Writer

__all__ = ["NUMBER", "PARAMETERS", "ROOM", "STEP", "TeamCode"]

ROOM: Final = Room(1024, 28 * 1024, coherent=True, atomics=(32,))
"""Of the 32 KiB that a threadgroup has, some are for what its threads combine (`gathering`)."""
_THREAD: Final = "team_thread"
NUMBER: Final = "team_number"
"""The number of a threadgroup."""
STEP: Final = "team_count"
"""How many threadgroups there are."""
PARAMETERS: Final = (
    f", uint {_THREAD} [[thread_position_in_threadgroup]], uint {NUMBER} [[threadgroup_position_in_grid]], "
    f"uint {STEP} [[threadgroups_per_grid]]"
)
_ATOMICS: Final[dict[OpDef, str]] = {
    row: f"atomic_fetch_{row.name}_explicit" for row in (ADD, SUB, MIN, MAX, AND, OR, XOR)
}


class TeamCode(TeamArrays[str]):
    """The arrays and threads of a task's threadgroups.

    Args:
        w: writes the task's function, which has just begun.
        team: the blocks.

    Attributes:
        thread: the number of this one in its threadgroup (uint).
    """

    def __init__(self, w: Writer, team: Team) -> None:
        names = [{op.result: w.name(op.result.name) for op in arrays} for arrays in (team.shared, team.own)]
        super().__init__(team, *names)
        self.w, self.thread = w, _THREAD
        for op in team.shared:
            w.line(f"threadgroup {_element(op)} {self.shared[op.result]}[{max(op.attrs['length'], 1)}];")

    def wait(self, op: Op) -> None:
        """Have all threads of the threadgroup wait for each other, where they must in front of an op."""
        if op in self.team.waits:
            self.w.line("threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);")

    def allocate(self, op: Op) -> None:
        """Set the elements of an array to 0."""
        self.wait(op)
        w, kind = self.w, _element(op)
        if op.result in self.own:
            w.line(f"{kind} {self.own[op.result]}[{rows(op, self.team)}] = {{}};")
            return
        k = w.name("k")
        with w.block(f"for (uint {k} = {_THREAD}; {k} < {op.attrs['length']}; {k} += {self.team.threads})"):
            w.line(f"{self.shared[op.result]}[{k}] = {kind}(0);")

    def element(self, array: Value, index: str) -> str:
        """The element of an array that an index says."""
        assert isinstance(array.type, ArrayType)
        if array in self.shared:
            return f"{self.shared[array]}[{index}]"
        alone = array.type.length == self.team.threads
        return f"{self.own[array]}[{'0' if alone else f'{index} / {self.team.threads}'}]"

    def updated(self, update: Update, element: str, value: str) -> str:
        """The statement that updates an element atomically, which several threads may do at once."""
        at = f"(threadgroup atomic_{type_name(update.value.dtype)}*)&{element}"
        return f"{_ATOMICS[update.combining.opdef]}({at}, {value}, memory_order_relaxed);"


def _element(op: Op) -> str:
    """The type of an array's elements."""
    return type_name(op.attrs["dtype"])
