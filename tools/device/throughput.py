"""What launches cost and what kernels do: `python -m adstack.tools.device.throughput ARCH FILE [MODULE]`.

MODULE is an implementation of the language that this interpreter has: adstack, or a peer.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import adstack as qd

__all__ = ["main"]

_PEER_OPTIONS: Final = {"ad_stack_experimental_enabled": True, "ad_stack_size": 128}
"""What a peer needs for gradients of loops; adstack knows how deep its adstacks must be."""

N: Final = 1 << 20
TURNS: Final = 64
ROUNDS: Final = 15


def timed(call: Callable[[], Any], calls: int, rounds: int = ROUNDS) -> float:
    """Seconds per call, the median of rounds that end with everything finished."""
    call()
    qd.sync()
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        qd.sync()
        found.append((time.perf_counter() - start) / calls)
    return statistics.median(found)


def dispatch() -> dict[str, float]:
    """Microseconds per call, the queue drained every 2,000."""
    x, a = qd.field(qd.f32, shape=()), qd.ndarray(qd.f32, (16,))

    @qd.kernel
    def nop() -> None:
        x[None] = 1.0

    @qd.kernel
    def args(a: qd.types.ndarray(dtype=qd.f32, ndim=1), v: qd.f32) -> None:  # type: ignore[valid-type]
        a[0] = v

    return {"nop": 1e6 * timed(nop, 2000), "args": 1e6 * timed(lambda: args(a, 1.0), 2000)}


def recurrence() -> dict[str, float]:
    """Milliseconds of forward and reverse, a million threads of 64 steps."""
    x, y = qd.field(qd.f32, shape=N, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)
    turns = qd.field(qd.i32, shape=())

    @qd.kernel
    def run() -> None:
        for i in x:
            v = x[i]
            for _ in range(turns[None]):
                v = qd.sin(v) * 0.9 + 0.1
            y[None] += v

    x.from_numpy((np.arange(N, dtype=np.float32) % 1000) / 1000)
    turns[None] = TURNS
    y.grad[None] = 1
    return {"forward": 1e3 * timed(run, 20), "reverse": 1e3 * timed(run.grad, 20)}


def gather() -> dict[str, float]:
    """Milliseconds of rows of up to 16 products of gathered elements."""
    random = np.random.default_rng(0)
    x, w = (qd.field(qd.f32, shape=N, needs_grad=True) for _ in range(2))
    y = qd.field(qd.f32, shape=N, needs_grad=True)
    degree, column = qd.field(qd.i32, shape=N), qd.field(qd.i32, shape=(N, 16))

    @qd.kernel
    def run() -> None:
        for i in x:
            total = 0.0
            for j in range(degree[i]):
                total += w[column[i, j]] * x[i]
            y[i] = total

    for field in (x, w):
        field.from_numpy(random.random(N, np.float32))
    degree.from_numpy(random.integers(0, 17, N, np.int32))
    column.from_numpy(random.integers(0, N, (N, 16), np.int32))
    y.grad.fill(1)
    return {"forward": 1e3 * timed(run, 10), "reverse": 1e3 * timed(run.grad, 10)}


def blocks(arch: str) -> dict[str, Any]:
    """The recurrence with other numbers of threads in a block, where the arch has such a number."""
    if arch != "cuda":
        return {}
    from adstack.backends.cuda import executable

    found, usual = {}, executable.THREADS
    for threads in (64, 256):
        executable.THREADS = threads  # type: ignore[misc]
        qd.init(arch=qd.cuda)
        found[str(threads)] = recurrence()
    executable.THREADS = usual  # type: ignore[misc]
    return found


def main(arch: str, file: str, module: str = "adstack") -> int:
    """Write the figures, as JSON, after each of them."""
    globals()["qd"] = importlib.import_module(module)
    options = {} if module == "adstack" else _PEER_OPTIONS
    found: dict[str, Any] = {"module": module, "version": str(qd.__version__)}
    for name, measure in (("dispatch", dispatch), ("recurrence", recurrence), ("gather", gather)):
        qd.init(arch=getattr(qd, arch), **options)
        found[name] = measure()
        Path(file).write_text(json.dumps(found, indent=1))
    if module == "adstack":
        found["blocks"] = blocks(arch)
    Path(file).write_text(json.dumps(found, indent=1))
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
