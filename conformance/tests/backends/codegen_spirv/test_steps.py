"""Quotients and roots by steps are the nearest f32, for every significand and whatever near guess a device has."""

from __future__ import annotations

import pytest

import adstack as qd

SIGNIFICANDS = 1 << 24
"""Those of two binades: of odd and of even exponents."""


@pytest.mark.parametrize("units", range(-3, 4))
def test_steps_give_the_nearest_root(on_cpu, units):
    """By the same steps in a kernel; the first guess is so many units in the last place off."""
    wrong = qd.field(qd.i32, shape=())

    @qd.kernel
    def count():
        for k in range(SIGNIFICANDS):
            x = qd.bit_cast(k + 0x3F800000, qd.f32)
            about = qd.bit_cast(qd.bit_cast(qd.cast(1.0 / qd.sqrt(qd.cast(x, qd.f64)), qd.f32), qd.i32) + units, qd.f32)
            near = x * about
            half = about * 0.5
            error = qd.fma(-near, half, 0.5)
            closer = qd.fma(near, error, near)
            if qd.fma(qd.fma(-closer, closer, x), qd.fma(half, error, half), closer) != qd.sqrt(x):
                wrong[None] += 1

    count()
    assert wrong[None] == 0


@pytest.mark.parametrize("units", [-9, -6, -3, -1, 0, 1, 3, 6, 9])
def test_steps_give_the_nearest_quotient(on_cpu, units):
    """By the same steps in a kernel; of each divisor but that of ones alone, with one dividend or another."""
    wrong = qd.field(qd.i32, shape=())

    @qd.kernel
    def count():
        for k in range((SIGNIFICANDS >> 1) - 1):
            b = qd.bit_cast(k + 0x3F800000, qd.f32)
            a = qd.bit_cast((k * 0x1E3779B1 & 0x7FFFFF) + 0x3F800000, qd.f32)
            nearest = qd.cast(1.0 / qd.cast(b, qd.f64), qd.f32)
            about = qd.bit_cast(qd.bit_cast(nearest, qd.i32) + units, qd.f32)
            closer = qd.fma(qd.fma(-b, about, 1.0), about, about)
            closer = qd.fma(qd.fma(-b, closer, 1.0), closer, closer)
            product = a * closer
            if closer != nearest or qd.fma(qd.fma(-b, product, a), closer, product) != a / b:
                wrong[None] += 1

    count()
    assert wrong[None] == 0
