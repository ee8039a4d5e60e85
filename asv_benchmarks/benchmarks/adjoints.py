"""Kernels that read what other iterations read too, and their reverse modes, which add to it: see `adjoint_kernels`.

`python -m asv_benchmarks.benchmarks.adjoints ARCH [WORK...]` measures them on a device of its own, as JSON: milliseconds
of the device, forward and in reverse, and how the updates are added up.
"""

import json
import sys
import time

from .adjoint_kernels import ON_DEVICES, WORKS
from .common import BY_LLVM, called, opened


class Adjoints:
    """One run of each work, forward and in reverse."""

    params = (BY_LLVM, tuple(WORKS))
    param_names = ("backend", "work")

    def setup(self, backend, work):
        make, size = WORKS[work]
        self.forward, self.reverse, _, _ = make(opened(backend), size)
        called(self.forward)
        called(self.reverse)

    def time_forward(self, backend, work):
        self.forward()

    def time_reverse(self, backend, work):
        self.reverse()


def on_device(arch, work, rounds=7):
    """Milliseconds of one run, forward and in reverse: the least of some rounds, each of several runs in one graph."""
    qd = opened(arch)
    forward, reverse, kernel, args = WORKS[work][0](qd, ON_DEVICES[work])
    rows = {}
    for name, run in (("forward", forward), ("reverse", reverse)):
        called(run)
        with qd.graph() as graph:
            run()
        rows[name] = min(_timed(qd, graph.launch) for _ in range(rounds))
    return {**rows, "ratio": rows["reverse"] / rows["forward"], "sums": kernel.grad.adstack_report(*args).sums}


def _timed(qd, launch, least=0.02):
    """Milliseconds of a launch, over as many as take some time."""
    count, seconds = 1, 0.0
    while seconds < least:
        qd.sync()
        start = time.perf_counter()
        for _ in range(count):
            launch()
        qd.sync()
        seconds = time.perf_counter() - start
        count *= 2
    return 2e3 * seconds / count


if __name__ == "__main__":
    print(json.dumps({work: on_device(sys.argv[1], work) for work in sys.argv[2:] or WORKS}, indent=1))
