"""A derived kernel for several directions at once: `in_lanes(kernel, lanes, own) -> Kernel`.

Requires: a verified kernel, before its adstacks are sized, in which nothing that stores to memory outside of `own`.
Ensures: what the kernel does, once for each lane, each on memory of its own: lane 0 on the places that `own` names, the
others on those that `in_lane` gives for them. Every other place is read by all. Ops outside of parallel loops come lane
after lane; a parallel loop stays one, each of whose iterations does what it did lane after lane. So nobody waits for
more than before, what lanes have in common is computed once as far as the simplification sees it, and what is computed
for a lane is to the bit what the kernel computes for it alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..ir.ops import PARALLEL_FOR
from ..ir.structure import Kernel, Op, Region, Value
from ..transforms.rewriting.rewrite import clone_op
from .places import in_lane

__all__ = ["in_lanes"]


def in_lanes(kernel: Kernel, lanes: int, own: Collection[str]) -> Kernel:
    """The kernel for so many lanes; `own` names the places of which each lane has one."""
    params = [Value(v.type, v.name) for v in kernel.body.args]
    names = [dict(zip(kernel.body.args, params, strict=True)) for _ in range(lanes)]
    body = Region(params)
    for op in kernel.body.ops[:-1]:
        body.ops += [_together(op, names, own)] if op.opdef is PARALLEL_FOR else _in_turn([op], names, own)
    body.ops.append(clone_op(kernel.body.ops[-1], names[0]))
    more = [in_lane(kernel.places[name], lane) for name in own if name in kernel.places for lane in range(1, lanes)]
    return replace(kernel, body=body, places={**kernel.places, **{place.name: place for place in more}})


def _in_turn(ops: list[Op], names: list[dict[Value, Value]], own: Collection[str]) -> list[Op]:
    """All of the ops for the first lane, then for the next; `names` says what stands for a value in each lane."""
    every: list[Op] = []
    for lane, renamed in enumerate(names):
        copies = [clone_op(op, renamed) for op in ops]
        for op in Region(ops=copies).walk():
            place = op.attrs.get("place")
            if place is not None and place.name in own:
                op.attrs["place"] = in_lane(place, lane)
        every += copies
    return every


def _together(op: Op, names: list[dict[Value, Value]], own: Collection[str]) -> Op:
    """A parallel loop: its bounds depend on no direction."""
    (source,) = op.regions
    args = [Value(v.type, v.name) for v in source.args]
    inside = [{**renamed, **dict(zip(source.args, args, strict=True))} for renamed in names]
    body = Region(args, _in_turn(source.ops[:-1], inside, own))
    body.ops.append(clone_op(source.ops[-1], inside[0]))
    return Op(op.opdef, [names[0].get(v, v) for v in op.operands], dict(op.attrs), [], [body], op.loc)
