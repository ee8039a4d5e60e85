"""Atomic updates over lanes and iterations: identities, masks, old values, memory reached in two ways."""

from __future__ import annotations

import re
from itertools import accumulate

import numpy as np
import pytest
from cpu_kit import WIDTHS, agree, agree_on, run_cpu
from cuda_kit import device_text
from interpreter_kit import same_bits
from programs_kit import EACH, loop, numbers, updates

from adstack.backends.cuda.adds import ALWAYS
from adstack.ir.ops import ATOMICS
from adstack.ir.types import ALL, FLOATS, by_name

COMBINED = [(kind, t) for kind, t in EACH if kind not in ("xchg", "cas")]
COUNTS = (0, 1, 7, 8, 64, 131)


@pytest.mark.parametrize(("kind", "dtype"), COMBINED)
def test_updates_of_one_element_are_all_there(kind, dtype):
    cases = [({"x": numbers(kind, dtype, n), "sum": numbers(kind, dtype, 2)}, [n]) for n in COUNTS]
    agree_on(updates(kind, dtype), cases)


@pytest.mark.parametrize(("kind", "dtype"), COMBINED)
def test_lanes_that_do_not_run_add_nothing(kind, dtype):
    third = "%three = const 3 : i32\n%r = mod %i, %three : i32\n%on = eq %r, %zero : u1"
    cases = [({"x": numbers(kind, dtype, n), "sum": numbers(kind, dtype, 2)}, [n]) for n in COUNTS]
    agree_on(updates(kind, dtype, condition=third), cases)


@pytest.mark.parametrize(("kind", "dtype"), COMBINED)
def test_an_element_that_no_iteration_updates_keeps_its_bits_and_need_not_be_there(kind, dtype):
    to = by_name(dtype).numpy
    never = "%on = lt %i, %zero : u1"
    starts = [-0.0, 0.0, np.nan, np.inf] if by_name(dtype) in FLOATS else [0, 1]
    x = numbers(kind, dtype, 70)
    agree_on(updates(kind, dtype, "%zero", never), [({"x": x, "sum": np.array([s], to)}, [70]) for s in starts])
    agree(updates(kind, dtype, "%far", never), {"x": x, "sum": x[:0]}, [70], widths=(8,))


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("kind", ["add", "mul", "min", "max"])
def test_zeros_infinities_and_nans_are_combined_as_one_iteration_would(dtype, kind):
    specials = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], by_name(dtype).numpy)
    pairs = [(start, value) for start in specials for value in specials]
    agree_on(
        updates(kind, dtype),
        [({"x": np.full(n, v), "sum": np.array([s])}, [n]) for s, v in pairs for n in (1, 70)],
        widths=(1, 8),
    )


def chain(kind: str, start: np.ndarray, value: np.ndarray, n: int) -> list[np.ndarray]:
    """What an element holds before each of n updates with one value, and after them."""
    return list(
        accumulate(range(n), lambda old, _: ATOMICS[kind].meaning(by_name(str_of(old)), old, value), initial=start)
    )


def str_of(array: np.ndarray) -> str:
    return next(t.name for t in ALL if t.numpy == array.dtype)


@pytest.mark.parametrize("where", ["%zero", "%i", "%r"])
@pytest.mark.parametrize(("kind", "dtype"), COMBINED)
def test_old_values_are_those_of_updates_one_after_another(kind, dtype, where):
    if where != "%zero" and dtype not in ("u1", "i8", "f16", "u64", "f32"):
        where = "%zero"
    body = f"""%three = const 3 : i32
    %r = mod %i, %three : i32
    %v = load @x[%i] : {dtype}
    %old = atomic {kind} @sum[{where}], %v : {dtype}
    store @y[%i], %old"""
    n = 45
    x = np.full(n, numbers(kind, dtype, 1)[0])
    memory = {"x": x, "y": np.zeros_like(x), "sum": numbers(kind, dtype, n)}
    before = memory["sum"].copy()
    run_cpu(loop(body, dtype, "x", "y", "sum"), memory, [n])
    hits = {"%zero": [0] * n, "%i": list(range(n)), "%r": [i % 3 for i in range(n)]}[where]
    with np.errstate(all="ignore"):
        for element in set(hits):
            at = [i for i in range(n) if hits[i] == element]
            *olds, last = chain(kind, before[element : element + 1], x[:1], len(at))
            assert sorted(memory["y"][at].tolist()) == sorted(old.item() for old in olds)
            assert same_bits(memory["sum"][element : element + 1], last)


@pytest.mark.parametrize("dtype", [t.name for t in ALL])
def test_an_exchange_hands_every_value_on_once(dtype):
    body = f"%v = load @x[%i] : {dtype}\n%old = atomic xchg @sum[%zero], %v : {dtype}\nstore @y[%i], %old"
    n = 100
    x = np.arange(n).astype(by_name(dtype).numpy)
    for lanes in WIDTHS:
        memory = {"x": x, "y": np.zeros_like(x), "sum": np.ones(1, x.dtype)}
        run_cpu(loop(body, dtype, "x", "y", "sum"), memory, [n], lanes=lanes)
        assert sorted([*memory["y"], *memory["sum"]]) == sorted([*x, np.ones(1, x.dtype)[0]])


@pytest.mark.parametrize("dtype", [t.name for t in ALL])
def test_one_iteration_wins_a_compare_and_swap(dtype):
    body = f"""%v = load @x[%i] : {dtype}
    %w = load @x[%zero] : {dtype}
    %old = atomic cas @sum[%zero], %w, %v : {dtype}
    store @y[%i], %old"""
    n = 50
    x = np.array([0] + [1] * (n - 1)).astype(by_name(dtype).numpy)
    memory = {"x": x, "y": np.zeros_like(x), "sum": np.zeros(1, x.dtype)}
    run_cpu(loop(body, dtype, "x", "y", "sum"), memory, [n])
    assert memory["sum"][0] == 1
    assert 1 <= (memory["y"] == 0).sum() <= 2  # iteration 0 puts 0 for 0


GUARDED = """%on = eq %i, %zero : u1
    if %on {
      %one = const 1 : i32
      %old = atomic add @a[%zero], %one : i32
      %b = load @b[%zero] : i32
      store @y[%zero], %b
      yield
    } else {
      yield
    }"""


@pytest.mark.parametrize("lanes", WIDTHS)
def test_an_update_is_seen_at_once_through_another_name_of_the_element(lanes):
    memory = np.zeros(200, np.int32)
    buffers = {"a": memory, "b": memory, "y": np.zeros(1, np.int32)}
    run_cpu(loop(GUARDED, "i32", "a", "b", "y", kinds="ndarray"), buffers, [130], lanes=lanes)
    assert (memory[0], buffers["y"][0]) == (1, 1)


def test_an_update_is_seen_at_once_through_a_field_that_was_handed_in():
    text = loop(GUARDED, "i32", "a", "b", "y").replace("@b : i32[?] field", "@b : i32[?] ndarray")
    for place in ("a", "b"):
        memory = np.zeros(200, np.int32)
        buffers = {"a": memory, "b": memory, "y": np.zeros(1, np.int32)}
        swapped = text.replace("@a[", "@q[").replace("@b[", "@a[").replace("@q[", "@b[") if place == "b" else text
        run_cpu(swapped, buffers, [130])
        assert buffers["y"][0] == 1


def test_arrays_that_only_share_a_buffer_are_no_obstacle():
    body = "%v = load @x[%i] : i32\n%old = atomic add @sum[%zero], %v : i32"
    memory = np.arange(101, dtype=np.int32)
    run_cpu(loop(body, "i32", "x", "sum", kinds="ndarray"), {"x": memory[1:], "sum": memory[:1]}, [100])
    assert memory[0] == 5050


def test_two_sums_into_one_element_are_both_there():
    body = """%v = load @x[%i] : i32
    %old = atomic add @a[%zero], %v : i32
    %other = atomic add @b[%zero], %v : i32"""
    total = np.zeros(1, np.int32)
    x = np.arange(100, dtype=np.int32)
    run_cpu(loop(body, "i32", "x", "a", "b", kinds="ndarray"), {"x": x, "a": total, "b": total}, [100])
    assert total[0] == 2 * 4950


@pytest.mark.parametrize("update", ["xchg @sum[%zero], %c", "cas @sum[%zero], %d, %c"])
def test_what_does_not_combine_is_done_for_every_lane_of_one_element(update):
    """All iterations leave the same number, and nobody looks at what was there."""
    body = f"%c = const 3.0 : f32\n%d = const 1.0 : f32\natomic {update} : f32"
    text = loop(body, "f32", "sum")
    for n in COUNTS:
        left = agree(text, {"sum": np.ones(2, np.float32)}, [n])
        assert left is not None


@pytest.mark.parametrize("dtype", ["i32", "u64", "f64"])
def test_threads_side_by_side_that_part_update_memory_in_a_function(dtype):
    """The function finds the threads with the same element; one of them updates it."""
    update = f"%v = load @x[%i] : {dtype}\n%0 = atomic add @y[%k], %v : {dtype}"
    body = f"for %k = %zero to %n {{\n{update}\nyield\n}}"
    text = device_text(loop(body, dtype, "x", "y"), adds=ALWAYS)
    (function,) = re.findall(rf'^define internal [^\n]*@"add.{dtype}.peers".*?^}}', text, re.MULTILINE | re.DOTALL)
    assert "red.relaxed" in function or "atomicrmw" in function
