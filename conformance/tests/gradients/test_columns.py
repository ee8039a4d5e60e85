"""Jacobians: several columns with each call of the function, to the bit what one column at a time gives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from columns_kit import check_columns, check_random_program, one_at_a_time
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter_kit import same_bits

import adstack as qd
from adstack.gradients.forward import lane_memory
from adstack.runtime import state

NUMBERS = st.integers(0, 10_000)


def real(shape: Any = ()) -> Any:
    return qd.field(qd.f64, shape=shape, needs_grad=True, needs_dual=True)


def launches() -> int:
    """How many launches the backend has made."""
    return state.current().backend.launches


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@settings(max_examples=6, deadline=None)
@given(NUMBERS)
def test_columns_of_random_programs_on_the_reference(dtype: str, number: int) -> None:
    check_random_program(number, "reference", dtype)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@settings(max_examples=8, deadline=None)
@given(NUMBERS)
def test_columns_of_random_programs_on_the_cpu(dtype: str, number: int) -> None:
    check_random_program(number, "cpu", dtype)


@pytest.fixture
def chain(arch: str) -> tuple[Any, Any, Callable[[], None], list[int]]:
    """(output, parameter, what computes one from the other, of 20 numbers, and how often it was called)."""
    x, y, calls = real(20), real(3), [0]

    @qd.kernel
    def k():
        for i in y:
            s = x[i]
            for j in range(i + 17):
                if s > 0.5:
                    s = qd.sin(s) * x[j]
                    y[i] += s
                else:
                    s = s * s + 0.25 * x[j + 1]
            y[i] += s

    def function() -> None:
        calls[0] += 1
        y.fill(0.0)
        k()

    x.from_numpy(np.linspace(-1.0, 1.5, 20))
    return y, x, function, calls


def test_each_call_computes_eight_columns(chain: Any) -> None:
    y, x, function, calls = chain
    wanted = one_at_a_time(function, y, x)
    calls[0], before = 0, launches()
    assert same_bits(qd.ad.jacobian(function, y, x), wanted)
    assert (calls[0], launches() - before) == (3, 3)
    assert np.count_nonzero(wanted) > 30


def test_few_columns_take_one_call(arch: str) -> None:
    x, y, calls = real(3), real(), list[None]()

    @qd.kernel
    def k():
        y[None] = x[0] * x[1] + x[2]

    def function() -> None:
        calls.append(None)
        k()

    x.from_numpy(np.array([2.0, 3.0, 4.0]))
    assert qd.ad.jacobian(function, y, x).tolist() == [3.0, 2.0, 1.0]
    assert len(calls) == 1


def test_arrays_that_are_passed_even_twice(arch: str) -> None:
    a, b, out = (qd.ndarray(qd.f32, shape=(5,), needs_grad=True, needs_dual=True) for _ in range(3))
    c = np.linspace(1.0, 2.0, 5, dtype=np.float32)

    @qd.kernel
    def k(a: qd.types.ndarray(), b: qd.types.ndarray(), c: qd.types.ndarray()):
        for i in range(5):
            b[i] = qd.cos(a[i]) * c[i] + b[i]

    @qd.kernel
    def product(a: qd.types.ndarray(), b: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in range(5):
            out[i] = a[i] * b[i]

    def function() -> None:
        b.from_numpy(np.ones(5, np.float32))
        k(a, b, c)
        product(b, b, out)

    a.from_numpy(np.linspace(-1.0, 1.0, 5, dtype=np.float32))
    assert np.count_nonzero(check_columns(function, out, a)) == 4  # the sine of 0 is 0


def test_the_output_may_be_the_parameter(arch: str) -> None:
    v = qd.Vector.field(2, qd.f64, shape=5, needs_grad=True, needs_dual=True)

    @qd.kernel
    def k():
        for i in v:
            v[i] = v[i] * v[i] + v[i][0]

    v.from_numpy(np.arange(10.0).reshape(5, 2))
    assert np.count_nonzero(check_columns(k, v, v)) == 15


def test_all_ways_in_which_launches_change_memory(arch: str) -> None:
    x, y, z = real(9), real(4), real(4)

    @qd.kernel
    def k() -> qd.types.vector(2, qd.f64):
        total = 0.0
        qd.loop_config(serialize=True)
        for i in range(9):
            total += x[i] * x[i]
            qd.atomic_max(y[i % 4], x[i] * total)
            qd.atomic_min(z[0], x[i])
            qd.atomic_mul(z[1], x[i])
            y[3] = qd.atomic_sub(z[2], x[i])
        local = qd.Vector([0.0] * 9)
        qd.loop_config(serialize=True)
        for i in range(9):
            local[i] = x[i] * (local[(i + 4) % 9] + 1.0)
        z[3] += local[7] + qd.atomic_add(z[2], local[8])
        return qd.Vector([total, total * z[3]])

    def function() -> None:
        y.fill(0.5)
        z.fill(1.5)
        first, second = k()
        y[1] = first * second + np.sin(first)
        z[0] = abs(qd.max(y[2], z[1])) % 0.75

    x.from_numpy(np.linspace(-1.0, 1.0, 9) + 0.01)
    for output in (y, z):
        assert np.count_nonzero(check_columns(function, output, x)) > 12


def test_what_the_host_writes_is_constant(arch: str) -> None:
    x, y, z = real(3), real(3), real(3)

    @qd.kernel
    def k():
        for i in x:
            y[i] += x[i] * y[i]
            x[i] = 2.0 * x[i]

    def function() -> None:
        y.from_numpy(np.array([1.0, 2.0, 3.0]))
        k()
        z.copy_from(y)
        y[1] = 5.0
        k()
        x[0] = 7.0
        k()

    x.from_numpy(np.array([0.5, 1.5, 2.5]))
    for output in (y, z):
        assert np.count_nonzero(check_columns(function, output, x)) == 3


def test_what_other_threads_write_is_constant(arch: str) -> None:
    x, y = real(3), real(3)

    @qd.kernel
    def k():
        for i in x:
            y[i] += x[i] * x[i]

    def function() -> None:
        k()
        other = threading.Thread(target=lambda: y.fill(2.0))
        other.start()
        other.join()
        k()

    x.from_numpy(np.array([0.5, 1.5, 2.5]))
    assert np.array_equal(check_columns(function, y, x), np.diag([1.0, 3.0, 5.0]))


def test_what_looks_at_duals_gets_one_direction(chain: Any) -> None:
    y, x, function, calls = chain
    total = real()
    a = qd.ndarray(qd.f64, shape=(3,), needs_grad=True, needs_dual=True)

    @qd.kernel
    def scale(a: qd.types.ndarray()):
        for i in a:
            a[i] = 2.0 * a[i]

    @qd.kernel
    def returned() -> qd.f64:
        return y[0] * y[0]

    def stopped() -> None:
        function()
        y.dual[1] = 0.0

    def scaled() -> None:
        function()
        a.copy_from(y)
        scale(a.dual)
        y.copy_from(a)

    def linked() -> None:
        function()
        total[None] = returned().dual

    def read() -> None:
        function()
        y[2] = y.dual.to_numpy()[2]

    for look in (stopped, scaled, linked, read):
        jacobian = check_columns(look, y, x)
        assert np.count_nonzero(jacobian) > 10
        calls[0] = 0
        qd.ad.jacobian(look, y, x)
        assert calls[0] == 21, look.__name__


def test_a_kernel_that_uses_duals_has_no_jacobian(chain: Any) -> None:
    y, x, _, _ = chain

    @qd.kernel
    def scale():
        for i in y:
            y[i] = x[i] * y.dual[i]

    with pytest.raises(RuntimeError, match="through a grad tensor"):
        qd.ad.jacobian(scale, y, x)


def test_an_error_that_the_function_drops_changes_nothing(chain: Any) -> None:
    y, x, function, _ = chain

    def look() -> None:
        function()
        try:
            y.dual.fill(0.0)
        except RuntimeError:
            function()

    assert np.count_nonzero(check_columns(look, y, x)) == 0


def test_gradients_have_jacobians(arch: str) -> None:
    x, y = real(9), real()

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * x[i] * x[(i + 1) % 9]

    def gradient() -> None:
        y.fill(0.0)
        x.grad.fill(0.0)
        y.grad.fill(1.0)
        k()
        k.grad()

    def loss() -> None:
        y.fill(0.0)
        k()

    def taped() -> None:
        with qd.ad.Tape(y):
            loss()

    x.from_numpy(np.linspace(0.5, 1.5, 9))
    for function in (gradient, taped):
        assert np.array_equal(check_columns(function, x.grad, x), qd.ad.hessian(loss, y, x))


def test_sparse_fields(arch: str) -> None:
    x, y = real(4), qd.field(qd.f64, needs_dual=True)
    cells = qd.root.pointer(qd.i, 4)
    cells.dense(qd.i, 2).place(y)

    @qd.kernel
    def k():
        for i in range(4):
            if i != 2:
                y[2 * i] = x[i] * x[i]

    @qd.kernel
    def again():
        for i in range(3):
            y[2 * i] += x[i]

    def function() -> None:
        k()
        cells.deactivate_all()
        again()

    x.from_numpy(np.array([1.0, 2.0, 3.0, 4.0]))
    assert np.count_nonzero(check_columns(function, y, x)) == 3


@pytest.mark.parametrize(("limit", "expected"), [(7 * 8 * 23, 3), (3 * 8 * 23, 6), (8 * 23, 12), (0, 21)])
def test_memory_bounds_how_many_are_computed_at_once(
    chain: Any, monkeypatch: pytest.MonkeyPatch, limit: int, expected: int
) -> None:
    y, x, function, calls = chain
    wanted = one_at_a_time(function, y, x)
    monkeypatch.setattr(lane_memory, "MOST_BYTES", limit)
    calls[0] = 0
    assert same_bits(qd.ad.jacobian(function, y, x), wanted)
    assert calls[0] <= expected


def test_local_arrays_bound_how_many_are_computed_at_once(arch: str) -> None:
    x, y, calls = real(8), real(), list[None]()

    @qd.kernel
    def k():
        for _ in range(1):
            local = qd.Vector([0.0] * 1024)
            for i in range(1024):
                local[i] = x[i % 8] * x[i // 128]
            for i in range(1024):
                y[None] += local[(i * 37) % 1024]

    def function() -> None:
        calls.append(None)
        y.fill(0.0)
        k()

    x.from_numpy(np.arange(8.0))
    wanted = one_at_a_time(function, y, x)
    calls.clear()
    assert same_bits(qd.ad.jacobian(function, y, x), wanted)
    assert len(calls) == 3  # of which one is given up


def test_an_error_of_the_function_is_the_users(chain: Any) -> None:
    y, x, function, _ = chain
    start = x.to_numpy()

    def fails() -> None:
        function()
        x.fill(3.0)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        qd.ad.jacobian(fails, y, x)
    assert np.array_equal(x.to_numpy(), start)
    assert np.count_nonzero(check_columns(function, y, x)) > 30
