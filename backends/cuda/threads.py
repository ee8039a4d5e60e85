"""How a task becomes a kernel: one thread per iteration, and where there are fewer threads, each strides on.

Two worlds run the same task text. `Threads` is a CUDA device, with blocks of threads that combine what they have
gathered. `Threads(host=True)` is the host playing the device, one thread after another, each a block of its own. Where
iterations are blocks of threads that run side by side, both run all threads of a block for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from adstack.analysis.teams import Team
from adstack.backends.codegen_llvm import waves, workgroups
from adstack.backends.codegen_llvm.devices import CALLOC, Device
from adstack.backends.codegen_llvm.function.teams import ThreadBlocks
from adstack.backends.codegen_llvm.function.values import FunctionWriter
from adstack.backends.codegen_llvm.text.writer import type_text
from adstack.backends.shared.workgroups import Room, team_in
from adstack.ir.structure import Task
from adstack.ir.types import DType, f32

from .device_code.blocks import MOST, SHARED_BYTES, Block, DeviceBlocks
from .device_code.division import quotient
from .device_code.warps import WARP, Warp
from .overlap import WAIT
from .played.blocks import HOST, HostBlocks

__all__ = ["MOST_THREADS", "PARAMETER_BYTES", "Threads"]

MOST_THREADS: Final = 256
"""Threads of a block, at most: so every thread may have as many registers as a thread can have."""
PARAMETER_BYTES: Final = 32764
"""Bytes of parameters that a kernel may have."""
_WARP: Final = Warp()
_BLOCK: Final = Block()

_DEVICE: Final = """target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal i64 @adstack.thread() alwaysinline nounwind {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %a = zext i32 %tid to i64
  %b = zext i32 %ntid to i64
  %c = zext i32 %ctaid to i64
  %d = mul i64 %b, %c
  %e = add i64 %d, %a
  ret i64 %e
}
define internal i64 @adstack.threads() alwaysinline nounwind {
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %nctaid = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %a = zext i32 %ntid to i64
  %b = zext i32 %nctaid to i64
  %c = mul i64 %a, %b
  ret i64 %c
}
"""

_REDUCTIONS: Final[Mapping[str, Mapping[int, tuple[str, str]]]] = {
    "fadd": {16: ("add.noftz.f16", "h"), 32: ("add.f32", "f"), 64: ("add.f64", "d")},
    "add": {32: ("add.u32", "r"), 64: ("add.u64", "l")},
    "min": {32: ("min.s32", "r"), 64: ("min.s64", "l")},
    "max": {32: ("max.s32", "r"), 64: ("max.s64", "l")},
    "umin": {32: ("min.u32", "r"), 64: ("min.u64", "l")},
    "umax": {32: ("max.u32", "r"), 64: ("max.u64", "l")},
    **{
        word: {bits: (f"{word}.b{bits}", "r" if bits == 32 else "l") for bits in (32, 64)}
        for word in ("and", "or", "xor")
    },
}
"""What `red` can do: by the word of an atomicrmw and bits, the operation and the kind of register."""


class Threads(Device):
    """A device whose threads run tasks.

    Args:
        slots: words of a task's context and of the table about adstacks, which are handed over by value.
        debug: whether a task does nothing once something has failed.
        adds: float types to which memory adds by itself -> the least magnitude, see `Target.float_adds`.
        host: whether it is the host that plays the device.
        waits: whether a kernel is launched while the one before may still run, see `overlap`.
        pairs: see `Target.adds_pairs`.
    """

    array_bytes = 256 * 1024
    scope = ' syncscope("device")'

    def __init__(
        self,
        slots: int,
        *,
        debug: bool,
        adds: Mapping[str, float],
        host: bool = False,
        waits: bool = False,
        pairs: bool = False,
    ) -> None:
        super().__init__(debug=debug)
        self.adds_pairs = pairs and "f32" in adds
        self.slots, self.float_adds, self.host, self.waits = slots, adds, host, waits
        self.head = HOST if host else _DEVICE + workgroups.shared_words(MOST // WARP)
        if host:
            self.scope = ""
        else:
            self.allocators = {**Device.allocators, "calloc": CALLOC}

    def serial(self, symbol: str) -> str:
        """A kernel that one thread runs."""
        if self.host:
            return f"define void @{symbol}(ptr noalias %ctx)"
        return f"define ptx_kernel void @{symbol}(ptr noalias byval([{self.slots} x i64]) align 8 %ctx)"

    def parallel(self, symbol: str) -> str:
        """A kernel; its threads divide the iterations among themselves."""
        return self.serial(symbol) if self.host else f'{self.serial(symbol)} "nvvm.maxntid"="{MOST_THREADS}"'

    def begin(self, e: FunctionWriter) -> None:
        """Begin when the launch before has ended."""
        if self.waits:
            e.w.do(WAIT)
        super().begin(e)

    def team(self, task: Task) -> Team | None:
        """The blocks of threads that iterations are, where a thread block has room for them."""
        room = Room(MOST, SHARED_BYTES, own=self.array_bytes, coherent=True, atomics=(32, 64))
        return team_in(task, room, debug=self.debug)

    def thread_blocks(self, team: Team) -> ThreadBlocks:
        """Thread blocks."""
        return HostBlocks(team) if self.host else DeviceBlocks(team, self.serial)

    def gathered(self, e: FunctionWriter, kind: str, dtype: DType, value: str) -> tuple[str, str]:
        """One thread of a block speaks for all."""
        if self.host:
            return value, ""
        total = workgroups.total(_BLOCK, e.w, kind, dtype, value)
        return total, e.w.let(f"icmp eq i32 {_BLOCK.thread(e.w)}, 0")

    def divide(self, e: FunctionWriter, dtype: DType, a: str, b: str) -> str | None:
        """Division of f32, by a way in which a dividend of zero is no special case; None for other types."""
        return None if self.host or dtype is not f32 else quotient(e, a, b)

    @property
    def together(self) -> int:
        """A warp; the host plays one thread at a time."""
        return 1 if self.host else WARP

    def agree(self, e: FunctionWriter, words: Sequence[str], condition: str) -> str:
        """By a vote."""
        return condition if self.host else waves.agree(_WARP, e.w, words, condition)

    def totals(self, e: FunctionWriter, kind: str, dtype: DType, values: Sequence[str]) -> Sequence[str]:
        """By shuffles."""
        return values if self.host else waves.totals(_WARP, e.w, kind, dtype, values)

    def peers(self, e: FunctionWriter, kind: str, dtype: DType, pointer: str, value: str) -> tuple[str, str]:
        """By matching pointers, and shuffles."""
        return (value, "true") if self.host else waves.peers(_WARP, e.w, kind, dtype, pointer, value)

    def parting(self, e: FunctionWriter) -> Callable[[], None]:
        """By a barrier: where one thread takes a loop of compare-and-swap, NVIDIA's assembler lets the others go on."""
        if self.host:
            return super().parting(e)
        mask = _WARP.active(e.w)
        return lambda: e.w.effect("llvm.nvvm.bar.warp.sync", [("i32", mask)])

    def lane(self, e: FunctionWriter) -> str:
        """Counted from 0."""
        return "0" if self.host else _WARP.lane(e.w)

    def reduce(self, e: FunctionWriter, word: str, pointer: str, dtype: DType, value: str) -> bool:
        """By `red`. Of an `atom` whose result nobody takes the driver does not always make one."""
        reduction = _REDUCTIONS.get(word, {}).get(dtype.bits)
        if self.host or reduction is None:
            return False
        at = e.w.let(f"addrspacecast ptr {pointer} to ptr addrspace(1)")
        kind, register = reduction
        code = f"red.relaxed.gpu.global.{kind} [$0], $1;"
        ty = type_text(dtype, 1)
        if dtype.bits == 16:
            ty, value = "i16", e.w.let(f"bitcast half {value} to i16")
        e.w.do(f'call void asm sideeffect "{code}", "l,{register},~{{memory}}"(ptr addrspace(1) {at}, {ty} {value})')
        return True

    def add_pair(self, e: FunctionWriter, pointer: str, values: Sequence[str]) -> None:
        """By `red` of a vector, which devices have since compute capability 9.0."""
        at = e.w.let(f"addrspacecast ptr {pointer} to ptr addrspace(1)")
        code = "red.relaxed.gpu.global.add.v2.f32 [$0], {$1, $2};"
        operands = f"ptr addrspace(1) {at}, float {values[0]}, float {values[1]}"
        e.w.do(f'call void asm sideeffect "{code}", "l,f,f,~{{memory}}"({operands})')
