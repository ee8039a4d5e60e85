"""Columns of Jacobians and Hessians on Vulkan: to the bit what one column at a time gives, with fewer launches."""

from __future__ import annotations

import numpy as np
import pytest
from columns_kit import check_columns, check_hessian, check_random_hessian, check_random_program
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000))
def test_columns_of_random_programs(number: int) -> None:
    check_random_program(number, "vulkan", "f32")


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 10_000))
def test_hessians_of_random_programs(number: int) -> None:
    check_random_hessian(number, "vulkan", "f32")


@pytest.mark.usefixtures("on_vulkan")
def test_the_hessian_of_a_loop_with_an_adstack() -> None:
    x, y, loss = (qd.field(qd.f32, shape=n, needs_grad=True, needs_dual=True) for n in (9, 9, ()))

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(i % 3 + 1):
                s = qd.sin(s * x[8 - i]) + s * s
            y[i] = s

    @qd.kernel
    def total():
        for i in y:
            loss[None] += y[i] * x[i]

    def function() -> None:
        k()
        total()

    x.from_numpy(np.linspace(-1.0, 1.5, 9, dtype=np.float32))
    assert np.count_nonzero(check_hessian(function, loss, x)) == 17


@pytest.mark.usefixtures("on_vulkan")
def test_columns_of_arrays_and_what_the_host_computes() -> None:
    a = qd.ndarray(qd.f32, shape=(9,), needs_grad=True, needs_dual=True)
    y, t = (qd.field(qd.f32, shape=9, needs_dual=True) for _ in range(2))

    @qd.kernel
    def k(a: qd.types.ndarray()) -> qd.f32:
        s = 0.0
        qd.loop_config(serialize=True)
        for i in range(9):
            s += a[i] * a[i]
            y[i] = qd.sin(s)
        return s

    def function() -> None:
        s = k(a)
        t.copy_from(y)
        y[3] = s * t[2]

    a.from_numpy(np.linspace(-1.0, 1.0, 9, dtype=np.float32))
    assert np.count_nonzero(check_columns(function, y, a)) > 40
