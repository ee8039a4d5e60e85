"""What the threads of a workgroup have together: their numbers, barriers, and the memory that they share (LDS)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adstack.analysis.teams import Team
from adstack.backends.codegen_llvm.function.values import FunctionWriter
from adstack.backends.codegen_llvm.text.writer import Writer

from .lanes import Lanes

__all__ = ["MOST", "SHARED_BYTES", "Group", "Groups"]

MOST: Final = 1024
"""Threads of a workgroup, at most."""
SHARED_BYTES: Final = 63 * 1024
"""What arrays of a block may take of the 64 KiB that every workgroup may have; the rest is for what its threads combine
(`codegen_llvm.workgroups`), and for gaps between arrays."""


class Group:
    """A `Workgroup` of `codegen_llvm.workgroups`. The module has what `thread` and `threads` call."""

    wave = Lanes()

    def thread(self, w: Writer) -> str:
        """See `Workgroup.thread`."""
        return w.let("call i32 @llvm.amdgcn.workitem.id.x()")

    def threads(self, w: Writer) -> str:
        """See `Workgroup.threads`."""
        return w.let("call i32 @adstack.group.threads()")

    def wait(self, w: Writer) -> None:
        """See `Workgroup.wait`: waves that have ended are not waited for."""
        w.do('fence syncscope("workgroup") release')
        w.effect("llvm.amdgcn.s.barrier", [])
        w.do('fence syncscope("workgroup") acquire')


_GROUP: Final = Group()


class Groups:
    """See `ThreadBlocks`: an iteration is a workgroup of as many threads as the program says.

    Args:
        team: the blocks of a task.
        function: the head of a task's function, up to its attributes.
    """

    scope = ' syncscope("workgroup")'

    def __init__(self, team: Team, function: Callable[[str], str]) -> None:
        self.width = team.threads
        self._function = function

    def head(self, symbol: str) -> str:
        """See `ThreadBlocks.head`."""
        return self._function(symbol)

    def begin(self, e: FunctionWriter) -> None:
        """See `ThreadBlocks.begin`."""

    def end(self, e: FunctionWriter) -> None:
        """See `ThreadBlocks.end`."""
        e.w.do("ret void")

    def span(self, w: Writer, total: Callable[[], str]) -> tuple[str, str, str]:
        """See `ThreadBlocks.span`: from the number of the workgroup, by how many there are."""
        end, first = total(), w.let("call i32 @llvm.amdgcn.workgroup.id.x()")
        count = w.let(f"udiv i64 {w.let('call i64 @adstack.threads()')}, {self.width}")
        return w.let(f"zext i32 {first} to i64"), end, count

    def thread(self, w: Writer) -> str:
        """See `ThreadBlocks.thread`."""
        return w.let(f"zext i32 {_GROUP.thread(w)} to i64")

    def wait(self, e: FunctionWriter) -> None:
        """See `ThreadBlocks.wait`."""
        _GROUP.wait(e.w)

    def shared(self, symbol: str, ty: str) -> tuple[str, str]:
        """See `ThreadBlocks.shared`: LLVM finds out that what goes by the pointer is in memory of the workgroup."""
        text = f"{symbol} = internal addrspace(3) global {ty} undef, align 8\n"
        return text, f"addrspacecast (ptr addrspace(3) {symbol} to ptr)"
