"""Kernels in reverse mode that overwrite what they read: what rewinds is right, and what is trusted is checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.conformance.fuzz.traffic import traffic_kernel
from adstack.error_analysis.bounds import gradient_bound
from adstack.errors import AdstackDataAccessError
from adstack.interpreter import run
from adstack.ir.location import Loc
from adstack.ir.structure import Kernel, Place
from adstack.ir.types import f64
from adstack.runtime.modes import reverse_mode
from adstack.runtime.protocol.options import Options
from adstack.transforms.pipeline import lower

OPTIONS = Options()
Buffers = dict[str, npt.NDArray[Any]]


def kernels(seed: int) -> list[Kernel]:
    """Two kernels whose ops have locations of their own, by which accesses are told apart."""
    examples = [traffic_kernel(seed, 6, f64), smooth_kernel(seed, 12, f64, in_place=True)]
    for kernel in examples:
        for line, op in enumerate(kernel.body.walk(), 1):
            op.loc = Loc("kernel", line)
    return examples


class World:
    """A launch of a kernel."""

    def __init__(self, kernel: Kernel, seed: int) -> None:
        self.kernel = kernel
        self.before: Buffers = smooth_buffers(kernel, seed)
        self.adjoints: Buffers = smooth_adjoints(kernel, seed + 1)
        self.after = {name: array.copy() for name, array in self.before.items()}
        run(lower(kernel), self.after)

    @property
    def grads(self) -> dict[str, Place]:
        places = self.kernel.places
        return {n: replace(places[n], name=f"{n}.grad", role="grad", of=n) for n in self.adjoints}

    def check(self, backward: Kernel, beside: Buffers) -> None:
        """The gradient is the oracle's, within the error bounds of both."""
        memory = {name: array.copy() for name, array in self.after.items()}
        memory |= {f"{name}.grad": array.copy() for name, array in self.adjoints.items()} | beside
        run(lower(backward), memory)
        truth = gradient_bound(self.kernel, self.before, (), self.adjoints)
        for name, gradient in truth.values.items():
            assert (np.abs(memory[f"{name}.grad"] - gradient) <= 2 * truth.bounds[name]).all(), name


@pytest.mark.parametrize("block", range(2))
def test_what_rewinds_is_right(block: int) -> None:
    right = 0
    for seed in range(6 * block, 6 * block + 6):
        for kernel in kernels(seed):
            world = World(kernel, seed)
            try:
                reversal = reverse_mode(kernel, world.grads, OPTIONS, rewinds=True)
            except AdstackDataAccessError:
                continue
            world.check(reversal.kernel, {alias: world.before[name].copy() for alias, name in reversal.beside.items()})
            right += 1
    assert right >= 5, "hardly any kernel is accepted: the others say nothing"
