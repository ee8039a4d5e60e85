"""Reverse mode: gradients equal the oracle's, nothing more is kept than needed, and what was overwritten is refused."""

from __future__ import annotations

import numpy as np
import pytest
from reverse_kit import backward, check_against_oracle, ops, reversed_kernel, small, state
from transforms_kit import kernel_of, wrap

from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.errors import AdstackDataAccessError
from adstack.ir.structure import Kernel
from adstack.ir.types import DType, f32, f64


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("seed", range(30))
def test_gradients_of_random_kernels_are_those_of_the_oracle(seed: int, dtype: DType) -> None:
    kernel = smooth_kernel(seed, 30, dtype, value_conditions=seed % 2 == 1)
    check_against_oracle(kernel, smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed))


@pytest.mark.parametrize("block", range(4))
def test_kernels_that_update_in_place_are_differentiated_truthfully_or_refused(block: int) -> None:
    accepted = 0
    for seed in range(20 * block, 20 * block + 20):
        kernel = smooth_kernel(seed, 12, f64, in_place=True)
        try:
            reversed_kernel(kernel)
        except AdstackDataAccessError:
            continue
        check_against_oracle(kernel, smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed))
        accepted += 1
    assert accepted >= 3, "hardly any kernel is accepted: the others say nothing"


# ---- what is kept

PLACES = """kernel @k() {
  place @x : f32[5] field
  place @w : f32[5] field
  place @y : f32[] field
  place @n : i32[] field
"""

LOOP = """
%0 = const 0 : i32
%5 = const 5 : i32
parallel_for (%i = %0 to %5) {{
  %first = load @x[%i]
  %m = load @n[]
  %last = for %k = %0 to %m carry (%v = %first) {{
    %w = load @w[%i]
    {body}
    yield %next
  }}
  %old = atomic add @y[], %last
  yield
}}
return
"""


def loop(body: str) -> Kernel:
    return kernel_of(wrap(LOOP.format(body=body), PLACES.rstrip("\n")))


def test_a_recurrence_keeps_its_value_and_no_more() -> None:
    gradient = reversed_kernel(loop("%s = sin %v\n%next = mul %s, %w"))
    assert len(ops(gradient, "stack.alloca")) == 1
    assert len(ops(gradient, "stack.put")) == 1


@pytest.mark.parametrize(
    "body",
    ["%next = add %v, %w", "%s = sin %w\n%next = sub %v, %s", "%next = neg %v", "%next = mul %v, %w"],
)
def test_values_that_no_derivative_looks_at_are_not_kept(body: str) -> None:
    kept = [op.operands[2].name for op in ops(reversed_kernel(loop(body)), "stack.put")]
    assert kept == ([] if "mul" not in body else ["v"])


def test_of_a_chain_the_cheapest_place_is_cut() -> None:
    # the square is needed in f32, and follows from a half that takes two bytes
    gradient = reversed_kernel(
        loop("%h = cast %v : f16\n%b = cast %h : f32\n%s = sin %b\n%c = cos %b\n%p = mul %s, %c\n%next = mul %p, %w")
    )
    kept = [op.operands[2].dtype.name for op in ops(gradient, "stack.put")]
    assert "f16" in kept
    assert len(kept) <= 2


def test_memory_that_the_kernel_does_not_write_is_read_again() -> None:
    gradient = reversed_kernel(loop("%q = load @w[%k]\n%p = mul %v, %q\n%next = sin %p"))
    assert [op.operands[2].name for op in ops(gradient, "stack.put")] == ["v"]
    loops = [op for op in gradient.body.walk() if op.name == "for"]
    reads = [[o.name for o in op.regions[0].ops if o.attrs.get("place") == gradient.places["w"]] for op in loops]
    assert reads == [["load"], ["load"]], "once in the sweep, once in the reversal"


# ---- memory


def test_a_store_consumes_the_adjoint_of_what_it_overwrote() -> None:
    gradients = backward(small("%a = load @x[%i]\nstore @y[%i], %a"), state(0), state(1))
    seeds = state(1)
    assert (gradients["y"] == 0).all()
    assert np.array_equal(gradients["x"], seeds["x"] + seeds["y"])


def test_an_atomic_addition_keeps_the_adjoint() -> None:
    gradients = backward(small("%a = load @x[%i]\n%o = atomic add @y[%i], %a"), state(0), state(1))
    seeds = state(1)
    assert np.array_equal(gradients["y"], seeds["y"])
    assert np.array_equal(gradients["x"], seeds["x"] + seeds["y"])


@pytest.mark.parametrize(
    "body",
    [
        "%a = load @x[%i]\n%b = mul %a, %a\nstore @x[%i], %b",
        "%a = load @x[%i]\n%b = sin %a\n%o = atomic add @x[%i], %b",
    ],
)
def test_a_value_that_is_needed_and_overwritten_is_refused(body: str) -> None:
    with pytest.raises(AdstackDataAccessError, match=r"Breaks the global data access rule: .* field x"):
        reversed_kernel(small(body))


def test_a_value_that_is_overwritten_but_not_needed_is_no_matter() -> None:
    kernel = small("%a = load @x[%i]\n%two = const 2.0 : f32\n%b = mul %a, %two\nstore @x[%i], %b")
    gradients = backward(kernel, state(0), state(1))
    assert np.array_equal(gradients["x"], 2 * state(1)["x"])


WRITE_THEN_READ = "%a = load @x[%i]\n%s = sin %a\nstore @y[%i], %s\n%b = load @y[%i]\n"


def test_a_value_read_back_and_overwritten_later_is_refused() -> None:
    kernel = small(WRITE_THEN_READ + "%c = mul %b, %b\nstore @y[%i], %c")
    with pytest.raises(AdstackDataAccessError, match="field y"):
        reversed_kernel(kernel)


def test_a_value_that_an_earlier_statement_wrote_is_read_again() -> None:
    kernel = small(WRITE_THEN_READ + "%c = cos %b\n%o = atomic add @z[], %c")
    check_against_oracle(kernel, state(0), state(1))


def test_a_history_in_one_field_is_not_refused() -> None:
    kernel = kernel_of(
        wrap(
            """
            %0 = const 0 : i32
            %1 = const 1 : i32
            %4 = const 4 : i32
            for %t = %0 to %4 {
              %a = load @x[%t]
              %b = sin %a
              %u = add %t, %1
              store @x[%u], %b
              yield
            }
            return
            """,
            "kernel @k() {\n  place @x : f32[5] field",
        )
    )
    before = {"x": np.array([0.5, 0, 0, 0, 0], np.float32)}
    adjoints = {"x": np.array([0.25, -1, 2, 0.5, 3], np.float32)}
    check_against_oracle(kernel, before, adjoints)


def test_an_update_whose_order_decides_is_refused_by_name() -> None:
    with pytest.raises(AdstackDataAccessError, match="the derivative of atomic product depends on the order"):
        reversed_kernel(small("%a = load @x[%i]\n%o = atomic mul @y[%i], %a"))
