"""What a task is told about its adstacks in the heap, and where its thread's rows are (`runtime/adstacks/layout.py`).

A thread is a lane; or, where only some iterations push, a thread that comes to one takes the next lane and keeps it.
The words are: the heap's address, how many lanes it has, how many threads run, how many lanes are taken, the bytes of
one lane before each part, and how deep the stacks of each group may be.
"""

from __future__ import annotations

from adstack.backends.shared.launch_words import HeapWords
from adstack.ir.structure import Value
from adstack.ir.types import i64, u32, u64

from .assembly.code import Code, Num
from .assembly.opcodes import Op as Spv
from .memory import HEAP, Address, Memory

__all__ = ["Rows"]

_DEVICE, _RELAXED = 1, 0
"""The scope of an atomic, and that it orders no other memory."""
_NONE = 0xFFFFFFFF
"""The number of a lane that stands for none."""


class Rows:
    """The rows of one thread.

    Attributes:
        heap: their layout.
        lanes: how many threads have rows (u64).
        threads: how many run (u64).
    """

    def __init__(self, c: Code, memory: Memory, words: HeapWords, base: Address, thread: Num) -> None:
        self.c, self.words, self.heap = c, words, words.heap
        self.lanes = self.threads = (base + 8 * words.lanes).load(u64)
        address = memory.of(HEAP, (base + 8 * words.address).load(memory.counts))
        self._starts: list[Address] = []
        self._rows: list[Num] = []
        for k, part in enumerate(self.heap.parts):
            before = (base + 8 * (words.bases + k)).load(u64)
            self._starts.append(address + before * self.lanes)
            self._rows.append(self.lanes * part.size)
        self._bases: list[Address] = []
        if self.heap.claims is None:
            self._sit(thread)
        else:
            self.threads, self._thread = (base + 8 * words.threads).load(u64), thread
            self._taken = base + 8 * words.taken
            self._lane = c.local(c.m.type(u32))
            c.do(Spv.Store, self._lane, c.m.word(_NONE))
        self._capacities = [
            c.const(max(0, group.constant), i64)
            if group.depth is None
            else (base + 8 * (words.capacities + k)).load(i64)
            for k, group in enumerate(self.heap.groups)
        ]

    def _sit(self, lane: Num) -> None:
        """Assign a lane to the thread."""
        self._bases = [at + lane * part.size for at, part in zip(self._starts, self.heap.parts, strict=True)]

    def claim(self, needed: Num) -> Num:
        """Claim a lane for the thread, if it needs one; whether none was left.

        Where there is a lane for every thread, neighbouring threads have neighbouring lanes.
        """
        c, scope, order = self.c, self.c.m.word(_DEVICE), self.c.m.word(_RELAXED)

        def take() -> None:
            next_ = c.let(Spv.AtomicIAdd, u32, self._taken.pointer(u32), scope, order, c.m.word(1))
            c.do(Spv.Store, self._lane, next_.id)

        few = self.lanes < self.threads
        c.when(needed & few & c.let(Spv.Load, u32, self._lane).eq(_NONE), take)
        lane = few.choose(c.let(Spv.Load, u32, self._lane).resize(u64), self._thread)
        beyond = lane >= self.lanes
        self._sit(beyond.choose(self.lanes - 1, lane))
        return needed & beyond

    def capacity(self, group: int) -> Num:
        """How many slots a group has (i64)."""
        return self._capacities[group]

    def last(self, group: int) -> Num:
        """The last slot that may be touched (i64): of no slots, the first."""
        stacks = self.heap.groups[group]
        if stacks.depth is None:
            return self.c.const(max(1, stacks.constant) - 1, i64)
        capacity = self._capacities[group]
        return (capacity > 0).choose(capacity - 1, 0)

    def stride(self, part: int) -> Num:
        """The bytes from a part's slot to the next one (u64)."""
        count = self.heap.parts[part].count
        return self._rows[part] * count if count > 1 else self._rows[part]

    def slot(self, part: int, index: Num) -> Address:
        """The address of the first row of a part's slot, for this thread."""
        return self.along(part, index, self.stride(part))

    def along(self, part: int, index: Num, stride: Num) -> Address:
        """The address of a row, with slots that are so many bytes apart."""
        return self._bases[part] + index.signed(u64) * stride

    def element(self, stack: Value, address: Address) -> Address:
        """The address of a stack's value in a slot."""
        slot = self.heap.slots[stack]
        return address + self._rows[slot.part] * slot.position if slot.position else address
