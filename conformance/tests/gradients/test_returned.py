"""Returned numbers on the host: what they remember, for how long, and where their adjoints go.

Rules: grad.returned, grad.linked, grad.unlinked
"""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd
from adstack.values.linked import Linked


class World:
    """A field of two numbers, a loss, and a kernel that returns one of the numbers."""

    def __init__(self) -> None:
        self.x = qd.field(qd.f64, shape=2, needs_grad=True, needs_dual=True)
        self.loss = qd.field(qd.f64, shape=(), needs_grad=True, needs_dual=True)
        x = self.x

        @qd.kernel
        def get(n: qd.i32) -> qd.f64:
            return x[n]

        @qd.kernel
        def work(n: qd.i32) -> qd.f64:
            v = x[0]
            done = 0
            while done < n:
                v = qd.sin(v)
                done += 1
            return v

        self.get, self.work = get, work


def test_numbers_look_like_floats_and_end_with_their_tape(arch: str) -> None:
    world = World()
    world.x.from_numpy(np.array([0.5, 2.0]))
    with qd.ad.Tape(world.loss):
        v = world.get(1)
        assert isinstance(v, float)
        assert (f"{v:.2f}", str(v), repr(v), v == 2.0, v > 1, int(v)) == ("2.00", "2.0", "2.0", True, True, 2)
        assert type(float(v)) is float
        assert type(pickle.loads(pickle.dumps(v))) is float
        assert copy.deepcopy([v])[0] is v
        assert np.float64(v) == np.asarray([v])[0] == 2.0
        assert (np.array([1.0, 2.0]) * v).tolist() == [2.0, 4.0]
        world.loss[None] = sum([v, v], 0) + np.float64(3.0) * v
    assert world.x.grad.to_numpy().tolist() == [0.0, 5.0]
    assert type(v * 2) is float
    with qd.ad.Tape(world.loss):
        world.loss[None] = v * world.get(0)
    assert world.x.grad.to_numpy().tolist() == [2.0, 0.0]


def test_outside_of_a_tape_there_are_plain_floats(arch: str) -> None:
    world = World()
    assert type(world.get(0)) is float
    assert type(world.x[0]) is float


def test_numbers_that_are_kept_do_not_keep_what_the_tape_recorded(arch: str) -> None:
    world = World()
    tape = qd.ad.Tape(world.loss)
    with tape:
        losses = [world.get(0) * world.x[1]]
        world.loss[None] = losses[0]
    gone = weakref.ref(tape)
    del tape
    gc.collect()
    assert gone() is None
    assert losses == [0.0]


def test_the_gradient_may_be_asked_for_again(arch: str) -> None:
    world = World()
    tape = qd.ad.Tape(world.loss)
    with tape:
        world.loss[None] = 3.0 * world.get(0)
    tape.grad()
    assert world.x.grad.to_numpy().tolist() == [6.0, 0.0]


def test_an_element_that_is_read_after_it_was_written(arch: str) -> None:
    world = World()
    with qd.ad.Tape(world.loss):
        world.x[0] = 2.0
        first = world.x[0]
        world.x[0] = 5.0
        world.loss[None] = first * world.x[0] + world.get(1)
    assert world.loss[None] == 10.0
    assert world.x.grad.to_numpy().tolist() == [7.0, 1.0]


def test_the_tangent_of_what_is_returned(arch: str) -> None:
    world = World()
    world.x.from_numpy(np.array([0.5, 2.0]))
    with qd.ad.FwdMode(loss=world.loss, param=world.x, seed=[1.0, 3.0]):
        v = world.get(1)
        assert (v, v.dual, (v * v).dual) == (2.0, 3.0, 12.0)


def test_an_argument_in_forward_mode_that_is_not_constant(arch: str) -> None:
    world = World()
    loss, x = world.loss, world.x

    @qd.kernel
    def scale(a: qd.f64):
        loss[None] = a * x[0]

    with (
        pytest.raises(qd.AdstackRuntimeError, match=r"has a dual of 1\.0, and scalar arguments are constants"),
        qd.ad.FwdMode(loss=loss, param=x, seed=[1.0, 0.0]),
    ):
        scale(world.get(0))
    with qd.ad.FwdMode(loss=loss, param=x, seed=[1.0, 0.0]):
        scale(world.get(1))


def test_linked_stores_are_not_for_grad_check(arch: str) -> None:
    world = World()
    with (
        pytest.raises(qd.AdstackRuntimeError, match="grad_check can't repeat"),
        qd.ad.Tape(world.loss, grad_check=[world.x]),
    ):
        world.loss[None] = world.get(0)


def test_gradients_that_are_there_already_are_propagated_without_a_loss(arch: str) -> None:
    world = World()
    y = qd.field(qd.f64, shape=(), needs_grad=True)
    x = world.x

    @qd.kernel
    def other():
        y[None] = 2.0 * x[0]

    y.grad[None] = 1.0
    with qd.ad.Tape(world.loss, clear_gradients=False):
        other()
    assert x.grad[0] == 2.0
    with pytest.raises(qd.AdstackRuntimeError, match="computes its loss"), qd.ad.Tape(world.loss):
        other()


def test_seeds_in_a_graph_and_in_a_report(arch: str) -> None:
    world = World()
    world.x.from_numpy(np.array([0.5, 2.0]))
    with qd.graph() as g:
        world.work.grad(3, seed=2.0)
    world.work(3)
    g.launch()
    g.launch()
    slope = np.cos(0.5) * np.cos(np.sin(0.5)) * np.cos(np.sin(np.sin(0.5)))
    assert abs(world.x.grad[0] - 4 * slope) <= 32 * np.finfo(np.float64).eps
    assert [row.used for row in world.work.grad.adstack_report(3, seed=2.0, use=True).rows] == [3]


def test_shortcuts_do_not_lose_the_seed(arch: str) -> None:
    world = World()
    for _ in range(3):
        world.get.grad(0)
        world.get.grad(1, seed=2.0)
    assert world.x.grad.to_numpy().tolist() == [3.0, 6.0]


OPERATORS = ("add", "sub", "mul", "div", "neg", "abs", "sin", "exp", "max", "numpy sin", "mod", "pow")


def computed(op: str, a: Any, b: Any) -> Any:
    return {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "div": lambda: a / (2.0 + b * b),
        "neg": lambda: -a,
        "abs": lambda: abs(a),
        "sin": lambda: qd.sin(a),
        "exp": lambda: qd.exp(-abs(a)),
        "max": lambda: max(a, b),
        "numpy sin": lambda: np.sin(a),
        "mod": lambda: a % 1.75,
        "pow": lambda: (1.0 + abs(a)) ** 0.5,
    }[op]()


@given(
    st.lists(st.tuples(st.sampled_from(OPERATORS), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12),
    st.lists(st.floats(-2, 2, width=16), min_size=2, max_size=2),
)
@settings(max_examples=25, deadline=None)
def test_reverse_mode_through_the_host_is_forward_mode_transposed(steps: Any, values: list[float]) -> None:
    """Values are those of plain floats, to the bit; gradients agree up to the rounding of so many steps."""
    qd.init(arch="reference", default_fp=qd.f64)
    world = World()

    def program(a: Any, b: Any) -> Any:
        terms = [a, b]
        for op, i, j in steps:
            terms.append(computed(op, terms[i % len(terms)], terms[j % len(terms)]))
        return sum(terms[2:])

    world.x.from_numpy(np.array(values))
    with qd.ad.Tape(world.loss):
        world.loss[None] = program(world.get(0), world.get(1))
    assert world.loss[None] == program(*values)
    gradients = world.x.grad.to_numpy()
    for k in range(2):
        with qd.ad.FwdMode(loss=world.loss, param=world.x, seed=np.eye(2)[k].tolist()):
            result = program(world.get(0), world.get(1))
        assert isinstance(result, Linked)
        assert abs(result.dual - gradients[k]) <= 1e3 * np.finfo(np.float64).eps * max(1.0, np.abs(gradients).max())
