"""Where the rows of a thread are in the adstack heap (`runtime/adstacks/layout.py`).

A thread is a lane; or, where only some iterations push, a thread that comes to one takes the next lane and keeps it.
"""

from __future__ import annotations

from adstack.backends.shared.launch_words import HeapWords
from adstack.ir.structure import Value
from adstack.ir.types import i64

from .spelling import literal, memory_type
from .writer import Writer

__all__ = ["Rows"]


class Rows:
    """The rows of one thread.

    Args:
        w: the text of the task.
        words: what the launch tells about the task's heap.
        number: of the task, by which these words are called.

    Attributes:
        heap: their layout.
        lanes: how many threads have rows (u64).
        threads: how many run (u64).
        lane: a variable with the lane of the thread; of one that has to take a lane first, the last lane until then.
    """

    def __init__(self, w: Writer, words: HeapWords, number: int) -> None:
        self.heap, self._words = words.heap, f"launch.heap_{number}"
        self.lanes = w.typed("ulong", f"{self._words}.lanes", "lanes")
        self.threads = w.typed("ulong", f"{self._words}.threads", "running")
        self.lane = w.variable("ulong", "thread", "lane")
        self._taken = ""
        if self.heap.claims is not None:
            self._taken = w.variable("uint", "0xffffffffu", "claimed")
        self._starts = [
            w.typed("device uchar* const", f"{self._words}.rows + {self._words}.before[{k}] * {self.lanes}", "part")
            for k in range(len(self.heap.parts))
        ]
        self._capacities = [
            literal(max(0, group.constant), i64)
            if group.depth is None
            else w.typed("long", f"{self._words}.capacity[{k}]", "capacity")
            for k, group in enumerate(self.heap.groups)
        ]

    def claim(self, w: Writer, needed: str) -> str:
        """Claim a lane for the thread, if it needs one; whether none was left.

        Where there is a lane for every thread, neighbouring threads have neighbouring lanes.
        """
        with w.block(f"if ({self.lanes} < {self.threads})"):
            counter = f"(device atomic_uint*)&{self._words}.taken"
            with w.block(f"if ({needed} && {self._taken} == 0xffffffffu)"):
                w.line(f"{self._taken} = atomic_fetch_add_explicit({counter}, 1u, memory_order_relaxed);")
            w.line(f"{self.lane} = min(ulong({self._taken}), {self.lanes} - 1);")
        beyond = f"{self._taken} >= {self.lanes}"
        return f"{needed} && {self.lanes} < {self.threads} && {beyond}"

    def capacity(self, group: int) -> str:
        """How many slots a group has (i64)."""
        return self._capacities[group]

    def inside(self, group: int, index: str) -> str:
        """An index (i64), or the last slot that may be touched where it is beyond: of no slots, the first."""
        stacks = self.heap.groups[group]
        if stacks.depth is None:
            last = f"{max(1, stacks.constant) - 1}ul"
        else:
            last = f"ulong(max({self._capacities[group]}, 1l) - 1)"
        return f"min(ulong({index}), {last})"

    def element(self, stack: Value, index: str) -> str:
        """A stack's value in a slot (u64), as it is in memory."""
        slot = self.heap.slots[stack]
        count = self.heap.parts[slot.part].count
        row = f"({index} * {count} + {slot.position})" if count > 1 else index
        pointer = f"((device {memory_type(slot.dtype)}*){self._starts[slot.part]})"
        return f"{pointer}[{row} * {self.lanes} + {self.lane}]"
