"""The oracle's gradients of random kernels against finite differences, Taylor's theorem, and a walk with 60 digits.

Rules: grad.meaning, grad.precision, grad.bound
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from exactly import Exactly, mp

from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.error_analysis.bounds import bound, gradient_bound
from adstack.interpreter import RunOptions, run
from adstack.interpreter.launch import DEFAULT
from adstack.ir.types import f16, f32, f64
from adstack.oracle.tape import gradient, record, walked

SEEDS = (0, 2, 4, 5, 6, 7)
SMALL = 10


class Line:
    """<adjoints, F(memory + h direction)> of a kernel as a function of h, and its slope at 0 by the oracle."""

    def __init__(self, seed):
        self.kernel = smooth_kernel(seed, SMALL, f64, in_place=seed % 2 == 0)
        self.buffers = smooth_buffers(self.kernel, seed)
        self.adjoints = smooth_adjoints(self.kernel, seed + 1000)
        random = np.random.default_rng(seed)
        self.direction = {name: random.uniform(-1, 1, array.shape) for name, array in self.adjoints.items()}
        gradients = gradient(self.kernel, self.buffers, (), self.adjoints)
        self.slope = math.fsum(np.ravel(gradients[name] * self.direction[name]).sum() for name in self.adjoints)

    def __call__(self, h):
        """The value, and a bound on its rounding error."""
        moved = {name: array.copy() for name, array in self.buffers.items()}
        for name, direction in self.direction.items():
            moved[name] += h * direction
        answer = bound(self.kernel, moved)
        terms = np.concatenate([np.ravel(answer.values[name] * self.adjoints[name]) for name in self.adjoints])
        errors = math.fsum(np.sum(answer.bounds[name] * np.abs(self.adjoints[name])) for name in self.adjoints)
        return math.fsum(terms), errors + np.finfo(float).eps * np.abs(terms).sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_of_taylors_theorem_falls_as_the_square_of_the_step(seed):
    line = Line(seed)
    start, noise = line(0.0)
    steps = [2.0**-k for k in range(6, 16)]
    rests = []
    for h in steps:
        value, rounding = line(h)
        rest = abs(value - start - h * line.slope)
        rounding += noise + h * abs(line.slope) * np.finfo(float).eps
        if rest > 8 * rounding:
            rests.append((h, rest))
    if len(rests) > 2:
        (h, large), (last, small) = rests[-3], rests[-1]
        order = math.log(large / small) / math.log(h / last)
        assert order > 1.5, rests
    else:
        # nothing but rounding is left: the kernel is linear along this line
        assert abs(line(steps[0])[0] - start - steps[0] * line.slope) <= 8 * (line(steps[0])[1] + noise) + steps[0] ** 2


@pytest.mark.parametrize("seed", SEEDS)
def test_the_slope_is_that_of_central_differences(seed):
    line = Line(seed)
    differences = []
    for h in (2.0**-10, 2.0**-11):
        (right, one), (left, two) = line(h), line(-h)
        differences.append(((right - left) / (2 * h), (one + two) / (2 * h)))
    (coarse, _), (fine, rounding) = differences
    # the error of a central difference falls by 4 when the step halves: what is left is a third of the last change
    assert abs(fine - line.slope) <= abs(coarse - fine) + 2 * rounding


def own_and_exact(seed, dtype):
    kernel = smooth_kernel(seed, SMALL, dtype, in_place=seed % 2 == 0, casts=seed % 3 == 0)
    return kernel, smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed + 1000)


def distances(values, exact):
    flat = np.ravel(values)
    return [abs(mp.mpf(float(got)) - want) for got, want in zip(flat, exact, strict=True)]


@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
@pytest.mark.parametrize("seed", [0, 2, 3, 4, 5])
def test_memory_is_within_its_bound_of_exact_arithmetic(seed, dtype):
    kernel, buffers, _ = own_and_exact(seed, dtype)
    answer = bound(kernel, buffers)
    exact, _ = record(kernel, buffers, (), Exactly(), DEFAULT)
    for name, bounds in answer.bounds.items():
        errors = distances(answer.values[name], exact.places[name].cells.numbers)
        assert all(error <= limit for error, limit in zip(errors, np.ravel(bounds), strict=True)), name


@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
@pytest.mark.parametrize("seed", [0, 2, 3, 4, 5])
def test_a_gradient_is_within_its_bound_of_exact_arithmetic(seed, dtype):
    kernel, buffers, adjoints = own_and_exact(seed, dtype)
    answer = gradient_bound(kernel, buffers, (), adjoints)
    own = gradient(kernel, buffers, (), adjoints)
    exact = walked(kernel, buffers, (), adjoints, (), Exactly(), DEFAULT)
    for name, bounds in answer.bounds.items():
        assert answer.values[name].tolist() == own[name].tolist()
        errors = distances(own[name], exact[name].value)
        assert all(error <= limit for error, limit in zip(errors, np.ravel(bounds), strict=True)), name


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 5])
def test_f64_gradients_of_f32_kernels_are_as_good_as_exact_ones(seed):
    """Nearer to them than the f32 ones, by about as much as f64 is finer than f32."""
    kernel, buffers, adjoints = own_and_exact(seed, f32)
    wide = gradient(kernel, buffers, (), adjoints, precision="f64")
    bounds = gradient_bound(kernel, buffers, (), adjoints).bounds
    exact = walked(kernel, buffers, (), adjoints, (), Exactly(), DEFAULT)
    for name in adjoints:
        errors = distances(wide[name], exact[name].value)
        assert all(error <= limit * 2.0**-24 for error, limit in zip(errors, np.ravel(bounds[name]), strict=True)), name


@pytest.mark.parametrize("seed", SEEDS)
def test_the_recorded_run_leaves_the_memory_that_a_run_leaves(seed):
    kernel = smooth_kernel(seed, SMALL, f32, in_place=True, casts=True, value_conditions=True)
    buffers = smooth_buffers(kernel, seed)
    after = {name: array.copy() for name, array in buffers.items()}
    run(kernel, after)
    recorded = bound(kernel, buffers).values
    assert {name: array.tobytes() for name, array in after.items()} == {n: a.tobytes() for n, a in recorded.items()}


@pytest.mark.parametrize("seed", [0, 2])
def test_how_many_lanes_run_together_does_not_matter(seed):
    kernel, buffers, adjoints = own_and_exact(seed, f64)
    bounds = gradient_bound(kernel, buffers, (), adjoints).bounds
    together = gradient(kernel, buffers, (), adjoints)
    parts = gradient(kernel, buffers, (), adjoints, options=RunOptions(lanes=3))
    for name in adjoints:
        assert (np.abs(parts[name] - together[name]) <= 2 * bounds[name]).all()
