"""Does it run at all, and does it do what the reference does: `python -m adstack.tools.device.smoke ARCH`."""

from __future__ import annotations

import sys
import time

import numpy as np

import adstack as qd
from adstack import inspection
from adstack.conformance.harness.records import Record

__all__ = ["main"]


def recurrence(arch: str) -> Record:
    """The benchmarks' recurrence, small: its sums, gradients, and seconds of first calls."""
    start = time.perf_counter()
    qd.init(arch=getattr(qd, arch))
    opened = time.perf_counter()
    x, y = qd.field(qd.f32, shape=5000, needs_grad=True), qd.field(qd.f32, shape=5000, needs_grad=True)
    turns, total = qd.field(qd.i32, shape=()), qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def run() -> None:
        for i in x:
            v = x[i]
            for _ in range(turns[None]):
                v = qd.sin(v) * 0.9 + 0.1
            y[i] = v
            total[None] += v

    x.from_numpy(np.linspace(-3, 3, 5000, dtype=np.float32))
    turns[None] = 17
    before = time.perf_counter()
    run()
    qd.sync()
    forward = time.perf_counter()
    y.grad.fill(1)
    run.grad()
    qd.sync()
    reverse = time.perf_counter()
    return {
        "values": y.to_numpy(),
        "gradients": x.grad.to_numpy(),
        "total": total[None],
        "seconds": {"open": opened - start, "first call": forward - before, "first gradient": reverse - forward},
    }


def main(arch: str) -> int:
    """Print findings; 0 if the results are the reference's to the bit."""
    print(inspection.probe(arch))
    measured, wanted = recurrence(arch), recurrence("reference")
    same = {key: measured[key].tobytes() == wanted[key].tobytes() for key in ("values", "gradients")}
    print("seconds", measured["seconds"])
    print("same bits", same, "total", measured["total"], "against", wanted["total"])
    return int(not all(same.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
