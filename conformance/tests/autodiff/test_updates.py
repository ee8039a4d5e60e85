"""Atomic products, exchanges and compare-and-swaps are differentiated where their order is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from transforms_kit import kernel_of, wrap

import adstack as qd
from adstack.autodiff.overwrite.updates import ordered_updates, plain_updates
from adstack.interpreter import run

NUMBERS = np.array([2.0, 0.0, 3.0])


@pytest.fixture(params=["reference", "cpu"], autouse=True)
def arch(request: Any) -> None:
    qd.init(arch=request.param, default_fp=qd.f64)


class World:
    """x, the elements z, one number y, and a loss that looks at all of them."""

    def __init__(self) -> None:
        self.x, self.z, self.y, self.loss = (qd.field(qd.f64, shape=s, needs_grad=True) for s in (3, 3, (), ()))
        self.x.from_numpy(NUMBERS)
        self.z.from_numpy(np.array([7.0, 8.0, 9.0]))
        self.y[None] = 5.0
        loss, z, y = self.loss, self.z, self.y

        @qd.kernel
        def measure():
            for i in z:
                loss[None] += z[i] * z[i]
            loss[None] += y[None]

        self.measure = measure

    def gradients(self, kernel: Any) -> tuple[list[float], list[float], float]:
        """Of x, z and y, on a tape."""
        with qd.ad.Tape(self.loss):
            kernel()
            self.measure()
        return self.x.grad.to_numpy().tolist(), self.z.grad.to_numpy().tolist(), self.y.grad[None]


def test_each_factor_gets_the_product_of_the_others() -> None:
    w = World()
    x, y = w.x, w.y

    @qd.kernel
    def product():
        for i in x:
            qd.atomic_mul(y[None], x[i])

    assert w.gradients(product)[::2] == ([0.0, 30.0, 0.0], 0.0)


def test_a_factor_of_an_element_of_its_own() -> None:
    w = World()
    x, z = w.x, w.z

    @qd.kernel
    def product():
        for i in x:
            for _ in range(2):
                qd.atomic_mul(z[i], x[i])

    # z x x: 2 z' with z' = 28, 0, 81
    assert w.gradients(product)[:2] == ([56.0 * 28, 0.0, 162.0 * 54], [56.0 * 4, 0.0, 162.0 * 9])


def test_a_constant_factor_needs_nothing_of_what_was_there() -> None:
    w = World()
    z = w.z

    @qd.kernel
    def double():
        for i in z:
            qd.atomic_mul(z[i], 2.0)

    double()
    z.grad.from_numpy(np.array([1.0, -2.0, 0.5]))
    double.grad()
    assert z.grad.to_numpy().tolist() == [2.0, -4.0, 1.0]


def test_a_product_that_the_launch_lost_is_refused() -> None:
    w = World()
    x, y = w.x, w.y

    @qd.kernel
    def product():
        for i in x:
            qd.atomic_mul(y[None], x[i])

    with pytest.raises(qd.AdstackDataAccessError, match="Breaks the global data access rule: the derivative needs"):
        product.grad()


def test_an_exchange_consumes_and_its_old_value_is_a_load() -> None:
    w = World()
    x, z, y = w.x, w.z, w.y

    @qd.kernel
    def exchange():
        for i in x:
            y[None] += qd.atomic_exchange(z[i], 3.0 * x[i]) * (i + 1)

    assert w.gradients(exchange) == ([36.0, 0.0, 54.0], [1.0, 2.0, 3.0], 1.0)


def test_a_compare_and_swap_is_an_exchange_where_it_wrote() -> None:
    w = World()
    x, z, y = w.x, w.z, w.y

    @qd.kernel
    def swap():
        for i in x:
            y[None] += qd.atomic_cas(z[i], 9.0, 3.0 * x[i]) * (i + 1)

    # of z = 7, 8, 9 the last is replaced by 9 again: 3 x[2]
    assert w.gradients(swap) == ([0.0, 0.0, 54.0], [14.0 + 1, 16.0 + 2, 3.0], 1.0)


def test_updates_in_serial_code() -> None:
    w = World()
    x, y = w.x, w.y

    @qd.kernel
    def serial():
        qd.loop_config(serialize=True)
        for i in range(3):
            old = qd.atomic_exchange(y[None], x[i] * 2.0)
            qd.atomic_mul(y[None], old)

    # y <- ((2 a) y): 5, 4 * 5, 0, 0: the last factor is 2 * 3
    assert w.gradients(serial)[::2] == ([0.0, 2.0 * 20 * 6, 0.0], 0.0)


@pytest.mark.parametrize("form", ["exchange", "swap"])
def test_what_depends_on_the_order_of_iterations_is_refused(form: str) -> None:
    w = World()
    x, y = w.x, w.y

    @qd.kernel
    def exchange():
        for i in x:
            qd.atomic_exchange(y[None], x[i])

    @qd.kernel
    def swap():
        for i in x:
            qd.atomic_cas(y[None], 5.0, x[i])

    name = "exchange" if form == "exchange" else "compare-and-swap"
    with pytest.raises(qd.AdstackDataAccessError, match=f"the derivative of atomic {name} depends on the order"):
        (exchange if form == "exchange" else swap).grad()


def test_turns_are_taken_with_the_last_axis_fastest() -> None:
    head = "kernel @k() {\n  place @m : f64[2, 3] field\n  place @z : f64[] field"
    loop = "parallel_for (%i = %0 to %2, %j = %0 to %3) {\n%o = atomic add @z[], %one\nstore @m[%i, %j], %o\nyield\n}"
    numbers = "\n".join([*(f"%{k} = const {k} : i32" for k in (0, 2, 3)), "%one = const 1.0 : f64"])
    memory = {"m": np.zeros((2, 3)), "z": np.zeros(())}
    run(ordered_updates(kernel_of(wrap(f"{numbers}\n{loop}\nreturn", head))), memory)
    assert memory["m"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_swap_compares_bits() -> None:
    head = "kernel @k() {\n  place @z : f64[2] field"
    swaps = "parallel_for (%i = %0 to %2) {\n%o = atomic cas @z[%i], %zero, %one\nyield\n}"
    numbers = "%0 = const 0 : i32\n%2 = const 2 : i32\n%zero = const 0.0 : f64\n%one = const 1.0 : f64"
    kernel = kernel_of(wrap(f"{numbers}\n{swaps}\nreturn", head))
    for one in (kernel, plain_updates(kernel)):
        memory = {"z": np.array([0.0, -0.0])}
        run(one, memory)
        assert memory["z"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("updates", "left"),
    [
        ("%o = atomic max @y[], %v", 1),
        ("%o = atomic max @y[], %v\n%p = atomic min @y[], %v", 0),
        ("%o = atomic max @y[], %v\n%p = atomic max @y[], %v\nstore @x[%i], %p", 0),
        ("%o = atomic add @y[], %v", 1),
    ],
)
def test_only_updates_whose_order_matters_are_spelled_out(updates: str, left: int) -> None:
    """One kind of extreme, at whose old values nobody looks, has the same winner in any order."""
    head = "kernel @k() {\n  place @x : f64[3] field\n  place @y : f64[] field"
    body = f"%0 = const 0 : i32\n%3 = const 3 : i32\nfor %i = %0 to %3 {{\n%v = load @x[%i] : f64\n{updates}\nyield\n}}"
    kernel = ordered_updates(kernel_of(wrap(f"{body}\nreturn", head)))
    assert sum(op.name == "atomic" for op in kernel.body.walk()) == left
