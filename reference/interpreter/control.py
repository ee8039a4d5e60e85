"""Steps of structured control: `if`, `for`, `while`, `call`, `parallel_for`.

While all lanes agree, a region runs in the frame it stands in. Where they part, each side runs in a frame of its own
lanes, and what the sides give is merged by position.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import ops
from ..ir.arithmetic import unsigned_view
from ..ir.structure import Op
from ..ir.types import DType
from .frame import Frame
from .lanes import Array, Box, Team
from .ordered import LANES, Postponed, is_ordered, postponable
from .prepare import Code, Scope, Step, rule
from .races import RaceDetector


class Merge:
    """Values of lanes that went different ways, put together by position."""

    def __init__(self, count: int, types: Sequence[DType]) -> None:
        self.values: list[Array] = [np.zeros(count, to.numpy) for to in types]

    def put(self, at: Array, parts: Sequence[Array]) -> None:
        """Take the values of the lanes at the positions `at`, one part for each of the merged values."""
        for merged, part in zip(self.values, parts, strict=True):
            merged[at] = part


def pick(values: Sequence[Array], chosen: Array) -> list[Array]:
    """The chosen lanes' part of each value."""
    return [value if len(value) == 1 else value[chosen] for value in values]


def assign(frame: Frame, slots: Sequence[int], new: Sequence[Array]) -> None:
    """Put values into slots."""
    values = frame.values
    for slot, value in zip(slots, new, strict=True):
        values[slot] = value


def agreed(condition: Array) -> bool | None:
    """A condition that is the same in all lanes; None if lanes differ."""
    if len(condition) == 1:
        return bool(condition.item())
    if condition.all():
        return True
    return None if condition.any() else False


@rule(ops.IF)
def if_(op: Op, scope: Scope) -> Step:
    """Run the region that the condition chooses, for each lane."""
    (condition,) = scope.slots(op.operands)
    then, orelse = (scope.region(region) for region in op.regions)
    types, outs = [result.dtype for result in op.results], [scope.define(result) for result in op.results]

    def step(frame: Frame) -> None:
        choice = frame.values[condition]
        decision = agreed(choice)
        if decision is None:
            results = parted(frame, choice, then, orelse, types)
        else:
            results = (then if decision else orelse).run(frame)
        assign(frame, outs, results)

    return step


def parted(frame: Frame, choice: Array, then: Code, orelse: Code, types: Sequence[DType]) -> list[Array]:
    """Both sides of an `if`, each for its own lanes."""
    merge = Merge(frame.count, types)
    for side, chosen in ((then, choice), (orelse, ~choice)):
        lanes = np.flatnonzero(chosen)
        merge.put(lanes, side.run(frame.take(lanes, side.captured)))
    return merge.values


@rule(ops.FOR)
def for_(op: Op, scope: Scope) -> Step:
    """Run the body for each index from lo up to hi, handing on the carried values."""
    lo, hi, *inits = scope.slots(op.operands)
    body = scope.region(op.regions[0])
    index, *carried = body.args
    types, outs = [result.dtype for result in op.results], [scope.define(result) for result in op.results]

    def step(frame: Frame) -> None:
        values = frame.values
        values[index] = values[lo]
        assign(frame, carried, [values[slot] for slot in inits])
        trips = trip_counts(values[lo], values[hi])
        if len(trips) == 1:
            repeat(frame, body, int(trips.item()))
            results = [values[slot] for slot in carried]
        else:
            results = ragged(frame, body, trips, types)
        assign(frame, outs, results)

    return step


def trip_counts(lo: Array, hi: Array) -> Array:
    """How many indices lie from lo up to hi."""
    return np.where(lo < hi, unsigned_view(hi - lo), 0).astype(np.uint64)


def repeat(frame: Frame, body: Code, times: int) -> None:
    """Run a loop's body `times` times; its argument slots hold the index and carried values before and after."""
    values = frame.values
    index, *carried = body.args
    one = values[index].dtype.type(1)
    for _ in range(times):
        assign(frame, carried, body.run(frame))
        values[index] = values[index] + one


def ragged(frame: Frame, body: Code, trips: Array, types: Sequence[DType]) -> list[Array]:
    """A `for` whose lanes run different numbers of times: the lanes with the least to do leave first."""
    _, *carried = body.args
    merge, live, at, left = Merge(frame.count, types), frame, np.arange(frame.count), trips
    while True:
        least = left.min()
        repeat(live, body, int(least))
        ends, stays = np.flatnonzero(left == least), np.flatnonzero(left != least)
        merge.put(at[ends], pick([live.values[slot] for slot in carried], ends))
        if not len(stays):
            return merge.values
        live, at, left = live.take(stays, (*body.captured, *body.args)), at[stays], left[stays] - least


@rule(ops.WHILE)
def while_(op: Op, scope: Scope) -> Step:
    """Run the body as long as the condition region gives true, handing on the carried values."""
    inits = scope.slots(op.operands)
    condition, body = (scope.region(region) for region in op.regions)
    types, outs = [result.dtype for result in op.results], [scope.define(result) for result in op.results]

    def step(frame: Frame) -> None:
        assign(frame, condition.args, [frame.values[slot] for slot in inits])
        while True:
            choice, *carried = condition.run(frame)
            decision = agreed(choice)
            if decision is None:
                carried = straggling(frame, choice, carried, condition, body, types)
            if not decision:
                assign(frame, outs, carried)
                return
            assign(frame, body.args, carried)
            assign(frame, condition.args, body.run(frame))

    return step


def straggling(
    frame: Frame, choice: Array, carried: list[Array], condition: Code, body: Code, types: Sequence[DType]
) -> list[Array]:
    """The rest of a `while` from the first condition on which lanes differ: lanes leave as theirs becomes false."""
    merge, live, at = Merge(frame.count, types), frame, np.arange(frame.count)
    captured = (*condition.captured, *body.captured)
    while True:
        choice = live.spread(choice)
        ends, stays = np.flatnonzero(~choice), np.flatnonzero(choice)
        merge.put(at[ends], pick(carried, ends))
        if not len(stays):
            return merge.values
        if len(ends):
            live, at, carried = live.take(stays, captured), at[stays], pick(carried, stays)
        assign(live, body.args, carried)
        assign(live, condition.args, body.run(live))
        choice, *carried = condition.run(live)


@rule(ops.CALL)
def call(op: Op, scope: Scope) -> Step:
    """Run a function's body, which takes the operands and yields the results."""
    operands, body = scope.slots(op.operands), scope.function(op.attrs["function"].body)
    outs = [scope.define(result) for result in op.results]

    def step(frame: Frame) -> None:
        assign(frame, body.args, [frame.values[slot] for slot in operands])
        assign(frame, outs, body.run(frame))

    return step


@rule(ops.PARALLEL_FOR)
def parallel_for(op: Op, scope: Scope) -> Step:
    """Run the body for each point of the box, row-major, a chunk of lanes at a time."""
    bounds = scope.slots(op.operands)
    body = scope.region(op.regions[0])
    types = [arg.dtype for arg in op.regions[0].args]
    debug = scope.debug
    touched = {inner.attrs["place"].name for inner in op.regions[0].walk() if "place" in inner.attrs}
    ordered = any(map(is_ordered, op.regions[0].walk()))
    tiled = any(inner.attrs.get("sums") == "tiled" for inner in op.regions[0].walk())
    kinds = None if debug or not ordered else postponable(op.regions[0])

    def step(frame: Frame) -> None:
        launch = frame.launch
        launch.postponed = None if kinds is None else Postponed(kinds)
        if launch.postponed is not None and not launch.postponed.is_alone(launch.slots[0], touched):
            launch.postponed = None
        lanes = launch.lanes if not ordered else 1 if launch.postponed is None else min(LANES, launch.lanes)
        corners = [frame.values[slot].item() for slot in bounds]
        lows, highs = corners[::2], corners[1::2]
        box = Box(tuple(lows), tuple(max(hi - lo, 0) for lo, hi in zip(lows, highs, strict=True)))
        launch.section += 1
        if launch.options.ran is not None:
            launch.options.ran[launch.task] = box.size
        launch.races = RaceDetector(box, launch.slots) if debug else None
        for first, count in box.chunks(lanes, launch.options.block_rows if tiled else 0):
            team = Team(first, count, box)
            chunk = Frame(launch, team, np.arange(team.size), frame.values.copy())
            assign(chunk, body.args, box.axes(first, team.size, types))
            body.run(chunk)
            if launch.postponed is not None:
                launch.postponed.carry_out(launch.memory)
        launch.races = launch.postponed = None
        launch.section += 1
        frame.team.draws[:] = 0

    return step
