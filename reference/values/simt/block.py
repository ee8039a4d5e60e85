"""`qd.simt.block`: arrays that the threads of a block share, and where they wait for each other.

In a kernel, in a parallel loop with `loop_config(block_dim=...)` before it; see spec/simt.md. On the host each of these
raises AdstackSyntaxError.
"""

from __future__ import annotations

from ...absent import missing as _missing
from ..calling import takes
from ..kinds import KernelObject
from ._host import refused

__all__ = ["SharedArray", "global_thread_idx", "sync", "thread_idx"]


def SharedArray(shape: object, dtype: object) -> KernelObject:  # noqa: N802 - the name that existing programs write
    """An array of zeros that the threads of a block share, for as long as the block runs.

    Args:
        shape: its extents, an integer or a sequence of integers that are known while compiling.
        dtype: the type of its elements: a scalar type, or a vector or matrix type.
    """
    return refused("SharedArray")


@takes("simt.block.sync")
def sync() -> None:
    """Wait until all threads of the block are here."""
    refused("sync")


@takes("simt.block.thread_idx")
def thread_idx() -> KernelObject:
    """The number of this thread in its block, an i32."""
    return refused("thread_idx")


@takes("simt.block.global_thread_idx")
def global_thread_idx() -> KernelObject:
    """The number of this thread's iteration in the loop, an i32."""
    return refused("global_thread_idx")


def __getattr__(name: str) -> object:
    raise _missing("qd.simt.block", name, __all__)
