"""Steps that touch memory inside a thread: local arrays and adstacks."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..errors import InternalError
from ..ir import ops
from ..ir.structure import Op
from ..ir.texts import local_array
from .failures import out_of_bounds, trapped
from .frame import Frame
from .lanes import Array
from .memory import chosen, within
from .prepare import Scope, Step, rule
from .stacks import Stack

LARGE: Final = 2**62


@rule(ops.ARRAY_ALLOC)
def array_alloc(op: Op, scope: Scope) -> Step:
    """A zeroed array per lane."""
    dtype, length, out = op.attrs["dtype"], op.attrs["length"], scope.define(op.result)

    def step(frame: Frame) -> None:
        frame.values[out] = np.zeros((frame.team.size, length), dtype.numpy)

    return step


def element(frame: Frame, array: Array, index: Array, op: Op) -> tuple[Array, Array, Array | None]:
    """Where each lane's element is, of the lanes at some positions if the others are outside: an error, at once or, if
    the access is guarded, when the launch is over.
    """
    length = array.shape[1]
    ok = within([index], (length,), frame)
    if ok is None:
        return frame.lanes, index.astype(np.intp), None
    error = out_of_bounds(local_array(op.operands[0].name), [index], (length,), frame, op.loc)
    if "guarded" not in op.attrs:
        raise error
    frame.launch.failed(error)
    some = np.flatnonzero(ok)
    return frame.lanes[some], chosen(index, some).astype(np.intp), some


@rule(ops.ARRAY_LOAD)
def array_load(op: Op, scope: Scope) -> Step:
    """Read an element of each lane's array."""
    array, index = scope.slots(op.operands)
    out = scope.define(op.result)

    def step(frame: Frame) -> None:
        values = frame.values
        lanes, at, some = element(frame, values[array], values[index], op)
        read = values[array][lanes, at]
        if some is not None:
            every_lane = np.zeros(frame.count, read.dtype)
            every_lane[some] = read
            read = every_lane
        values[out] = read

    return step


@rule(ops.ARRAY_STORE)
def array_store(op: Op, scope: Scope) -> Step:
    """Write an element of each lane's array."""
    array, index, value = scope.slots(op.operands)

    def step(frame: Frame) -> None:
        values = frame.values
        lanes, at, some = element(frame, values[array], values[index], op)
        values[array][lanes, at] = values[value] if some is None else chosen(values[value], some)

    return step


@rule(ops.STACK_ALLOCA)
def stack_alloca(op: Op, scope: Scope) -> Step:
    """An empty adstack per lane."""
    (capacity,) = scope.slots(op.operands)
    dtype, out = op.attrs["dtype"], scope.define(op.result)

    def step(frame: Frame) -> None:
        stack = Stack(dtype, frame.team.size, op.loc, op)
        # a capacity of u64 may be past what a count reaches; a negative one is none
        room = frame.values[capacity]
        stack.capacity[frame.lanes] = np.where(room > 0, np.minimum(room.astype(np.uint64), np.uint64(LARGE)), 0)
        frame.values[out] = stack

    return step


@rule(ops.STACK_CLAIM)
def stack_claim(op: Op, scope: Scope) -> Step:
    """Who may touch slots, of how many at most: memory is there for no more."""
    needed, count = scope.slots(op.operands)

    def step(frame: Frame) -> None:
        claims = frame.team.claims = np.zeros(frame.team.size, np.bool_)
        claims[frame.lanes] = frame.values[needed]
        frame.launch.claims += int(np.count_nonzero(claims))
        if frame.launch.claims > frame.values[count].max():
            raise InternalError(f"more iterations of {frame.launch.task} need slots than were counted", loc=op.loc)

    return step


@rule(ops.STACK_PUSH)
def stack_push(op: Op, scope: Scope) -> Step:
    """Push; where it does not fit, note how deep the stack should have been."""
    stack, value = scope.slots(op.operands)

    def step(frame: Frame) -> None:
        machine: Stack = frame.values[stack]
        if not machine.push(frame.lanes, frame.spread(frame.values[value])):
            frame.launch.overflowed(machine, frame.lanes)

    return step


@rule(ops.STACK_PUT)
def stack_put(op: Op, scope: Scope) -> Step:
    """Write the slot at an index; where there is none, note how deep the stack should have been."""
    stack, index, value = scope.slots(op.operands)

    def step(frame: Frame) -> None:
        machine: Stack = frame.values[stack]
        if frame.team.claims is not None and not frame.team.claims[frame.lanes].all():
            raise InternalError(f"an iteration of {frame.launch.task} pushes that claimed no slots", loc=op.loc)
        at, what = frame.spread(frame.values[index]), frame.spread(frame.values[value])
        if not machine.put(frame.lanes, at, what):
            frame.launch.overflowed(machine, frame.lanes)
        if frame.launch.options.used is not None:
            frame.launch.note_use(machine)

    return step


@rule(ops.STACK_GET)
def stack_get(op: Op, scope: Scope) -> Step:
    """The primal of the slot at an index."""
    stack, index = scope.slots(op.operands)
    out = scope.define(op.result)

    def step(frame: Frame) -> None:
        machine: Stack = frame.values[stack]
        frame.values[out] = machine.get(frame.lanes, frame.spread(frame.values[index]))

    return step


@rule(ops.STACK_POP)
def stack_pop(op: Op, scope: Scope) -> Step:
    """Drop the top. Popping an empty stack does nothing, and is an error in debug mode."""
    (stack,) = scope.slots(op.operands)
    debug = scope.debug

    def step(frame: Frame) -> None:
        machine: Stack = frame.values[stack]
        empty = machine.pop(frame.lanes)
        if debug and empty.any():
            raise trapped("Adstack underflow: pop of an empty stack", frame, int(np.argmax(empty)), op.loc)

    return step


@rule(ops.STACK_LOAD_TOP)
def stack_load_top(op: Op, scope: Scope) -> Step:
    """The primal of the top."""
    (stack,) = scope.slots(op.operands)
    out = scope.define(op.result)

    def step(frame: Frame) -> None:
        frame.values[out] = frame.values[stack].load_top(frame.lanes)

    return step


@rule(ops.STACK_LOAD_TOP_ADJ)
def stack_load_top_adj(op: Op, scope: Scope) -> Step:
    """The adjoint of the top."""
    (stack,) = scope.slots(op.operands)
    out = scope.define(op.result)

    def step(frame: Frame) -> None:
        frame.values[out] = frame.values[stack].load_top_adj(frame.lanes)

    return step


@rule(ops.STACK_ACC_ADJOINT)
def stack_acc_adjoint(op: Op, scope: Scope) -> Step:
    """Add to the adjoint of the top."""
    stack, value = scope.slots(op.operands)

    def step(frame: Frame) -> None:
        frame.values[stack].acc_adjoint(frame.lanes, frame.spread(frame.values[value]))

    return step
