"""Steps that touch places: bounds are always checked, before anything is changed.

An access that is guarded goes on without the lanes that are outside, and lets the launch raise when it is over.
"""

from __future__ import annotations

import numpy as np

from ..ir import ops
from ..ir.location import Loc
from ..ir.structure import Op
from .atomics import combine
from .failures import out_of_bounds
from .frame import Frame
from .lanes import Array, Memory
from .ordered import is_ordered
from .prepare import Scope, Step, rule
from .races import Access


def address(memory: Memory, indices: list[Array], frame: Frame, loc: Loc) -> Array:
    """Each lane's position in `memory.flat`; a single one if all lanes agree."""
    flat = np.zeros(1, np.intp)
    for index, extent in zip(indices, memory.extents, strict=True):
        if not inside(index, extent):
            raise out_of_bounds(memory.place.called, indices, memory.extents, frame, loc)
        flat = flat * extent + index.astype(np.intp)
    return flat


def inside(index: Array, extent: int) -> bool:
    """Whether every index lies in [0, extent)."""
    if len(index) == 1:
        return bool(0 <= index.item() < extent)
    # a negative index is huge when read as unsigned
    return bool(index.astype(np.uint64).max() < extent)


def within(indices: list[Array], extents: tuple[int, ...], frame: Frame) -> Array | None:
    """Which lanes are inside; None if all of them are."""
    if all(map(inside, indices, extents)):
        return None
    ok = np.ones(frame.count, np.bool_)
    for index, extent in zip(indices, extents, strict=True):
        ok &= frame.spread(index).astype(np.uint64) < extent
    return ok


def kept(memory: Memory, indices: list[Array], frame: Frame, loc: Loc, guarded: tuple[int, ...]) -> Array | None:
    """The positions of the lanes that an access goes on with, if some are outside on the guarded axes; None if it goes
    on with all.
    """
    ok = within([indices[k] for k in guarded], tuple(memory.extents[k] for k in guarded), frame)
    if ok is None:
        return None
    frame.launch.failed(out_of_bounds(memory.place.called, indices, memory.extents, frame, loc))
    return np.flatnonzero(ok)


def chosen(value: Array, positions: Array) -> Array:
    """The elements of some lanes."""
    return value if len(value) == 1 and len(positions) else value[positions]


def observe(frame: Frame, place: int, at: Array, access: Access, loc: Loc) -> None:
    """Tell the race detector, in a parallel loop of debug mode."""
    races, memory = frame.launch.races, frame.launch.memory[place]
    if races is not None and not memory.place.relaxed:
        races.observe(memory, frame.spread(at), access, frame.lanes + frame.team.first, loc)


@rule(ops.LOAD)
def load(op: Op, scope: Scope) -> Step:
    """Read an element."""
    place, indices, debug = scope.place(op), scope.slots(op.operands), scope.debug
    out, guarded = scope.define(op.result), op.attrs.get("guarded", ())

    def step(frame: Frame) -> None:
        values, memory = frame.values, frame.launch.memory[place]
        index = [values[slot] for slot in indices]
        some = kept(memory, index, frame, op.loc, guarded)
        if some is not None:
            values[out] = np.zeros(frame.count, memory.flat.dtype)
            if len(some):
                values[out][some] = memory.flat[address(memory, [chosen(i, some) for i in index], frame, op.loc)]
            return
        at = address(memory, index, frame, op.loc)
        if debug:
            observe(frame, place, at, Access.READ, op.loc)
        values[out] = memory.flat[at]

    return step


@rule(ops.STORE)
def store(op: Op, scope: Scope) -> Step:
    """Write an element. Lanes that write one element do it in lane order: the last one stays."""
    place, debug, guarded = scope.place(op), scope.debug, op.attrs.get("guarded", ())
    *indices, value = scope.slots(op.operands)

    def step(frame: Frame) -> None:
        values, memory = frame.values, frame.launch.memory[place]
        index, new = [values[slot] for slot in indices], values[value]
        some = kept(memory, index, frame, op.loc, guarded)
        if some is not None:
            index, new = [chosen(i, some) for i in index], chosen(new, some)
        if some is not None and not len(some):
            return
        at = address(memory, index, frame, op.loc)
        if debug:
            observe(frame, place, at, Access.WRITE, op.loc)
        memory.flat[at] = new if len(at) == len(new) or len(new) == 1 else new[-1:]

    return step


@rule(ops.ATOMIC)
def atomic(op: Op, scope: Scope) -> Step:
    """Combine each lane's operand with an element, in lane order; the result is what the lane found there."""
    place, debug, rank = scope.place(op), scope.debug, op.attrs["place"].rank
    slots, kind, wanted = scope.slots(op.operands), op.attrs["kind"], bool(op.result.uses)
    indices, operands, to = slots[:rank], slots[rank:], op.result.dtype
    out, guarded = scope.define(op.result), op.attrs.get("guarded", ())
    ordered = is_ordered(op)

    def step(frame: Frame) -> None:
        values, memory = frame.values, frame.launch.memory[place]
        index = [values[slot] for slot in indices]
        some = kept(memory, index, frame, op.loc, guarded)
        postponed = frame.launch.postponed if ordered else None
        if postponed is not None:
            lanes = np.arange(frame.count) if some is None else some
            if len(lanes):
                at = address(memory, index if some is None else [chosen(i, some) for i in index], frame, op.loc)
                (operand,) = (frame.spread(values[slot])[lanes] for slot in operands)
                postponed.add(place, frame.lanes[lanes], np.broadcast_to(at, lanes.shape), operand)
            return
        if some is not None:
            old = np.zeros(frame.count, to.numpy)
            if len(some):
                at = np.broadcast_to(address(memory, [chosen(i, some) for i in index], frame, op.loc), some.shape)
                changes = [frame.spread(values[slot])[some] for slot in operands]
                before = combine(kind, to, memory.flat, at, changes, wanted)
                old[some] = 0 if before is None else before
            values[out] = old
            return
        at = frame.spread(address(memory, index, frame, op.loc))
        if debug:
            observe(frame, place, at, Access.ATOMIC, op.loc)
        values[out] = combine(kind, to, memory.flat, at, [frame.spread(values[slot]) for slot in operands], wanted)

    return step
