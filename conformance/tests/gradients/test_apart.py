"""Kernels that write several arrays: what is kept where a call's arrays are apart, and where they are one memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.runtime.memory.ledger import LEDGER

N = 4


@pytest.fixture(params=["reference", "cpu"], autouse=True)
def _runtime(request: Any) -> None:
    qd.init(arch=request.param, default_fp=qd.f64)


def filled(*shape: int) -> Any:
    array = qd.ndarray(qd.f64, shape, needs_grad=True)
    array.from_numpy(np.linspace(0.3, 1.1, int(np.prod(shape))).reshape(shape))
    return array


def seeded(array: Any) -> None:
    array.grad.from_numpy(np.linspace(-1.0, 2.0, int(np.prod(array.shape))).reshape(array.shape))


@qd.kernel
def swing(x: qd.types.ndarray(), v: qd.types.ndarray(), t: qd.i32):
    for i in range(N):
        v[t + 1, i] = v[t, i] - 0.1 * qd.sin(x[t, i])
        x[t + 1, i] = x[t, i] + 0.1 * v[t + 1, i]


def test_steps_of_two_arrays_keep_nothing_of_steps_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many steps as they are, copies of both arrays in each would take more than there may be."""
    steps = 48
    monkeypatch.setattr(LEDGER, "most", 4 * 8 * N * steps)
    x, v = filled(steps + 1, N), filled(steps + 1, N)
    for _ in range(3):
        for t in range(steps):
            swing(x, v, t)
        x.grad.fill(0.0)
        v.grad.fill(0.0)
        for i in range(N):
            x.grad[steps, i] = 1.0
        for t in reversed(range(steps)):
            swing.grad(x, v, t)
    kept, at, there, gradient = x.to_numpy(), np.ones(N), np.zeros(N), x.grad.to_numpy()
    for t in reversed(range(steps)):
        there = there + 0.1 * at
        at = at - 0.1 * np.cos(kept[t]) * there
    assert np.allclose(gradient[0], at)
    assert np.allclose(v.grad.to_numpy()[0], there)


@qd.kernel
def crossed(p: qd.types.ndarray(), q: qd.types.ndarray()):
    for i in range(N):
        p[i] = 0.5 * q[i] + p[i] * p[i]
        q[i] = q[i] * p[i]


@qd.kernel
def crossed_in_one(p: qd.types.ndarray()):
    for i in range(N):
        p[i] = 0.5 * p[i] + p[i] * p[i]
        p[i] = p[i] * p[i]


def test_one_array_by_two_names_is_differentiated_as_by_one() -> None:
    """The second line reads by the other name what the first has written."""
    one, same = filled(N), filled(N)
    crossed(one, one)
    crossed_in_one(same)
    assert one.to_numpy().tolist() == same.to_numpy().tolist()
    seeded(one)
    seeded(same)
    crossed.grad(one, one)
    crossed_in_one.grad(same)
    assert np.allclose(one.grad.to_numpy(), same.grad.to_numpy())


def test_calls_with_one_array_and_with_two_take_turns() -> None:
    for _ in range(4):
        p, q, one = filled(N), filled(N), filled(N)
        a = p.to_numpy()
        new = 0.5 * a + a * a
        crossed(p, q)
        crossed(one, one)
        for array in (p, q, one):
            seeded(array)
        seed = p.grad.to_numpy()
        crossed.grad(one, one)
        crossed.grad(p, q)
        total = seed + seed * a
        assert np.allclose(p.grad.to_numpy(), 2 * a * total)
        assert np.allclose(q.grad.to_numpy(), seed * new + 0.5 * total)
        assert np.allclose(one.grad.to_numpy(), seed * 2 * new * (0.5 + 2 * a))


@qd.kernel
def with_a_third(p: qd.types.ndarray(), q: qd.types.ndarray(), r: qd.types.ndarray()):
    for i in range(N):
        p[i] = 0.5 * q[i] + p[i] * r[i]
        q[i] = q[i] * p[i]


def test_two_of_three_arrays_are_one() -> None:
    one, other = filled(N), filled(N)
    a = one.to_numpy()
    new = 0.5 * a + a * a
    with_a_third(one, one, other)
    seeded(one)
    seed = one.grad.to_numpy()
    with_a_third.grad(one, one, other)
    assert np.allclose(one.grad.to_numpy(), seed * 2 * new * (0.5 + a))
    assert np.allclose(other.grad.to_numpy(), seed * 2 * new * a)


def test_views_of_one_memory_are_not_apart() -> None:
    """What the kernel reads by one of them it has overwritten by the other."""
    x, loss, memory = filled(N), qd.field(qd.f64, shape=(), needs_grad=True), np.arange(1.0, N + 1)

    @qd.kernel
    def scaled(x: qd.types.ndarray(), p: qd.types.ndarray(), q: qd.types.ndarray()):
        for i in range(N):
            loss[None] += x[i] * p[i] * x[i]
            q[i] = p[i] * x[i]
            loss[None] += x[i] * p[i]
            p[i] = 3.0 * x[i]

    start = memory.copy()
    scaled(x, memory[:], memory[:])
    loss.grad[None] = 1.0
    scaled.grad(x, memory[:], memory[:])
    assert np.allclose(x.grad.to_numpy(), 3.0 * start * x.to_numpy())


@qd.kernel
def backwards(p: qd.types.ndarray(), q: qd.types.ndarray(), t: qd.i32):
    for i in range(N):
        p[t, i] = qd.sin(q[t + 1, i])
        q[t, i] = 0.5 * p[t, i] * p[t + 1, i]


def test_what_later_steps_have_overwritten_is_put_back() -> None:
    """As where each launch had copies of what it overwrites: each step overwrites what the one before has read."""
    steps = 3
    p, q = filled(steps + 1, N), filled(steps + 1, N)
    start = p.to_numpy(), q.to_numpy()
    for t in range(steps):
        backwards(p, q, t)
    left = p.to_numpy().copy(), q.to_numpy().copy()
    p.grad.fill(0.0)
    q.grad.fill(1.0)
    for t in reversed(range(steps)):
        backwards.grad(p, q, t)
    assert np.array_equal(p.to_numpy(), left[0])
    assert np.array_equal(q.to_numpy(), left[1])
    assert np.allclose(q.grad.to_numpy(), _central(lambda b: _backwards(start[0], b, steps), start[1]), atol=1e-6)


def _backwards(p: Any, q: Any, steps: int) -> float:
    """The sum of `q` after some steps."""
    p, q = p.copy(), q.copy()
    for t in range(steps):
        p[t] = np.sin(q[t + 1])
        q[t] = 0.5 * p[t] * p[t + 1]
    return float(q.sum())


def _central(function: Any, at: Any) -> Any:
    """Central differences."""
    gradient = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = 1e-6
        gradient[index] = (function(at + step) - function(at - step)) / 2e-6
    return gradient
