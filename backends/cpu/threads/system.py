"""What the thread pool asks of the system, as LLVM assembly: the time, and to sleep."""

from __future__ import annotations

import platform
from typing import Final

__all__ = ["CHECK_NANOSECONDS", "PAUSES", "functions", "now", "processor_kind", "sleeps"]

CHECK_NANOSECONDS: Final = 10_000_000
"""How often a launch lets Python's signal handlers run."""
PAUSES: Final = {"x86": "call void @llvm.x86.sse2.pause()", "arm64": "call void @llvm.aarch64.hint(i32 1)"}
_FUTEX: Final = {"x86": 202, "arm64": 98}
_CLOCK: Final = {"linux": 1, "darwin": 6}
_KINDS: Final = {"x86_64": "x86", "amd64": "x86", "aarch64": "arm64", "arm64": "arm64"}


def processor_kind() -> str:
    """The kind of processor of this process: "x86" or "arm64"."""
    return _KINDS[platform.machine().lower()]


def functions(system: str, machine: str) -> str:
    """`i64 @now()`, and what waiting threads call."""
    waits = {"linux": _FUTEXES.replace("FUTEX", str(_FUTEX[machine])), "darwin": _ULOCKS, "windows": _ADDRESSES}
    return now(system) + waits.get(system, _DOZE)


def sleeps(system: str) -> bool:
    """Whether threads sleep in functions of a system: `adstack_wait`, `adstack_wake`."""
    return system in ("linux", "darwin", "windows")


def now(system: str) -> str:
    """`i64 @now()`: nanoseconds; where there is no such clock, a number that has always moved on far enough."""
    if system == "windows":
        return _NOW_WINDOWS
    return _NOW.replace("CLOCK", str(_CLOCK[system])) if system in _CLOCK else _TICKS


_TICKS: Final = f"""
@ticks = internal global i64 0
define internal i64 @now() {{
  %old = atomicrmw add ptr @ticks, i64 {CHECK_NANOSECONDS} monotonic
  ret i64 %old
}}
"""

_NOW: Final = """
declare i32 @clock_gettime(i32, ptr)
define internal i64 @now() {
  %time = alloca [2 x i64], align 8
  %ignored = call i32 @clock_gettime(i32 CLOCK, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at, align 8
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %rest
  ret i64 %all
}
"""

_NOW_WINDOWS: Final = """
declare void @QueryInterruptTimePrecise(ptr)
define internal i64 @now() {
  %time = alloca i64, align 8
  call void @QueryInterruptTimePrecise(ptr %time)
  %hundreds = load i64, ptr %time, align 8
  %all = mul i64 %hundreds, 100
  ret i64 %all
}
"""


_FUTEXES: Final = """
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

_ULOCKS: Final = """
declare i32 @__ulock_wait(i32, ptr, i64, i32)
declare i32 @__ulock_wake(i32, ptr, i64)

; sleep while the word is as expected: UL_COMPARE_AND_WAIT, ULF_NO_ERRNO
define void @adstack_wait(ptr %word, i32 %expected) {
  %wide = zext i32 %expected to i64
  %r = call i32 @__ulock_wait(i32 16777217, ptr %word, i64 %wide, i32 0)
  ret void
}

; one thread, or all: ULF_WAKE_ALL
define void @adstack_wake(ptr %word, i32 %count) {
  %one = icmp eq i32 %count, 1
  %how = select i1 %one, i32 16777217, i32 16777473
  %r = call i32 @__ulock_wake(i32 %how, ptr %word, i64 0)
  ret void
}

; the same as @adstack_wait for at most 10 ms
define void @adstack_finish(ptr %word, i32 %expected) {
  %wide = zext i32 %expected to i64
  %r = call i32 @__ulock_wait(i32 16777217, ptr %word, i64 %wide, i32 10000)
  ret void
}
"""
"""macOS, since 10.12: what its own C++ library waits with."""

_ADDRESSES: Final = """
declare i32 @WaitOnAddress(ptr, ptr, i64, i32)
declare void @WakeByAddressSingle(ptr)
declare void @WakeByAddressAll(ptr)

; sleep while the word is as expected
define void @adstack_wait(ptr %word, i32 %expected) {
  call void @sleep(ptr %word, i32 %expected, i32 -1)
  ret void
}

define internal void @sleep(ptr %word, i32 %expected, i32 %milliseconds) {
  %at = alloca i32, align 4
  store i32 %expected, ptr %at, align 4
  %r = call i32 @WaitOnAddress(ptr %word, ptr %at, i64 4, i32 %milliseconds)
  ret void
}

; one thread, or all
define void @adstack_wake(ptr %word, i32 %count) {
  %one = icmp eq i32 %count, 1
  br i1 %one, label %single, label %every
single:
  call void @WakeByAddressSingle(ptr %word)
  ret void
every:
  call void @WakeByAddressAll(ptr %word)
  ret void
}

; the same as @adstack_wait for at most 10 ms
define void @adstack_finish(ptr %word, i32 %expected) {
  call void @sleep(ptr %word, i32 %expected, i32 10)
  ret void
}
"""
"""Windows, since 10."""

_DOZE: Final = """
declare i32 @usleep(i32)
define void @adstack_finish(ptr %word, i32 %expected) {
  %r = call i32 @usleep(i32 50)
  ret void
}
"""
