"""Followed tapes whose calls pass vectors, lists and structs, which a program may change between any two calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from follow_kit import ARCHES, begin_in_test, served

import adstack as qd

STEPS = 4


@pytest.fixture(autouse=True, params=ARCHES)
def arch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test runs on each backend that follows tapes."""
    return begin_in_test(request.param, monkeypatch)


@dataclass
class Weights:
    """An array, and numbers."""

    w: qd.types.ndarray(dtype=qd.f64, ndim=1)
    scale: qd.f64
    shift: qd.types.vector(2, qd.f64)


@dataclass
class Arrays:
    """An array alone."""

    w: qd.types.ndarray(dtype=qd.f64, ndim=1)


def steps(x: Any) -> tuple[Any, Any, Any]:
    """The step, by kernels that take different arguments."""

    @qd.kernel
    def by_vector(g: qd.types.vector(2, qd.f64), t: qd.i32):
        for i in range(3):
            x[t + 1, i] = x[t, i] * x[t, i] * g[0] + g[1]

    @qd.kernel
    def by_struct(p: Weights, t: qd.i32):
        for i in range(3):
            x[t + 1, i] = x[t, i] * x[t, i] * p.scale + p.w[i] * p.shift[1]

    @qd.kernel
    def by_array(p: Arrays, b: qd.f64, t: qd.i32):
        for i in range(3):
            x[t + 1, i] = x[t, i] * x[t, i] * p.w[i] + b

    return by_vector, by_struct, by_array


def others(x: Any, loss: Any, other: Any) -> tuple[Any, Any]:
    """A kernel that has nothing to do with it, and the loss."""

    @qd.kernel
    def bump():
        for i in other:
            other[i] += 1.0

    @qd.kernel
    def total():
        for i in range(3):
            loss[None] += x[STEPS, i]

    return bump, total


class World:
    """x[t + 1] = x[t]^2 a[t] + b[t], by kernels that are handed a and b in several ways."""

    def __init__(self) -> None:
        x = self.x = qd.field(qd.f64, shape=(STEPS + 1, 3), needs_grad=True)
        loss = self.loss = qd.field(qd.f64, shape=(), needs_grad=True)
        self.vector, self.list, self.other = qd.Vector([0.0, 0.0]), [0.0, 0.0], qd.field(qd.f64, 3)
        self.ones = qd.ndarray(qd.f64, 3)
        self.ones.fill(1.0)
        self.weights = Weights(self.ones, 0.0, [0.0, 0.0])
        self.host = Arrays(np.ones(3))
        self.by_vector, self.by_struct, self.by_array = steps(x)
        self.bump, self.total = others(x, loss, self.other)

    def step(self, how: str, t: int, a: float, b: float) -> None:
        """One step; the objects are those of the step before, with other numbers."""
        if how == "vector":
            self.vector[0], self.vector[1] = a, b
            self.by_vector(self.vector, t)
        elif how == "list":
            self.list[:] = [a, b]
            self.by_vector(self.list, t)
        elif how == "struct":
            self.weights.scale, self.weights.shift[1] = a, b
            self.by_struct(self.weights, t)
        else:
            self.host.w[:] = a
            self.by_array(self.host, b, t)

    def run(self, how: str, a: list[float], b: list[float], before: Callable[[int], object]) -> qd.ad.Tape:
        """A tape, whose value and gradient are checked."""
        self.x.fill(0.5)
        with qd.ad.Tape(self.loss) as tape:
            for t in range(STEPS):
                before(t)
                self.step(how, t, a[t], b[t])
            self.total()
        value, slope = 0.5, 1.0
        for one, other in zip(a, b, strict=True):
            slope *= 2 * value * one
            value = value * value * one + other
        assert self.loss[None] == pytest.approx(3 * value, rel=1e-12)
        assert self.x.grad[0, 1] == pytest.approx(slope, rel=1e-12)
        return tape


def numbers(k: int) -> tuple[list[float], list[float]]:
    """Those of the tape of a number."""
    return [1.0 + 0.1 * k + 0.2 * t for t in range(STEPS)], [0.05 * t - 0.1 * k for t in range(STEPS)]


@pytest.mark.parametrize("how", ["vector", "list", "struct", "array of the host"])
def test_gradients_are_right_whatever_has_changed(how: str) -> None:
    world = World()
    for k in range(5):
        world.run(how, *numbers(k), lambda t: None)
    world.run(how, *numbers(5), lambda t: world.bump() if t == 2 else None)
    world.run(how, *numbers(6), lambda t: world.other.fill(1.0) if t == 1 else None)
    world.run(how, *numbers(7), lambda t: None)


def test_calls_are_told_with_the_numbers_that_they_passed(arch: str) -> None:
    world = World()
    for k in range(4):
        tape = world.run("vector", *numbers(k), lambda t: None)
    assert served(tape) > 0
    passed = [args for kernel, args in tape.calls if kernel is world.by_vector]
    assert [(g.to_list(), t) for g, t in passed] == [
        ([a, b], t) for t, (a, b) in enumerate(zip(*numbers(3), strict=True))
    ]
