"""What a kernel returns is differentiated like memory: reverse mode takes adjoints of it, forward mode gives tangents.

Rules: grad.returned
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reverse_kit import gradients_of, reversed_kernel
from transforms_kit import kernel_of, wrap

from adstack.autodiff.forward import forward
from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.error_analysis.bounds import gradient_bound
from adstack.interpreter import run
from adstack.ir.structure import Kernel
from adstack.ir.types import f64
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower, optimize

Array = np.ndarray[Any, Any]


def returning(seed: int) -> Kernel:
    """A random kernel that returns the last real numbers of its serial code."""
    kernel = smooth_kernel(seed, 18, f64, serial_code=True, shared_locals=seed % 2 == 0)
    *ops, end = kernel.body.ops
    floats = [v for op in ops for v in op.results if v.type is f64]
    end.set_operands(floats[-3:])
    kernel.returns = tuple(v.dtype for v in end.operands)
    verify(kernel)
    return kernel


@pytest.mark.parametrize("seed", range(10))
def test_gradients_of_what_random_kernels_return_are_those_of_the_oracle(seed: int) -> None:
    kernel = returning(seed)
    before, adjoints = smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed)
    seeds = np.random.default_rng(seed).normal(size=len(kernel.returns)).tolist()
    memory = {name: buffer.copy() for name, buffer in before.items()}
    run(lower(kernel), memory)
    memory.update({f"{name}.grad": adjoint.copy() for name, adjoint in adjoints.items()})
    run(lower(reversed_kernel(kernel)), memory, seeds)
    truth = gradient_bound(kernel, before, (), adjoints, returned=seeds)
    for name in adjoints:
        distance = np.abs(memory[f"{name}.grad"] - truth.values[name])
        assert (distance <= 2 * truth.bounds[name]).all(), (name, distance.max())


@pytest.mark.parametrize("seed", range(5))
def test_forward_and_reverse_mode_are_each_other_transposed(seed: int) -> None:
    kernel = returning(seed)
    before, direction = smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed + 1)
    duals = {name: replace(place, name=f"{name}.dual", role="dual") for name, place in gradients_of(kernel).items()}
    tangents = forward(optimize(kernel, keep_accesses=True), duals)
    verify(tangents)
    memory = {name: buffer.copy() for name, buffer in before.items()}
    memory.update({f"{name}.dual": direction[name].copy() for name in duals})
    returned = run(lower(tangents), memory)
    count = len(kernel.returns)
    assert len(returned) == 2 * count
    seeds = np.random.default_rng(seed).normal(size=count).tolist()
    zeros = {name: np.zeros_like(value) for name, value in direction.items()}
    truth = gradient_bound(kernel, before, (), zeros, returned=seeds)
    left = sum(s * t for s, t in zip(seeds, returned[count:], strict=True))
    products = np.concatenate([np.ravel(truth.values[name] * direction[name]) for name in direction])
    doubt = sum(float(np.sum(truth.bounds[name] * np.abs(direction[name]))) for name in direction)
    # the tangents go through the same operations as the adjoints: as far as these may be wrong, those may be
    size = float(np.abs(products).sum()) + abs(left)
    assert abs(left - products.sum()) <= 4 * doubt + 64 * np.finfo(np.float64).eps * size


HEAD = "kernel @k() -> (f64, i32) {\n  place @x : f64[] field"


def test_an_adjoint_of_0_is_nothing() -> None:
    """The root of 0 has an infinite derivative; what is not connected contributes nothing."""
    kernel = kernel_of(wrap("%a = load @x[]\n%r = sqrt %a\n%k = const 3 : i32\nreturn %r, %k", HEAD))
    for number, gradient in ((0.0, 0.5), (1.0, np.inf)):
        memory = {"x": np.zeros(()), "x.grad": np.array(0.5)}
        run(lower(reversed_kernel(kernel)), memory, [number])
        assert memory["x.grad"] == gradient
        truth = gradient_bound(kernel, {"x": np.zeros(())}, (), {"x": np.array(0.5)}, returned=[number, 0])
        assert truth.values["x"] == gradient


def test_integers_take_no_adjoint() -> None:
    kernel = kernel_of(wrap("%a = load @x[]\n%k = cast %a : i32\nreturn %a, %k", HEAD))
    assert [v.dtype for v in reversed_kernel(kernel).params] == [f64]
