"""Launch kernels a million times and watch the memory: `python -m adstack.tools.soak [--calls N] [--arch ARCH]`.

Memory that calls leave behind grows with their number; everything else (code, caches, pools of the allocator) is there
after the first half. So the second half must add nothing, but for one arena: Python's allocator takes memory from the
system in arenas of 1 MiB, and may need one more at any moment. No Python object is smaller than 16 bytes, so with at
least 2 * 1 MiB / 16 bytes = 131,072 calls no object that every call leaves behind goes unnoticed. Python's own count of
blocks in use is watched too: it may move by what is cached and freed at other times, but not with the calls.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

import adstack as qd

__all__ = ["LEAST_CALLS", "Reading", "read", "soak", "verdict", "workloads"]

ARENA: Final = 1 << 20
LEAST_CALLS: Final = 2 * ARENA // 16
BLOCKS: Final = 1000
"""Blocks that Python's free lists and caches may come to hold at some point."""


@dataclass(frozen=True)
class Reading:
    """The memory of this process.

    Attributes:
        resident: bytes in physical memory.
        blocks: blocks that Python's allocator has handed out.
    """

    resident: int
    blocks: int


def read() -> Reading:
    """The memory now, garbage collected."""
    gc.collect()
    statm = Path("/proc/self/statm").read_text().split()
    return Reading(int(statm[1]) * os.sysconf("SC_PAGE_SIZE"), sys.getallocatedblocks())


def workloads(arch: str) -> dict[str, Callable[[], object]]:
    """Calls of every kind of kernel, on a backend."""
    qd.init(arch=arch)
    cell, many = qd.field(qd.f32, shape=()), qd.field(qd.f32, shape=4096)
    array = qd.ndarray(qd.f32, shape=(64,))

    @qd.kernel
    def store():  # type: ignore[no-untyped-def]
        cell[None] = 1.0

    @qd.kernel
    def fill(a: qd.types.ndarray(dtype=qd.f32, ndim=1), s: qd.f32):  # type: ignore[no-untyped-def, valid-type]
        for i in a:
            a[i] = s + i

    @qd.kernel
    def total(s: qd.f32) -> qd.f32:
        result = 0.0
        for i in many:
            result += many[i] * s
        return result

    return {
        "without arguments": store,
        "with an array and a scalar": lambda: fill(array, 2.0),
        "with a result": lambda: total(0.5),
        "a host access": lambda: many[7],
    }


def soak(work: Callable[[], object], calls: int) -> tuple[Reading, Reading, Reading]:
    """The memory before, after the first half, after all."""
    for _ in range(100):
        work()
    before = read()
    _repeat(work, calls // 2)
    half = read()
    _repeat(work, calls // 2)
    return before, half, read()


def _repeat(work: Callable[[], object], calls: int) -> None:
    for _ in range(calls):
        work()


def verdict(half: Reading, after: Reading) -> str:
    """What grew in the second half; empty if nothing did."""
    if after.resident - half.resident > ARENA:
        return f"resident memory grew by {after.resident - half.resident} bytes in the second half"
    if after.blocks - half.blocks > BLOCKS:
        return f"Python's blocks grew by {after.blocks - half.blocks} in the second half"
    return ""


@click.command()
@click.option("--calls", type=click.IntRange(min=LEAST_CALLS), default=1_000_000, show_default=True)
@click.option("--arch", default="cpu", show_default=True)
def main(calls: int, arch: str) -> None:
    """Launch every kind of kernel so many times; exit status 1 if memory grows with the calls."""
    failed = False
    for name, work in workloads(arch).items():
        start = time.perf_counter()
        before, half, after = soak(work, calls)
        each = (time.perf_counter() - start) / calls
        growth = [f"{(b.resident - a.resident) / 1024:+.0f} KiB" for a, b in ((before, half), (half, after))]
        problem = verdict(half, after)
        failed = failed or bool(problem)
        line = f"{calls} calls {name}: {each * 1e6:.2f} us each, memory {growth[0]} then {growth[1]}, blocks "
        click.echo(
            f"{line}{half.blocks - before.blocks:+d} then {after.blocks - half.blocks:+d}{problem and ': ' + problem}"
        )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
