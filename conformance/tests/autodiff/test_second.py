"""Reverse mode of forward mode: second derivatives are those of the tape oracle over dual numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reverse_kit import Buffers, backward

from adstack.autodiff.forward import forward
from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.error_analysis.bounds import gradient_bound
from adstack.ir.structure import Kernel
from adstack.ir.types import f64
from adstack.oracle.duals import second
from adstack.oracle.tape import gradient
from adstack.transforms.pipeline import optimize


def with_tangents(kernel: Kernel) -> Kernel:
    """The kernel that computes tangents in places that are memory like any other."""
    floats = [p for p in kernel.places.values() if p.dtype.is_float and p.kind in ("field", "ndarray")]
    return forward(optimize(kernel, keep_accesses=True), {p.name: replace(p, name=f"{p.name}.dual") for p in floats})


def directions(buffers: Buffers, kernel: Kernel, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    floats = [p.name for p in kernel.places.values() if p.dtype.is_float and p.name in buffers]
    return {name: rng.uniform(-1, 1, np.shape(buffers[name])) for name in floats}


@pytest.mark.parametrize("seed", range(6))
def test_the_tangent_of_a_gradient_is_the_adjoint_of_the_value(seed: int) -> None:
    kernel = smooth_kernel(seed, 6, f64)
    buffers, adjoints = smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed)
    along, moves = directions(buffers, kernel, seed), directions(buffers, kernel, seed + 1)
    moves = {name: moves[name] for name in adjoints}
    truth = second(kernel, buffers, along, (), adjoints, moves)

    jvp = with_tangents(kernel)
    memory = {**buffers, **{f"{name}.dual": value for name, value in along.items()}}
    crossed = {**moves, **{f"{name}.dual": value for name, value in adjoints.items()}}
    gradients = backward(jvp, memory, crossed)
    bounds = gradient_bound(jvp, memory, (), crossed).bounds
    for name, moving in truth.items():
        # either result is within the bound of the exact one
        assert np.all(np.abs(gradients[f"{name}.dual"] - moving.value) <= 2 * bounds[f"{name}.dual"]), name
        assert np.all(np.abs(gradients[name] - moving.tangent) <= 2 * bounds[name]), name


OPERATIONS = 256
"""No gradient of these kernels is computed by more operations on numbers of its size; each rounds by an eps at most."""


@pytest.mark.parametrize("seed", [2, 5])
def test_the_oracle_agrees_with_differences_of_gradients(seed: int) -> None:
    """Central differences have an error of the step's square, of which a quarter is left with half the step."""
    kernel = smooth_kernel(seed, 6, f64)
    buffers, adjoints = smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed)
    along = directions(buffers, kernel, seed)
    truth = second(kernel, buffers, along, (), adjoints)
    steps = [1e-4, 0.5e-4]
    differences = [_differences(kernel, buffers, along, adjoints, step) for step in steps]
    for name, moving in truth.items():
        rough, fine = (difference[name] for difference in differences)
        rounding = OPERATIONS * np.finfo(np.float64).eps * (1 + np.abs(moving.value).max(initial=0)) / steps[1]
        assert np.all(np.abs(moving.tangent - fine) <= 2 * np.abs(rough - fine) + rounding), name


def _differences(kernel: Kernel, buffers: Buffers, along: Buffers, adjoints: Buffers, step: float) -> Buffers:
    def moved(sign: float) -> Buffers:
        memory = {
            name: value + sign * step * along[name] if name in along else value for name, value in buffers.items()
        }
        return gradient(kernel, memory, (), adjoints)

    plus, minus = moved(1.0), moved(-1.0)
    return {name: (plus[name] - minus[name]) / (2 * step) for name in adjoints}


def test_numbers_without_a_direction_do_not_move() -> None:
    kernel = smooth_kernel(3, 6, f64)
    buffers, adjoints = smooth_buffers(kernel, 3), smooth_adjoints(kernel, 3)
    truth = second(kernel, buffers, {}, (), adjoints)
    first = gradient(kernel, buffers, (), adjoints)
    for name, moving in truth.items():
        assert np.array_equal(moving.value, first[name])
        assert not moving.tangent.any()
