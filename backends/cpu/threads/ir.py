"""The thread pool's code, as LLVM assembly: what runs between a kernel's loop and its chunks.

One loop is shared at a time. It is published in the words of `@pool`, then the generation is raised. A worker that
sees a new generation counts itself into `active`, takes a seat if one is left, takes chunks by an atomic counter until
none is left, and counts itself out. The caller, who has seat 0, takes chunks too, then closes `active`, after which
nobody can count themselves in, and waits until it is empty.
"""

from __future__ import annotations

from typing import Final

from .check import CHECK
from .notes import NOTES
from .sharing import SHARING
from .system import PAUSES, functions
from .words import CLOSED, FLAGS, LINE, WORDS

__all__ = ["text"]

_PIECE_NANOSECONDS: Final = 1_000_000
"""How long a piece may take and still be doubled."""


def text(system: str, machine: str) -> str:
    """The module for "linux", "darwin", "windows" or another system, on "x86" or "arm64"."""
    code = "\n".join((_TYPES, CHECK, _DRAIN, _WORKER, _STOP, SHARING, functions(system, machine), NOTES))
    for name, at in WORDS.items():
        code = code.replace(f"${name}$", f"getelementptr (i64, ptr @pool, i64 {at})")
    return code.replace("PAUSE", PAUSES[machine])


_TYPES: Final = f"""
@pool = global [{7 * LINE} x i64] zeroinitializer, align 128
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyGILState_GetThisThreadState()
declare ptr @PyThreadState_GetUnchecked()
declare i32 @PyErr_CheckSignals()
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
"""


_DRAIN: Final = f"""
; run one piece of the loop that is shared, of %size iterations or what is left; false if nothing is
define internal i1 @step(ptr %size, i64 %seat) {{
  %count = load i64, ptr %size, align 8
  %total = load i64, ptr $total$, align 8
  %begin = atomicrmw add ptr $next$, i64 %count monotonic
  %some = icmp slt i64 %begin, %total
  br i1 %some, label %run, label %none
run:
  %full = add i64 %begin, %count
  %end = call i64 @llvm.smin.i64(i64 %full, i64 %total)
  %task = load ptr, ptr $task$, align 8
  %ctx = load ptr, ptr $ctx$, align 8
  %most = load i64, ptr $chunk$, align 8
  call void @piece(ptr %task, ptr %ctx, i64 %begin, i64 %end, i64 %seat, ptr %size, i64 %most)
  ret i1 true
none:
  ret i1 false
}}

; run iterations; the next piece is twice as large, up to %most, if this one took little time
define internal void @piece(ptr %task, ptr %ctx, i64 %begin, i64 %end, i64 %seat, ptr %size, i64 %most) {{
  %count = load i64, ptr %size, align 8
  %grown = icmp sge i64 %count, %most
  br i1 %grown, label %plain, label %timed
plain:
  call void %task(ptr %ctx, i64 %begin, i64 %end, i64 %seat)
  ret void
timed:
  %start = call i64 @now()
  call void %task(ptr %ctx, i64 %begin, i64 %end, i64 %seat)
  %stop = call i64 @now()
  %took = sub i64 %stop, %start
  %short = icmp slt i64 %took, {_PIECE_NANOSECONDS}
  br i1 %short, label %grow, label %keep
grow:
  %twice = shl i64 %count, 1
  %larger = call i64 @llvm.smin.i64(i64 %twice, i64 %most)
  store i64 %larger, ptr %size, align 8
  ret void
keep:
  ret void
}}
"""

_WORKER: Final = f"""
; a worker's life
define void @adstack_worker(i32 %seen.first) {{
entry:
  %size = alloca i64, align 8
  br label %idle
idle:
  %seen = phi i32 [ %seen.first, %entry ], [ %found, %after ]
  %limit = load atomic i64, ptr $spin$ monotonic, align 8
  br label %spin
spin:
  %turn = phi i64 [ 0, %idle ], [ %turn.next, %turns ]
  %look = load atomic i32, ptr $generation$ acquire, align 8
  %same = icmp eq i32 %look, %seen
  br i1 %same, label %turns, label %woken
turns:
  PAUSE
  %turn.next = add i64 %turn, 1
  %more = icmp slt i64 %turn.next, %limit
  br i1 %more, label %spin, label %sleep
sleep:
  %up = atomicrmw add ptr $sleepers$, i32 1 seq_cst
  %wait = load ptr, ptr $wait$, align 8
  call void %wait(ptr $generation$, i32 %seen)
  %down = atomicrmw sub ptr $sleepers$, i32 1 seq_cst
  %after.sleep = load atomic i32, ptr $generation$ acquire, align 8
  %still = icmp eq i32 %after.sleep, %seen
  br i1 %still, label %sleep, label %woken
woken:
  %found = phi i32 [ %look, %spin ], [ %after.sleep, %sleep ]
  %quit = load atomic i64, ptr $quit$ acquire, align 8
  %leaves = icmp ne i64 %quit, 0
  br i1 %leaves, label %gone, label %join
join:
  %before = atomicrmw add ptr $active$, i32 1 seq_cst
  %closed = and i32 %before, {CLOSED}
  %open = icmp eq i32 %closed, 0
  br i1 %open, label %sit, label %part
sit:
  %seat = atomicrmw add ptr $seated$, i64 1 monotonic
  %seats = load i64, ptr $seats$, align 8
  %free = icmp slt i64 %seat, %seats
  br i1 %free, label %begin, label %part
begin:
  %first = load i64, ptr $first$, align 8
  store i64 %first, ptr %size, align 8
  br label %work
work:
  %again = call i1 @step(ptr %size, i64 %seat)
  br i1 %again, label %work, label %part
part:
  %left = atomicrmw sub ptr $active$, i32 1 seq_cst
  %last = icmp eq i32 %left, {FLAGS + 1}
  br i1 %last, label %tell, label %after
tell:
  %wake = load ptr, ptr $wake$, align 8
  call void %wake(ptr $active$, i32 1)
  br label %after
after:
  br label %idle
gone:
  ret void
}}
"""

_STOP: Final = """
; end all workers
define void @adstack_stop() {
  store atomic i64 0, ptr $workers$ release, align 8
  store atomic i64 1, ptr $quit$ release, align 8
  %raised = atomicrmw add ptr $generation$, i32 1 seq_cst
  %wake = load ptr, ptr $wake$, align 8
  call void %wake(ptr $generation$, i32 2147483647)
  ret void
}
"""
