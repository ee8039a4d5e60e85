"""Bounds over several launches: one launch gives what it alone gives, and memory is left as it was."""

from __future__ import annotations

import numpy as np
import pytest

from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.interpreter.chain import Step, chained
from adstack.interpreter.errors_bounds import bound, gradient_bound
from adstack.ir.types import f32, f64


@pytest.mark.parametrize("seed", range(4))
def test_one_launch_has_the_bounds_that_it_has_alone(seed: int) -> None:
    kernel = smooth_kernel(seed, 20, f32)
    buffers, adjoints = smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed)
    names = {name: ("memory of", name) for name in buffers}
    memory = {names[name]: buffer for name, buffer in buffers.items()}
    values = chained([Step(kernel, names)], memory)
    for name, alone in bound(kernel, buffers).bounds.items():
        assert np.array_equal(values[names[name]], alone)
    found = chained([Step(kernel, names)], memory, {names[name]: given for name, given in adjoints.items()})
    for name, alone in gradient_bound(kernel, buffers, (), adjoints).bounds.items():
        assert np.array_equal(found[names[name]], alone)


def test_memory_is_left_alone() -> None:
    kernel = smooth_kernel(1, 20, f64)
    buffers = smooth_buffers(kernel, 1)
    before = {name: buffer.copy() for name, buffer in buffers.items()}
    chained([Step(kernel, {name: name for name in buffers})] * 2, buffers)
    assert all(np.array_equal(before[name], buffers[name]) for name in buffers)
