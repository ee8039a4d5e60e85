"""What the threads of a workgroup have together: their numbers, barriers, and the memory that they share (LDS)."""

from __future__ import annotations

from adstack.backends.codegen_llvm.text.writer import Writer

from .lanes import Lanes

__all__ = ["Group"]


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
