"""Calls that pass vectors, matrices and structs where memory is watched: they are noted, and made by machine code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import adstack as qd


@dataclass
class Weights:
    """An array, and numbers."""

    w: qd.types.ndarray(dtype=qd.f64, ndim=1)
    scale: qd.f64
    shift: qd.types.vector(2, qd.f64)


N, STEPS = 3, 4


def chain() -> tuple[Any, Any, Any]:
    """Steps that overwrite what the one before needs, with a vector and a struct."""
    x = qd.ndarray(qd.f64, N, needs_grad=True)

    @qd.kernel
    def step(x: qd.types.ndarray(dtype=qd.f64, ndim=1), g: qd.types.vector(2, qd.f64), p: Weights, t: qd.i32):
        for i in range(N):
            x[i] = x[i] * x[i] * g[0] + p.w[i] * p.scale + g[1] * p.shift[t % 2]

    weights = Weights(qd.ndarray(qd.f64, N), 0.5, [0.25, -0.5])
    weights.w.fill(0.125)
    return x, step, weights


def expected(gs: list[list[float]], scales: list[float], shift: list[float]) -> tuple[float, float]:
    """What x is in the end, and its derivative by what it was."""
    x, slope = 0.5, 1.0
    for t, (g, scale) in enumerate(zip(gs, scales, strict=True)):
        slope *= 2 * x * g[0]
        x = x * x * g[0] + 0.125 * scale + g[1] * shift[t % 2]
    return x, slope


@pytest.fixture(params=["reference", "cpu", "vulkan"])
def arch(request: pytest.FixtureRequest) -> Any:
    """Every backend that runs here."""
    qd.init(arch=request.param, offline_cache=False)
    return request.param


@pytest.mark.parametrize("how", [list, qd.Vector, tuple])
def test_chains_by_hand_have_their_gradients(arch: Any, how: Any) -> None:
    x, step, weights = chain()
    for k in range(4):
        gs = [[1.0 + 0.5 * t + k, 0.25 * t - k] for t in range(STEPS)]
        scales = [0.5 + t + k for t in range(STEPS)]
        x.fill(0.5)
        for t in range(STEPS):
            weights.scale = scales[t]
            step(x, how(gs[t]), weights, t)
        value, slope = expected(gs, scales, [0.25, -0.5])
        assert x.to_numpy() == pytest.approx(value, rel=1e-12)
        x.grad.fill(1.0)
        for t in reversed(range(STEPS)):
            weights.scale = scales[t]
            step.grad(x, how(gs[t]), weights, t)
        assert x.grad.to_numpy() == pytest.approx(slope, rel=1e-12)


@pytest.mark.parametrize("how", [list, qd.Vector])
def test_machine_code_makes_them(compiled_arch: str, by_machine: list[bool], how: Any) -> None:
    qd.init(arch=compiled_arch, offline_cache=False)
    x, step, weights = chain()
    for _ in range(3):
        for t in range(STEPS):
            step(x, how([1.5, 0.25]), weights, t)
        x.grad.fill(1.0)
        for t in reversed(range(STEPS)):
            step.grad(x, how([1.5, 0.25]), weights, t)
    assert len(by_machine) >= 2 * STEPS
    assert all(by_machine[-2 * STEPS :])
