"""The caller's side of the pool, as LLVM assembly: it divides a loop into pieces, and runs them with the workers."""

from __future__ import annotations

from typing import Final

from .words import CLOSED, FLAGS, STOPPED, WAITING

__all__ = ["SHARING"]

_PIECES: Final = 8
"""The least number of pieces per thread: enough to even out threads of different speed."""
_SMALLER: Final = 16
"""By how much the first pieces are smaller than the largest: long ones stay so small, so that a launch can be ended."""
_FIRST: Final = 1 << 20
"""Iterations of the first pieces at most: some ms at once would do no harm, but a loop of 10^13 has long eighths."""
_WORTH_NANOSECONDS: Final = 5_000
"""What a piece takes at least, where that was measured."""

_PARALLEL: Final = f"""
; run task(ctx, begin, end, seat) over pieces of [0, total), none smaller than about `grain`; nonzero if a signal ended
; it. A negative grain stands for one that is not known: so many iterations are timed first. At most `seats` threads
; take part, and no two of them at the same time have the same seat.
define i32 @adstack_parallel(ptr %task, ptr %ctx, i64 %total, i64 %grain, i64 %seats) {{
  %status = call i32 @shared(ptr %task, ptr %ctx, i64 %total, i64 %grain, i64 %seats)
  %stop = call i1 @stopped()
  br i1 %stop, label %ended, label %done
ended:  ; everyone has left: the next launch may go on
  store atomic i64 0, ptr $stop$ monotonic, align 8
  ret i32 1
done:
  ret i32 %status
}}

define internal i32 @shared(ptr %task, ptr %ctx, i64 %total, i64 %grain, i64 %seats) {{
entry:
  %some = icmp sgt i64 %total, 0
  br i1 %some, label %size, label %nothing
nothing:
  ret i32 0
size:
  %known = icmp sge i64 %grain, 0
  br i1 %known, label %compare, label %try
compare:
  %few = icmp sle i64 %total, %grain
  br i1 %few, label %small, label %large
small:
  call void %task(ptr %ctx, i64 0, i64 %total, i64 0)
  ret i32 0
large:
  %status.known = call i32 @divide(ptr %task, ptr %ctx, i64 0, i64 %total, i64 %grain, i64 %seats)
  ret i32 %status.known
try:
  %given = sub i64 0, %grain
  %enough = icmp slt i64 %given, %total
  %sample = select i1 %enough, i64 %given, i64 1
  %start = call i64 @now()
  call void %task(ptr %ctx, i64 0, i64 %sample, i64 0)
  %stop = call i64 @now()
  %left = sub i64 %total, %sample
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %judge, label %nothing
judge:
  ; in floating point: nanoseconds times iterations may be beyond an integer
  %took = sub i64 %stop, %start
  %took.some = call i64 @llvm.smax.i64(i64 %took, i64 1)
  %took.real = sitofp i64 %took.some to double
  %sample.real = sitofp i64 %sample to double
  %left.real = sitofp i64 %left to double
  %each = fdiv double %took.real, %sample.real
  %all = fmul double %each, %left.real
  %long = fcmp oge double %all, {2.0 * _WORTH_NANOSECONDS}
  br i1 %long, label %measured, label %rest
rest:
  call void %task(ptr %ctx, i64 %sample, i64 %total, i64 0)
  ret i32 0
measured:
  %worth = fdiv double {1.0 * _WORTH_NANOSECONDS}, %each
  %fits = fcmp olt double %worth, 1.0e+15
  %bounded = select i1 %fits, double %worth, double 1.0e+15
  %least = fptosi double %bounded to i64
  %status.tried = call i32 @divide(ptr %task, ptr %ctx, i64 %sample, i64 %total, i64 %least, i64 %seats)
  ret i32 %status.tried
}}

; share what is left, if there are others to share it with
define internal i32 @divide(ptr %task, ptr %ctx, i64 %begin, i64 %total, i64 %grain, i64 %seats) {{
entry:
  %left = sub i64 %total, %begin
  %all = load atomic i64, ptr $workers$ acquire, align 8
  %others.most = sub i64 %seats, 1
  %workers = call i64 @llvm.smin.i64(i64 %all, i64 %others.most)
  %threads = add i64 %workers, 1
  %most = mul i64 %threads, {_PIECES}
  %many = mul i64 %threads, {_PIECES * _SMALLER}
  %chunk = call i64 @chunk(i64 %left, i64 %grain, i64 %most)
  %even = call i64 @chunk(i64 %left, i64 %grain, i64 %many)
  %first = call i64 @llvm.smin.i64(i64 %even, i64 {_FIRST})
  %pieces = call i64 @pieces(i64 %left, i64 %first)
  %single = icmp eq i64 %workers, 0
  br i1 %single, label %alone, label %try
try:
  %got = cmpxchg ptr $busy$, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {{ i32, i1 }} %got, 1
  br i1 %mine, label %share, label %alone
alone:
  %status.alone = call i32 @alone(ptr %task, ptr %ctx, i64 %begin, i64 %total, i64 %first)
  ret i32 %status.alone
share:
  store ptr %task, ptr $task$, align 8
  store ptr %ctx, ptr $ctx$, align 8
  store i64 %total, ptr $total$, align 8
  store i64 %chunk, ptr $chunk$, align 8
  store i64 %first, ptr $first$, align 8
  store i64 %seats, ptr $seats$, align 8
  store atomic i64 1, ptr $seated$ monotonic, align 8
  store atomic i64 %begin, ptr $next$ monotonic, align 8
  %opened = atomicrmw and ptr $active$, i32 {~FLAGS} seq_cst
  %raised = atomicrmw add ptr $generation$, i32 1 seq_cst
  %asleep = load atomic i32, ptr $sleepers$ seq_cst, align 8
  %rouse = icmp sgt i32 %asleep, 0
  br i1 %rouse, label %call, label %go
call:
  %others = sub i64 %pieces, 1
  %useful = call i64 @llvm.smin.i64(i64 %others, i64 %workers)
  %count = trunc i64 %useful to i32
  %wake = load ptr, ptr $wake$, align 8
  call void %wake(ptr $generation$, i32 %count)
  br label %go
go:
  %status = call i32 @complete()
  store atomic i32 0, ptr $busy$ release, align 8
  ret i32 %status
}}

; iterations per piece: whole vectors of 64 where the loop is long enough, or of 16
define internal i64 @chunk(i64 %total, i64 %grain, i64 %wanted) {{
  %least = call i64 @llvm.smax.i64(i64 %grain, i64 1)
  %fit = call i64 @pieces(i64 %total, i64 %least)
  %number = call i64 @llvm.smin.i64(i64 %fit, i64 %wanted)
  %even = call i64 @pieces(i64 %total, i64 %number)
  %long = icmp sgt i64 %total, 64
  %medium = icmp sgt i64 %total, 16
  %unit.short = select i1 %medium, i64 16, i64 1
  %unit = select i1 %long, i64 64, i64 %unit.short
  %units = call i64 @pieces(i64 %even, i64 %unit)
  %size = mul i64 %units, %unit
  ret i64 %size
}}

; %total / %by, rounded up
define internal i64 @pieces(i64 %total, i64 %by) {{
  %before = sub i64 %total, 1
  %whole = udiv i64 %before, %by
  %all = add i64 %whole, 1
  ret i64 %all
}}
"""

_ALONE: Final = """
; all pieces on this thread, with a look at signals in between
define internal i32 @alone(ptr %task, ptr %ctx, i64 %from, i64 %total, i64 %first) {
entry:
  %last = alloca i64, align 8
  %size = alloca i64, align 8
  %start = call i64 @now()
  store i64 %start, ptr %last, align 8
  store i64 %first, ptr %size, align 8
  %saved = call ptr @leave()
  br label %piece
piece:
  %begin = phi i64 [ %from, %entry ], [ %end, %on ]
  %count = load i64, ptr %size, align 8
  %full = add i64 %begin, %count
  %end = call i64 @llvm.smin.i64(i64 %full, i64 %total)
  call void @piece(ptr %task, ptr %ctx, i64 %begin, i64 %end, i64 0, ptr %size, i64 %total)
  %more = icmp slt i64 %end, %total
  br i1 %more, label %check, label %done
check:
  %stop = call i1 @interrupted(ptr %last)
  br i1 %stop, label %done, label %on
on:
  br label %piece
done:
  %status = phi i32 [ 0, %piece ], [ 1, %check ]
  call void @enter(ptr %saved)
  ret i32 %status
}
"""

_COMPLETE: Final = f"""
; the caller's part of a shared loop: pieces until none is left, then wait for those that others took
define internal i32 @complete() {{
entry:
  %last = alloca i64, align 8
  %size = alloca i64, align 8
  %start = call i64 @now()
  store i64 %start, ptr %last, align 8
  %first = load i64, ptr $first$, align 8
  store i64 %first, ptr %size, align 8
  %saved = call ptr @leave()
  %limit = load atomic i64, ptr $spin$ monotonic, align 8
  br label %work
work:
  %again = call i1 @step(ptr %size, i64 0)
  br i1 %again, label %check, label %close
check:
  %stop = call i1 @interrupted(ptr %last)
  br i1 %stop, label %cancel, label %work
cancel:
  store atomic i64 {STOPPED}, ptr $next$ monotonic, align 8
  br label %close
close:
  %status = phi i32 [ 0, %work ], [ 1, %cancel ]
  %closed = atomicrmw or ptr $active$, i32 {CLOSED} seq_cst
  br label %spin
spin:
  %turn = phi i64 [ 0, %close ], [ %turn.next, %turns ]
  %look = load atomic i32, ptr $active$ acquire, align 8
  %busy = icmp ne i32 %look, {CLOSED}
  br i1 %busy, label %turns, label %done
turns:
  PAUSE
  %turn.next = add i64 %turn, 1
  %more = icmp slt i64 %turn.next, %limit
  br i1 %more, label %spin, label %park
park:
  %status.park = phi i32 [ %status, %turns ], [ %status.next, %parked ]
  %before = atomicrmw or ptr $active$, i32 {WAITING} seq_cst
  %now = or i32 %before, {WAITING}
  %empty = icmp eq i32 %now, {FLAGS}
  br i1 %empty, label %done, label %wait
wait:
  %finish = load ptr, ptr $finish$, align 8
  call void %finish(ptr $active$, i32 %now)
  %ending = icmp ne i32 %status.park, 0
  br i1 %ending, label %parked, label %ask
ask:
  %stop.wait = call i1 @interrupted(ptr %last)
  br i1 %stop.wait, label %cancel.wait, label %parked
cancel.wait:
  store atomic i64 {STOPPED}, ptr $next$ monotonic, align 8
  br label %parked
parked:
  %status.next = phi i32 [ %status.park, %ask ], [ 1, %wait ], [ 1, %cancel.wait ]
  br label %park
done:
  %result = phi i32 [ %status, %spin ], [ %status.park, %park ]
  call void @enter(ptr %saved)
  ret i32 %result
}}
"""

SHARING: Final = "\n".join((_PARALLEL, _ALONE, _COMPLETE))
"""`i32 @adstack_parallel(task, ctx, total, grain, seats)`."""
