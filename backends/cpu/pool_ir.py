"""The thread pool's code, as LLVM assembly: what runs between a kernel's loop and its chunks.

One loop is shared at a time. It is published in the words of `@pool`, then the generation is raised. A worker that
sees a new generation counts itself into `active`, takes a seat if one is left, takes chunks by an atomic counter until
none is left, and counts itself out. The caller, who has seat 0, takes chunks too, then closes `active`, after which
nobody can count themselves in, and waits until it is empty.
"""

from __future__ import annotations

from typing import Final

from .pool_check import CHECK
from .pool_system import PAUSES, functions

__all__ = ["WORDS", "text"]

_LINE: Final = 16
"""Words between those that different threads write: two lines of the cache, which processors fetch in pairs."""

WORDS: Final[dict[str, int]] = {
    "generation": 0,
    "active": _LINE,
    "seated": _LINE + 1,
    "next": 2 * _LINE,
    "task": 3 * _LINE,
    "ctx": 3 * _LINE + 1,
    "total": 3 * _LINE + 2,
    "chunk": 3 * _LINE + 3,
    "first": 3 * _LINE + 4,
    "seats": 3 * _LINE + 5,
    "sleepers": 4 * _LINE,
    "busy": 5 * _LINE,
    "workers": 6 * _LINE,
    "spin": 6 * _LINE + 1,
    "quit": 6 * _LINE + 2,
    "wait": 6 * _LINE + 3,
    "wake": 6 * _LINE + 4,
    "finish": 6 * _LINE + 5,
    "stop": 6 * _LINE + 6,
    "looked": 6 * _LINE + 7,
}
"""Where each word of the pool stands, counted in i64. `wait`, `wake` and `finish` are functions, the others numbers:
`chunk` and `first` are the sizes of the largest and the first pieces, `seats` how many threads may take part, `seated`
how many have asked to, `workers` those besides the caller, `spin` turns before a thread sleeps, `stop` whether the
launch that is under way must end, `looked` when a task last asked for that."""

_CLOSED: Final = 1 << 30
_WAITING: Final = 1 << 29
_FLAGS: Final = _CLOSED | _WAITING
_STOPPED: Final = 1 << 62
_PIECES: Final = 8
"""The least number of pieces per thread: enough to even out threads of different speed."""
_SMALLER: Final = 16
"""By how much the first pieces are smaller than the largest: long ones stay so small, so that a launch can be ended."""
_FIRST: Final = 1 << 20
"""Iterations of the first pieces at most: some ms at once would do no harm, but a loop of 10^13 has long eighths."""
_WORTH_NANOSECONDS: Final = 5_000
"""What a piece takes at least, where that was measured."""
_PIECE_NANOSECONDS: Final = 1_000_000
"""How long a piece may take and still be doubled."""


def text(system: str, machine: str) -> str:
    """The module for "linux", "darwin" or another system, on "x86" or "arm64"."""
    made = "\n".join((_TYPES, CHECK, _DRAIN, _WORKER, _STOP, _PARALLEL, _ALONE, _COMPLETE, functions(system, machine)))
    for name, at in WORDS.items():
        made = made.replace(f"${name}$", f"getelementptr (i64, ptr @pool, i64 {at})")
    return made.replace("PAUSE", PAUSES[machine])


_TYPES: Final = f"""
@pool = global [{7 * _LINE} x i64] zeroinitializer, align 128
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
  %closed = and i32 %before, {_CLOSED}
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
  %last = icmp eq i32 %left, {_FLAGS + 1}
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
  %opened = atomicrmw and ptr $active$, i32 {~_FLAGS} seq_cst
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
  store atomic i64 {_STOPPED}, ptr $next$ monotonic, align 8
  br label %close
close:
  %status = phi i32 [ 0, %work ], [ 1, %cancel ]
  %closed = atomicrmw or ptr $active$, i32 {_CLOSED} seq_cst
  br label %spin
spin:
  %turn = phi i64 [ 0, %close ], [ %turn.next, %turns ]
  %look = load atomic i32, ptr $active$ acquire, align 8
  %busy = icmp ne i32 %look, {_CLOSED}
  br i1 %busy, label %turns, label %done
turns:
  PAUSE
  %turn.next = add i64 %turn, 1
  %more = icmp slt i64 %turn.next, %limit
  br i1 %more, label %spin, label %park
park:
  %status.park = phi i32 [ %status, %turns ], [ %status.next, %parked ]
  %before = atomicrmw or ptr $active$, i32 {_WAITING} seq_cst
  %now = or i32 %before, {_WAITING}
  %empty = icmp eq i32 %now, {_FLAGS}
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
  store atomic i64 {_STOPPED}, ptr $next$ monotonic, align 8
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
