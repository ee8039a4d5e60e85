"""Gradients that the user writes, constants, and stop_grad."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("arch")


class World:
    """x -> y -> loss."""

    def __init__(self) -> None:
        x = self.x = qd.field(qd.f64, shape=3, needs_grad=True)
        y = self.y = qd.field(qd.f64, shape=3, needs_grad=True)
        loss = self.loss = qd.field(qd.f64, shape=(), needs_grad=True)
        x.from_numpy(np.array([1.0, 2.0, 3.0]))

        @qd.kernel
        def copy(a: qd.f64):
            for i in x:
                y[i] = a * x[i]

        @qd.kernel
        def squares():
            for i in y:
                loss[None] += y[i] * y[i]

        self.copy, self.squares = copy, squares


def test_a_function_has_the_gradient_that_the_user_writes() -> None:
    world, seen = World(), []

    @qd.ad.grad_replaced
    def forward(a: float, b: float = 1.0) -> str:
        world.copy(a * b)
        return "done"

    @qd.ad.grad_for(forward)
    def backward(a: float, b: float = 1.0) -> None:
        seen.append((a, b))
        for i in range(3):
            world.x.grad[i] = 10 * world.y.grad[i]

    with qd.ad.Tape(world.loss) as tape:
        assert forward(2.0, b=3.0) == "done"
        world.squares()
    assert seen == [(2.0, 3.0)]
    assert world.x.grad.to_numpy().tolist() == [120.0, 240.0, 360.0]
    assert tape.calls[0] == (forward, (2.0,))
    assert forward(1.0) == "done"


def test_methods_may_have_such_gradients() -> None:
    world = World()

    class Model:
        factor = 2.0

        @qd.ad.grad_replaced
        def run(self) -> None:
            world.copy(self.factor)

        @qd.ad.grad_for(run)
        def run_grad(self) -> None:
            world.copy.grad(self.factor * 100)

    model = Model()
    with qd.ad.Tape(world.loss):
        model.run()
        world.squares()
    assert world.x.grad.to_numpy().tolist() == [800.0, 1600.0, 2400.0]


def test_memory_is_wound_back_for_such_gradients() -> None:
    world, seen = World(), []

    @qd.ad.grad_replaced
    def forward() -> None:
        world.copy(1.0)

    @qd.ad.grad_for(forward)
    def backward() -> None:
        seen.append(world.y.to_numpy().tolist())

    with qd.ad.Tape(world.loss):
        forward()
        world.copy(5.0)
        world.squares()
    assert seen == [[1.0, 2.0, 3.0]]
    assert world.y.to_numpy().tolist() == [5.0, 10.0, 15.0]


def test_grad_for_takes_only_such_functions() -> None:
    with pytest.raises(TypeError, match="grad_for takes a function under @grad_replaced"):
        qd.ad.grad_for(len)


def test_grad_for_takes_no_kernel_and_says_what_to_do() -> None:
    @qd.kernel
    def k() -> None:
        pass

    for primal in (k, qd.ad.no_grad(lambda: None)):
        with pytest.raises(qd.AdstackRuntimeTypeError, match=r"(?s)got <.*of a kernel, a Python function"):
            qd.ad.grad_for(primal)


def test_launches_under_no_grad_are_constants() -> None:
    world = World()

    @qd.ad.no_grad
    def reset() -> None:
        world.copy(7.0)

    with qd.ad.Tape(world.loss) as tape:
        world.copy(1.0)
        world.squares()
        reset()
        world.squares()
    # the second squares sees what was made by a constant
    assert world.x.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]
    assert world.y.grad.to_numpy().tolist() == [0.0] * 3
    assert [call[0] for call in tape.calls] == [world.copy, world.squares, world.squares]
    reset()


def test_clear_all_gradients_leaves_the_rest() -> None:
    world = World()
    world.x.grad.fill(3.0)
    world.loss.grad[None] = 2.0
    qd.ad.clear_all_gradients()
    assert world.x.grad.to_numpy().tolist() == [0.0] * 3
    assert world.loss.grad[None] == 0.0
    assert world.x[2] == 3.0


def gradients(kernel: Any, world: World, weights: Any) -> Any:
    with qd.ad.Tape(world.loss):
        kernel()
    return world.x.grad.to_numpy().tolist(), weights.grad.to_numpy().tolist()


def test_stop_grad_holds_for_its_loop_wherever_it_stands() -> None:
    world, w = World(), qd.field(qd.f64, shape=3, needs_grad=True)
    x, loss = world.x, world.loss
    w.fill(2.0)

    @qd.kernel
    def last():
        for i in x:
            loss[None] += x[i] * w[i]
            qd.stop_grad(x)
        for i in x:
            loss[None] += x[i]

    @qd.kernel
    def above():
        qd.ad.stop_grad(x)
        for i in x:
            loss[None] += x[i] * w[i]

    @qd.kernel
    def inner():
        for i in x:
            for _ in range(2):
                qd.stop_grad(x, w)
                loss[None] += x[i] * w[i]
            loss[None] += 3.0 * x[i]

    assert gradients(last, world, w) == ([1.0] * 3, [1.0, 2.0, 3.0])
    assert gradients(above, world, w) == ([0.0] * 3, [1.0, 2.0, 3.0])
    assert gradients(inner, world, w) == ([3.0] * 3, [0.0] * 3)


def test_stop_grad_leaves_stores_and_values_alone() -> None:
    world = World()
    x, y = world.x, world.y

    @qd.kernel
    def copy():
        for i in x:
            qd.stop_grad(y)
            y[i] = 2.0 * x[i]

    with qd.ad.Tape(world.loss):
        copy()
        world.squares()
    assert world.x.grad.to_numpy().tolist() == [8.0, 16.0, 24.0]


def test_stop_grad_takes_fields_or_one_value_in_kernels() -> None:
    @qd.kernel
    def wrong():
        for i in range(2):
            qd.stop_grad(2.0 * i, 3.0)

    with pytest.raises(qd.AdstackTypeError, match="stop_grad takes fields"):
        wrong()
    with pytest.raises(qd.AdstackSyntaxError, match="only in a kernel"):
        qd.stop_grad(World().x)


@pytest.mark.parametrize("decorator", [qd.ad.no_grad, qd.ad.grad_replaced])
def test_what_does_not_run_to_its_end_when_called_can_not_be_decorated(decorator: Any) -> None:
    def steps():
        yield 1

    async def later():
        return 1

    async def several():
        yield 1

    for function in (steps, later, several):
        with pytest.raises(qd.AdstackRuntimeTypeError, match="launches nothing yet"):
            decorator(function)


@pytest.mark.parametrize("decorator", [qd.ad.grad_replaced, qd.ad.no_grad])
def test_what_can_not_be_called_is_refused_where_it_is_decorated(decorator):
    with pytest.raises(qd.AdstackRuntimeTypeError, match="decorates a function, got 3"):
        decorator(3)
