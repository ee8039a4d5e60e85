"""What devices have in common whose threads run tasks: a thread per iteration; where there are fewer, each strides on.

A device's own text defines `i64 @adstack.thread()`, the number of the thread in the launch, and
`i64 @adstack.threads()`, how many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adstack.ir.structure import Op

from .adstacks.heap_rows import word
from .adstacks.overflow import record_overflow
from .function.heap_table import Words
from .function.target import Target
from .function.values import FunctionWriter
from .text.writer import Writer

__all__ = ["CALLOC", "Device"]

CALLOC: Final = """define internal ptr @calloc(i64 %count, i64 %size) noinline nounwind {
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
"""Zeroed memory, by a device's own `malloc`, whose memory is not."""


class Device(Target):
    """A device. What a task is told stands in its context, which the table about adstacks follows.

    Args:
        debug: whether a task does nothing once something has failed.
    """

    counts = False
    frames = True
    invariant_loads = True
    shares = False
    loop_versions = True

    def __init__(self, *, debug: bool) -> None:
        self.debug = debug

    def span(self, w: Writer, total: Callable[[], str]) -> tuple[str, str, str]:
        """From the thread's number to the end, by the number of threads."""
        end = total()
        return w.let("call i64 @adstack.thread()"), end, w.let("call i64 @adstack.threads()")

    def begin(self, e: FunctionWriter) -> None:
        """Do nothing once an earlier task, or another thread, has failed."""
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
