"""Forward and reverse mode of random sequences of kernels and writes of the host are each other's transpose.

Rules: grad.forward, grad.linked
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd

N = 3
BOTH = {"needs_grad": True, "needs_dual": True}
LAST = 12
"""Which action is the last: the one that stores what the host has computed with what a kernel returned."""
Step = tuple[int, int, int, float]
"""What to do, two indices, and a number."""
STEPS = st.lists(
    st.tuples(
        st.integers(0, LAST), st.integers(0, N - 1), st.integers(0, N - 1), st.sampled_from([0.5, -1.0, 2.0, 0.0])
    ),
    min_size=1,
    max_size=8,
)


def make(of: str) -> Any:
    """Three numbers or vectors."""
    if of == "vector":
        return qd.Vector.field(2, qd.f64, shape=N, **BOTH)
    if of == "sparse":
        x = qd.field(qd.f64, **BOTH)
        qd.root.bitmasked(qd.i, N).place(x, x.grad, x.dual)
        return x
    return (qd.field if of == "field" else qd.ndarray)(qd.f64, shape=N, **BOTH)


class World:
    """Memory of one kind, and what may be done with it; x is the parameter.

    Attributes:
        shift: is added to all inputs of x: what it is in the beginning, and what the host writes.
    """

    def __init__(self, of: str) -> None:
        self.of = of
        self.x, self.y = make(of), make("field" if of == "sparse" else of)
        self.loss = qd.field(qd.f64, shape=(), **BOTH)
        self.shift = 0.0
        self.numbers = (2,) if of == "vector" else ()
        self._kernels()
        self.actions = [*self._launches(), *self._writes(self.x), *self._writes(self.y), *self._links()]

    def _kernels(self) -> None:
        loss, entries = self.loss, 2 if self.of == "vector" else 0

        @qd.kernel
        def mix(u: qd.Tensor, v: qd.Tensor):
            for i in range(N):
                u[i] = 1.5 * u[i] + 0.5 * v[N - 1 - i]

        @qd.kernel
        def multiply(u: qd.Tensor, v: qd.Tensor):
            for i in range(N):
                v[i] = u[i] * v[i] - u[i]

        @qd.kernel
        def total(u: qd.Tensor, v: qd.Tensor):
            for i in range(N):
                if qd.static(entries):
                    for k in qd.static(range(2)):
                        loss[None] += u[i][k] * v[i][1 - k] + (i + k + 1) * u[i][k]
                else:
                    loss[None] += u[i] * v[i] + (i + 1) * u[i]

        @qd.kernel
        def get(u: qd.Tensor, i: qd.i32) -> qd.f64:
            return u[i][1] * u[i][0] if qd.static(entries) else u[i] * u[i]

        self.mix, self.multiply, self.total, self.get = mix, multiply, total, get

    def _launches(self) -> list[Callable[..., Any]]:
        x, y = self.x, self.y
        return [lambda *_: self.mix(x, y), lambda *_: self.multiply(x, y), lambda *_: self.total(x, y)]

    def _writes(self, data: Any) -> list[Callable[..., Any]]:
        def moved(value: float) -> float:
            return value + self.shift if data is self.x else value

        def fill(i: int, j: int, value: float) -> None:
            data.fill(moved(value))

        def every(i: int, j: int, value: float) -> None:
            data.from_numpy(moved(value) + self.numbered())

        def store(i: int, j: int, value: float) -> None:
            data[i] = [moved(value), moved(float(i))] if self.numbers else moved(value)

        def number(i: int, j: int, value: float) -> None:
            if self.numbers:
                data[i][j % 2] = moved(value)
            else:
                data[j] = moved(value)

        return [fill, every, store, number]

    def _links(self) -> list[Callable[..., Any]]:
        x, y = self.x, self.y

        def stored(i: int, j: int, value: float) -> None:
            number = value * self.get(x, i)
            x[j] = [number, 0.25 + self.shift] if self.numbers else number

        return [lambda *_: y.copy_from(x), stored]

    def run(self, steps: Sequence[Step]) -> None:
        """Do these steps on memory as it is in the beginning, and compute the loss."""
        for what, i, j, value in steps:
            self.actions[what](i, j, value)
        self.total(self.x, self.y)

    def numbered(self) -> Any:
        """An array of the shape of x."""
        size = N * 2 if self.numbers else N
        return np.arange(1.0, size + 1).reshape((N, *self.numbers))

    def begin(self) -> None:
        """Memory is what it was in the beginning."""
        self.x.from_numpy(0.5 * self.numbered() + self.shift)
        self.y.from_numpy(-0.75 * self.numbered())

    def forward(self, steps: Sequence[Step], seed: Any) -> float:
        """The derivative of the loss along the seed."""
        self.begin()
        with qd.ad.FwdMode(loss=self.loss, param=self.x, seed=seed):
            self.run(steps)
        return float(self.loss.dual[None])

    def reverse(self, steps: Sequence[Step], seed: Any) -> float:
        """The same from the gradient."""
        self.begin()
        with qd.ad.Tape(self.loss):
            self.run(steps)
        return float((self.x.grad.to_numpy() * seed).sum())


@pytest.mark.parametrize("of", ["field", "vector", "ndarray", "sparse"])
def test_random_sequences(arch: str, of: str) -> None:
    world = World(of)
    seed = np.array([[1.0, -2.0], [0.5, 3.0], [-1.0, 0.25]])
    seed = seed if of == "vector" else seed[:, 0]

    @settings(max_examples=30, deadline=None)
    @given(STEPS)
    def check(steps: list[Step]) -> None:
        forward, reverse = world.forward(steps, seed), world.reverse(steps, seed)
        assert forward == pytest.approx(reverse, rel=1e-12, abs=1e-9)

    check()


@pytest.mark.parametrize("of", ["field", "vector", "ndarray"])
def test_second_derivatives(arch: str, of: str) -> None:
    """A Tape inside of forward mode: how the gradient changes where all inputs of x move alike."""
    world = World(of)
    seed = np.ones((N, *world.numbers))

    def gradient(steps: list[Step], shift: float) -> Any:
        world.shift = shift
        world.reverse(steps, seed)
        world.shift = 0.0
        return world.x.grad.to_numpy()

    @settings(max_examples=15, deadline=None)
    @given(STEPS)
    def check(steps: list[Step]) -> None:
        steps = [step for step in steps if step[0] != LAST][:4]
        world.begin()
        with qd.ad.FwdMode(loss=world.loss, param=world.x, seed=seed):
            with qd.ad.Tape(world.loss):
                world.run(steps)
            first, second = world.x.grad.to_numpy(), world.x.grad.dual.to_numpy()
        assert first == pytest.approx(gradient(steps, 0.0), rel=1e-12, abs=1e-9)
        difference = (gradient(steps, 1e-4) - gradient(steps, -1e-4)) / 2e-4
        assert second == pytest.approx(difference, rel=1e-4, abs=1e-4)

    check()
