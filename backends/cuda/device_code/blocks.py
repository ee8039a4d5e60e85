"""Blocks of threads as thread blocks of a device: shared memory, and a barrier that all their threads come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adstack.analysis.teams import Team
from adstack.backends.codegen_llvm.function.values import FunctionWriter
from adstack.backends.codegen_llvm.text.writer import Writer

from .warps import WARP, Warp

__all__ = ["MOST", "SHARED_BYTES", "Block", "DeviceBlocks"]

MOST: Final = 1024
"""Threads of a block, at most."""
SHARED_BYTES: Final = 47 * 1024
"""What arrays of a block may take of the 48 KiB that every block may have; the rest is for what its threads combine
(`Threads`), and for gaps between arrays."""
_NUMBERS: Final = "llvm.nvvm.read.ptx.sreg"


class Block:
    """A `Workgroup` of `codegen_llvm.workgroups`."""

    wave = Warp()

    def thread(self, w: Writer) -> str:
        """See `Workgroup.thread`."""
        return w.let(f"call i32 @{_NUMBERS}.tid.x()")

    def threads(self, w: Writer) -> str:
        """See `Workgroup.threads`."""
        return w.let(f"call i32 @{_NUMBERS}.ntid.x()")

    def wait(self, w: Writer) -> None:
        """See `Workgroup.wait`."""
        w.do("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)")


_BLOCK: Final = Block()


class DeviceBlocks:
    """See `ThreadBlocks`. A block has whole warps: threads beyond those of the program only wait with the others.

    Args:
        team: the blocks of a task.
        kernel: the head of a kernel, up to its attributes.
    """

    scope = ' syncscope("block")'

    def __init__(self, team: Team, kernel: Callable[[str], str]) -> None:
        self.width = -(-team.threads // WARP) * WARP
        self._kernel = kernel

    def head(self, symbol: str) -> str:
        """See `ThreadBlocks.head`: as many registers are there for each thread as a block of this size leaves."""
        return f'{self._kernel(symbol)} "nvvm.maxntid"="{self.width}"'

    def begin(self, e: FunctionWriter) -> None:
        """See `ThreadBlocks.begin`."""

    def end(self, e: FunctionWriter) -> None:
        """See `ThreadBlocks.end`."""
        e.w.do("ret void")

    def span(self, w: Writer, total: Callable[[], str]) -> tuple[str, str, str]:
        """See `ThreadBlocks.span`: from the number of the thread block, by how many there are."""
        end = total()
        return _word(w, "ctaid"), end, _word(w, "nctaid")

    def thread(self, w: Writer) -> str:
        """See `ThreadBlocks.thread`."""
        return _word(w, "tid", f"range(i32 0, {self.width}) ")

    def wait(self, e: FunctionWriter) -> None:
        """See `ThreadBlocks.wait`: what was written before is seen behind it."""
        _BLOCK.wait(e.w)

    def shared(self, symbol: str, ty: str) -> tuple[str, str]:
        """See `ThreadBlocks.shared`: LLVM finds out that what goes by the pointer is in shared memory."""
        text = f"{symbol} = internal addrspace(3) global {ty} undef, align 8\n"
        return text, f"addrspacecast (ptr addrspace(3) {symbol} to ptr)"


def _word(w: Writer, name: str, known: str = "") -> str:
    """One of the numbers that a thread has on the first axis, as i64; `known` is what LLVM can't know of it."""
    return w.let(f"zext i32 {w.let(f'call {known}i32 @{_NUMBERS}.{name}.x()')} to i64")
