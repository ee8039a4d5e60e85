"""Second derivatives: reverse mode inside of forward mode, held against differences of gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import adstack as qd

Array = npt.NDArray[Any]
DIRECTION = np.array([1.0, -0.5, 2.0])
START = np.array([0.5, -1.0, 1.25])

pytestmark = pytest.mark.usefixtures("on_cpu")


def real(shape: Any = ()) -> Any:
    return qd.field(qd.f64, shape=shape, needs_grad=True, needs_dual=True)


OPERATIONS = 64
"""No element of a gradient is computed by more operations on numbers of its size; each rounds by an eps at most."""


def gradient(x: Any, loss: Any, program: Callable[[], None], start: Array) -> Array:
    x.from_numpy(start)
    with qd.ad.Tape(loss):
        program()
    return x.grad.to_numpy()


def check_along(x: Any, loss: Any, program: Callable[[], None]) -> None:
    """The dual of the gradient is its derivative: central differences at two steps tell how far they are off."""
    rough, fine = (
        (gradient(x, loss, program, START + h * DIRECTION) - gradient(x, loss, program, START - h * DIRECTION))
        / (2 * h)
        for h in (2e-5, 1e-5)
    )
    first = gradient(x, loss, program, START)
    x.from_numpy(START)
    with qd.ad.FwdMode(loss=loss, param=x, seed=DIRECTION), qd.ad.Tape(loss):
        program()
    rounding = OPERATIONS * np.finfo(np.float64).eps * (1 + np.abs(first).max())
    assert np.all(np.abs(x.grad.to_numpy() - first) <= rounding)
    assert np.all(np.abs(x.grad.dual.to_numpy() - fine) <= 2 * np.abs(rough - fine) + rounding / 1e-5)
    assert np.abs(x.grad.dual.to_numpy()).min() > 0.01


def test_adstacks_steps_in_place_and_what_the_host_writes() -> None:
    x, y, loss = real(3), real(3), real()

    @qd.kernel
    def carried():
        for i in x:
            s = x[i]
            for _ in range(i + 1):
                s = qd.sin(s * x[0]) + s
            y[i] = s * x[i]

    @qd.kernel
    def in_place():
        for i in x:
            x[i] = x[i] * x[i] * 0.5 + qd.sin(x[i])

    @qd.kernel
    def total(a: qd.f64):
        for i in y:
            loss[None] += a * y[i] * y[i] * x[i]

    def program() -> None:
        carried()
        in_place()
        total(0.5)
        y[1] = 2.0
        total(0.25)
        carried()
        total(2.0)

    check_along(x, loss, program)


def test_a_kernel_that_overwrites_what_it_needs() -> None:
    """A journal has tangents as it has values; a product of all elements is an atomic with factors of its own."""
    x, loss, state = real(3), real(), real()

    @qd.kernel
    def run():
        state[None] = 1.0
        qd.loop_config(serialize=True)
        for i in range(3):
            state[None] = state[None] * qd.exp(x[i] * state[None] * 0.25)
        loss[None] += state[None] * state[None]

    check_along(x, loss, run)


def test_outside_of_a_tape_a_launch_keeps_what_it_overwrites() -> None:
    x, y = real(3), real(3)

    @qd.kernel
    def run():
        for i in x:
            y[i] = y[i] * y[i] * x[i]

    x.from_numpy(START)
    y.fill(2.0)
    with qd.ad.FwdMode(loss=y, param=x, seed=DIRECTION):
        run()
        run()  # y = 16 x^3, from y = 4 x
        y.grad.fill(1.0)
        run.grad()
    assert x.grad.to_numpy().tolist() == (16 * START**2).tolist()
    # the gradient is y^2 for the y before the launch, and y moves by 4 x'
    assert x.grad.dual.to_numpy().tolist() == (2 * 4 * START * 4 * DIRECTION).tolist()


def test_what_a_launch_read_and_the_host_changed_since_is_noticed() -> None:
    x, y = real(3), real(3)

    @qd.kernel
    def run():
        for i in x:
            y[i] = x[i] * x[i] * x[i]

    with qd.ad.FwdMode(loss=y, param=x, seed=DIRECTION):
        run()
        y.grad.fill(1.0)
        x.dual[1] = 7.0
        with pytest.raises(AssertionError, match=r"needs \w+\.dual\[1\] as the launch found it"):
            run.grad()


def test_long_loops_run_again_from_snapshots_with_their_tangents() -> None:
    qd.init(arch=qd.cpu, ad_stack_heap_limit=1024)
    x, y = real(3), real(3)

    @qd.kernel
    def run(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n):
                s = s * x[i]
            y[i] = s

    x.from_numpy(np.array([1.0, -1.0, 1.0]))
    before = qd.stats()["checkpointed"]
    with qd.ad.FwdMode(loss=y, param=x, seed=DIRECTION):
        run(399)
        y.grad.fill(1.0)
        run.grad(399)
    assert qd.stats()["checkpointed"] == before + 1
    assert x.grad.to_numpy().tolist() == [400.0, -400.0, 400.0]  # of x^400
    assert x.grad.dual.to_numpy().tolist() == (400 * 399 * DIRECTION).tolist()


def test_a_returned_number_has_a_seed() -> None:
    x = real(3)

    @qd.kernel
    def run() -> qd.f64:
        s = 0.0
        for i in range(3):
            s += x[i] * x[i] * x[i]
        return s

    x.from_numpy(START)
    with qd.ad.FwdMode(loss=x, param=x, seed=DIRECTION):
        assert run().dual == (3 * START**2 * DIRECTION).sum()
        run.grad()
        run.grad(seed=2.0)
    assert x.grad.to_numpy().tolist() == (9 * START**2).tolist()
    assert x.grad.dual.to_numpy().tolist() == (18 * START * DIRECTION).tolist()


def test_members_of_structs_have_duals_of_their_gradients() -> None:
    import dataclasses

    @dataclasses.dataclass
    class State:
        a: qd.types.NDArray[qd.f64, 1]

    a = qd.ndarray(qd.f64, shape=(3,), needs_grad=True, needs_dual=True)
    loss = real()

    @qd.kernel
    def run(state: State):
        for i in state.a:
            loss[None] += state.a[i] * state.a[i] * state.a[i]

    a.from_numpy(START)
    with qd.ad.FwdMode(loss=loss, param=a, seed=DIRECTION), qd.ad.Tape(loss):
        run(State(a))
    assert a.grad.dual.to_numpy().tolist() == (6 * START * DIRECTION).tolist()


def test_duals_of_gradients_start_from_zero_and_are_made_when_asked_for() -> None:
    x, loss = real(3), real()

    @qd.kernel
    def run():
        for i in x:
            loss[None] += x[i] * x[i]

    assert qd.field(qd.f64, shape=(), needs_grad=True).grad.dual is None
    assert not x.grad.dual.has_data()
    for _ in range(2):
        x.grad.dual.fill(5.0)
        with qd.ad.FwdMode(loss=loss, param=x, seed=DIRECTION):
            for _ in range(2):
                with qd.ad.Tape(loss):
                    run()
        assert x.grad.dual.to_numpy().tolist() == (2 * DIRECTION).tolist()


def test_a_hessian_its_products_and_a_jacobian_of_a_function_that_changes_its_parameter() -> None:
    v = qd.Vector.field(2, qd.f64, shape=2, needs_grad=True, needs_dual=True)
    loss, y = real(), real(3)

    @qd.kernel
    def square():
        for i in v:
            v[i] = v[i] * v[i]

    @qd.kernel
    def total():
        for i in y:
            y[i] = v[0][0] * v[1][0] * (i + 1)
        loss[None] += v[0][0] * v[1][0] + v[0][1] * v[0][1]

    def program() -> None:
        square()
        total()

    a, b, c = 0.5, -2.0, 3.0  # loss = a^2 c^2 + b^4, y = (i + 1) a^2 c^2
    start = np.array([[a, b], [c, 7.0]])
    v.from_numpy(start)
    expected = np.zeros((4, 4))
    expected[0, 0], expected[2, 2], expected[1, 1] = 2 * c * c, 2 * a * a, 12 * b * b
    expected[0, 2] = expected[2, 0] = 4 * a * c
    assert np.array_equal(qd.ad.hessian(program, loss, v).reshape(4, 4), expected)
    direction = np.array([1.0, -0.5, 2.0, 0.25])
    assert np.array_equal(qd.ad.hvp(program, loss, v, direction).ravel(), expected @ direction)
    assert np.array_equal(v.grad.to_numpy(), [[2 * a * c * c, 4 * b**3], [2 * a * a * c, 0.0]])
    rows = np.outer([1, 2, 3], [2 * a * c * c, 0, 2 * a * a * c, 0])
    assert np.array_equal(qd.ad.jacobian(program, y, v), rows.reshape(3, 2, 2))
    assert np.array_equal(v.to_numpy(), start)


def test_what_has_no_second_derivative_is_refused() -> None:
    x, loss, first = real(3), real(), qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def run():
        for i in x:
            loss[None] += x[i]

    @qd.ad.no_grad
    def constant() -> None:
        run()

    with qd.ad.FwdMode(loss=loss, param=x, seed=DIRECTION):
        with pytest.raises(RuntimeError, match="the loss of a Tape inside FwdMode has no dual"), qd.ad.Tape(first):
            pass
        with pytest.raises(RuntimeError, match="no second derivatives of it"), qd.ad.Tape(loss):
            constant()
