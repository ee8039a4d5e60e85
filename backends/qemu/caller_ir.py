"""What hands calls to the other process and waits for their results, as LLVM assembly for this one.

A call takes the channel (`turn`), writes its words, and sleeps until the state has changed. Meanwhile the interpreter's
lock is free, signal handlers run, and it is noticed if the other process has ended.
"""

from __future__ import annotations

import platform
from typing import Final

from .channel import ASKED, IDLE, SAYS, named

__all__ = ["THUNKS", "caller", "thunks"]

_FUTEX: Final = {"x86_64": 202, "amd64": 202, "aarch64": 98, "arm64": 98}
_SPIN: Final = 300
_PATIENCE_NANOSECONDS: Final = 10_000_000
_LOOK_ONLY: Final = 0x01000005
"""WEXITED, WNOHANG, WNOWAIT."""
THUNKS: Final = 64
"""How many thunks a block has."""

_CALLER: Final = f"""
declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare i32 @waitid(i32, i32, ptr, i32)

; run f(a, b, c, d) in the other process; `handler(first argument, site, values)` hears what it says, and is told
; by -1 for a site that the process is gone
define i64 @adstack_ask(ptr %f, i64 %a, i64 %b, i64 %c, i64 %d) {{
entry:
  %last = alloca i64, align 8
  %time = alloca [2 x i64], align 8
  store [2 x i64] [i64 0, i64 {_PATIENCE_NANOSECONDS}], ptr %time, align 8
  %start = call i64 @now()
  store i64 %start, ptr %last, align 8
  %saved = call ptr @leave()
  br label %take
take:
  %got = cmpxchg ptr $turn$, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %got, 1
  br i1 %mine, label %ask, label %yield
yield:
  %y = call i32 @sched_yield()
  br label %take
ask:
  store ptr %f, ptr $function$, align 8
  store i64 %a, ptr $first$, align 8
  store i64 %b, ptr $second$, align 8
  store i64 %c, ptr $third$, align 8
  store i64 %d, ptr $fourth$, align 8
  br label %post
post:
  store atomic i32 {ASKED}, ptr $state$ seq_cst, align 8
  %w = call i64 (i64, ...) @syscall(i64 FUTEX, ptr $state$, i64 1, i32 2147483647, ptr null, ptr null, i64 0)
  br label %spin
spin:
  %turns = phi i64 [ 0, %post ], [ %turns.next, %again ]
  %early = load atomic i32, ptr $state$ acquire, align 8
  %running = icmp eq i32 %early, {ASKED}
  br i1 %running, label %again, label %changed
again:
  PAUSE
  %turns.next = add i64 %turns, 1
  %more = icmp slt i64 %turns.next, {_SPIN}
  br i1 %more, label %spin, label %sleep
sleep:
  %r = call i64 (i64, ...) @syscall(i64 FUTEX, ptr $state$, i64 0, i32 {ASKED}, ptr %time, ptr null, i64 0)
  %late = load atomic i32, ptr $state$ acquire, align 8
  %still = icmp eq i32 %late, {ASKED}
  br i1 %still, label %look, label %changed
look:
  %ignored = call i1 @interrupted(ptr %last)
  %gone = call i1 @gone()
  br i1 %gone, label %lost, label %sleep
lost:
  %handler.lost = load ptr, ptr @handler, align 8
  call void %handler.lost(i64 %a, i64 -1, i64 0)
  br label %sleep
changed:
  %state = phi i32 [ %early, %spin ], [ %late, %sleep ]
  %says = icmp eq i32 %state, {SAYS}
  br i1 %says, label %hear, label %done
hear:
  %handler = load ptr, ptr @handler, align 8
  %site = load i64, ptr $site$, align 8
  %values = load i64, ptr $values$, align 8
  call void %handler(i64 %a, i64 %site, i64 %values)
  br label %post
done:
  %result = load i64, ptr $result$, align 8
  store atomic i32 {IDLE}, ptr $state$ release, align 8
  store atomic i64 0, ptr $stop$ monotonic, align 8
  store atomic i64 0, ptr $turn$ release, align 8
  call void @enter(ptr %saved)
  ret i64 %result
}}

; whether the other process has ended, or is none of this one; by no Python, which would raise what signals ask for
define internal i1 @gone() {{
  %info = alloca [32 x i32], align 8
  store [32 x i32] zeroinitializer, ptr %info, align 8
  %child = load i64, ptr $child$, align 8
  %number = trunc i64 %child to i32
  %r = call i32 @waitid(i32 1, i32 %number, ptr %info, i32 {_LOOK_ONLY})
  %none = icmp ne i32 %r, 0
  %of = getelementptr i32, ptr %info, i64 4
  %ended = load i32, ptr %of, align 4
  %some = icmp ne i32 %ended, 0
  %over = or i1 %none, %some
  ret i1 %over
}}

@handler = internal global ptr null
define void @adstack_hear(ptr %handler) {{
  store ptr %handler, ptr @handler, align 8
  ret void
}}
"""


def caller(check: str, stop: int, pause: str) -> str:
    """The module that makes calls.

    Args:
        check: LLVM assembly of `interrupted`, `leave`, `enter` and `now`, which uses the word `$stop$`.
        stop: the address of the word that is not 0 where the called code shall end.
        pause: an instruction for loops that wait.
    """
    futex = _FUTEX[platform.machine().lower()]
    code = (check + _CALLER).replace("$stop$", f"inttoptr (i64 {stop} to ptr)")
    return named(code.replace("FUTEX", str(futex)).replace("PAUSE", pause))


def thunks() -> str:
    """Functions `adstack_thunkK(a, b)`, each of which calls what the word K of `adstack_targets` says, over there."""
    functions = (
        f"""
define i64 @adstack_thunk{k}(i64 %a, i64 %b) {{
  %f = load ptr, ptr getelementptr (ptr, ptr @adstack_targets, i64 {k}), align 8
  %r = call i64 @adstack_ask(ptr %f, i64 %a, i64 %b, i64 0, i64 0)
  ret i64 %r
}}"""
        for k in range(THUNKS)
    )
    head = f"@adstack_targets = global [{THUNKS} x ptr] zeroinitializer\n"
    return head + "declare i64 @adstack_ask(ptr, i64, i64, i64, i64)\n" + "\n".join(functions)
