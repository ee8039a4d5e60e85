"""How a task becomes a kernel: one thread per iteration, and where there are fewer threads, each strides on.

Two worlds run the same task text. `Threads` is a CUDA device, with blocks of threads that combine what they have
gathered. `Threads(host=True)` is the host playing the device, one thread after another, each a block of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from adstack.backends.codegen_llvm.adstacks.heap_rows import word
from adstack.backends.codegen_llvm.adstacks.overflow import record_overflow
from adstack.backends.codegen_llvm.function.heap_table import Words
from adstack.backends.codegen_llvm.function.target import Target
from adstack.backends.codegen_llvm.function.values import FunctionWriter
from adstack.backends.codegen_llvm.text.writer import Writer, type_text
from adstack.ir.structure import Op
from adstack.ir.types import DType, f32

from .device_code import warps
from .device_code.division import quotient
from .device_code.warps import WARP, over_first
from .overlap import WAIT

__all__ = ["MOST_THREADS", "PARAMETER_BYTES", "Threads"]

MOST_THREADS: Final = 256
"""Of a block: with so many, every thread may have all the registers that a thread can have."""
PARAMETER_BYTES: Final = 32764
"""What a kernel may be handed."""

_DEVICE: Final = """target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@adstack.shared = internal addrspace(3) global [32 x i64] undef, align 8
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
define internal i1 @adstack.first() alwaysinline nounwind {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  ret i1 %first
}
"""

_HOST: Final = """@adstack.at = internal global i64 0
@adstack.of = internal global i64 0
define internal i64 @adstack.thread() alwaysinline nounwind {
  %t = load i64, ptr @adstack.at
  ret i64 %t
}
define internal i64 @adstack.threads() alwaysinline nounwind {
  %n = load i64, ptr @adstack.of
  ret i64 %n
}
define internal i1 @adstack.first() alwaysinline nounwind {
  ret i1 true
}
"""

_CALLOC: Final = """define internal ptr @calloc(i64 %count, i64 %size) noinline nounwind {
entry:
  %bytes = mul i64 %count, %size
  %more = add i64 %bytes, 7
  %words = lshr i64 %more, 3
  %rounded = shl i64 %words, 3
  %made = call ptr @malloc(i64 %rounded)
  %none = icmp eq ptr %made, null
  br i1 %none, label %done, label %test
test:
  %k = phi i64 [ 0, %entry ], [ %next, %zero ]
  %more.words = icmp ult i64 %k, %words
  br i1 %more.words, label %zero, label %done
zero:
  %at = getelementptr i64, ptr %made, i64 %k
  store i64 0, ptr %at, align 8
  %next = add i64 %k, 1
  br label %test
done:
  ret ptr %made
}
"""
"""Memory of the device's own heap is not zeroed."""


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


class Threads(Target):
    """A device whose threads run tasks.

    Args:
        slots: words of a task's context and of the table about adstacks, which are handed over by value.
        debug: whether a task does nothing once something has failed.
        adds: float types to which memory adds by itself -> the least magnitude, see `Target.float_adds`.
        host: whether it is the host that plays the device.
        waits: whether a kernel is launched while the one before may still run, see `overlap`.
    """

    counts = False
    array_bytes = 256 * 1024
    frames = True
    invariant_loads = True
    shares = False
    loop_versions = True
    scope = ' syncscope("device")'

    def __init__(
        self, slots: int, *, debug: bool, adds: Mapping[str, float], host: bool = False, waits: bool = False
    ) -> None:
        self.slots, self.debug, self.float_adds, self.host, self.waits = slots, debug, adds, host, waits
        self.head = _HOST if host else _DEVICE
        if host:
            self.scope = ""
        else:
            self.allocators = {**Target.allocators, "calloc": _CALLOC}

    def serial(self, symbol: str) -> str:
        """A kernel that one thread runs."""
        if self.host:
            return f"define void @{symbol}(ptr noalias %ctx)"
        return f"define ptx_kernel void @{symbol}(ptr noalias byval([{self.slots} x i64]) align 8 %ctx)"

    def parallel(self, symbol: str) -> str:
        """A kernel; its threads divide the iterations among themselves."""
        return self.serial(symbol) if self.host else f'{self.serial(symbol)} "nvvm.maxntid"="{MOST_THREADS}"'

    def span(self, w: Writer, total: Callable[[], str]) -> tuple[str, str, str]:
        """From the thread's number to the end, by the number of threads."""
        end = total()
        return w.let("call i64 @adstack.thread()"), end, w.let("call i64 @adstack.threads()")

    def begin(self, e: FunctionWriter) -> None:
        """Begin when the launch before has ended; do nothing once an earlier task, or another thread, has failed."""
        if self.waits:
            e.w.do(WAIT)
        if self.debug:
            leave, go_on = e.label("failed"), e.label("begin")
            flag = e.w.let("load atomic i64, ptr %errors monotonic, align 8")
            e.split(e.w.let(f"icmp ne i64 {flag}, 0"), leave, go_on)
            e.enter(leave)
            e.w.do(e.frame.leave)
            e.enter(go_on)

    def own(self, name: str, slot: int, size: int) -> list[str]:
        """The table about adstacks follows the context; the heap's address is told, not where it stands."""
        if name == "rows":
            return [f"  %rows = getelementptr i64, ptr %ctx, i64 {size}"]
        if name != "heap":
            return super().own(name, slot, size)
        at = f"  %heap.at = getelementptr i64, ptr %ctx, i64 {slot}"
        load = "  %heap.memory = load ptr addrspace(1), ptr %heap.at, align 8"
        return [at, load, "  %heap = addrspacecast ptr addrspace(1) %heap.memory to ptr"]

    def block(self, e: FunctionWriter, size: str, *, parallel: bool) -> str:
        """All threads share the rows."""
        return "%heap"

    def claim(self, e: FunctionWriter, op: Op, words: Words) -> None:
        """A thread that comes to push takes the next lane, and keeps it; more than were counted overflow.

        Where there is a lane for every thread, neighbours have neighbouring ones.
        """
        if words.heap.claims is None:
            return
        w, mine = e.w, e.frame.zeroed_slot()
        take, after, lanes = e.label("take"), e.label("taken"), word(e, words.blocks)
        few = w.let(f"icmp slt i64 {lanes}, {w.let('call i64 @adstack.threads()')}")
        none = w.let(f"icmp eq i64 {w.let(f'load i64, ptr {mine}, align 8')}, 0")
        wanted = w.let(f"and i1 {few}, {e.scalar(op.operands[0])}")
        e.split(w.let(f"and i1 {wanted}, {none}"), take, after)
        e.enter(take)
        counter = self.address(w, w.let(f"getelementptr i64, ptr %rows, i64 {words.taken}"))
        before = w.let(f"atomicrmw add ptr {counter}, i64 1{self.scope} monotonic, align 8")
        w.do(f"store i64 {w.let(f'add i64 {before}, 1')}, ptr {mine}, align 8")
        e.jump(after)
        e.enter(after)
        own = w.let(f"add i64 {w.let('call i64 @adstack.thread()')}, 1")
        number = w.let(f"select i1 {few}, i64 {w.let(f'load i64, ptr {mine}, align 8')}, i64 {own}")
        beyond, full, inside = w.let(f"icmp sgt i64 {number}, {lanes}"), e.label("full"), e.label("inside")
        e.split(beyond, full, inside, unlikely=True)
        e.enter(full)
        site = e.frame.stack_site(op.loc, "what is pushed by more iterations than were counted")
        record_overflow(e, self.scope, site, lanes, number)
        e.jump(inside)
        e.enter(inside)
        lane = w.intrinsic("llvm.umin.i64", "i64", [("i64", lanes), ("i64", number)])
        e.frame.lane = lanes, w.intrinsic("llvm.usub.sat.i64", "i64", [("i64", lane), ("i64", "1")])

    def row(self, e: FunctionWriter) -> tuple[str, str]:
        """A lane for each thread of the launch; neighbours stand side by side."""
        if not e.frame.parallel:
            return "1", "0"
        if e.frame.lane is not None:
            return e.frame.lane
        return e.w.let("call i64 @adstack.threads()"), e.w.let("call i64 @adstack.thread()")

    def address(self, w: Writer, at: str) -> str:
        """The memory of the device at large, not that of a thread or block."""
        name = w.let(f"load ptr addrspace(1), ptr {at}, align 8")
        return w.let(f"addrspacecast ptr addrspace(1) {name} to ptr")

    def gathered(self, e: FunctionWriter, kind: str, dtype: DType, value: str) -> tuple[str, str]:
        """One thread of a block speaks for all."""
        if self.host:
            return value, ""
        ty = type_text(dtype, 1)
        symbol = f"adstack.block.{kind}.{dtype.name}"
        e.w.declare(symbol, _block(symbol, kind, dtype))
        total = e.w.let(f"call {ty} @{symbol}({ty} {value})")
        return total, e.w.let("call i1 @adstack.first()")

    def divide(self, e: FunctionWriter, dtype: DType, a: str, b: str) -> str | None:
        """Of f32, with zero among the usual dividends."""
        return None if self.host or dtype is not f32 else quotient(e, a, b)

    @property
    def together(self) -> int:
        """A warp; the host plays one thread at a time."""
        return 1 if self.host else WARP

    def agree(self, e: FunctionWriter, words: Sequence[str], condition: str) -> str:
        """By a vote."""
        return condition if self.host else warps.agree(e.w, words, condition)

    def totals(self, e: FunctionWriter, kind: str, dtype: DType, values: Sequence[str]) -> Sequence[str]:
        """By shuffles."""
        return values if self.host else warps.totals(e.w, kind, dtype, values)

    def peers(self, e: FunctionWriter, kind: str, dtype: DType, pointer: str, value: str) -> tuple[str, str]:
        """By matching pointers, and shuffles."""
        return (value, "true") if self.host else warps.peers(e.w, kind, dtype, pointer, value)

    def lane(self, e: FunctionWriter) -> str:
        """Counted from 0."""
        return "0" if self.host else warps.lane(e.w)

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

    def print(self, e: FunctionWriter, site: int, words: str, count: int) -> None:
        """Append [site, arguments] to the buffer at `%print`: {words taken, words there are, words...}."""
        w, size = e.w, count + 1
        start = w.let(f"atomicrmw add ptr %print, i64 {size}{self.scope} monotonic, align 8")
        room = w.let(f"load i64, ptr {w.let('getelementptr i64, ptr %print, i64 1')}, align 8")
        end = w.let(f"add i64 {start}, {size}")
        write, after = e.label("write"), e.label("written")
        e.split(w.let(f"icmp ule i64 {end}, {room}"), write, after)
        e.enter(write)
        base = w.let(f"getelementptr i64, ptr %print, i64 {w.let(f'add i64 {start}, 2')}")
        w.do(f"store i64 {site}, ptr {base}, align 8")
        for k in range(count):
            word = w.let(f"load i64, ptr {w.let(f'getelementptr i64, ptr {words}, i64 {k}')}, align 8")
            w.do(f"store i64 {word}, ptr {w.let(f'getelementptr i64, ptr {base}, i64 {k + 1}')}, align 8")
        e.jump(after)
        e.enter(after)


def _block(symbol: str, kind: str, dtype: DType) -> str:
    """A function that combines the values of a block's threads, in a fixed order; the first thread has the result."""
    w, ty = Writer(), type_text(dtype, 1)
    tid = w.let("call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
    threads = w.let("call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()")
    warp, lane = w.let(f"lshr i32 {tid}, 5"), w.let(f"and i32 {tid}, 31")
    mine = over_first(w, kind, dtype, "%x", lane, w.let(f"sub i32 {threads}, {w.let(f'and i32 {tid}, -32')}"))
    w.do("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)")  # whoever used the words before has read them
    at = w.let(f"getelementptr i64, ptr addrspace(3) @adstack.shared, i32 {warp}")
    w.do(f"br i1 {w.let(f'icmp eq i32 {lane}, 0')}, label %put, label %wait")
    w.label("put")
    w.do(f"store {ty} {mine}, ptr addrspace(3) {at}, align 8")
    w.do("br label %wait")
    w.label("wait")
    w.do("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)")
    w.do(f"br i1 {w.let(f'icmp ult i32 {tid}, {WARP}')}, label %gather, label %done")
    w.label("gather")
    warps = w.let(f"lshr i32 {w.let(f'add i32 {threads}, 31')}, 5")
    held = w.let(f"icmp ult i32 {lane}, {warps}")
    which = w.let(f"select i1 {held}, i32 {lane}, i32 0")
    other = w.let(f"getelementptr i64, ptr addrspace(3) @adstack.shared, i32 {which}")
    part = w.let(f"load {ty}, ptr addrspace(3) {other}, align 8")
    total = over_first(w, kind, dtype, part, lane, warps)
    w.do("br label %done")
    w.label("done")
    result = w.let(f"phi {ty} [ {mine}, %wait ], [ {total}, %gather ]")
    w.do(f"ret {ty} {result}")
    body = "\n".join(w.lines)
    return f"define internal {ty} @{symbol}({ty} %x) alwaysinline convergent nounwind {{\nentry:\n{body}\n}}"
