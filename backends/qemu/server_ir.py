"""What runs in the other process, as LLVM assembly for aarch64 Linux: no library is there, only system calls."""

from __future__ import annotations

from typing import Final

from .arena import BASE, PAGE
from .channel import ASKED, DONE, SAYS, named

__all__ = ["SERVER"]

_CALL: Final = "declare i64 @adstack_system(i64, i64, i64, i64, i64, i64, i64)\n"
_EXIT_ALL, _FUTEX, _CLOCK, _YIELD, _PARENT, _UNMAP, _MAP = 94, 98, 113, 124, 173, 215, 222
_SHARED: Final = "i64 7, i64 17"
"""Memory that may be read, written and executed; shared, at a fixed address."""
_OWN: Final = "i64 3, i64 34"
"""Memory that may be read and written; private, of no file."""

_SERVE: Final = f"""
; wait while a word is as expected, for at most a second; the process ends if the one that it serves has
define internal void @wait(ptr %word, i32 %expected) {{
  %time = alloca [2 x i64], align 8
  store [2 x i64] [i64 1, i64 0], ptr %time, align 8
  %word.at = ptrtoint ptr %word to i64
  %wide = zext i32 %expected to i64
  %time.at = ptrtoint ptr %time to i64
  %r = call i64 @adstack_system(i64 {_FUTEX}, i64 %word.at, i64 0, i64 %wide, i64 %time.at, i64 0, i64 0)
  %parent = call i64 @adstack_system(i64 {_PARENT}, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0)
  %wanted = load i64, ptr $parent$, align 8
  %same = icmp eq i64 %parent, %wanted
  br i1 %same, label %on, label %over
on:
  ret void
over:
  %s = call i64 @adstack_system(i64 {_EXIT_ALL}, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0)
  unreachable
}}

define internal void @wake(ptr %word) {{
  %word.at = ptrtoint ptr %word to i64
  %r = call i64 @adstack_system(i64 {_FUTEX}, i64 %word.at, i64 1, i64 2147483647, i64 0, i64 0, i64 0)
  ret void
}}

; make calls until the process ends
define void @adstack_serve() {{
entry:
  br label %look
look:
  %state = load atomic i32, ptr $state$ acquire, align 8
  %asked = icmp eq i32 %state, {ASKED}
  br i1 %asked, label %map, label %sleep
sleep:
  call void @wait(ptr $state$, i32 %state)
  br label %look
map:
  %used = load i64, ptr $end$, align 8
  %over = add i64 %used, {PAGE - 1}
  %end = and i64 %over, {-PAGE}
  %mapped = load i64, ptr $mapped$, align 8
  %more = icmp ugt i64 %end, %mapped
  br i1 %more, label %grow, label %call
grow:
  %from = add i64 %mapped, {BASE}
  %size = sub i64 %end, %mapped
  %r = call i64 @adstack_system(i64 {_MAP}, i64 %from, i64 %size, {_SHARED}, i64 0, i64 %mapped)
  store i64 %end, ptr $mapped$, align 8
  br label %call
call:
  %f = load ptr, ptr $function$, align 8
  %a = load i64, ptr $first$, align 8
  %b = load i64, ptr $second$, align 8
  %c = load i64, ptr $third$, align 8
  %d = load i64, ptr $fourth$, align 8
  %result = call i64 %f(i64 %a, i64 %b, i64 %c, i64 %d)
  store i64 %result, ptr $result$, align 8
  store atomic i32 {DONE}, ptr $state$ release, align 8
  call void @wake(ptr $state$)
  br label %look
}}

; hand two numbers to the process that called, and wait until it has dealt with them; one thread at a time
define void @adstack_say(i64 %site, i64 %values) {{
entry:
  br label %take
take:
  %got = cmpxchg ptr $lock$, i64 0, i64 1 acquire monotonic
  %mine = extractvalue {{ i64, i1 }} %got, 1
  br i1 %mine, label %say, label %yield
yield:
  %r = call i64 @adstack_system(i64 {_YIELD}, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0)
  br label %take
say:
  store i64 %site, ptr $site$, align 8
  store i64 %values, ptr $values$, align 8
  store atomic i32 {SAYS}, ptr $state$ seq_cst, align 8
  call void @wake(ptr $state$)
  br label %look
look:
  %state = load atomic i32, ptr $state$ acquire, align 8
  %waiting = icmp eq i32 %state, {SAYS}
  br i1 %waiting, label %sleep, label %done
sleep:
  call void @wait(ptr $state$, i32 {SAYS})
  br label %look
done:
  store atomic i64 0, ptr $lock$ release, align 8
  ret void
}}
"""

_MEMORY: Final = f"""
; the C heap: a mapping for each piece, whose size stands in front of it
define ptr @malloc(i64 %size) {{
  %all = add i64 %size, 64
  %at = call i64 @adstack_system(i64 {_MAP}, i64 0, i64 %all, {_OWN}, i64 -1, i64 0)
  %failed = icmp ugt i64 %at, -4096
  br i1 %failed, label %none, label %some
none:
  ret ptr null
some:
  %start = inttoptr i64 %at to ptr
  store i64 %all, ptr %start, align 8
  %piece = getelementptr i8, ptr %start, i64 64
  ret ptr %piece
}}

define ptr @calloc(i64 %count, i64 %size) {{
  %product = call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 %count, i64 %size)
  %bytes = extractvalue {{ i64, i1 }} %product, 0
  %over = extractvalue {{ i64, i1 }} %product, 1
  br i1 %over, label %none, label %some
none:
  ret ptr null
some:
  %piece = call ptr @malloc(i64 %bytes)
  ret ptr %piece
}}
declare {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64, i64)

define void @free(ptr %piece) {{
  %nothing = icmp eq ptr %piece, null
  br i1 %nothing, label %done, label %give
give:
  %start = getelementptr i8, ptr %piece, i64 -64
  %size = load i64, ptr %start, align 8
  %at = ptrtoint ptr %start to i64
  %r = call i64 @adstack_system(i64 {_UNMAP}, i64 %at, i64 %size, i64 0, i64 0, i64 0, i64 0)
  ret void
done:
  ret void
}}
"""


def _bytes(name: str, parameter: str, load: str, splat: str) -> str:
    """memcpy or memset: 16 bytes at a time, then one by one."""
    wide = load.format(ty="<16 x i8>", at="%k") if load else ""
    one = load.format(ty="i8", at="%j") if load else ""
    return f"""
define ptr @{name}(ptr %to, {parameter}, i64 %size) {{
entry:
  {splat}
  %wide.end = and i64 %size, -16
  br label %wide
wide:
  %k = phi i64 [ 0, %entry ], [ %k.next, %sixteen ]
  %k.more = icmp ult i64 %k, %wide.end
  br i1 %k.more, label %sixteen, label %ones
sixteen:
  {wide.replace("%value", "%many") if load else ""}
  %many.to = getelementptr i8, ptr %to, i64 %k
  store <16 x i8> %many, ptr %many.to, align 1
  %k.next = add i64 %k, 16
  br label %wide
ones:
  %j = phi i64 [ %wide.end, %wide ], [ %j.next, %one ]
  %j.more = icmp ult i64 %j, %size
  br i1 %j.more, label %one, label %done
one:
  {one.replace("%value", "%single") if load else ""}
  %single.to = getelementptr i8, ptr %to, i64 %j
  store i8 %single, ptr %single.to, align 1
  %j.next = add i64 %j, 1
  br label %ones
done:
  ret ptr %to
}}
"""


_C: Final = f"""
define i64 @syscall(i64 %number, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f) {{
  %r = call i64 @adstack_system(i64 %number, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f)
  ret i64 %r
}}

define i32 @clock_gettime(i32 %clock, ptr %time) {{
  %wide = sext i32 %clock to i64
  %at = ptrtoint ptr %time to i64
  %r = call i64 @adstack_system(i64 {_CLOCK}, i64 %wide, i64 %at, i64 0, i64 0, i64 0, i64 0)
  %short = trunc i64 %r to i32
  ret i32 %short
}}
"""

_COPY: Final = """%value.from = getelementptr i8, ptr %from, i64 {at}
  %value = load {ty}, ptr %value.from, align 1"""
_SPLAT: Final = """%single = trunc i32 %byte to i8
  %first = insertelement <16 x i8> poison, i8 %single, i32 0
  %many = shufflevector <16 x i8> %first, <16 x i8> poison, <16 x i32> zeroinitializer"""

SERVER: Final = named(
    _CALL + _SERVE + _MEMORY + _C + _bytes("memcpy", "ptr %from", _COPY, "") + _bytes("memset", "i32 %byte", "", _SPLAT)
)
"""Serves calls, and what called code needs: of the C library what code generators take for granted."""
