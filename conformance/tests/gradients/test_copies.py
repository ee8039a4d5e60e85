"""`copy_from()` under a Tape: all elements at once, with the derivatives that elements one by one have."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.gradients.tapes.tape import Tape
from adstack.runtime import state

ARCHES = ("reference", "cpu", "vulkan", "cuda")


@pytest.fixture(params=ARCHES)
def arch(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=getattr(qd, request.param), offline_cache=False)
    return str(request.param)


@qd.kernel
def square(x: qd.template()):
    for i in x:
        x[i] *= x[i]


@qd.kernel
def total(x: qd.template(), weights: qd.template(), loss: qd.template()):
    for i in x:
        loss[None] += x[i] * weights[i]


def calls_of(work: Callable[[], object]) -> int:
    """How many functions of Python it calls."""
    count = [0]

    def seen(frame: object, event: str, argument: object) -> None:
        count[0] += event == "call"

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count[0]


class Chain:
    """x is copied to y before and after a kernel changes both; the loss is a weighted sum."""

    def __init__(self, count: int, dtype: Any = qd.f32) -> None:
        self.x, self.y = qd.field(qd.f32, count, needs_grad=True), qd.field(dtype, count, needs_grad=True)
        self.weights, self.loss = qd.field(qd.f32, count), qd.field(qd.f32, (), needs_grad=True)
        random = np.random.default_rng(3)
        self.start = random.normal(size=count).astype(np.float32)
        self.weights.from_numpy(random.normal(size=count).astype(np.float32))

    def tape(self) -> list[list[float]]:
        """What the gradients are, and what is left in memory."""
        self.x.from_numpy(self.start)
        self.y.fill(7.0)
        with qd.ad.Tape(self.loss):
            self.y.copy_from(self.x)
            square(self.y)
            total(self.y, self.weights, self.loss)
            self.x.copy_from(self.y)
            self.x.copy_from(self.x)
            square(self.x)
            total(self.x, self.weights, self.loss)
            self.y.copy_from(self.x)
        return [one.to_numpy().tolist() for one in (self.x.grad, self.y.grad, self.x, self.y)]


def test_gradients_are_those_of_elements_one_by_one(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = Chain(24)
    together = chain.tape()
    monkeypatch.delattr(Tape, "host_copied")
    assert chain.tape() == together
    weights, start = chain.weights.to_numpy().astype(float), chain.start.astype(float)
    assert np.allclose(together[0], weights * (2 * start + 4 * start**3), rtol=1e-5)
    assert together[1] == [0.0] * 24


def test_many_elements_take_no_more_calls_of_python_than_few(arch: str) -> None:
    counts = []
    for count in (16, 20_000):
        chain = Chain(count)
        chain.tape()
        counts.append(calls_of(chain.tape))
    assert counts[1] < counts[0] + 4_000


def test_numbers_that_are_converted_are_copied_one_by_one(arch: str) -> None:
    kept = state.current().backend.capabilities.dtypes
    for dtype in (one for one in (qd.f16, qd.f64) if one in kept):
        same, converted = (Chain(6, one).tape()[0] for one in (qd.f32, dtype))
        assert np.allclose(same, converted, rtol=1e-6 if dtype is qd.f64 else 1e-2)


def test_a_loss_that_is_copied_is_reached(arch: str) -> None:
    x, y, loss = (qd.field(qd.f32, (), needs_grad=True) for _ in range(3))
    x[None] = 3.0

    @qd.kernel
    def double():
        y[None] = 2.0 * x[None] * x[None]

    with qd.ad.Tape(loss):
        double()
        loss.copy_from(y)
    assert (loss[None], x.grad[None]) == (18.0, 12.0)


def test_gradients_that_are_not_numbers_go_where_they_went(arch: str) -> None:
    x, y, loss = qd.field(qd.f32, 3, needs_grad=True), qd.field(qd.f32, 3, needs_grad=True), None
    loss = qd.field(qd.f32, (), needs_grad=True)
    x.from_numpy(np.array([0.0, 1.0, 4.0], np.float32))

    @qd.kernel
    def roots():
        for i in y:
            loss[None] += qd.sqrt(y[i])

    with qd.ad.Tape(loss):
        y.copy_from(x)
        roots()
    assert x.grad.to_numpy().tolist() == [float("inf"), 0.5, 0.25]


@pytest.mark.parametrize("sparse", ["both", "source", "target"])
@pytest.mark.parametrize("second", [False, True], ids=["first", "second"])
def test_inactive_elements_are_copied_as_constants(arch: str, sparse: str, second: bool) -> None:
    x, y = qd.field(qd.f32), qd.field(qd.f32)
    loss = qd.field(qd.f32, (), needs_grad=True, needs_dual=True)
    for field, others in ((x, "target"), (y, "source")):
        level = qd.root.dense(qd.i, 4) if sparse == others else qd.root.bitmasked(qd.i, 4)
        level.place(field, field.grad, field.dual)
    x[1], x[3] = 3.0, 2.0
    y[2] = 5.0

    @qd.kernel
    def cubes():
        for i in y:
            loss[None] += y[i] ** 3 + y[i]

    def taped() -> None:
        with qd.ad.Tape(loss):
            y.copy_from(x)
            cubes()

    if second:
        with qd.ad.FwdMode(loss=loss, param=x, seed=[0.0, 1.0, 0.0, 0.0]):
            taped()
        assert loss.dual[None] == 28.0
        assert x.grad.dual.to_numpy().tolist() == [0.0, 18.0, 0.0, 0.0]
    else:
        taped()
    assert y.to_numpy().tolist() == [0.0, 3.0, 0.0, 2.0]
    rest = [0.0, 0.0] if sparse != "target" else [float(qd.is_active(y.parent(), k)) for k in (0, 2)]
    assert x.grad.to_numpy().tolist() == [rest[0], 28.0, rest[1], 13.0]
    if sparse != "target":
        x[2] = 1.0
        assert x.grad[2] == 0.0
