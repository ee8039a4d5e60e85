"""Guarded accesses: nothing outside is touched, and the first index that is outside is recorded.

What hardly ever happens is kept out of the way. An access of all lanes stays what it is, and has a twin beside it, for
some lanes, where one of them is outside; an access of some lanes leaves those out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adstack.backends.shared.sites import Site
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, i64

from .checks import outside, report
from .region import RegionEmitter

__all__ = ["guarded", "is_guarded", "when_inside"]

Access = Callable[[], str | None]
"""Emits an access; gives the name of what it read, in the form that the op's result has, if anybody wants it."""


def is_guarded(op: Op) -> bool:
    """Whether an access may be outside."""
    return "guarded" in op.attrs


def guarded(e: RegionEmitter, op: Op, access: Access) -> str | None:
    """An access, which gives 0 and does nothing where it is outside."""
    if not is_guarded(op):
        return access()
    indices = _indices(op)
    width = max(e.width(v) for v in indices)
    bad = outside(e, indices, _extents(e, op, width), width)
    if width == 1:
        return _either(e, op, bad, bad, 1, access, lambda: None)
    running = e.within(bad)
    inside = e.within(e.flip(bad))
    if e.mask is None and not _scatters(e, op):
        return _either(e, op, e.any(running), running, width, access, lambda: _among(e, op, inside, access))
    _recorded(e, op, running, width)
    return _among(e, op, inside, access)


def when_inside(e: RegionEmitter, op: Op, act: Callable[[], object]) -> None:
    """Act where the indices of an access, the same in all iterations, are inside."""
    if not is_guarded(op):
        act()
        return
    bad = outside(e, _indices(op), _extents(e, op, 1), 1)
    fail, fine, after = e.label("outside"), e.label("inside"), e.label("guarded")
    e.split(bad, fail, fine, rare=True)
    e.enter(fail)
    _report(e, op, bad, 1)
    e.jump(after)
    e.enter(fine)
    act()
    e.jump(after)
    e.enter(after)


def _either(
    e: RegionEmitter, op: Op, rare: str, bad: str, width: int, usual: Access, careful: Access
) -> str | None:
    """The usual access, or what there is to do where `rare` holds."""
    fail, fine, after = e.label("outside"), e.label("inside"), e.label("guarded")
    e.split(rare, fail, fine, rare=True)
    e.enter(fail)
    _report(e, op, bad, width)
    other, there = careful(), e.block
    e.jump(after)
    e.enter(fine)
    name, here = usual(), e.block
    e.jump(after)
    e.enter(after)
    if name is None:
        return None
    form = e.form(op.result)
    return e.w.let(f"phi {form} [ {name}, %{here} ], [ {other or 'zeroinitializer'}, %{there} ]")


def _among(e: RegionEmitter, op: Op, inside: str, access: Access) -> str | None:
    """The access of the lanes that are inside, of which there may be none."""
    with e.masked(inside):
        name = access()
    return None if name is None else e.choose(inside, name, "zeroinitializer", op.result.dtype)


def _recorded(e: RegionEmitter, op: Op, bad: str, width: int) -> None:
    """Report lanes that are outside, if there are any."""
    fail, after = e.label("outside"), e.label("guarded")
    e.split(e.any(bad), fail, after, rare=True)
    e.enter(fail)
    _report(e, op, bad, width)
    e.jump(after)
    e.enter(after)


def _report(e: RegionEmitter, op: Op, bad: str, width: int) -> None:
    indices = _indices(op)
    types = tuple(v.dtype for v in indices)
    place: Place | None = op.attrs.get("place")
    if place is None:
        report(e, Site("local", str(_length(op)), op.loc, types), bad, width, indices)
        return
    told: Sequence[str] = () if None not in place.shape else _extents(e, op, 1)
    site = Site("bounds", "", op.loc, (*types, *[i64] * len(told)), place=place)
    report(e, site, bad, width, indices, told)


def _scatters(e: RegionEmitter, op: Op) -> bool:
    """Whether each lane has an address of its own: then it costs nothing to leave some out."""
    place: Place | None = op.attrs.get("place")
    if op.name == "atomic":
        return False
    return place is None or e.strides is None or not e.strides.contiguous(place, _indices(op))


def _indices(op: Op) -> Sequence[Value]:
    place: Place | None = op.attrs.get("place")
    return op.operands[1:2] if place is None else op.operands[: place.rank]


def _extents(e: RegionEmitter, op: Op, width: int) -> list[str]:
    place: Place | None = op.attrs.get("place")
    if place is None:
        return [e.w.constant(_length(op), i64, width)]
    return [e.extent(place, axis, width) for axis in range(place.rank)]


def _length(op: Op) -> int:
    array = op.operands[0].type
    assert isinstance(array, ArrayType)
    return array.length
