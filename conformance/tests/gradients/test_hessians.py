"""Hessians: several columns with each call of the function, to the bit what products with unit vectors give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from columns_kit import check_columns, check_hessian, check_random_hessian
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd
from adstack.gradients.forward import lane_memory
from adstack.runtime import state

NUMBERS = st.integers(0, 10_000)


@pytest.fixture(params=["reference", "cpu"])
def arch(request: pytest.FixtureRequest) -> str:
    """A backend, on one thread: atomic sums of reverse modes come in one order, however long their iterations are."""
    qd.init(arch=getattr(qd, request.param), cpu_max_num_threads=1)
    return str(request.param)


def real(shape: Any = ()) -> Any:
    return qd.field(qd.f64, shape=shape, needs_grad=True, needs_dual=True)


def launches() -> int:
    """How many launches the backend has made."""
    return state.current().backend.launches


class Calls:
    """A function, and how often it was called."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.function, self.number = function, 0

    def __call__(self) -> None:
        self.number += 1
        self.function()


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@settings(max_examples=3, deadline=None)
@given(NUMBERS)
def test_hessians_of_random_programs_on_the_reference(dtype: str, number: int) -> None:
    check_random_hessian(number, "reference", dtype)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@settings(max_examples=3, deadline=None)
@given(NUMBERS)
def test_hessians_of_random_programs_on_the_cpu(dtype: str, number: int) -> None:
    check_random_hessian(number, "cpu", dtype)


def chain(size: int = 11) -> tuple[Any, Any, Calls]:
    """(loss, parameter, what computes one from the other by loops with adstacks and branches, and host writes)."""
    x, y, loss = real(size), real(size), real()

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(i % 4 + 1):
                if s > 0.1:
                    s = qd.sin(s * x[j]) + s * s * 0.5
                else:
                    y[i] += s * s * x[j + 1]
                    s = s * x[j] + 0.5
            n = 0
            while s < 2.0 and n < 5:
                s = s * s + x[n] + 0.75
                n += 1
            y[i] += s

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i] * y[i] * x[i]

    def function() -> None:
        y.fill(0.0)
        k()
        total()

    x.from_numpy(np.linspace(-1.0, 1.3, size))
    return loss, x, Calls(function)


def test_each_call_computes_eight_columns(arch: str) -> None:
    loss, x, function = chain()
    hessian = check_hessian(function, loss, x)
    assert np.count_nonzero(hessian) > 60
    function.number, before = 0, launches()
    qd.ad.hessian(function, loss, x)
    assert (function.number, launches() - before) == (2, 8)  # two kernels and their reverse modes, for 11 columns


def test_steps_in_place_and_what_the_host_writes(arch: str) -> None:
    """Launches overwrite values and tangents of all directions that the reverse passes of earlier ones need."""
    x, y, loss = real(9), real(9), real()

    @qd.kernel
    def step():
        for i in x:
            x[i] = x[i] * x[i] * 0.5 + qd.sin(x[i])

    @qd.kernel
    def take():
        for i in x:
            y[i] = x[i] * x[8 - i] + y[i] * y[i]

    @qd.kernel
    def total(a: qd.f64):
        for i in y:
            loss[None] += a * y[i] * y[i] * x[i]

    def run() -> None:
        step()
        y.from_numpy(np.linspace(0.0, 1.0, 9))
        take()
        step()
        y[4] = 2.0
        x[0] = 0.25
        take()
        total(0.5)
        y.fill(1.5)
        total(0.25)

    function = Calls(run)
    x.from_numpy(np.linspace(-1.0, 1.0, 9))
    assert np.count_nonzero(check_hessian(function, loss, x)) > 10
    function.number = 0
    qd.ad.hessian(function, loss, x)
    assert function.number == 2


def test_a_kernel_that_updates_in_place_in_loops_replays_in_memory_of_each_direction(arch: str) -> None:
    x, loss = real(10), real()

    @qd.kernel
    def k():
        for i in range(5):
            for j in range(3):
                x[i] = x[i] * x[i + 5] + qd.cos(x[i] * j)

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    def run() -> None:
        k()
        total()

    function = Calls(run)
    x.from_numpy(np.linspace(-1.0, 1.0, 10))
    assert np.count_nonzero(check_hessian(function, loss, x)) == 5 * 4
    function.number = 0
    qd.ad.hessian(function, loss, x)
    assert function.number == 2


def test_array_arguments_even_in_structs(arch: str) -> None:
    @dataclass
    class State:
        a: qd.types.NDArray[qd.f64, 1]
        b: qd.types.NDArray[qd.f64, 1]

    a, b, c = (qd.ndarray(qd.f64, shape=(9,), needs_grad=True, needs_dual=True) for _ in range(3))
    loss = qd.ndarray(qd.f64, shape=(1,), needs_grad=True, needs_dual=True)
    weights = np.linspace(1.0, 2.0, 9)

    @qd.kernel
    def k(state: State, w: qd.types.ndarray()):
        for i in range(9):
            state.b[i] = qd.cos(state.a[i]) * w[i] * state.a[8 - i] + state.b[i]

    @qd.kernel
    def total(b: qd.types.ndarray(), c: qd.types.ndarray(), loss: qd.types.ndarray()):
        for i in range(9):
            loss[0] += b[i] * c[i]

    def run() -> None:
        b.from_numpy(np.ones(9))
        k(State(a, b), weights)
        total(b, b, loss)
        total(b, c, loss)

    function = Calls(run)
    a.from_numpy(np.linspace(-1.0, 1.0, 9))
    c.from_numpy(np.linspace(1.0, -2.0, 9))
    assert np.count_nonzero(check_hessian(function, loss, a)) == 17
    function.number = 0
    qd.ad.hessian(function, loss, a)
    assert function.number == 2


def test_numbers_that_kernels_return_and_serial_code(arch: str) -> None:
    """What is returned has adjoints of 0, and serial code and atomics choose for each direction by the same values."""
    x, y, loss = real(9), real(4), real()

    @qd.kernel
    def k() -> qd.types.vector(2, qd.f64):
        total = 0.0
        for i in range(9):
            y[i % 4] += x[i] * x[i] * x[(i + 1) % 9]
            qd.atomic_max(loss[None], x[i] * x[i])
        for i in range(9):
            total += x[i]
        local = qd.Vector([0.0] * 9)
        for i in qd.static(range(9)):
            local[i] = x[i] * (local[(i + 4) % 9] + 1.0)
        loss[None] += local[7] * local[2] + total * total * total
        return qd.Vector([total, total * loss[None]])

    @qd.kernel
    def rest():
        for i in y:
            loss[None] += y[i] * y[i]

    def function() -> None:
        y.fill(0.5)
        first, second = k()
        assert first != second
        rest()

    x.from_numpy(np.linspace(-1.0, 1.0, 9) + 0.01)
    assert np.count_nonzero(check_hessian(function, loss, x)) == 81


def test_a_kernel_whose_loops_overwrite_what_others_need_is_launched_in_parts(arch: str) -> None:
    x, y, z, loss = real(9), real(9), real(9), real()

    @qd.kernel
    def k():
        for i in x:
            y[i] = y[i] * x[i]
        for i in x:
            z[i] = y[(i + 1) % 9] * y[i]
        for i in x:
            y[i] = z[i] * x[(i + 1) % 9] * y[i]
        for i in x:
            loss[None] += y[i] * y[(i + 1) % 9]

    def run() -> None:
        y.fill(0.75)
        k()

    function = Calls(run)
    x.from_numpy(np.linspace(-1.0, 1.5, 9))
    assert np.count_nonzero(check_hessian(function, loss, x)) == 45
    function.number = 0
    qd.ad.hessian(function, loss, x)
    assert function.number == 2


def test_a_kernel_that_logs_gets_one_direction(arch: str) -> None:
    x, y, loss = real(3), real(3), real()

    @qd.kernel
    def k():
        for i in x:
            old = qd.atomic_add(y[0], x[i] * x[i])
            loss[None] += old * old * x[i]

    def run() -> None:
        y.fill(0.75)
        k()

    function = Calls(run)
    x.from_numpy(np.array([0.5, -1.0, 1.25]))
    assert np.count_nonzero(check_hessian(function, loss, x)) == 8
    function.number = 0
    qd.ad.hessian(function, loss, x)
    assert function.number == 4  # the first call is in vain


@pytest.mark.parametrize(
    "use", ["host reads", "host writes", "kernel", "added up", "checked", "reverse", "reverse inside"]
)
def test_what_uses_gradients_gets_one_direction(arch: str, use: str) -> None:
    """The gradients of a Tape are those along the first direction, which only one direction at a time may show."""
    loss, x, function = chain(4)
    scale = qd.field(qd.f64, shape=4, needs_grad=True, needs_dual=True)

    @qd.kernel
    def copy():
        for i in x:
            scale[i] = x.grad[i]

    @qd.kernel
    def reverse():
        loss[None] += x[0]

    def gradient() -> None:
        if use == "host writes":
            x.grad.fill(0.5)
        with qd.ad.Tape(loss, clear_gradients=use not in ("added up", "host writes"), validation=use == "checked"):
            function()
            if use == "reverse inside":
                reverse.grad()
        if use == "host reads":
            x.grad.to_numpy()
        if use == "kernel":
            copy()
        if use == "reverse":
            reverse.grad()

    called = Calls(gradient)
    qd.ad.jacobian(called, loss, x)
    assert called.number == 5  # the first call is in vain


def test_the_jacobian_of_a_gradient_is_the_hessian(arch: str) -> None:
    """A Tape within the function of a Jacobian is differentiated along all directions at once, and again."""
    loss, x, function = chain(9)
    hessian = check_hessian(function, loss, x)

    def gradient() -> None:
        for _ in range(2):
            with qd.ad.Tape(loss):
                function()

    def columns() -> Any:
        return qd.ad.jacobian(gradient, x.grad, x)

    function.number = 0
    assert np.array_equal(columns(), hessian)
    assert function.number == 4


def test_checkpoints_of_all_directions() -> None:
    qd.init(arch=qd.cpu, ad_stack_heap_limit=4096)
    x, y, loss = real(8), real(8), real()

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for j in range(n):
                s = s * x[j % 8]
            y[i] = s

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i]

    def run() -> None:
        k(400)
        total()

    function = Calls(run)
    x.from_numpy(np.array([1.0, -1.0] * 4))
    assert np.count_nonzero(check_hessian(function, loss, x)) == 32
    function.number, before = 0, qd.stats()["checkpointed"]
    qd.ad.hessian(function, loss, x)
    assert (function.number, qd.stats()["checkpointed"] - before) == (1, 1)


def test_short_memory_takes_fewer_directions(monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    loss, x, function = chain(9)
    monkeypatch.setattr(lane_memory, "MOST_BYTES", 3 * 9 * 8 * 6)
    check_hessian(function, loss, x)
    function.number = 0
    qd.ad.hessian(function, loss, x)
    assert 3 < function.number < 10


def test_what_has_no_second_derivative_is_refused_as_a_product_is(arch: str) -> None:
    x, loss, w = real(3), real(), qd.field(qd.f64, shape=3, needs_grad=True)

    @qd.kernel
    def k():
        for i in x:
            loss[None] += x[i] * x[i] * w[i]

    for compute in (qd.ad.hessian, lambda *args: qd.ad.hvp(*args, [1.0, 0.0, 0.0])):
        with pytest.raises(RuntimeError, match="has a gradient and no dual"):
            compute(k, loss, x)


def test_a_tape_that_is_kept_says_that_its_directions_are_gone(arch: str) -> None:
    x, y, loss, tapes = real(4), real(4), real(), []

    @qd.kernel
    def square():
        for i in x:
            y[i] = x[i] * x[i]

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i] * y[i]

    def gradient() -> None:
        square()
        with qd.ad.Tape(loss) as tape:
            total()
        tapes.append(tape)

    x.fill(3.0)
    assert np.array_equal(qd.ad.jacobian(gradient, y.grad, x), np.diag([12.0] * 4))
    with pytest.raises(RuntimeError, match="several directions at once, whose memory is gone"):
        tapes[0].grad()


def test_a_jacobian_and_products_of_a_gradient_agree_on_ndarrays(arch: str) -> None:
    a = qd.ndarray(qd.f64, shape=(9,), needs_grad=True, needs_dual=True)
    loss = real()

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in a:
            loss[None] += a[i] * a[i] * a[8 - i]

    def gradient() -> None:
        with qd.ad.Tape(loss):
            k(a)

    a.from_numpy(np.linspace(-1.0, 1.0, 9))
    assert np.array_equal(check_columns(gradient, a.grad, a), qd.ad.hessian(lambda: k(a), loss, a))


@pytest.mark.parametrize("what", ["hvp", "hessian", "jacobian"])
def test_what_is_no_function_and_what_has_no_dual_is_refused(what: str) -> None:
    qd.init(arch=qd.reference)
    x, y = (qd.field(qd.f32, (), needs_grad=True, needs_dual=True) for _ in range(2))
    more = ([1.0],) if what == "hvp" else ()
    compute: Any = getattr(qd.ad, what)
    with pytest.raises(qd.AdstackRuntimeTypeError, match=f"(?s){what} takes a function to call without.*do: pass one"):
        compute(None, y, x, *more)
    for loss, param in ((None, x), (y, np.ones(1)), (y, qd.ndarray(qd.f32, 3))):
        with pytest.raises(qd.AdstackRuntimeTypeError, match=r"FwdMode takes fields|has no dual"):
            compute(lambda: None, loss, param, *more)
