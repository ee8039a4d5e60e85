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


def custom(x: Any, kernel: Any, factor: float) -> Any:
    """The kernel, with what its gradient adds to that of x multiplied by a factor."""

    @qd.ad.grad_replaced
    def run() -> None:
        kernel()

    @qd.ad.grad_for(run)
    def back() -> None:
        before = x.grad.to_numpy()
        kernel.grad()
        x.grad.from_numpy(before + (x.grad.to_numpy() - before) * factor)

    return run


def test_a_gradient_that_is_off_by_one_percent_is_told(precision: Any) -> None:
    x, y, _, total = world(precision)
    with qd.ad.Tape(y, grad_check=[x]):
        custom(x, total, 1.0)()
    wrong = pytest.raises(
        qd.AdstackAssertionError, match=r"3 gradients differ.*\n.*is 1\.0(1|09).*differences say 1 \+- "
    )
    with wrong, qd.ad.Tape(y, grad_check=[x]):
        custom(x, total, 1.01)()


def test_a_loss_in_which_much_cancels_is_no_false_alarm(precision: Any) -> None:
    """What is left of sixty large terms carries all of their rounding."""
    x, y = qd.field(precision, shape=(), needs_grad=True), qd.field(precision, shape=(), needs_grad=True)

    @qd.kernel
    def run():
        for _ in range(1):
            s = x[None] * 0.0
            for k in range(30):
                s += qd.sin(x[None] + k) * 100.0
                s -= qd.sin(x[None] * 1.0001 + k) * 100.0
            y[None] = s

    x[None] = 0.7
    with qd.ad.Tape(y, grad_check=[x]):
        run()


def test_steps_reach_no_further_than_the_loss_is_defined(precision: Any) -> None:
    x, y = qd.field(precision, shape=2, needs_grad=True), qd.field(precision, shape=(), needs_grad=True)

    @qd.kernel
    def run():
        for i in x:
            y[None] += qd.log(x[i]) + qd.asin(x[i])

    x.from_numpy(np.array([1e-3, 0.999]))
    with qd.ad.Tape(y, grad_check=[x]):
        run()
    with pytest.raises(qd.AdstackAssertionError, match="2 gradients differ"), qd.ad.Tape(y, grad_check=[x]):
        custom(x, run, 0.9)()


def test_a_loss_that_rounding_may_move_anywhere_is_not_judged(precision: Any) -> None:
    x, y = qd.field(precision, shape=(), needs_grad=True), qd.field(precision, shape=(), needs_grad=True)

    @qd.kernel
    def run():
        for _ in range(1):
            y[None] = qd.sqrt(x[None] * x[None] - 1.0)

    x[None] = 1.0
    with pytest.warns(UserWarning, match="says nothing"), qd.ad.Tape(y, grad_check=[x]):
        run()


def test_ndarrays_are_checked_too(precision: Any) -> None:
    x, y = qd.ndarray(precision, shape=3, needs_grad=True), qd.ndarray(precision, shape=1, needs_grad=True)

    @qd.kernel
    def run(x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[0] += qd.exp(x[i])

    x.from_numpy(np.array([0.5, -1.0, 0.0]))
    with qd.ad.Tape(y, grad_check=[x]):
        run(x, y)


@pytest.mark.parametrize("what", ["number", "field", "integers", "gradient", "array", "unplaced", "struct", "flag"])
def test_what_has_no_gradient_to_check_is_refused_before_anything_runs(what: str) -> None:
    x, y, n = qd.field(qd.f64, shape=3, needs_grad=True), qd.field(qd.f64, (), needs_grad=True), qd.field(qd.i32, 3)
    listed = {
        "number": [3],
        "field": x,
        "integers": [n],
        "gradient": [x.grad],
        "array": [qd.ndarray(qd.f64, 3)],
        "unplaced": [qd.field(qd.f64, shape=3)],
        "struct": [qd.Struct.field({"a": qd.f64}, shape=3, needs_grad=True)],
        "flag": True,
    }[what]
    phrase = {
        "integers": "no gradient",
        "gradient": "no gradient",
        "array": "no gradient",
        "unplaced": "not been placed",
    }
    with pytest.raises(qd.AdstackError, match=phrase.get(what, "fields and ndarrays")):
        qd.ad.Tape(y, grad_check=listed)
