"""Loads and stores: whole vectors, gathers and scatters, under masks, of every element type; local arrays."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_kit import WIDTHS, agree, agree_on, run_cpu, tasks_of
from interpreter_kit import parallel

from adstack.backends.codegen_llvm.tasks import emit_program
from adstack.ir.types import ALL

N = 140


def numbers(dtype, n: int) -> np.ndarray:
    random = np.random.default_rng(1)
    if dtype.is_bool:
        return random.integers(0, 2, n).astype(dtype.numpy)
    if dtype.is_float:
        return (random.integers(-1000, 1000, n) / 8).astype(dtype.numpy)
    return random.integers(max(dtype.min, -(2**62)), min(dtype.max, 2**62), n).astype(dtype.numpy)


PATTERNS = {
    "the same element": ("%zero", "%i"),
    "neighbours": ("%i", "%i"),
    "a shuffle": ("%p", "%i"),
    "to a shuffle": ("%i", "%p"),
    "backwards": ("%b", "%b"),
}


@pytest.mark.parametrize("masked", [False, True], ids=["all lanes", "some lanes"])
@pytest.mark.parametrize(("load", "store"), PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_elements_of_every_type_come_and_go(dtype, load, store, masked):
    move = f"%v = load @x[{load}] : {dtype}\nstore @y[{store}], %v"
    if masked:
        move = f"%c = load @on[%i] : u1\nif %c {{\n{move}\nyield\n}} else {{\nyield\n}}"
    body = f"%p = load @p[%i] : i32\n%last = const {N - 1} : i32\n%b = sub %last, %i : i32\n{move}"
    places = (
        f"place @x : {dtype}[?] field\nplace @y : {dtype}[?] field\nplace @p : i32[?] field\nplace @on : u1[?] field"
    )
    memory = {"x": numbers(dtype, N), "y": numbers(dtype, N + 9), "on": np.arange(N) % 3 == 0}
    memory["p"] = np.random.default_rng(2).permutation(N).astype(np.int32)
    agree(parallel(body, N, places), memory, widths=(8, 64))


@pytest.mark.parametrize("index", ["%i", "%zero", "%m"])
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_local_arrays_belong_to_an_iteration_and_begin_with_zeros(dtype, index):
    body = f"""%three = const 3 : i32
    %m = mod %i, %three : i32
    %a = array.alloc : array<{dtype}, {N if index == "%i" else 3}>
    %before = array.load %a, {index} : {dtype}
    store @y[%i], %before
    %v = load @x[%i] : {dtype}
    array.store %a, {index}, %v
    %w = array.load %a, {index} : {dtype}
    store @x[%i], %w
    %u = array.load %a, %zero : {dtype}
    store @z[%i], %u"""
    places = "\n".join(f"place @{name} : {dtype}[?] field" for name in "xyz")
    agree(parallel(body, N, places), {name: numbers(dtype, N) for name in "xyz"}, widths=(1, 8))


def long_arrays(length: int) -> str:
    return parallel(
        f"""%a = array.alloc : array<f64, {length}>
    %b = array.alloc : array<f64, {length}>
    %last = const {length - 1} : i32
    %f = cast %i : f64
    array.store %a, %last, %f
    %g = array.load %b, %last : f64
    %h = array.load %a, %last : f64
    %s = add %g, %h : f64
    store @y[%i], %s""",
        9,
        "place @y : f64[?] field",
    )


@pytest.mark.parametrize("length", [10_000, 3_000_000])
def test_local_arrays_may_be_larger_than_a_threads_stack(length):
    agree(long_arrays(length), {"y": np.zeros(9)}, widths=(1, 8) if length < 1e6 else (1,))


def test_memory_that_a_task_takes_for_its_arrays_is_given_back_at_its_end():
    """Also where it is interrupted: it ends in one place."""
    body, _, end = emit_program(tasks_of(long_arrays(3_000_000)), [1]).text.partition("\nfinish:")
    assert body.count("call ptr @calloc(") == end.partition("ret void")[0].count("call void @free(") == 2


def test_an_array_made_in_a_loop_is_new_in_each_round():
    body = """%three = const 3 : i32
    %s = for %j = %zero to %three carry (%t = %zero) {
      %a = array.alloc : array<i32, 2>
      %old = array.load %a, %zero : i32
      array.store %a, %zero, %three
      %u = add %t, %old : i32
      yield %u
    }
    store @y[%i], %s"""
    agree(parallel(body, 70, "place @y : i32[?] field"), {"y": np.ones(70, np.int32)}, widths=WIDTHS)


def test_places_without_elements_are_left_alone():
    text = parallel("%v = load @x[%i] : i32\nstore @x[%i], %n", 0, "place @x : i32[?] ndarray")
    agree(text, {"x": np.zeros(0, np.int32)})
    dynamic = """kernel @k() {
      place @x : i32[?, ?] ndarray
      %zero = const 0 : i32
      %a = shape @x, 0 : i32
      %b = shape @x, 1 : i32
      parallel_for (%i = %zero to %a, %j = %zero to %b) {
        %o = atomic add @x[%i, %j], %a : i32
        yield
      }
      return
    }
    """
    cases = [({"x": np.zeros(shape, np.int32)}, ()) for shape in ((0, 0), (0, 5), (5, 0), (1, 1), (3, 70))]
    agree_on(dynamic, cases, WIDTHS)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_an_array_handed_in_twice_is_one_memory(lanes):
    body = """%v = load @a[%i] : i32
    store @b[%i], %i
    %w = load @a[%i] : i32
    %s = sub %w, %v : i32
    store @b[%i], %s
    %u = load @a[%i] : i32
    store @y[%i], %u"""
    places = "\n".join(f"place @{name} : i32[?] ndarray" for name in "aby")
    shared, y = np.full(100, 5, np.int32), np.zeros(100, np.int32)
    run_cpu(parallel(body, 100, places), {"a": shared, "b": shared, "y": y}, lanes=lanes)
    assert shared.tolist() == y.tolist() == [i - 5 for i in range(100)]
