"""Kernels of a device that the host plays: threads one after another, and blocks of threads that wait for each other.

A task whose threads wait for nobody is a function, called once for each thread. One whose iterations are blocks of
threads is a coroutine of LLVM's: a thread runs to a barrier and is suspended there; when all threads of its block have
come, each goes on. From barrier to barrier they take turns forwards and backwards, so that results change where a
barrier is missing; that not all threads of a block come to the same one is an error of the launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from adstack.analysis.teams import Team
from adstack.backends.codegen_llvm.function.values import FunctionWriter
from adstack.backends.codegen_llvm.text.writer import Writer

__all__ = ["COROUTINE", "DIVERGED", "HOST", "HostBlocks", "grids"]

COROUTINE: Final = "presplitcoroutine"
"""What stands in the text of a module in which there is one: LLVM's own pipeline must run over it."""
DIVERGED: Final = 719
"""CUDA_ERROR_LAUNCH_FAILED: some threads of a block waited for others that never came there."""

HOST: Final = """@adstack.at = internal global i64 0
@adstack.of = internal global i64 0
@adstack.barrier = internal global i64 0
define internal i64 @adstack.thread() alwaysinline nounwind {
  %t = load i64, ptr @adstack.at
  ret i64 %t
}
define internal i64 @adstack.threads() alwaysinline nounwind {
  %n = load i64, ptr @adstack.of
  ret i64 %n
}
"""
"""Which thread this is, of how many, and the number of the barrier that it waits at; 0 for its end."""

_ALIGNMENT: Final = 64
"""Of a coroutine's frame, in bytes: arrays of a thread lie in it, whose elements are moved as whole vectors."""

_INTRINSICS: Final = """declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare void @llvm.coro.end(ptr, i1, token)
declare ptr @llvm.coro.free(token, ptr)
declare void @llvm.coro.resume(ptr)
declare void @llvm.coro.destroy(ptr)
declare noalias ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
"""

_BLOCK: Final = f"""define internal i32 @adstack.block(ptr %task, ptr %ctx, i64 %first, i64 %width, ptr %handles) {{
entry:
  br label %begin
begin:
  %t = phi i64 [ 0, %entry ], [ %t.next, %begin ]
  %place = phi i64 [ 0, %entry ], [ %begun, %begin ]
  %apart = phi i1 [ false, %entry ], [ %split, %begin ]
  %number = add i64 %first, %t
  store i64 %number, ptr @adstack.at
  %handle = call ptr %task(ptr %ctx)
  %slot = getelementptr ptr, ptr %handles, i64 %t
  store ptr %handle, ptr %slot
  %begun = load i64, ptr @adstack.barrier
  %changed = icmp ne i64 %begun, %place
  %later = icmp ne i64 %t, 0
  %other = and i1 %changed, %later
  %split = or i1 %apart, %other
  %t.next = add i64 %t, 1
  %more = icmp ult i64 %t.next, %width
  br i1 %more, label %begin, label %phase
phase:
  %at = phi i64 [ %begun, %begin ], [ %went, %turn ]
  %bad = phi i1 [ %split, %begin ], [ %strayed, %turn ]
  %back = phi i1 [ true, %begin ], [ %forth, %turn ]
  %forth = xor i1 %back, true
  %over = icmp eq i64 %at, 0
  %stop = or i1 %over, %bad
  br i1 %stop, label %drop, label %turn
turn:
  %k = phi i64 [ 0, %phase ], [ %k.next, %turn ]
  %last = phi i64 [ 0, %phase ], [ %went, %turn ]
  %wrong = phi i1 [ false, %phase ], [ %strayed, %turn ]
  %k.next = add i64 %k, 1
  %from.end = sub i64 %width, %k.next
  %which = select i1 %back, i64 %from.end, i64 %k
  %turn.slot = getelementptr ptr, ptr %handles, i64 %which
  %turn.handle = load ptr, ptr %turn.slot
  call void @llvm.coro.resume(ptr %turn.handle)
  %went = load i64, ptr @adstack.barrier
  %differs = icmp ne i64 %went, %last
  %not.first = icmp ne i64 %k, 0
  %elsewhere = and i1 %differs, %not.first
  %strayed = or i1 %wrong, %elsewhere
  %on = icmp ult i64 %k.next, %width
  br i1 %on, label %turn, label %phase
drop:
  %d = phi i64 [ 0, %phase ], [ %d.next, %drop ]
  %drop.slot = getelementptr ptr, ptr %handles, i64 %d
  %drop.handle = load ptr, ptr %drop.slot
  call void @llvm.coro.destroy(ptr %drop.handle)
  %d.next = add i64 %d, 1
  %left = icmp ult i64 %d.next, %width
  br i1 %left, label %drop, label %done
done:
  %code = select i1 %bad, i32 {DIVERGED}, i32 0
  ret i32 %code
}}
"""
"""Runs the threads of one block, from the number `first` on; `handles` has room for as many pointers."""


class HostBlocks:
    """See `ThreadBlocks`: a thread is a coroutine, suspended where it waits.

    Args:
        team: the blocks of a task.
    """

    scope = ""

    def __init__(self, team: Team) -> None:
        self.width = team.threads
        self._barriers = 0

    def head(self, symbol: str) -> str:
        """See `ThreadBlocks.head`: it gives the handle of the coroutine, at its first barrier."""
        return f"define internal ptr @{symbol}(ptr noalias %ctx) {COROUTINE}"

    def begin(self, e: FunctionWriter) -> None:
        """See `ThreadBlocks.begin`."""
        w = e.w
        w.declare("llvm.coro.id", _INTRINSICS)
        w.do(f"%co.id = call token @llvm.coro.id(i32 {_ALIGNMENT}, ptr null, ptr null, ptr null)")
        size = w.let(f"add i64 {w.let('call i64 @llvm.coro.size.i64()')}, {_ALIGNMENT - 1}")
        size = w.let(f"and i64 {size}, {-_ALIGNMENT}")
        w.do(f"%co.frame = call ptr @aligned_alloc(i64 {_ALIGNMENT}, i64 {size})")
        w.do("%co = call ptr @llvm.coro.begin(token %co.id, ptr %co.frame)")

    def end(self, e: FunctionWriter) -> None:
        """See `ThreadBlocks.end`: what the coroutine has is given back when it is destroyed."""
        self._suspend(e, 0, "true", "")
        e.enter("co.drop")
        e.w.do(f"call void @free(ptr {e.w.let('call ptr @llvm.coro.free(token %co.id, ptr %co)')})")
        e.jump("co.out")
        e.enter("co.out")
        e.w.do("call void @llvm.coro.end(ptr %co, i1 false, token none)")
        e.w.do("ret ptr %co")

    def span(self, w: Writer, total: Callable[[], str]) -> tuple[str, str, str]:
        """See `ThreadBlocks.span`."""
        end = total()
        numbers = (w.let(f"call i64 @adstack.{name}()") for name in ("thread", "threads"))
        first, count = (w.let(f"udiv i64 {number}, {self.width}") for number in numbers)
        return first, end, count

    def thread(self, w: Writer) -> str:
        """See `ThreadBlocks.thread`."""
        return w.let(f"urem i64 {w.let('call i64 @adstack.thread()')}, {self.width}")

    def wait(self, e: FunctionWriter) -> None:
        """See `ThreadBlocks.wait`."""
        self._barriers += 1
        behind = e.label("behind")
        self._suspend(e, self._barriers, "false", f"i8 0, label %{behind}")
        e.enter(behind)

    def _suspend(self, e: FunctionWriter, number: int, final: str, more: str) -> None:
        """Wait at the barrier of a number; where to go on stands in `more`, as a case of `switch`."""
        e.w.do(f"store i64 {number}, ptr @adstack.barrier")
        way = e.w.let(f"call i8 @llvm.coro.suspend(token none, i1 {final})")
        e.w.do(f"switch i8 {way}, label %co.out [ {more} i8 1, label %co.drop ]")

    def shared(self, symbol: str, ty: str) -> tuple[str, str]:
        """See `ThreadBlocks.shared`: one block runs at a time."""
        return f"{symbol} = internal global {ty} zeroinitializer, align 8\n", symbol


def grids(symbols: Sequence[str], widths: Mapping[str, int]) -> str:
    """Functions `i32 SYMBOL.grid(ptr ctx, i64 threads)` that run all threads of a task, and give CUDA's code.

    Args:
        symbols: of the tasks.
        widths: of those whose iterations are blocks of threads, how many threads a block has.
    """
    text = "".join(_block_grid(s, widths[s]) if s in widths else _grid(s) for s in symbols)
    return (_BLOCK if widths else "") + text


def _grid(symbol: str) -> str:
    """Threads one after another."""
    return (
        f'define i32 @"{symbol}.grid"(ptr %ctx, i64 %threads) {{\nentry:\n'
        "  store i64 %threads, ptr @adstack.of\n  br label %head\n"
        "head:\n  %t = phi i64 [ 0, %entry ], [ %next, %one ]\n"
        "  %more = icmp slt i64 %t, %threads\n  br i1 %more, label %one, label %done\n"
        f"one:\n  store i64 %t, ptr @adstack.at\n  call void @{symbol}(ptr %ctx)\n"
        "  %next = add i64 %t, 1\n  br label %head\ndone:\n  ret i32 0\n}\n"
    )


def _block_grid(symbol: str, width: int) -> str:
    """Blocks one after another."""
    call = f"call i32 @adstack.block(ptr @{symbol}, ptr %ctx, i64 %t, i64 {width}, ptr %handles)"
    return (
        f'define i32 @"{symbol}.grid"(ptr %ctx, i64 %threads) {{\nentry:\n'
        f"  %handles = alloca [{width} x ptr], align 8\n"
        "  store i64 %threads, ptr @adstack.of\n  br label %head\n"
        "head:\n  %t = phi i64 [ 0, %entry ], [ %next, %one ]\n"
        "  %code = phi i32 [ 0, %entry ], [ %said, %one ]\n"
        "  %more = icmp slt i64 %t, %threads\n  %fine = icmp eq i32 %code, 0\n"
        "  %go.on = and i1 %more, %fine\n  br i1 %go.on, label %one, label %done\n"
        f"one:\n  %said = {call}\n"
        f"  %next = add i64 %t, {width}\n  br label %head\ndone:\n  ret i32 %code\n}}\n"
    )
