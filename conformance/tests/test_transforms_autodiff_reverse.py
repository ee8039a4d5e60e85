"""Reverse mode: gradients equal the oracle's, nothing more is kept than needed, and what was overwritten is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from transforms_kit import kernel_of, wrap

from adstack.autodiff.reverse import reverse
from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.error_analysis.bounds import gradient_bound
from adstack.errors import AdstackDataAccessError
from adstack.interpreter import run
from adstack.ir.structure import Kernel, Op, Place
from adstack.ir.types import DType, f32, f64
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower, optimize

Array = npt.NDArray[Any]
Buffers = dict[str, Array]


def gradients_of(kernel: Kernel) -> dict[str, Place]:
    """A gradient place for every place of floats that outlives a launch."""
    return {
        p.name: replace(p, name=f"{p.name}.grad", role="grad", of=p.name)
        for p in kernel.places.values()
        if p.dtype.is_float and p.kind in ("field", "ndarray")
    }


def reversed_kernel(kernel: Kernel) -> Kernel:
    made = reverse(optimize(kernel, keep_accesses=True), gradients_of(kernel))
    verify(made)
    return made


def backward(kernel: Kernel, before: Buffers, adjoints: Buffers) -> Buffers:
    """The gradient buffers after a forward and a reverse launch."""
    memory = {name: buffer.copy() for name, buffer in before.items()}
    run(lower(kernel), memory)
    memory.update({f"{name}.grad": adjoint.copy() for name, adjoint in adjoints.items()})
    after = {name: buffer.copy() for name, buffer in memory.items()}
    run(lower(reversed_kernel(kernel)), after)
    assert all(np.array_equal(memory[n], after[n]) for n in before), "a primal place was written"
    return {name: after[f"{name}.grad"] for name in adjoints}


def check_against_oracle(kernel: Kernel, before: Buffers, adjoints: Buffers) -> None:
    """Within twice the error bound of the oracle's own run: one for each of the two results."""
    found = backward(kernel, before, adjoints)
    truth = gradient_bound(kernel, before, (), adjoints)
    for name, gradient in found.items():
        distance = np.abs(gradient.astype(np.float64) - truth.values[name].astype(np.float64))
        assert (distance <= 2 * truth.bounds[name]).all(), (name, distance.max())


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


def ops(kernel: Kernel, name: str) -> list[Op]:
    return [op for op in kernel.body.walk() if op.name == name]


def test_a_recurrence_keeps_its_value_and_no_more() -> None:
    made = reversed_kernel(loop("%s = sin %v\n%next = mul %s, %w"))
    assert len(ops(made, "stack.alloca")) == 1
    assert len(ops(made, "stack.put")) == 1


@pytest.mark.parametrize(
    "body",
    ["%next = add %v, %w", "%s = sin %w\n%next = sub %v, %s", "%next = neg %v", "%next = mul %v, %w"],
)
def test_values_that_no_derivative_looks_at_are_not_kept(body: str) -> None:
    kept = [op.operands[2].name for op in ops(reversed_kernel(loop(body)), "stack.put")]
    assert kept == ([] if "mul" not in body else ["v"])


def test_of_a_chain_the_cheapest_place_is_cut() -> None:
    # the square is needed in f32, and follows from a half that takes two bytes
    made = reversed_kernel(
        loop("%h = cast %v : f16\n%b = cast %h : f32\n%s = sin %b\n%c = cos %b\n%p = mul %s, %c\n%next = mul %p, %w")
    )
    kept = [op.operands[2].dtype.name for op in ops(made, "stack.put")]
    assert "f16" in kept
    assert len(kept) <= 2


def test_memory_that_the_kernel_does_not_write_is_read_again() -> None:
    made = reversed_kernel(loop("%q = load @w[%k]\n%p = mul %v, %q\n%next = sin %p"))
    assert [op.operands[2].name for op in ops(made, "stack.put")] == ["v"]
    loops = [op for op in made.body.walk() if op.name == "for"]
    reads = [[o.name for o in op.regions[0].ops if o.attrs.get("place") == made.places["w"]] for op in loops]
    assert reads == [["load"], ["load"]], "once in the sweep, once in the reversal"


# ---- memory


def small(body: str) -> Kernel:
    return kernel_of(
        wrap(
            f"%0 = const 0 : i32\n%5 = const 5 : i32\nparallel_for (%i = %0 to %5) {{\n{body}\nyield\n}}\nreturn",
            "kernel @k() {\n  place @x : f32[5] field\n  place @y : f32[5] field\n  place @z : f32[] field",
        )
    )


def state(seed: int) -> Buffers:
    random = np.random.default_rng(seed)
    shapes = {"x": 5, "y": 5, "z": ()}
    return {name: np.asarray(random.uniform(0.5, 2, shape), np.float32) for name, shape in shapes.items()}


def test_a_store_consumes_the_adjoint_of_what_it_overwrote() -> None:
    found = backward(small("%a = load @x[%i]\nstore @y[%i], %a"), state(0), state(1))
    given = state(1)
    assert (found["y"] == 0).all()
    assert np.array_equal(found["x"], given["x"] + given["y"])


def test_an_atomic_addition_keeps_the_adjoint() -> None:
    found = backward(small("%a = load @x[%i]\n%o = atomic add @y[%i], %a"), state(0), state(1))
    given = state(1)
    assert np.array_equal(found["y"], given["y"])
    assert np.array_equal(found["x"], given["x"] + given["y"])


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
    found = backward(kernel, state(0), state(1))
    assert np.array_equal(found["x"], 2 * state(1)["x"])


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
