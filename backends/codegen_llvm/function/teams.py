"""Blocks of threads that a machine runs side by side: an iteration of the task's loop is run by all threads of a block.

Code around the loops over threads is run by every thread alike. A loop over threads becomes a branch that the threads
take which there are, with a barrier in front of it where `analysis/waits.py` says so. Arrays that threads share are in
the memory of the block; of arrays with elements for each thread, a thread has its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from adstack.analysis.shared_updates import Update
from adstack.analysis.teams import Team
from adstack.backends.shared.workgroups import rows
from adstack.ir.structure import Op, Value
from adstack.ir.types import ArrayType, DType

from ..text.writer import Writer, scalar_type
from .module import Module
from .values import FunctionWriter

__all__ = ["TeamCode", "ThreadBlocks"]


class ThreadBlocks(Protocol):
    """How a machine runs the blocks of threads of one task.

    Attributes:
        width: how many threads of the machine run a block: at least those that it has.
        scope: of atomic operations among the threads of a block, as LLVM writes it.
    """

    width: int
    scope: str

    def head(self, symbol: str) -> str:
        """The head of the task's function, up to its attributes."""

    def begin(self, e: FunctionWriter) -> None:
        """Emit what comes first."""

    def end(self, e: FunctionWriter) -> None:
        """Emit how the function ends."""

    def span(self, w: Writer, total: Callable[[], str]) -> tuple[str, str, str]:
        """Which blocks this thread is part of: the first, where they end, the step. `total` counts all."""

    def thread(self, w: Writer) -> str:
        """The number of this thread in its block (i64), below `width`."""

    def wait(self, e: FunctionWriter) -> None:
        """Have all threads of the block wait for each other."""

    def shared(self, symbol: str, ty: str) -> tuple[str, str]:
        """Memory of the block: what defines a variable of that name and type, and a pointer to it."""


class TeamCode:
    """The threads of a task's blocks, and the arrays that they have together.

    Args:
        e: writes the task's function, which has just begun.
        team: the blocks.
        blocks: how the machine runs them.
        module: that the function belongs to.
        symbol: of the function.

    Attributes:
        thread: the number of this one in its block (i64).
        blocks: see above.
    """

    def __init__(self, e: FunctionWriter, team: Team, blocks: ThreadBlocks, module: Module, symbol: str) -> None:
        blocks.begin(e)
        self.blocks, self._team = blocks, team
        self.thread = blocks.thread(e.w)
        self._parts = {part for update in team.updates.values() for part in (update.load, update.combining)}
        self._arrays: dict[Value, str] = {}
        self._shared = {op.result for op in team.shared}
        for number, op in enumerate(team.shared):
            text, pointer = blocks.shared(f"@{symbol}.shared{number}", _type(op, op.attrs["length"]))
            module.define(text)
            self._arrays[op.result] = pointer
        self._arrays.update((op.result, e.frame.slot(_type(op, rows(op, team)))) for op in team.own)

    def wait(self, e: FunctionWriter, op: Op) -> None:
        """Have all threads of the block wait for each other, where they must in front of an op."""
        if op in self._team.waits:
            self.blocks.wait(e)

    def update(self, store: Op) -> Update | None:
        """The atomic update that a store stands for."""
        return self._team.updates.get(store)

    def is_part(self, op: Op) -> bool:
        """Whether an op is part of an atomic update, for which a store stands."""
        return op in self._parts

    def has(self, array: Value) -> bool:
        """Whether an array is one of the team's."""
        return array in self._arrays

    def allocate(self, e: FunctionWriter, op: Op) -> None:
        """Set the elements of an array to 0."""
        self.wait(e, op)
        if op.result in self._shared:
            self._zero(e, op)
            return
        size = rows(op, self._team) * op.attrs["dtype"].size
        operands = [("ptr", self._arrays[op.result]), ("i8", "0"), ("i64", str(size)), ("i1", "false")]
        e.w.effect("llvm.memset.p0.i64", operands)

    def _zero(self, e: FunctionWriter, op: Op) -> None:
        """Each thread sets every so many elements of a shared array to 0, from that of its own number on."""
        dtype: DType = op.attrs["dtype"]
        ty, base = _element(dtype), self._arrays[op.result]
        head, inside, after = e.label("zero"), e.label("zeroing"), e.label("zeroed")
        before = e.block
        e.jump(head)
        e.enter(head)
        index = e.w.let(f"phi i64 [ {self.thread}, %{before} ], [ %{inside}.next, %{inside} ]")
        e.split(e.w.let(f"icmp ult i64 {index}, {op.attrs['length']}"), inside, after)
        e.enter(inside)
        at = e.w.let(f"getelementptr inbounds {ty}, ptr {base}, i64 {index}")
        e.w.do(f"store {ty} zeroinitializer, ptr {at}, align {dtype.size}")
        e.w.do(f"%{inside}.next = add i64 {index}, {self.blocks.width}")
        e.jump(head)
        e.enter(after)

    def pointer(self, e: FunctionWriter, array: Value, index: Value) -> str:
        """A pointer to the element of an array that an index says."""
        assert isinstance(array.type, ArrayType)
        at, ty, threads = e.wide(index, 1), _element(array.type.dtype), self._team.threads
        if array not in self._shared:
            at = "0" if array.type.length == threads else e.w.let(f"udiv i64 {at}, {threads}")
        return e.w.let(f"getelementptr inbounds {ty}, ptr {self._arrays[array]}, i64 {at}")


def _element(dtype: DType) -> str:
    """The LLVM type of an element in memory: a u1 takes a byte."""
    return "i8" if dtype.is_bool else scalar_type(dtype)


def _type(op: Op, length: int) -> str:
    return f"[{length} x {_element(op.attrs['dtype'])}]"
