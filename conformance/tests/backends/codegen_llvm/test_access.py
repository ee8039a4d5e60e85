"""Loads and stores: whole vectors, gathers and scatters, under masks, of every element type; local arrays."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from cpu_kit import WIDTHS, agree, agree_on, compiled, run_cpu, tasks_of
from interpreter_kit import parallel

from adstack.backends.codegen_llvm.tasks import emit_program
from adstack.errors import AdstackOutOfBoundsError
from adstack.ir.types import ALL
from adstack.transforms.memory.guard import guard

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


@pytest.mark.parametrize(
    ("extents", "index", "word"),
    [
        ("46340, 46340", "i32", "i32"),
        ("46341, 46342", "i32", "i64"),
        ("46340, 46340", "i64", "i64"),
        ("300, 70", "u16", "i32"),
        ("?, 16", "i32", "i64"),
    ],
)
def test_offsets_have_32_bits_where_all_elements_of_a_place_can_be_numbered_so(extents, index, word):
    body = f"%j = load @y[%i] : {index}\n%v = load @x[%j, %i] : f32\nstore @z[%i], %v"
    places = f"place @x : f32[{extents}] field\nplace @y : {index}[64] field\nplace @z : f32[64] field"
    text = emit_program(tasks_of(parallel(body, 64, places)), [16]).text
    assert set(re.findall(r"getelementptr inbounds float, ptr %\S+, <16 x (i\d+)>", text)) == {word}


WRAPPED = 2**32 // 70 + 1
"""An index whose offset, in 32 bits, is that of an element."""


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("index", ["%i, %u", "%j, %i2", "%j, %u", "%u, %u"])
@pytest.mark.parametrize("access", ["%v = load @x[{0}] : i32\nstore @z[%i], %v", "store @x[{0}], %c5"])
def test_an_index_outside_whose_offset_would_be_inside_touches_nothing(access, index, lanes):
    """`%u` is the same in all lanes, `%j` differs; nothing but elements inside is read as 5 or becomes 5."""
    body = f"%j = load @y[%i] : i32\n%u = load @w[%zero] : i32\n%i2 = mod %i, %c5 : i32\n{access.format(index)}"
    text = parallel(
        "%c5 = const 5 : i32\n" + body,
        140,
        "place @x : i32[140, 70] field\nplace @y : i32[140] field\nplace @w : i32[1] field\nplace @z : i32[140] field",
    )
    program = tasks_of(text)
    for task in program.tasks:
        guard(task.body)
    launch = compiled(program, lanes, threads=1)
    for far, column in product((WRAPPED, -1, 140, 2**31 - 1, -(2**31)), (3, 70, -1, -(2**31))):
        rows = np.random.default_rng(0).permutation(140).astype(np.int32)
        rows[[5, 67, 130]] = far
        x = np.full((140, 70), 0 if "store @x" in access else 5, np.int32)
        memory = {"x": x, "y": rows, "w": np.full(1, column, np.int32), "z": np.full(140, 7, np.int32)}
        first = {"%i": np.arange(140), "%j": rows, "%u": np.full(140, column)}[index[:2]]
        second = np.arange(140) % 5 if "%i2" in index else np.full(140, column)
        inside = (first >= 0) & (first < 140) & (second >= 0) & (second < 70)
        if inside.all():
            launch(memory)
        else:
            with pytest.raises(AdstackOutOfBoundsError):
                launch(memory)
        if "store @x" in access:
            expected = np.zeros((140, 70), np.int32)
            expected[first[inside], second[inside]] = 5
            assert np.array_equal(memory["x"], expected)
        else:
            assert np.array_equal(memory["z"], np.where(inside, 5, 0))
