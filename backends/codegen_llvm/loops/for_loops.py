"""`for`, over one lane or many."""

from __future__ import annotations

from adstack.analysis.uniformity import distances
from adstack.ir.ops import FOR
from adstack.ir.structure import Op, Value

from ..function.phis import Phis
from ..function.region import RegionEmitter, handles
from ..function.teams import TeamCode
from ..text.writer import type_text
from .safepoints import count_down, poll, polling_interval, start_countdown
from .scalar_promotion import promote, write_back
from .versioning import run_fast_version

__all__: list[str] = []


@handles(FOR)
def _for(e: RegionEmitter, op: Op) -> None:
    if e.team is not None and "team" in op.attrs:
        _threads(e, op, e.team)
        return
    promoted, interval = promote(e, op), polling_interval(e, op)
    if e.is_varying(op.operands[0]) or e.is_varying(op.operands[1]):
        if distances(op):
            _for_from_the_end(e, op)
        else:
            _divergent_for(e, op)
    elif interval is not None:
        _for_in_spans(e, op, interval)
    else:
        _uniform_for(e, op)
    write_back(e, op, promoted)


def _threads(e: RegionEmitter, op: Op, team: TeamCode) -> None:
    """What each thread of a block does, of those that the block has."""
    (body,) = op.regions
    (index,) = body.args
    inside, after = e.label("thread"), e.label("threads")
    team.wait(e, op)
    number = team.thread if index.dtype.bits == 64 else e.w.let(f"trunc i64 {team.thread} to {e.form(index)}")
    e.bind(index, number)
    e.split(_below(e, index, number, op.operands[1]), inside, after)
    e.enter(inside)
    e.region(body)
    e.jump(after)
    e.enter(after)


def _uniform_for(e: RegionEmitter, op: Op) -> None:
    lo, hi, *initial = op.operands
    (body,) = op.regions
    index, *carried = body.args
    start = run_fast_version(e, op, [e.at(v, e.width(a)) for v, a in zip([lo, *initial], body.args, strict=True)])
    phis = Phis(e, body.args, start)
    inside, after = e.label("body"), e.label("done")
    e.split(_below(e, index, start[0], hi), inside, after)  # a rotated loop: one jump per iteration
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


def _for_in_spans(e: RegionEmitter, op: Op, interval: int) -> None:
    """A loop that polls after each span of `interval` iterations: a loop over spans around a loop over iterations."""
    lo, hi, *initial = op.operands
    (body,) = op.regions
    index, *carried = body.args
    before, first = e.block, [e.at(v, e.width(a)) for v, a in zip(initial, carried, strict=True)]
    outer = Phis.of(e, body.args, [lo, *initial])
    start, inside, edge, asking, after = (e.label(h) for h in ("span", "body", "edge", "asking", "done"))
    e.split(_below(e, index, e.scalar(lo), hi), start, after)
    outer.enter(start)
    ty, at = e.form(index), outer.names[0]
    left = e.w.let(f"sub {ty} {e.scalar(hi)}, {at}")  # as unsigned it is right even where it wraps
    few = e.w.intrinsic(f"llvm.umin.{ty}", ty, [(ty, left), (ty, str(interval))])
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
    e.split(_below(e, index, step, hi), asking, after, unlikely=True)
    e.enter(asking)
    outer.close([step, *names])
    poll(e, start)
    e.enter(after)
    for result, old, new in zip(op.results, first, names, strict=True):
        e.bind(result, e.w.let(f"phi {e.form(result)} [ {old}, %{before} ], [ {new}, %{edge} ]"))


def _divergent_for(e: RegionEmitter, op: Op) -> None:
    """A loop whose lanes have bounds of their own: it runs while some lane does; the others keep their values."""
    lo, hi, *initial = op.operands
    (body,) = op.regions
    index, *carried = body.args
    counter = start_countdown(e, op)
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
    count_down(e, op, counter)
    phis.close(names)
    e.jump(head)
    e.enter(after)
    for result, name in zip(op.results, phis.names[1:], strict=True):
        e.bind(result, name)


def _for_from_the_end(e: RegionEmitter, op: Op) -> None:
    """A loop whose lanes run different numbers of times, and end together: a lane waits until what is left is its all.

    See `adstack.analysis.uniformity`: how far the end is stands for the index, and is the same in all lanes.
    """
    _, hi, *initial = op.operands
    (body,) = op.regions
    index, *carried = body.args
    ty, several = type_text(index.dtype, 1), type_text(index.dtype, e.lanes)
    counter = start_countdown(e, op)
    ends = e.vector(hi) if e.mask is None else e.choose(e.mask, e.vector(hi), e.vector(op.operands[0]), index.dtype)
    longest = e.w.intrinsic(f"llvm.vector.reduce.smax.v{e.lanes}{ty}", ty, [(several, ends)])
    phis = Phis(e, [ty, *carried], [longest, *(e.at(v, e.width(a)) for v, a in zip(initial, carried, strict=True))])
    head, inside, after = e.label("for"), e.label("body"), e.label("done")
    phis.open(head)
    left, *old = phis.names
    e.split(e.w.let(f"icmp sgt {ty} {left}, 0"), inside, after)
    e.enter(inside)
    e.given.update(dict.fromkeys(distances(op), left))
    running = e.within(e.w.let(f"icmp sle {several} {e.splat(left, index.dtype)}, {e.vector(hi)}"))
    with e.masked(running):
        yielded = e.region(body)
    for distance in distances(op):
        del e.given[distance]
    names = [
        e.choose(running, e.at(v, e.width(arg)), name, arg.dtype)
        for v, name, arg in zip(yielded, old, carried, strict=True)
    ]
    count_down(e, op, counter)
    phis.close([e.w.let(f"sub {ty} {left}, 1"), *names])
    e.jump(head)
    e.enter(after)
    for result, name in zip(op.results, old, strict=True):
        e.bind(result, name)


def _next(e: RegionEmitter, index: Value, name: str) -> str:
    return e.w.let(f"add {e.form(index)} {name}, {e.w.constant(1, index.dtype, e.width(index))}")


def _below(e: RegionEmitter, index: Value, name: str, hi: Value, width: int = 1) -> str:
    """Whether an index is below the end of the loop: an i1, or one per lane if the lanes end at different times."""
    word = "slt" if index.dtype.is_signed else "ult"
    return e.w.let(f"icmp {word} {type_text(index.dtype, width)} {name}, {e.at(hi, width)}")
