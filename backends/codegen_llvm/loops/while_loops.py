"""`while`, over one lane or many: where the condition varies, the loop runs while some lane does."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.ops import WHILE
from adstack.ir.structure import Op, Region, Value
from adstack.ir.types import u1

from ..function.phis import Phis
from ..function.region import RegionEmitter, handles
from .safepoints import count_down, start_countdown

__all__: list[str] = []


@handles(WHILE)
def _while(e: RegionEmitter, op: Op) -> None:
    condition, body = op.regions
    if e.is_varying(condition.terminator.operands[0]):
        _divergent_while(e, op, condition, body)
        return
    counter = start_countdown(e, op)
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
    count_down(e, op, counter)
    phis.close(names_next)
    e.jump(head)
    e.enter(after)
    for result, name in zip(op.results, names, strict=True):
        e.bind(result, name)


def _divergent_while(e: RegionEmitter, op: Op, condition: Region, body: Region) -> None:
    """Lanes leave at different times: each value exists twice, for the running lanes and for those that have left."""
    counter = start_countdown(e, op)
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
    count_down(e, op, counter)
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
    """A value of the IR that stands for a mask, which no op computes."""
    value = Value(u1, name)
    e.varying.add(value)
    return value
