"""`grad_check`: right gradients pass, wrong ones are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd


@pytest.fixture(params=["f32", "f64"], autouse=True)
def precision(request: Any) -> Any:
    dtype = getattr(qd, request.param)
    qd.init(arch=qd.reference, default_fp=dtype)
    return dtype


def world(precision: Any) -> Any:
    x = qd.field(precision, shape=3, needs_grad=True, name="x")
    y = qd.field(precision, shape=(), needs_grad=True)
    x.from_numpy(np.array([0.5, 1.0, 1.5]))

    @qd.kernel
    def bend():
        for i in x:
            x[i] = qd.sin(x[i]) * 1.5

    @qd.kernel
    def total():
        for i in x:
            y[None] += x[i] * x[i]

    return x, y, bend, total


def test_right_gradients_pass_and_memory_is_left_as_it_was(precision: Any) -> None:
    x, y, bend, total = world(precision)
    with qd.ad.Tape(y, grad_check=[x]):
        bend()
        x[1] = 0.25
        bend()
        total()
    after, gradient = x.to_numpy(), x.grad.to_numpy()
    x.from_numpy(np.array([0.5, 1.0, 1.5]))
    with qd.ad.Tape(y):
        bend()
        x[1] = 0.25
        bend()
        total()
    assert (x.to_numpy() == after).all()
    assert (x.grad.to_numpy() == gradient).all()


def test_a_wrong_gradient_is_told(precision: Any) -> None:
    x, y, bend, total = world(precision)

    @qd.ad.grad_replaced
    def bent() -> None:
        bend()

    @qd.ad.grad_for(bent)
    def bent_back() -> None:
        for i in range(3):
            x.grad[i] = x.grad[i] * (1.0 + i)

    def run() -> None:
        bent()
        total()

    wrong = pytest.raises(qd.AdstackAssertionError, match=r"gradients differ.*:\n  field x.grad\[\d\]")
    with wrong, qd.ad.Tape(y, grad_check=[x]):
        run()
