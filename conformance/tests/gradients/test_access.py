"""Validation: a launch that overwrites what it has read is reported, by place and lines; others are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("arch")


def fields() -> tuple[Any, Any]:
    return qd.field(qd.f64, shape=4, needs_grad=True, name="x"), qd.field(qd.f64, shape=(), needs_grad=True)


def test_an_element_that_is_read_and_then_overwritten_is_reported() -> None:
    x, y = fields()

    @qd.kernel
    def run():
        for i in x:
            a = x[i]
            x[i] = 2.0 * a

    with (
        pytest.raises(qd.AdstackDataAccessError, match="Breaks the global data access rule: run overwrites") as error,
        qd.ad.Tape(y, validation=True),
    ):
        run()
    line = run.function.__code__.co_firstlineno
    assert "an element of x that it has read at" in error.value.message
    assert f"{__file__}:{line + 3}:" in error.value.message
    assert (error.value.loc.file, error.value.loc.line) == (__file__, line + 4)
    assert issubclass(qd.AdstackDataAccessError, qd.QuadrantsAssertionError)


def test_atomics_overwrite_as_well() -> None:
    x, y = fields()

    @qd.kernel
    def run():
        for i in x:
            x[i] += qd.sin(x[i])

    with pytest.raises(qd.AdstackDataAccessError, match="global data access rule"), qd.ad.Tape(y, validation=True):
        run()


def test_ndarrays_are_checked_too() -> None:
    _, y = fields()
    x = qd.ndarray(qd.f64, shape=(2, 2), needs_grad=True)

    @qd.kernel
    def run(a: qd.types.ndarray()):
        for i in range(2):
            for j in range(2):
                a[i, j] = a[i, j] * 2.0

    with pytest.raises(qd.AdstackDataAccessError, match="an element of a that"), qd.ad.Tape(y, validation=True):
        run(x)


def test_programs_that_keep_the_rule_pass() -> None:
    x, y = fields()
    h = qd.field(qd.f64, shape=(3, 4), needs_grad=True)
    counter = qd.field(qd.i32, shape=())

    @qd.kernel
    def step(t: qd.i32):
        for i in range(4):
            h[t + 1, i] = h[t, i] * x[i]
        counter[None] = counter[None] + 1

    @qd.kernel
    def total():
        for i in range(4):
            y[None] += h[2, i]

    x.fill(2.0)
    h.from_numpy(np.ones((3, 4)))
    with qd.ad.Tape(y, validation=True):
        step(0)
        step(1)
        total()
    assert x.grad.to_numpy().tolist() == [4.0] * 4
    assert counter[None] == 2


def test_the_rule_is_about_one_launch() -> None:
    x, y = fields()
    x.fill(3.0)

    @qd.kernel
    def read():
        for i in x:
            y[None] += x[i] * x[i]

    @qd.kernel
    def write():
        for i in x:
            x[i] = 1.0

    with qd.ad.Tape(y, validation=True):
        read()
        write()
    assert x.grad.to_numpy().tolist() == [6.0] * 4
