"""How a task becomes a kernel of an AMD device: what the threads are told, and where memory is.

Address spaces: 0 any memory ("flat"), 1 the device's, 3 a workgroup's (LDS), 4 constants, such as what a kernel is
handed, 5 a thread's own (scratch); see "User Guide for AMDGPU Backend" of LLVM. What a task computes with is pointers
to any memory, which were pointers to a certain one before: LLVM finds out which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adstack.analysis.teams import Team
from adstack.backends.codegen_llvm import waves, workgroups
from adstack.backends.codegen_llvm.devices import CALLOC, Device
from adstack.backends.codegen_llvm.function.teams import ThreadBlocks
from adstack.backends.codegen_llvm.function.values import FunctionWriter
from adstack.backends.shared.workgroups import Room, team_in
from adstack.ir.structure import Task
from adstack.ir.types import DType

from .division import quotient
from .groups import MOST, SHARED_BYTES, Group, Groups
from .lanes import TOGETHER, Lanes

__all__ = ["ARENA", "ARENA_BYTES", "MOST_THREADS", "Threads", "kernel"]

MOST_THREADS: Final = 256
"""Threads of a workgroup, at most, where the program does not say how many."""
ARENA: Final = "adstack.arena"
"""A variable of the device, {where free memory begins, where it ends}, for tasks that take memory while they run; it is
set before each launch. It is there only if a task does."""
ARENA_BYTES: Final = 256 << 20
"""How large that memory is. Pages of it that nobody touches take none where the host plays the device."""

_HEAD: Final = """declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
define internal i32 @adstack.group.threads() alwaysinline nounwind {
  %packet = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %size.at = getelementptr i8, ptr addrspace(4) %packet, i64 4
  %size = load i16, ptr addrspace(4) %size.at, align 4, !invariant.load !1
  %threads = zext i16 %size to i32
  ret i32 %threads
}
define internal i64 @adstack.thread() alwaysinline nounwind {
  %size = call i32 @adstack.group.threads()
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %a = zext i32 %item to i64
  %b = zext i32 %size to i64
  %c = zext i32 %group to i64
  %d = mul i64 %b, %c
  %e = add i64 %d, %a
  ret i64 %e
}
define internal i64 @adstack.threads() alwaysinline nounwind {
  %packet = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %grid.at = getelementptr i8, ptr addrspace(4) %packet, i64 12
  %grid = load i32, ptr addrspace(4) %grid.at, align 4, !invariant.load !1
  %a = zext i32 %grid to i64
  ret i64 %a
}
!llvm.module.flags = !{!2}
!2 = !{i32 1, !"amdhsa_code_object_version", i32 500}
"""
"""The number of this thread, and how many there are: the packet that dispatches the kernel has the sizes for both."""

_MALLOC: Final = f"""@{ARENA} = protected addrspace(1) externally_initialized global [2 x i64] zeroinitializer, align 16
declare i64 @llvm.umin.i64(i64, i64)
define internal ptr @malloc(i64 %size) noinline nounwind {{
  %asked = call i64 @llvm.umin.i64(i64 %size, i64 {1 << 40})
  %more = add i64 %asked, 15
  %rounded = and i64 %more, -16
  %begin = atomicrmw add ptr addrspace(1) @{ARENA}, i64 %rounded syncscope("agent") monotonic, align 8
  %end.at = getelementptr i64, ptr addrspace(1) @{ARENA}, i64 1
  %end = load i64, ptr addrspace(1) %end.at, align 8
  %left = sub i64 %end, %begin
  %some = icmp ule i64 %begin, %end
  %enough = icmp ule i64 %rounded, %left
  %fits = and i1 %some, %enough
  %at = inttoptr i64 %begin to ptr addrspace(1)
  %memory = addrspacecast ptr addrspace(1) %at to ptr
  %result = select i1 %fits, ptr %memory, ptr null
  ret ptr %result
}}
"""
"""`malloc` takes memory from the arena, which is free again after the launch. Tasks never ask for more than it has."""
_LANES: Final = Lanes()
_GROUP: Final = Group()
_FREE: Final = "define internal void @free(ptr %memory) alwaysinline nounwind {\n  ret void\n}\n"


class Threads(Device):
    """A device of AMD's. Each task is a function that its kernel calls, see `kernel`.

    Cold paths are optimised too: of functions that are not, LLVM does not find out which values they want set up, and
    hands them all.
    """

    head = _HEAD + workgroups.shared_words(MOST // TOGETHER)
    array_bytes = 64 * 1024
    space = 5
    unoptimised = False
    scope = ' syncscope("agent")'
    allocators = {"malloc": _MALLOC, "calloc": CALLOC, "free": _FREE}  # noqa: RUF012 - a table that nobody writes to

    def serial(self, symbol: str) -> str:
        """A function that is inlined into its kernel."""
        return f'define internal void @"{_body(symbol)}"(ptr noalias %ctx) alwaysinline'

    def gathered(self, e: FunctionWriter, kind: str, dtype: DType, value: str) -> tuple[str, str]:
        """One thread of a workgroup speaks for all."""
        total = workgroups.total(_GROUP, e.w, kind, dtype, value)
        return total, e.w.let(f"icmp eq i32 {_GROUP.thread(e.w)}, 0")

    def team(self, task: Task) -> Team | None:
        """The blocks of threads that iterations are, where a workgroup has room for them."""
        room = Room(MOST, SHARED_BYTES, own=self.array_bytes, coherent=True, atomics=(32, 64))
        return team_in(task, room, debug=self.debug)

    def thread_blocks(self, team: Team) -> ThreadBlocks:
        """Workgroups."""
        return Groups(team, self.serial)

    @property
    def together(self) -> int:
        """A wave, which has so many threads at least."""
        return TOGETHER

    def agree(self, e: FunctionWriter, words: Sequence[str], condition: str) -> str:
        """By ballots."""
        return waves.agree(_LANES, e.w, words, condition)

    def totals(self, e: FunctionWriter, kind: str, dtype: DType, values: Sequence[str]) -> Sequence[str]:
        """By permutations."""
        return waves.totals(_LANES, e.w, kind, dtype, values)

    def peers(self, e: FunctionWriter, kind: str, dtype: DType, pointer: str, value: str) -> tuple[str, str]:
        """By ballots about one pointer after another, and permutations."""
        return waves.peers(_LANES, e.w, kind, dtype, pointer, value)

    def lane(self, e: FunctionWriter) -> str:
        """Counted from 0."""
        return _LANES.lane(e.w)

    def divide(self, e: FunctionWriter, dtype: DType, a: str, b: str) -> str | None:
        """Division of f32 and f64, rounded correctly for every divisor."""
        return quotient(e, dtype, a, b)

    def parallel(self, symbol: str) -> str:
        """A function like `serial`: the threads of the kernel divide the iterations among themselves."""
        return self.serial(symbol)


def _body(symbol: str) -> str:
    return f"{symbol}.body"


def kernel(symbol: str, words: int, threads: tuple[int, int]) -> str:
    """The kernel of a task: it is handed the words of the task's context by value.

    Args:
        symbol: of the task.
        words: of 64 bits.
        threads: that a workgroup has at least, and at most.
    """
    return (
        f"define amdgpu_kernel void @{symbol}(ptr addrspace(4) byref([{words} x i64]) align 8 %words) nounwind "
        f'"amdgpu-flat-work-group-size"="{threads[0]},{threads[1]}" "uniform-work-group-size"="true" {{\n'
        "  %ctx = addrspacecast ptr addrspace(4) %words to ptr\n"
        f'  call void @"{_body(symbol)}"(ptr %ctx)\n'
        "  ret void\n}\n"
    )
