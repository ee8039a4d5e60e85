"""What the thread pool asks of the system, as LLVM assembly: the time, and to sleep."""

from __future__ import annotations

from typing import Final

__all__ = ["CHECK_NANOSECONDS", "PAUSES", "functions"]

CHECK_NANOSECONDS: Final = 10_000_000
"""How often a launch lets Python's signal handlers run."""
PAUSES: Final = {"x86": "call void @llvm.x86.sse2.pause()", "arm64": "call void @llvm.aarch64.hint(i32 1)"}
_FUTEX: Final = {"x86": 202, "arm64": 98}
_CLOCK: Final = {"linux": 1, "darwin": 6}


def functions(system: str, machine: str) -> str:
    """`i64 @now()`, and what waiting threads call."""
    if system == "linux":
        return _now(system) + _SLEEP.replace("FUTEX", str(_FUTEX[machine]))
    return _now(system) + (_DOZE_WINDOWS if system == "windows" else _DOZE)


def _now(system: str) -> str:
    """`i64 @now()`: nanoseconds; where there is no such clock, a number that has always moved on far enough."""
    if system not in _CLOCK:
        return f"""
@ticks = internal global i64 0
define internal i64 @now() {{
  %old = atomicrmw add ptr @ticks, i64 {CHECK_NANOSECONDS} monotonic
  ret i64 %old
}}
"""
    return f"""
declare i32 @clock_gettime(i32, ptr)
define internal i64 @now() {{
  %time = alloca [2 x i64], align 8
  %ignored = call i32 @clock_gettime(i32 {_CLOCK[system]}, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at, align 8
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %rest
  ret i64 %all
}}
"""


_SLEEP: Final = """
declare i64 @syscall(i64, ...)

; sleep while the word is as expected
define void @adstack_wait(ptr %word, i32 %expected) {
  %r = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i64 128, i32 %expected, ptr null, ptr null, i64 0)
  ret void
}

define void @adstack_wake(ptr %word, i32 %count) {
  %r = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i64 129, i32 %count, ptr null, ptr null, i64 0)
  ret void
}

; the same as @adstack_wait for at most 10 ms
define void @adstack_finish(ptr %word, i32 %expected) {
  %time = alloca [2 x i64], align 8
  store i64 0, ptr %time, align 8
  %rest = getelementptr i64, ptr %time, i64 1
  store i64 10000000, ptr %rest, align 8
  %r = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i64 128, i32 %expected, ptr %time, ptr null, i64 0)
  ret void
}
"""

_DOZE: Final = """
declare i32 @usleep(i32)
define void @adstack_finish(ptr %word, i32 %expected) {
  %r = call i32 @usleep(i32 50)
  ret void
}
"""

_DOZE_WINDOWS: Final = """
declare void @Sleep(i32)
define void @adstack_finish(ptr %word, i32 %expected) {
  call void @Sleep(i32 1)
  ret void
}
"""
