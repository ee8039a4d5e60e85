"""Atomics behave as if the lanes came one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interpreter_kit import parallel, run_text, same_bits

from adstack.interpreter.atomics import combine
from adstack.ir.opdef import CLASSES
from adstack.ir.ops import ATOMICS
from adstack.ir.types import ALL, DType, f16, f32, i32

PAIRS = [(kind, t) for kind in ATOMICS.values() for t in ALL if t in CLASSES[kind.over]]
SPECIAL = [0.0, -0.0, 1.0, -1.5, 3.25, float("nan"), float("inf"), 1e-3, 2047.0, 0.1]


def in_turn(kind: str, to: DType, flat: Any, at: Any, operands: list[Any]) -> tuple[Any, Any]:
    """What the definition says: one lane at a time."""
    flat, old = flat.copy(), np.empty(len(at), to.numpy)
    for lane, where in enumerate(at):
        old[lane] = flat[where]
        current = flat[where : where + 1]
        flat[where] = ATOMICS[kind].meaning(to, current, *(values[lane : lane + 1] for values in operands))[0]
    return flat, old


def numbers(random: np.random.Generator, to: DType, size: int) -> Any:
    if to.is_float:
        return random.choice(np.array(SPECIAL), size).astype(to.numpy)
    return random.integers(-3, 200, size).astype(to.numpy)


@pytest.mark.parametrize("wanted", [True, False], ids=["old", "void"])
@pytest.mark.parametrize(("kind", "to"), PAIRS, ids=lambda p: getattr(p, "name", None))
@pytest.mark.parametrize(("lanes", "elements"), [(1, 1), (40, 1), (40, 3), (40, 400)])
def test_lanes_come_in_order_whatever_the_kind_and_the_type(kind, to, lanes, elements, wanted):
    random = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        flat, at = numbers(random, to, elements), random.integers(0, elements, lanes)
        operands = [numbers(random, to, lanes) for _ in range(kind.operands)]
        after, old = in_turn(kind.name, to, flat, at, operands)
        returned = combine(kind.name, to, flat, at, operands, wanted)
    assert same_bits(flat, after)
    assert (returned is None and not wanted) or same_bits(returned, old)


@pytest.mark.parametrize("to", [f16, f32], ids=str)
def test_float_sums_round_at_each_step(to):
    flat, ones = np.array([1.0 / to.numpy.type(np.finfo(to.numpy).eps) * 2], to.numpy), np.ones(8, to.numpy)
    before = flat.copy()
    combine("add", to, flat, np.zeros(8, np.intp), [ones], False)
    assert flat[0] == before[0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), min_size=1, max_size=30))
def test_old_values_are_those_of_the_lanes_before(pairs):
    at, values = (np.array(column) for column in zip(*pairs, strict=True))
    for kind in ("add", "max", "xchg"):
        flat = np.zeros(4, np.int32)
        operands = [values.astype(np.int32)]
        after, old = in_turn(kind, i32, flat, at, operands)
        assert same_bits(combine(kind, i32, flat, at, operands, True), old)
        assert same_bits(flat, after)


def test_a_counter_gives_each_lane_a_number_of_its_own():
    body = "%one = const 1 : i32\n %old = atomic add @n[], %one : i32\n store @y[%i], %old"
    n, y = np.zeros((), np.int32), np.zeros(9, np.int32)
    run_text(parallel(body, 9, "place @n : i32[] field\n place @y : i32[?] field"), {"n": n, "y": y}, lanes=4)
    assert y.tolist() == list(range(9))
    assert n == 9


def test_only_lanes_that_get_there_take_part():
    body = """
      %two = const 2 : i32
      %m = mod %i, %two : i32
      %odd = ne %m, %zero : u1
      if %odd {
        %old = atomic add @n[], %i : i32
        yield
      } else {
        yield
      }
    """
    n = np.zeros((), np.int32)
    run_text(parallel(body, 10, "place @n : i32[] field"), {"n": n})
    assert n == 1 + 3 + 5 + 7 + 9


def test_compare_and_swap_takes_the_expected_value_first():
    body = "%seven = const 7 : i32\n %old = atomic cas @n[], %zero, %seven : i32\n store @y[%i], %old"
    n, y = np.zeros((), np.int32), np.zeros(3, np.int32)
    run_text(parallel(body, 3, "place @n : i32[] field\n place @y : i32[?] field"), {"n": n, "y": y})
    assert (n, y.tolist()) == (7, [0, 7, 7])


@pytest.mark.parametrize("to", [f16, f32], ids=str)
@pytest.mark.parametrize("kind", ["min", "max"])
def test_of_equal_numbers_and_of_numbers_and_nan_the_one_the_rule_names_stays(kind, to):
    meaning = ATOMICS[kind].meaning
    old = np.array([0.0, -0.0, float("nan"), 1.0], to.numpy)
    new = np.array([-0.0, 0.0, 2.0, float("nan")], to.numpy)
    with np.errstate(all="ignore"):
        stays = meaning(to, old, new)
    assert same_bits(stays, np.array([-0.0, 0.0, 2.0, 1.0], to.numpy))


@pytest.mark.parametrize(("kind", "to"), PAIRS, ids=lambda p: getattr(p, "name", None))
def test_an_element_keeps_its_type(kind, to):
    element = np.ones(2, to.numpy)
    assert kind.meaning(to, element, *[element] * kind.operands).dtype == to.numpy
