"""if, for and while, over one lane or many.

Where a condition is uniform, control branches as it would for one iteration. Where it varies, each side of an `if`
runs for the lanes that want it (and is jumped over if none does) and the results are selected; a loop goes on while
some lane does, and the lanes that have left keep their values.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.cold_paths import LONG, hot_side
from adstack.ir.structure import Op, Region, Value
from adstack.ir.types import u1

from ..function.phis import Phis
from ..function.region import Hurry, RegionEmitter, handles
from ..text.writer import any_of, type_text
from .outlining import called, lane_by_lane
from .safepoints import ask, countdown, span_of, tick
from .scalar_promotion import give_back, hold
from .versioning import skim

__all__: list[str] = []

_SPECULATED = 8
"""Sides of at most so many pure ops run unconditionally: a jump costs more."""


@handles("if")
def _if(e: RegionEmitter, op: Op) -> None:
    usual = hot_side(op) if e.hurry is not None and e.task is None else None
    if usual is not None:
        _usual_side(e, op, usual)
    elif e.is_varying(op.operands[0]):
        _divergent_if(e, op)
    else:
        _uniform_if(e, op)


def _usual_side(e: RegionEmitter, op: Op, usual: int) -> None:
    """Compute the usual side of a math function, whichever is wanted; whether it was is in doubt."""
    assert e.hurry is not None
    condition = e.scalar(op.operands[0])
    e.hurry.doubts.append(condition if usual else e.w.let(f"xor i1 {condition}, true"))
    for value, result in zip(e.region(op.regions[usual]), op.results, strict=True):
        e.bind(result, e.at(value, e.width(result)))


def _uniform_if(e: RegionEmitter, op: Op) -> None:
    then, orelse, after = e.label("then"), e.label("else"), e.label("after")
    e.split(e.scalar(op.operands[0]), then, orelse)
    arms, outer = [], e.hurry
    for label, region in zip((then, orelse), op.regions, strict=True):
        e.enter(label)
        e.hurry = None if outer is None else Hurry(slots=outer.slots)
        if e.task is None and e.lanes == 1 and len(region.ops) > LONG:
            names = called(e, region)
        else:
            names = [e.at(v, e.width(r)) for v, r in zip(e.region(region), op.results, strict=True)]
        names.append("false" if e.hurry is None else any_of(e.w, e.hurry.doubts))
        arms.append((names, e.block))
        e.jump(after)
    e.enter(after)
    for k, result in enumerate(op.results):
        pairs = ", ".join(f"[ {names[k]}, %{block} ]" for names, block in arms)
        e.bind(result, e.w.let(f"phi {e.form(result)} {pairs}"))
    if outer is not None and any(names[-1] != "false" for names, _ in arms):
        outer.doubts.append(e.w.let("phi i1 " + ", ".join(f"[ {names[-1]}, %{block} ]" for names, block in arms)))
    e.hurry = outer


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


def _repaired(e: RegionEmitter, op: Op, usual: Region, rare: Region, mask: str) -> None:
    """Compute one side for all lanes, then put right the lanes that want the other, if there are any."""
    values = [e.vector(v) for v in e.region(usual)]
    mask = e.w.let(f"freeze {e.mask_type} {mask}")  # lanes that do not run in the caller may hold poison
    inside, after, before = e.label("lanes"), e.label("joined"), e.block
    e.split(e.any(mask), inside, after, rare=True)
    e.enter(inside)
    names = lane_by_lane(e, rare, mask, values)
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
    e.split(e.any(mask), inside, after, rare=library)
    e.enter(inside)
    with e.masked(mask):
        names = lane_by_lane(e, region, mask) if library else [e.vector(v) for v in e.region(region)]
    last = e.block
    e.jump(after)
    e.enter(after)
    joined = []
    for result, name in zip(results, names, strict=True):
        ty = type_text(result.dtype, e.lanes)
        joined.append(e.w.let(f"phi {ty} [ {name}, %{last} ], [ poison, %{before} ]"))
    return joined


def _is_short(e: RegionEmitter, region: Region) -> bool:
    """Whether a side costs so little, and does so little, that it runs for every lane."""
    limit = LONG if e.task is None else _SPECULATED
    return len(region.ops) <= limit and all(_speculates(e, op) for op in region.ops[:-1])


def _speculates(e: RegionEmitter, op: Op) -> bool:
    """Whether an op does no harm in lanes that do not want it, and costs little."""
    checked = e.task is not None and e.task.debug and op.opdef.trap is not None
    return op.opdef.pure and op.name != "call" and not checked


@handles("for")
def _for(e: RegionEmitter, op: Op) -> None:
    lo, hi, *initial = op.operands
    (body,) = op.regions
    index, *carried = body.args
    if e.is_varying(lo) or e.is_varying(hi):
        _divergent_for(e, op)
        return
    span = span_of(e, op)
    if span is not None:
        _for_in_spans(e, op, span)
        return
    held = hold(e, op)
    start = skim(e, op, [e.at(v, e.width(a)) for v, a in zip([lo, *initial], body.args, strict=True)])
    phis = Phis(e, body.args, start)
    inside, after = e.label("body"), e.label("done")
    e.split(_below(e, index, start[0], hi), inside, after)  # with the test at the end, a round has one jump
    phis.enter(inside)
    yielded = e.region(body)
    names = [e.at(v, e.width(a)) for v, a in zip(yielded, carried, strict=True)]
    step = _next(e, index, phis.names[0])
    again = _below(e, index, step, hi)
    _, *sources = phis.close([step, *names])
    e.split(again, inside, after)
    e.enter(after)
    for result, source in zip(op.results, sources, strict=True):
        e.bind(result, e.w.let(f"phi {e.form(result)} {source}"))
    give_back(e, held)


def _for_in_spans(e: RegionEmitter, op: Op, span: int) -> None:
    """The same, with a question after each span of so many rounds: a loop in a loop."""
    lo, hi, *initial = op.operands
    (body,) = op.regions
    index, *carried = body.args
    before, first = e.block, [e.at(v, e.width(a)) for v, a in zip(initial, carried, strict=True)]
    outer = Phis.of(e, body.args, [lo, *initial])
    start, inside, edge, asking, after = (e.label(h) for h in ("span", "body", "edge", "asking", "done"))
    e.split(_below(e, index, e.scalar(lo), hi), start, after)
    outer.enter(start)
    ty, at = e.form(index), outer.names[0]
    left = e.w.let(f"sub {ty} {e.scalar(hi)}, {at}")  # as a number without sign it is right even where it wraps
    few = e.w.intrinsic(f"llvm.umin.{ty}", ty, [(ty, left), (ty, str(span))])
    end = e.w.let(f"add {ty} {at}, {few}")
    phis = Phis.of(e, body.args, body.args)
    phis.open(inside)
    yielded = e.region(body)
    names = [e.at(v, e.width(a)) for v, a in zip(yielded, carried, strict=True)]
    step = _next(e, index, phis.names[0])
    again = e.w.let(f"icmp ne {ty} {step}, {end}")
    phis.close([step, *names])
    e.split(again, inside, edge)
    e.enter(edge)
    e.split(_below(e, index, step, hi), asking, after, rare=True)
    e.enter(asking)
    outer.close([step, *names])
    ask(e, start)
    e.enter(after)
    for result, old, new in zip(op.results, first, names, strict=True):
        e.bind(result, e.w.let(f"phi {e.form(result)} [ {old}, %{before} ], [ {new}, %{edge} ]"))


def _divergent_for(e: RegionEmitter, op: Op) -> None:
    """Goes on while some lane does; the lanes that have left keep their values."""
    lo, hi, *initial = op.operands
    (body,) = op.regions
    index, *carried = body.args
    counter = countdown(e, op)
    phis = Phis.of(e, body.args, [lo, *initial])
    head, inside, after = e.label("for"), e.label("body"), e.label("done")
    phis.open(head)
    running = e.within(_below(e, index, e.vector(index), hi, e.lanes))
    e.split(e.any(running), inside, after)
    e.enter(inside)
    with e.masked(running):
        yielded = e.region(body)
    names = [e.at(v, e.width(a)) for v, a in zip(yielded, carried, strict=True)]
    # a lane that has ended must not count on, either: past the end of its type it would run again
    names = [
        e.choose(running, new, old, arg.dtype) if e.is_varying(arg) else new
        for new, old, arg in zip([_next(e, index, phis.names[0]), *names], phis.names, body.args, strict=True)
    ]
    tick(e, op, counter)
    phis.close(names)
    e.jump(head)
    e.enter(after)
    for result, name in zip(op.results, phis.names[1:], strict=True):
        e.bind(result, name)


def _next(e: RegionEmitter, index: Value, name: str) -> str:
    return e.w.let(f"add {e.form(index)} {name}, {e.w.constant(1, index.dtype, e.width(index))}")


def _below(e: RegionEmitter, index: Value, name: str, hi: Value, width: int = 1) -> str:
    """Whether there is another round: for each lane, if they end at different times."""
    word = "slt" if index.dtype.is_signed else "ult"
    return e.w.let(f"icmp {word} {type_text(index.dtype, width)} {name}, {e.at(hi, width)}")


@handles("while")
def _while(e: RegionEmitter, op: Op) -> None:
    condition, body = op.regions
    if e.is_varying(condition.terminator.operands[0]):
        _divergent_while(e, op, condition, body)
        return
    counter = countdown(e, op)
    phis = Phis.of(e, condition.args, op.operands)
    head, inside, after = e.label("while"), e.label("body"), e.label("done")
    phis.open(head)
    wanted, *passed = e.region(condition)
    names = [e.at(v, e.width(r)) for v, r in zip(passed, op.results, strict=True)]
    e.split(e.scalar(wanted), inside, after)
    e.enter(inside)
    for arg, v in zip(body.args, passed, strict=True):  # a result may vary where what is passed on does not
        e.bind(arg, e.at(v, e.width(arg)))
    yielded = e.region(body)
    names_next = [e.at(v, e.width(a)) for v, a in zip(yielded, condition.args, strict=True)]
    tick(e, op, counter)
    phis.close(names_next)
    e.jump(head)
    e.enter(after)
    for result, name in zip(op.results, names, strict=True):
        e.bind(result, name)


def _divergent_while(e: RegionEmitter, op: Op, condition: Region, body: Region) -> None:
    """Two lives of a value: that of the running lanes, and that of the lanes that have left."""
    counter = countdown(e, op)
    phis = Phis.of(e, [_varying(e, "running"), *condition.args], [_everyone(e), *op.operands])
    head, inside, after = e.label("while"), e.label("body"), e.label("done")
    phis.open(head)
    lanes, *old = phis.names
    with e.masked(lanes):
        wanted, *passed = e.region(condition)
        names = _updated(e, lanes, passed, old)
        going = e.within(e.vector(wanted))
    e.split(e.any(going), inside, after)
    e.enter(inside)
    for arg, name in zip(body.args, names, strict=True):
        e.bind(arg, name)
    with e.masked(going):
        yielded = e.region(body)
        merged = _updated(e, going, yielded, names)
    tick(e, op, counter)
    phis.close([going, *merged])
    e.jump(head)
    e.enter(after)
    for result, name in zip(op.results, names, strict=True):
        e.bind(result, name)


def _updated(e: RegionEmitter, mask: str, new: Sequence[Value], old: Sequence[str]) -> list[str]:
    """New values for the lanes of a mask, old ones for the others."""
    return [e.choose(mask, e.vector(v), name, v.dtype) for v, name in zip(new, old, strict=True)]


def _everyone(e: RegionEmitter) -> Value:
    """The mask of the lanes that are running now, as a value."""
    value = _varying(e, "everyone")
    e.bind(value, e.mask if e.mask is not None else e.w.constant(True, u1, e.lanes))
    return value


def _varying(e: RegionEmitter, name: str) -> Value:
    """A mask that no op gives."""
    value = Value(u1, name)
    e.varying.add(value)
    return value
