"""The adstack machine against a model in plain Python."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adstack.interpreter.stacks import Stack
from adstack.ir.location import UNKNOWN
from adstack.ir.types import ALL, FLOATS, DType, f32


class Model:
    """One stack, as the table of the specification has it."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.count = capacity, 0
        self.primal, self.adjoint = [0.0] * max(capacity, 1), [0.0] * max(capacity, 1)

    @property
    def top(self) -> int:
        return max(min(self.count, self.capacity), 1) - 1

    def push(self, value: float) -> bool:
        fits = self.count < self.capacity
        if fits:
            self.primal[self.count], self.adjoint[self.count] = value, 0.0
        self.count += 1
        return fits

    def pop(self) -> bool:
        empty = self.count == 0
        self.count = max(self.count - 1, 0)
        return empty

    def add(self, value: float) -> None:
        if self.capacity:
            self.adjoint[self.top] += value


def check(stack: Stack, models: list[Model]) -> None:
    lanes = np.arange(len(models))
    assert stack.count.tolist() == [model.count for model in models]
    assert stack.load_top(lanes).tolist() == [model.primal[model.top] for model in models]
    assert stack.load_top_adj(lanes).tolist() == [model.adjoint[model.top] for model in models]


def fresh(capacities: list[int], dtype: DType = f32) -> tuple[Stack, list[Model]]:
    stack = Stack(dtype, len(capacities), UNKNOWN)
    stack.capacity[:] = capacities
    return stack, [Model(capacity) for capacity in capacities]


def act(stack: Stack, models: list[Model], action: str, lanes: list[int], value: int) -> None:
    """One action on some lanes of both; what they report must agree."""
    at, values = np.array(lanes), np.array([value + lane for lane in lanes], np.float32)
    chosen = [models[lane] for lane in lanes]
    if action == "push":
        fitted = [model.push(float(v)) for model, v in zip(chosen, values, strict=True)]
        assert stack.push(at, values) == all(fitted)
    elif action == "pop":
        assert stack.pop(at).tolist() == [model.pop() for model in chosen]
    else:
        for model, v in zip(chosen, values, strict=True):
            model.add(float(v))
        stack.acc_adjoint(at, values)


@pytest.mark.parametrize("capacity", [0, 1, 2, 3])
def test_every_sequence_of_five_actions_agrees_with_the_model(capacity):
    for actions in itertools.product(("push", "pop", "add"), repeat=5):
        stack, models = fresh([capacity])
        for value, action in enumerate(actions, 1):
            act(stack, models, action, [0], value)
            check(stack, models)


ACTIONS = st.tuples(
    st.sampled_from(["push", "push", "pop", "add"]), st.sets(st.integers(0, 3), min_size=1), st.integers(-9, 9)
)


@given(st.lists(st.integers(0, 12), min_size=4, max_size=4), st.lists(ACTIONS, max_size=40))
def test_lanes_with_capacities_of_their_own_agree_with_the_model(capacities, actions):
    stack, models = fresh(capacities)
    for action, lanes, value in actions:
        act(stack, models, action, sorted(lanes), value)
        check(stack, models)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_stack_gives_back_what_was_pushed_in_its_own_type(dtype):
    stack, _ = fresh([5, 5], dtype)
    lanes, pushed = np.arange(2), [np.array([n, n + 1], dtype.numpy) for n in range(4)]
    for values in pushed:
        stack.push(lanes, values)
    for values in reversed(pushed):
        top: Any = stack.load_top(lanes)
        assert top.dtype == dtype.numpy
        assert top.tolist() == values.tolist()
        stack.pop(lanes)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_adjoints_round_in_the_type_of_the_stack(dtype):
    stack, _ = fresh([2], dtype)
    lane, one = np.arange(1), np.ones(1, dtype.numpy)
    big = np.array([2 / np.finfo(dtype.numpy).eps], dtype.numpy)
    stack.push(lane, one)
    stack.acc_adjoint(lane, big)
    stack.acc_adjoint(lane, one)
    assert stack.load_top_adj(lane) == big


def test_a_large_capacity_costs_nothing_until_it_is_used():
    stack = Stack(f32, 1000, UNKNOWN)
    stack.capacity[:] = 2**62
    stack.push(np.arange(1000), np.ones(1000, np.float32))
    assert stack.primal.shape[0] <= 2


def test_slots_are_no_more_than_the_capacity_allows():
    stack, lanes = Stack(f32, 2, UNKNOWN), np.arange(2)
    stack.capacity[:] = (9, 5)
    for depth in range(9):
        stack.put(lanes, np.full(2, depth), np.ones(2, np.float32))
    assert stack.primal.shape == (9, 2)
