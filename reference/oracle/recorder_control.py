"""Structured control of a recorded run: which lanes go where. Lanes that part meet again in a node that they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..interpreter.control import trip_counts
from ..interpreter.lanes import Array, Box, Team
from ..ir import ops
from ..ir.structure import Op
from ..ir.types import DType
from .recorder import Recorder, handles, move, team_frame
from .trace import Lanes, Node, columns

__all__ = ["Leavers"]


class Leavers:
    """What the lanes of a frame have when they leave a branch or a loop.

    Attributes:
        nodes: what they have; made once lanes part, for before that they have what everybody has.
    """

    def __init__(self, run: Recorder, frame: Lanes, types: Sequence[DType]) -> None:
        self.run, self.frame, self.types = run, frame, types
        self.nodes: list[Node] | None = None

    def leave(self, lanes: Lanes, yielded: Sequence[Node]) -> None:
        """These lanes leave with these values."""
        if self.nodes is None and lanes.count == self.frame.count:
            self.nodes = list(yielded)
            return
        if self.nodes is None:
            self.nodes = [self._fresh(dtype) for dtype in self.types]
        for source, target in zip(yielded, self.nodes, strict=True):
            move(self.run, lanes, source, target)

    def stay(self, lanes: Lanes, staying: Array, yielded: Sequence[Node]) -> Lanes | None:
        """Let the lanes `staying` go on, in the frame returned; the others leave the loop with what they yielded."""
        if staying.all():
            return lanes
        if not staying.any():
            self.leave(lanes, yielded)
            return None
        self.leave(lanes.part(np.flatnonzero(~staying)), yielded)
        return lanes.part(np.flatnonzero(staying))

    def _fresh(self, dtype: DType) -> Node:
        return self.run.exact(dtype, np.zeros(self.frame.count, dtype.numpy), self.frame.home)


@handles(ops.IF)
def if_(run: Recorder, op: Op, frame: Lanes) -> None:
    """Each lane takes the region that its condition chooses."""
    (condition,) = columns(run.nodes(op.operands), frame)
    leavers = Leavers(run, frame, [result.dtype for result in op.results])
    for region, chosen in zip(op.regions, (condition, ~condition), strict=True):
        if chosen.any():
            lanes = frame if chosen.all() else frame.part(np.flatnonzero(chosen))
            leavers.leave(lanes, run.region(region, lanes))
    finish(run, op, leavers)


@handles(ops.FOR)
def for_(run: Recorder, op: Op, frame: Lanes) -> None:
    """The body for each index; lanes with fewer indices leave before."""
    (body,) = op.regions
    low, *carried = run.nodes([op.operands[0], *op.operands[2:]])
    first, last = columns(run.nodes(op.operands[:2]), frame)
    trips = trip_counts(first, last)
    leavers = Leavers(run, frame, [result.dtype for result in op.results])
    lanes = leavers.stay(frame, trips > 0, carried)
    index, done = first, 0
    while lanes is not None:
        mine = frame.positions(lanes.lanes)
        run.env[body.args[0]] = run.exact(low.dtype, index[mine], lanes.home)
        run.env.update(zip(body.args[1:], carried, strict=True))
        carried = run.region(body, lanes)
        index, done = index + low.dtype.numpy.type(1), done + 1
        lanes = leavers.stay(lanes, trips[mine] > done, carried)
    finish(run, op, leavers)


@handles(ops.WHILE)
def while_(run: Recorder, op: Op, frame: Lanes) -> None:
    """The body as long as the condition holds; a lane leaves with what the condition region gave it."""
    condition, body = op.regions
    carried = run.nodes(op.operands)
    leavers = Leavers(run, frame, [result.dtype for result in op.results])
    lanes: Lanes | None = frame
    while lanes is not None:
        run.env.update(zip(condition.args, carried, strict=True))
        choice, *carried = run.region(condition, lanes)
        (staying,) = columns([choice], lanes)
        lanes = leavers.stay(lanes, staying, carried)
        if lanes is not None:
            run.env.update(zip(body.args, carried, strict=True))
            carried = run.region(body, lanes)
    finish(run, op, leavers)


def finish(run: Recorder, op: Op, leavers: Leavers) -> None:
    """The results of the op are what its lanes left with."""
    run.env.update(zip(op.results, leavers.nodes or (), strict=True))


@handles(ops.PARALLEL_FOR)
def parallel_for(run: Recorder, op: Op, frame: Lanes) -> None:
    """The body for each point of the box, a chunk of lanes at a time."""
    (body,) = op.regions
    corners = [int(column.item()) for column in columns(run.nodes(op.operands), frame)]
    lows, highs = corners[::2], corners[1::2]
    box = Box(tuple(lows), tuple(max(hi - lo, 0) for lo, hi in zip(lows, highs, strict=True)))
    types = [arg.dtype for arg in body.args]
    launch = run.launch
    launch.section += 1
    for first in range(0, box.size, launch.options.lanes):
        team = Team(first, min(launch.options.lanes, box.size - first), box)
        lanes = team_frame(run, team)
        for arg, own in zip(body.args, box.axes(first, team.size, types), strict=True):
            run.env[arg] = run.exact(arg.dtype, own, lanes.home)
        run.region(body, lanes)
    launch.section += 1
    frame.team.draws[:] = 0
