"""`if`, over one lane or many.

A uniform condition branches as it would for one iteration. Where it varies, each side runs for the lanes that want it
and is jumped over if none does, and the results are selected; a short side without effects runs for every lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adstack.analysis.cold_paths import LONG, hot_side
from adstack.ir.ops import CALL, IF
from adstack.ir.structure import Op, Region, Value

from ..function.region import RegionEmitter, handles
from ..text.writer import any_of, type_text
from .outlining import call_outlined, call_outlined_per_lane

__all__: list[str] = []

_SPECULATED = 8
"""Sides of at most so many pure ops run unconditionally: a jump costs more."""


@handles(IF)
def _if(e: RegionEmitter, op: Op) -> None:
    hot = hot_side(op) if e.fast_path is not None and e.task is None else None
    if hot is not None:
        _hot_side(e, op, hot)
    elif e.is_varying(op.operands[0]):
        _divergent_if(e, op)
    else:
        _uniform_if(e, op)


def _hot_side(e: RegionEmitter, op: Op, hot: int) -> None:
    """Compute the hot side of a branch whatever its condition; a miss is recorded where it should be the other one."""
    assert e.fast_path is not None
    condition = e.scalar(op.operands[0])
    e.fast_path.misses.append(condition if hot else e.w.let(f"xor i1 {condition}, true"))
    for value, result in zip(e.region(op.regions[hot]), op.results, strict=True):
        e.bind(result, e.at(value, e.width(result)))


def _uniform_if(e: RegionEmitter, op: Op) -> None:
    then, orelse, after = e.label("then"), e.label("else"), e.label("after")
    e.split(e.scalar(op.operands[0]), then, orelse)
    arms, outer = [], e.fast_path
    for label, region in zip((then, orelse), op.regions, strict=True):
        e.enter(label)
        e.fast_path = None if outer is None else replace(outer, misses=[])
        if e.task is None and e.lanes == 1 and len(region.ops) > LONG:
            names = call_outlined(e, region)
        else:
            names = [e.at(v, e.width(r)) for v, r in zip(e.region(region), op.results, strict=True)]
        names.append("false" if e.fast_path is None else any_of(e.w, e.fast_path.misses))
        arms.append((names, e.block))
        e.jump(after)
    e.enter(after)
    for k, result in enumerate(op.results):
        pairs = ", ".join(f"[ {names[k]}, %{block} ]" for names, block in arms)
        e.bind(result, e.w.let(f"phi {e.form(result)} {pairs}"))
    if outer is not None and any(names[-1] != "false" for names, _ in arms):
        outer.misses.append(e.w.let("phi i1 " + ", ".join(f"[ {names[-1]}, %{block} ]" for names, block in arms)))
    e.fast_path = outer


def _divergent_if(e: RegionEmitter, op: Op) -> None:
    condition = e.vector(op.operands[0])
    short = [_is_short(e, region) for region in op.regions]
    if e.task is None and short == [True, False]:
        _repaired(e, op, op.regions[0], op.regions[1], e.flip(condition))
        return
    if e.task is None and short == [False, True]:
        _repaired(e, op, op.regions[1], op.regions[0], condition)
        return
    yes = _side(e, op.regions[0], op.results, e.within(condition))
    no = _side(e, op.regions[1], op.results, e.within(e.flip(condition)))
    for result, a, b in zip(op.results, yes, no, strict=True):
        e.bind(result, e.choose(condition, a, b, result.dtype))


def _repaired(e: RegionEmitter, op: Op, hot: Region, cold: Region, mask: str) -> None:
    """Compute one side for all lanes, then put right the lanes that want the other, if there are any."""
    values = [e.vector(v) for v in e.region(hot)]
    mask = e.w.let(f"freeze {e.mask_type} {mask}")  # lanes that do not run in the caller may hold poison
    inside, after, before = e.label("lanes"), e.label("joined"), e.block
    e.split(e.any(mask), inside, after, unlikely=True)
    e.enter(inside)
    names = call_outlined_per_lane(e, cold, mask, values)
    e.jump(after)
    e.enter(after)
    for result, value, name in zip(op.results, values, names, strict=True):
        ty = type_text(result.dtype, e.lanes)
        e.bind(result, e.w.let(f"phi {ty} [ {name}, %{inside} ], [ {value}, %{before} ]"))


def _side(e: RegionEmitter, region: Region, results: Sequence[Value], mask: str) -> list[str]:
    """One side, for the lanes of `mask`; where there are none its values are poison."""
    if _is_short(e, region):
        return [e.vector(v) for v in e.region(region)]
    library = e.task is None
    inside, after, before = e.label("lanes"), e.label("joined"), e.block
    if library:  # it knows nothing of the mask around its call: lanes that do not run may hold poison
        mask = e.w.let(f"freeze {e.mask_type} {mask}")
    e.split(e.any(mask), inside, after, unlikely=library)
    e.enter(inside)
    with e.masked(mask):
        names = call_outlined_per_lane(e, region, mask) if library else [e.vector(v) for v in e.region(region)]
    last = e.block
    e.jump(after)
    e.enter(after)
    joined = []
    for result, name in zip(results, names, strict=True):
        ty = type_text(result.dtype, e.lanes)
        joined.append(e.w.let(f"phi {ty} [ {name}, %{last} ], [ poison, %{before} ]"))
    return joined


def _is_short(e: RegionEmitter, region: Region) -> bool:
    """Whether a side is so cheap, and so free of effects, that it runs for every lane."""
    limit = LONG if e.task is None else _SPECULATED
    return len(region.ops) <= limit and all(_speculates(e, op) for op in region.ops[:-1])


def _speculates(e: RegionEmitter, op: Op) -> bool:
    """Whether an op may run in lanes that do not take its side: it has no effects, can't trap, and costs little."""
    checked = e.task is not None and e.task.debug and op.opdef.trap is not None
    return op.opdef.pure and op.opdef is not CALL and not checked
