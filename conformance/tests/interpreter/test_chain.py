"""Bounds over several launches: one launch gives what it alone gives, and memory is left as it was."""

from __future__ import annotations

import numpy as np
import pytest
from transforms_kit import kernel_of, wrap

from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.error_analysis.bounds import bound, gradient_bound
from adstack.error_analysis.chain import Step, Written, chained
from adstack.ir.types import f32, f64


@pytest.mark.parametrize("seed", range(4))
def test_one_launch_has_the_bounds_that_it_has_alone(seed: int) -> None:
    kernel = smooth_kernel(seed, 20, f32)
    buffers, adjoints = smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed)
    names = {name: ("memory of", name) for name in buffers}
    memory = {names[name]: buffer for name, buffer in buffers.items()}
    values = chained([Step(kernel, names)], memory)
    once = bound(kernel, buffers)
    for name, alone in once.bounds.items():
        assert np.array_equal(values[names[name]].value, once.values[name])
        assert np.array_equal(values[names[name]].bound, alone)
    grads = chained([Step(kernel, names)], memory, {names[name]: adjoint for name, adjoint in adjoints.items()})
    once = gradient_bound(kernel, buffers, (), adjoints)
    for name, alone in once.bounds.items():
        assert np.array_equal(grads[names[name]].value, once.values[name])
        assert np.array_equal(grads[names[name]].bound, alone)


def test_memory_is_left_alone() -> None:
    kernel = smooth_kernel(1, 20, f64)
    buffers = smooth_buffers(kernel, 1)
    before = {name: buffer.copy() for name, buffer in buffers.items()}
    chained([Step(kernel, {name: name for name in buffers})] * 2, buffers)
    assert all(np.array_equal(before[name], buffers[name]) for name in buffers)


def test_what_the_host_writes_between_launches_is_exact() -> None:
    """Before anything touched it, and after a launch has left an error there."""
    kernel = kernel_of(wrap(SQUARES))
    memory = {"x": np.array([0.1, 0.7, 1.3])}
    launch, first, last = Step(kernel, {"x": "x"}), np.array([0]), np.array([2])
    bound = chained([launch, Written("x", first, np.array([1.0]))], memory)["x"].bound
    assert bound[0] == 0
    assert (bound[1:] > 0).all()
    late = chained([launch, Written("x", last, np.array([0.1])), launch], memory)["x"].bound
    early = chained([Written("x", last, np.array([0.1])), launch], memory)["x"].bound
    assert late[2] == early[2] > 0


SQUARES = """
    place @x : f64[3] field
    %0 = const 0 : i32
    %1 = const 3 : i32
    parallel_for (%i = %0 to %1) {
      %2 = load @x[%i]
      %3 = mul %2, %2
      store @x[%i], %3
      yield
    }
    return
"""
