"""Steps of scalar ops: constants, everything that has a meaning in the table, extents, random numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir import ops
from ..ir.scalar_ops import CONST
from ..ir.structure import Op
from .failures import trapped
from .frame import Frame
from .philox import draw
from .prepare import Scope, Step, evaluated, rule


@rule(CONST)
def constant(op: Op, scope: Scope) -> None:
    """Nothing to do when running: constants stand in the values that every frame starts with."""
    value = np.array([op.attrs["value"]], op.attrs["to"].numpy)
    value.flags.writeable = False
    scope.define(op.result, value)


@evaluated
def meaning(op: Op, scope: Scope) -> Step:
    """A pure op: the row's meaning, on as many lanes as its operands have; its trap first, in debug mode."""
    step = ARITIES[len(op.operands)](op, scope)
    if op.opdef.trap is None or not scope.debug:
        return step
    trap, operands = op.opdef.trap, scope.slots(op.operands)

    def checked(frame: Frame) -> None:
        bad = trap.when(*(frame.values[slot] for slot in operands))
        if bad.any():
            raise trapped(trap.message, frame, int(np.argmax(frame.spread(bad))), op.loc)
        step(frame)

    return checked


def unary(op: Op, scope: Scope) -> Step:
    """A step for an operation of one operand."""
    (a,) = scope.slots(op.operands)
    evaluate, to, out = op.opdef.meaning, op.result.dtype, scope.define(op.result)
    assert evaluate is not None

    def step(frame: Frame) -> None:
        values = frame.values
        values[out] = evaluate(to, values[a])

    return step


def binary(op: Op, scope: Scope) -> Step:
    """A step for an operation of two operands."""
    a, b = scope.slots(op.operands)
    evaluate, to, out = op.opdef.meaning, op.result.dtype, scope.define(op.result)
    assert evaluate is not None

    def step(frame: Frame) -> None:
        values = frame.values
        values[out] = evaluate(to, values[a], values[b])

    return step


def ternary(op: Op, scope: Scope) -> Step:
    """A step for an operation of three operands."""
    a, b, c = scope.slots(op.operands)
    evaluate, to, out = op.opdef.meaning, op.result.dtype, scope.define(op.result)
    assert evaluate is not None

    def step(frame: Frame) -> None:
        values = frame.values
        values[out] = evaluate(to, values[a], values[b], values[c])

    return step


ARITIES: dict[int, Callable[[Op, Scope], Step]] = {1: unary, 2: binary, 3: ternary}


@rule(ops.SHAPE)
def shape(op: Op, scope: Scope) -> Step:
    """An extent of a place, known once its buffer is."""
    place, axis, to, out = scope.place(op), op.attrs["axis"], op.attrs["to"], scope.define(op.result)

    def step(frame: Frame) -> None:
        frame.values[out] = np.array([to(frame.launch.memory[place].extents[axis])], to.numpy)

    return step


@rule(ops.RANDOM)
def random(op: Op, scope: Scope) -> Step:
    """The next number of each lane's own stream."""
    to, out = op.attrs["to"], scope.define(op.result)

    def step(frame: Frame) -> None:
        launch, team, lanes = frame.launch, frame.team, frame.lanes
        number = team.draws[lanes]
        team.draws[lanes] = number + np.uint64(1)
        iteration = lanes.astype(np.uint64) + np.uint64(team.first)
        options = launch.options
        frame.values[out] = draw(to, options.seed, options.launch, launch.section, iteration, number)

    return step
