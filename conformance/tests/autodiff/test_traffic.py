"""Reverse mode over memory traffic of every kind: the gradient is the oracle's, or the kernel is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from reverse_kit import check_against_oracle, reversed_kernel, small, state

import adstack as qd
from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.conformance.fuzz.traffic import traffic_kernel
from adstack.errors import AdstackDataAccessError
from adstack.interpreter import run
from adstack.ir.types import f64
from adstack.transforms.pipeline import lower


@pytest.mark.parametrize("block", range(6))
def test_reads_stores_and_atomics_in_any_order(block: int) -> None:
    right = 0
    for seed in range(40 * block, 40 * block + 40):
        kernel = traffic_kernel(seed, 5, f64)
        try:
            reversed_kernel(kernel)
        except AdstackDataAccessError:
            continue
        check_against_oracle(kernel, smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed + 1))
        right += 1
    assert right >= 10, "hardly any kernel is accepted: the others say nothing"


@pytest.mark.parametrize("seed", range(15))
def test_extremes_of_random_kernels(seed: int) -> None:
    kernel = smooth_kernel(seed, 25, f64, extremes=True)
    check_against_oracle(kernel, smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed))


@pytest.mark.parametrize(
    ("body", "phrase"),
    [
        ("%a = load @x[%i]\n%o = atomic add @z[], %a\n%s = sin %o\nstore @y[%i], %s", "old value"),
        ("%a = load @x[%i]\n%o = atomic max @z[], %a\nstore @y[%i], %o", "order of the updates"),
        ("%a = load @x[%i]\n%o = atomic max @z[], %a\n%p = atomic add @z[], %a", "which value won"),
        ("%a = load @x[%i]\n%r = random : f32\n%s = mul %a, %r\nstore @y[%i], %s", "a random number"),
    ],
)
def test_what_can_not_be_known_afterwards_is_refused(body: str, phrase: str) -> None:
    """The rule is grad.refused, outside a Tape."""
    with pytest.raises(AdstackDataAccessError, match=phrase):
        reversed_kernel(small(body))


def test_a_random_number_that_no_derivative_looks_at_is_no_matter() -> None:
    kernel = small("%a = load @x[%i]\n%r = random : f32\n%s = add %a, %r\nstore @y[%i], %s")
    assert all(op.name != "random" for op in reversed_kernel(kernel).body.walk())


@pytest.mark.parametrize(
    "body",
    [
        "%z = const 0.0 : f32\n%r = sqrt %a\n%c = gt %a, %z\n%s = select %c, %r, %a",
        "%one = const 1.0 : f32\n%r = sqrt %a\n%s = max %r, %one",
        "%z = const 0.0 : f32\n%r = sqrt %a\n%c = gt %a, %z\n%s = if %c {\nyield %r\n} else {\nyield %a\n}",
        "%z = const 0 : i32\n%r = sqrt %a\n%s = for %k = %z to %z carry (%v = %a) {\n%w = add %v, %r\nyield %w\n}",
        "%r = sqrt %a\nstore @y[%i], %r\n%s = add %a, %a",
    ],
    ids=["select", "max", "if", "for", "overwritten"],
)
def test_where_nothing_is_connected_an_infinite_derivative_gives_nothing(body: str) -> None:
    kernel = small(f"%a = load @x[%i]\n{body}\nstore @y[%i], %s")
    memory = {**state(0), "x": np.array([0, 0.25, 0, 4, 1], np.float32)}
    run(lower(kernel), memory)
    memory |= {f"{name}.grad": array for name, array in state(1).items()}
    run(lower(reversed_kernel(kernel)), memory)
    assert np.isfinite(memory["x.grad"]).all()


def test_a_connected_zero_times_infinity_is_not_hidden() -> None:
    kernel = small("%a = load @x[%i]\n%r = sqrt %a\nstore @y[%i], %r")
    memory = {**state(0), "x": np.zeros(5, np.float32)}
    run(lower(kernel), memory)
    memory |= {f"{name}.grad": array for name, array in state(1).items()}
    memory["y.grad"][:] = 0
    run(lower(reversed_kernel(kernel)), memory)
    assert np.isnan(memory["x.grad"]).all()


def test_what_is_read_often_gets_one_contribution() -> None:
    qd.init(arch=qd.reference)
    x, y = qd.field(qd.f32, shape=4, needs_grad=True), qd.field(qd.f32, shape=4, needs_grad=True)

    @qd.kernel
    def k():
        for i in x:
            y[i] = 2.0 * x[i] + 3.0 * x[i] + x[i] * x[i]

    text = k.grad.stages()["tasks"]
    assert len(re.findall(r"= atomic .*\badd @", text)) == 1
    x.fill(5.0)
    y.grad.fill(1.0)
    k.grad()
    assert x.grad.to_numpy().tolist() == [15.0] * 4


def test_what_is_read_again_after_a_store_is_another_value() -> None:
    qd.init(arch=qd.reference)
    x, y = qd.field(qd.f32, shape=4, needs_grad=True), qd.field(qd.f32, shape=4)  # y cuts

    @qd.kernel
    def k():
        for i in x:
            before = y[i]
            y[i] = 2.0 * x[i]
            x[i] = 3.0 * x[i] + y[i] + before

    x.grad.fill(1.0)
    k.grad()
    assert x.grad.to_numpy().tolist() == [3.0] * 4
