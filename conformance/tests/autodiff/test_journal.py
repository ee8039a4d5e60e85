"""Journals: kernels that overwrite whatever they like log it, and are differentiated from the logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cpu_kit import agree
from journal_kit import Buffers, check, launched
from reverse_kit import gradients_of
from transforms_kit import kernel_of, wrap

from adstack.autodiff.journaled import journaled
from adstack.autodiff.places import WANTED
from adstack.autodiff.reverse import reverse
from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.conformance.fuzz.traffic import traffic_kernel
from adstack.errors import AdstackDataAccessError
from adstack.interpreter import run
from adstack.ir.structure import Kernel
from adstack.ir.types import f32, f64
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower, optimize


@pytest.mark.parametrize("seed", range(14))
def test_reads_stores_and_atomics_in_any_order_are_differentiated(seed: int) -> None:
    kernel = traffic_kernel(seed, 9, f64)
    check(kernel, smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed + 1))


@pytest.mark.parametrize("seed", range(6))
def test_kernels_that_update_in_place_are_differentiated(seed: int) -> None:
    kernel = smooth_kernel(seed, 14, f64, in_place=True, extremes=seed % 2 == 0, value_conditions=seed % 3 == 0)
    check(kernel, smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed))


HEAD = """kernel @k() {
  place @x : f64[4] field
  place @y : f64[4] field
  place @n : i32[4] field"""
FRONT = "%0 = const 0 : i32\n%1 = const 1 : i32\n%4 = const 4 : i32\n"


def of(body: str) -> Kernel:
    return kernel_of(wrap(f"{FRONT}{body}\nreturn", HEAD))


def memory_of(counts: list[int]) -> Buffers:
    rng = np.random.default_rng(0)
    return {"x": rng.uniform(0.5, 1.5, 4), "y": rng.uniform(0.5, 1.5, 4), "n": np.array(counts, np.int32)}


ADJOINTS = {"x": np.array([1.5, -0.5, 0.25, 2.0]), "y": np.array([0.5, 1.0, -1.0, 0.75])}

COUNTING_DOWN = """parallel_for (%i = %0 to %4) {
  %n = load @n[%i]
  for %k = %0 to %n {
    %a = load @x[%i]
    %b = sin %a
    store @x[%i], %b
    %m = load @n[%i]
    for %j = %0 to %m {
      %c = load @x[%i]
      %d = mul %c, %c
      store @x[%i], %d
      yield
    }
    %l = sub %m, %1
    store @n[%i], %l
    yield
  }
  yield
}"""


def test_logs_are_as_large_as_the_longest_iteration_needs() -> None:
    logged = check(of(COUNTING_DOWN), memory_of([3, 0, 2, 1]), ADJOINTS)
    _, wanted = launched(logged, memory_of([3, 0, 2, 1]), np.zeros(2 * logged.sheets, np.uint64))
    # once per iteration, per iteration of %k, per iteration of %j: 3 + 2 + 1
    assert wanted.reshape(-1, 2).tolist() == [[1, 4], [3, 4], [6, 4]]


def test_the_cpu_agrees_to_the_bit() -> None:
    before = memory_of([3, 0, 2, 1])
    logged = check(of(COUNTING_DOWN), before, ADJOINTS)
    _, wanted = launched(logged, before, np.zeros(2 * logged.sheets, np.uint64))
    for log in logged.logs:
        shape = tuple(wanted[2 * log.sheet : 2 * log.sheet + 2])
        before[log.place.name] = np.zeros(shape, log.place.dtype.numpy)
    _, after = agree(logged.forward, {**before, WANTED: np.zeros(2 * logged.sheets, np.uint64)}, widths=(1, 8))
    after.update({f"{name}.grad": adjoint.copy() for name, adjoint in ADJOINTS.items()})
    agree(logged.backward, {name: after[name] for name in logged.backward.places}, widths=(1, 8))


def test_what_finds_no_room_is_dropped_and_harms_nothing() -> None:
    logged = check(of(COUNTING_DOWN), memory_of([3, 0, 2, 1]), ADJOINTS)
    memory, _ = launched(logged, memory_of([3, 0, 2, 1]), np.array([1, 2, 2, 3, 0, 0]))
    plain = memory_of([3, 0, 2, 1])
    run(lower(of(COUNTING_DOWN)), plain)
    assert all(np.array_equal(memory[name], plain[name]) for name in plain)


def test_logs_that_nobody_reads_are_not_written() -> None:
    logged = check(
        of("parallel_for (%i = %0 to %4) {\n%a = load @x[%i]\nstore @x[%i], %a\nyield\n}"), memory_of([0] * 4), ADJOINTS
    )
    assert logged.logs == ()


@pytest.mark.parametrize("kind", ["add", "mul", "min", "max", "xchg"])
def test_updates_whose_old_values_count_are_made_in_turn(kind: str) -> None:
    body = f"%a = load @x[%i]\n%o = atomic {kind} @y[%1], %a\n%s = mul %o, %a\nstore @x[%i], %s"
    body = f"parallel_for (%i = %0 to %4) {{\n{body}\nyield\n}}"
    logged = check(of(body), memory_of([0] * 4), ADJOINTS)
    assert [op.name for op in logged.forward.body.walk() if op.name == "parallel_for"] == []


def test_neighbours_do_not_have_an_element_to_themselves() -> None:
    """Each iteration updates two elements, one of which is the next one's."""
    body = """parallel_for (%i = %0 to %4) {
      %a = load @x[%i]
      %o = atomic mul @y[%i], %a
      %j = add %i, %1
      %m = mod %j, %4
      %p = atomic mul @y[%m], %a
      yield
    }"""
    logged = check(of(body), memory_of([0] * 4), ADJOINTS)
    assert [op.name for op in logged.forward.body.walk() if op.name == "parallel_for"] == []


def test_random_numbers_are_logged() -> None:
    body = "%a = load @x[%i]\n%r = random : f64\n%s = mul %r, %a\nstore @y[%i], %s"
    body = f"parallel_for (%i = %0 to %4) {{\n{body}\nyield\n}}"
    logged = journaled(optimize(of(body), keep_accesses=True), gradients_of(of(body)))
    before = memory_of([0] * 4)
    _, wanted = launched(logged, before, np.zeros(2 * logged.sheets, np.uint64))
    memory, _ = launched(logged, before, wanted)
    memory.update({f"{name}.grad": adjoint.copy() for name, adjoint in ADJOINTS.items()})
    run(lower(logged.backward), memory)
    drawn = memory["journal.0"][0]
    assert np.array_equal(memory["y"], drawn * before["x"])
    assert np.array_equal(memory["x.grad"], ADJOINTS["x"] + drawn * ADJOINTS["y"])


def test_the_places_are_told_apart_by_type() -> None:
    kernel = replace(of(COUNTING_DOWN), name="down")
    logged = journaled(optimize(kernel, keep_accesses=True), gradients_of(kernel))
    assert {log.place.dtype for log in logged.logs} <= {f64, f32, kernel.places["n"].dtype}
    assert logged.forward.name == "down"


ROUND = """kernel @k() {
  place @x : f32[256] field"""


@pytest.mark.parametrize(
    ("step", "refused"),
    [
        ("%n = cast %t : u8\n%m = add %n, %two8", True),
        ("%m0 = cast %t : u8\n%m = cast %m0 : i32", True),
        ("%w = cast %t : i64\n%m = add %w, %two64", False),
    ],
    ids=["narrow sum", "narrowing", "widening"],
)
def test_an_index_that_may_wrap_around_is_not_taken_for_a_later_one(step: str, refused: bool) -> None:
    body = f"%a = load @x[%t]\n%b = sin %a\n{step}\nstore @x[%m], %b"
    consts = "%0 = const 0 : i32\n%9 = const 9 : i32\n%two8 = const 2 : u8\n%two64 = const 2 : i64\n"
    kernel = kernel_of(wrap(f"{consts}for %t = %0 to %9 {{\n{body}\nyield\n}}\nreturn", ROUND))
    if refused:
        with pytest.raises(AdstackDataAccessError, match="field x"):
            reverse(kernel, gradients_of(kernel))
    else:
        verify(reverse(kernel, gradients_of(kernel)))


def test_parallel_loops_over_several_axes_have_a_row_for_each_iteration() -> None:
    body = """parallel_for (%i = %0 to %2, %j = %0 to %2) {
      %p = mul %i, %2
      %k = add %p, %j
      %a = load @x[%k]
      %b = sin %a
      store @x[%k], %b
      yield
    }"""
    check(of(f"%2 = const 2 : i32\n{body}"), memory_of([0] * 4), ADJOINTS)


def test_numbers_that_a_counter_gave_are_logged() -> None:
    body = """parallel_for (%i = %0 to %4) {
      %k = atomic add @n[%0], %1
      %a = load @x[%k]
      %b = sin %a
      store @y[%k], %b
      yield
    }"""
    check(of(body), memory_of([0] * 4), ADJOINTS)
