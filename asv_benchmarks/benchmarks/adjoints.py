"""Kernels that read what other iterations read too, and their reverse modes, which add to it: see `adjoint_kernels`.

`python -m asv_benchmarks.benchmarks.adjoints ARCH [WORK...]` measures them on a device of its own, as JSON:
milliseconds of the device, forward and in reverse, and how the updates are added up.
"""

import json
import sys
import time

from .adjoint_kernels import ON_DEVICES, WORKS
from .common import BY_LLVM, called, opened

WARM_SECONDS = 0.3


class Adjoints:
    """One run of each work, forward and in reverse."""

    params = (BY_LLVM, tuple(WORKS))
    param_names = ("backend", "work")

    def setup(self, backend, work):
        make, size = WORKS[work]
        made = make(opened(backend), size)

        def reverse():
            made.seed()  # the last one has set the gradient of what the launch overwrites to 0
            made.reverse()

        self.forward, self.reverse = made.forward, reverse
        called(self.forward)
        called(self.reverse)

    def time_forward(self, backend, work):
        self.forward()

    def time_reverse(self, backend, work):
        self.reverse()


def on_device(arch, work, rounds=15):
    """Milliseconds of one run, forward and in reverse: the least of some rounds, each one launch of a graph.

    Forward runs are without gradients, so that nothing is kept for them; before every reverse run they are 1 again.
    """
    return timed_on_device(opened(arch), WORKS[work][0], ON_DEVICES[work], rounds)


def timed_on_device(qd, make, size, rounds=15):
    """`on_device` of what makes a work, and its size."""
    plain, whole = make(qd, size, grads=False), make(qd, size)
    called(whole.forward)
    whole.seed()
    called(whole.reverse)
    forward, reverse = _timed(qd, plain.forward, rounds), _timed(qd, whole.reverse, rounds, whole.seed)
    sums = whole.kernel.grad.adstack_report(*whole.args).sums
    return {"forward": forward, "reverse": reverse, "ratio": reverse / forward, "sums": sums}


def _timed(qd, run, rounds, before=lambda: None):
    """The least milliseconds of a run, behind what is not timed.

    Drivers slow the clock of a device that waits for the host, as it does while numpy makes what a work is about, and
    raise it a good while after work has come. So runs for `WARM_SECONDS` come first.
    """
    called(run)
    with qd.graph() as graph:
        run()

    def timed():
        before()
        qd.sync()
        start = time.perf_counter()
        graph.launch()
        qd.sync()
        return 1e3 * (time.perf_counter() - start)

    end = time.perf_counter() + WARM_SECONDS
    while time.perf_counter() < end:
        timed()
    return min(timed() for _ in range(rounds))


if __name__ == "__main__":
    print(json.dumps({work: on_device(sys.argv[1], work) for work in sys.argv[2:] or WORKS}, indent=1))
