"""What the tests of reverse mode share: kernels reversed, and gradients compared with those of the oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from transforms_kit import kernel_of, wrap

from adstack.autodiff.reverse import reverse
from adstack.error_analysis.bounds import gradient_bound
from adstack.interpreter import run
from adstack.ir.structure import Kernel, Op, Place
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower, optimize

Array = npt.NDArray[Any]
Buffers = dict[str, Array]


def gradients_of(kernel: Kernel) -> dict[str, Place]:
    """A gradient place for every place of floats that outlives a launch."""
    return {
        p.name: replace(p, name=f"{p.name}.grad", role="grad", of=p.name)
        for p in kernel.places.values()
        if p.dtype.is_float and p.kind in ("field", "ndarray")
    }


def reversed_kernel(kernel: Kernel) -> Kernel:
    gradient = reverse(optimize(kernel, keep_accesses=True), gradients_of(kernel))
    verify(gradient)
    return gradient


def backward(kernel: Kernel, before: Buffers, adjoints: Buffers) -> Buffers:
    """The gradient buffers after a forward and a reverse launch."""
    memory = {name: buffer.copy() for name, buffer in before.items()}
    run(lower(kernel), memory)
    memory.update({f"{name}.grad": adjoint.copy() for name, adjoint in adjoints.items()})
    after = {name: buffer.copy() for name, buffer in memory.items()}
    run(lower(reversed_kernel(kernel)), after)
    assert all(np.array_equal(memory[n], after[n]) for n in before), "a primal place was written"
    return {name: after[f"{name}.grad"] for name in adjoints}


def check_against_oracle(kernel: Kernel, before: Buffers, adjoints: Buffers) -> None:
    """Within twice the error bound of the oracle's own run: one for each of the two results."""
    gradients = backward(kernel, before, adjoints)
    truth = gradient_bound(kernel, before, (), adjoints)
    for name, gradient in gradients.items():
        distance = np.abs(gradient.astype(np.float64) - truth.values[name].astype(np.float64))
        assert (distance <= 2 * truth.bounds[name]).all(), (name, distance.max())


def ops(kernel: Kernel, name: str) -> list[Op]:
    return [op for op in kernel.body.walk() if op.name == name]


def small(body: str) -> Kernel:
    return kernel_of(
        wrap(
            f"%0 = const 0 : i32\n%5 = const 5 : i32\nparallel_for (%i = %0 to %5) {{\n{body}\nyield\n}}\nreturn",
            "kernel @k() {\n  place @x : f32[5] field\n  place @y : f32[5] field\n  place @z : f32[] field",
        )
    )


def state(seed: int) -> Buffers:
    random = np.random.default_rng(seed)
    shapes = {"x": 5, "y": 5, "z": ()}
    return {name: np.asarray(random.uniform(0.5, 2, shape), np.float32) for name, shape in shapes.items()}
