"""Tapes: the first ones, those that follow what earlier ones have learned, tapes of any length; memory over many."""

import os
import random
import resource
import time
from contextlib import suppress

from .common import BACKENDS, COMPILED, opened

STEPS = 100


class Chain:
    """Small kernels in a row, `x[t + 1] = f(x[t])`, under a tape or bare."""

    def __init__(self, qd, steps, bare=False):
        self.qd, self.steps = qd, steps
        x, loss = qd.field(qd.f32, shape=(steps + 1, 16), needs_grad=True), qd.field(qd.f32, (), needs_grad=True)

        @qd.kernel
        def step(t: qd.i32):
            for i in range(16):
                x[t + 1, i] = qd.sin(x[t, i])

        @qd.kernel
        def total(t: qd.i32):
            for i in range(16):
                loss[None] += x[t, i]

        self.step, self.total, self.loss = step, total, loss
        self.run = self.bare if bare else self.tape

    def tape(self, steps):
        with self.qd.ad.Tape(self.loss):
            self.forward(steps)

    def bare(self, steps):
        self.forward(steps)
        self.loss.grad[None] = 1.0
        self.total.grad(steps)
        for t in reversed(range(steps)):
            self.step.grad(t)

    def forward(self, steps):
        for t in range(steps):
            self.step(t)
        self.total(steps)


def seconds(work, *given):
    """How long a call takes."""
    begin = time.perf_counter()
    work(*given)
    return time.perf_counter() - begin


class Learning:
    """Seconds of iterations of 100 kernels and their gradients, each of them compiled before.

    bare: without a tape. first, second, later: under a tape, in the order of iterations. any length: under tapes of
    another length each time; bare, any length: the same without them.
    """

    params = (COMPILED, ("bare", "first", "second", "later", "bare, any length", "any length"))
    param_names = ("backend", "iteration")
    unit = "seconds"
    timeout = 300

    def setup(self, backend, iteration):
        self.qd = opened(backend)

    def samples(self, iteration):
        """Seconds of iterations of this kind, of programs that have not been before."""
        bare, draw = iteration.startswith("bare"), random.Random(0)
        if iteration.endswith("any length"):
            chain = self.compiled(bare)
            lengths = [draw.randrange(STEPS // 2, STEPS * 3 // 2) for _ in range(40)]
            return [seconds(chain.run, length) * STEPS / length for length in lengths][8:]
        place = {"bare": 4, "first": 0, "second": 1, "later": 4}[iteration]
        chains = [self.compiled(bare) for _ in range(7)]
        return [[seconds(chain.run, STEPS) for _ in range(place + 1)][place] for chain in chains]

    def compiled(self, bare):
        """A program whose kernels, and their gradients, have been called once, with one step."""
        chain = Chain(self.qd, STEPS * 2, bare)
        chain.bare(1)
        chain.tape(1)
        return chain

    def track_iteration(self, backend, iteration):
        samples = sorted(self.samples(iteration))
        return samples[len(samples) // 2]


class Memory:
    """KiB by which the process has grown over many tapes of three launches, after a tenth of them."""

    params = (BACKENDS, (1_000, 100_000))
    param_names = ("backend", "tapes")
    unit = "KiB"
    timeout = 600

    def setup(self, backend, tapes):
        self.chain = Chain(opened(backend), 2)

    def track_growth(self, backend, tapes):
        def resident():
            with suppress(OSError), open("/proc/self/statm") as numbers:
                return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        for k in range(tapes):
            if k == tapes // 10:
                before = resident()
            self.chain.tape(2)
        return resident() - before
