"""Random kernels to differentiate have what they promise: no race, no error, bounded numbers, and all the structure."""

from __future__ import annotations

import numpy as np
import pytest

from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.conformance.fuzz.traffic import traffic_kernel
from adstack.interpreter import RunOptions, run
from adstack.ir.text.printer import print_ir
from adstack.ir.types import f32, f64
from adstack.oracle.tape import gradient

EVERYTHING = {
    "in_place": True,
    "casts": True,
    "value_conditions": True,
    "extremes": True,
    "shared_locals": True,
    "serial_code": True,
}


@pytest.mark.parametrize("seed", range(12))
def test_a_smooth_kernel_runs_without_a_race_and_stays_bounded(seed):
    kernel = smooth_kernel(seed, 12, f32, **EVERYTHING)
    buffers = smooth_buffers(kernel, seed)
    run(kernel, buffers, options=RunOptions(debug=True))
    largest = max((np.abs(buffers[name]).max() for name in smooth_adjoints(kernel, seed)), default=0.0)
    assert largest < 1e4


@pytest.mark.parametrize("seed", range(40))
def test_a_traffic_kernel_runs_without_a_race_and_has_a_gradient(seed):
    kernel = traffic_kernel(seed, 6)
    buffers, adjoints = smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed)
    gradients = gradient(kernel, buffers, (), adjoints)
    assert all(np.isfinite(array).all() for array in gradients.values())
    run(kernel, buffers, options=RunOptions(debug=True))


def test_a_seed_stands_for_one_kernel():
    for make in (smooth_kernel, traffic_kernel):
        one, two, other = (print_ir(make(seed, 10)) for seed in (7, 7, 8))
        assert one == two
        assert one != other


def test_many_kernels_together_have_every_structure():
    names = {op.name for seed in range(60) for op in smooth_kernel(seed, 20, f64, **EVERYTHING).body.walk()}
    wanted = {
        "for",
        "while",
        "if",
        "parallel_for",
        "array.load",
        "array.store",
        "select",
        "cast",
        "load",
        "store",
        "atomic",
    }
    assert wanted <= names


def test_adjoints_are_neither_zero_nor_all_alike():
    kernel = smooth_kernel(1, 20, f64)
    numbers = np.concatenate([np.ravel(array) for array in smooth_adjoints(kernel, 3).values()])
    assert np.abs(numbers).min() >= 0.25
    assert (numbers > 0).any()
    assert (numbers < 0).any()
    assert len(set(numbers.tolist())) == len(numbers)
