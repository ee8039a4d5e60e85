"""Guarded accesses: nothing out of bounds is touched, and the first index that is out of bounds is recorded.

The case that some index is out of bounds is kept off the usual path. An access of one lane, or of neighbours in all
lanes, stays what it is, beside a second version of it for the case that some lane is out of bounds. Any other access
has a mask, from which a branch that is hardly ever taken removes lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adstack.backends.shared.sites import Site
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, DType, i64, u1

from ..function.region import RegionEmitter
from ..function.target import HOST
from ..text.writer import Writer, scalar_type, type_text
from .checks import first_lane, numbered, record

__all__ = ["guarded", "is_guarded", "is_inside", "when_inside"]

Access = Callable[[], str | None]
"""Emits an access; gives the name of what it read, in the form that the op's result has, if anybody wants it."""


def is_guarded(e: RegionEmitter, op: Op) -> bool:
    """Whether an access may be outside."""
    return bool(_axes(e, op))


def _axes(e: RegionEmitter, op: Op) -> list[int]:
    """The axes on which an access may be out of bounds."""
    inside = e.frame.in_bounds.get(op, ())
    return [axis for axis in op.attrs.get("guarded", ()) if axis not in inside]


def guarded(e: RegionEmitter, op: Op, access: Access) -> str | None:
    """An access, which gives 0 and does nothing where it is outside."""
    if not is_guarded(e, op):
        return access()
    width = max(e.width(v) for v in _guarded_indices(e, op))
    bad = _outside(e, op, width)
    if width == 1:
        return _either(e, op, bad, bad, 1, access, lambda: None)
    running = e.within(bad)
    if e.mask is None and (op.name == "atomic" or _is_run(e, op)):
        twin = lambda: _among(e, op, e.flip(bad), access)  # noqa: E731
        return _either(e, op, e.any(running), running, width, access, twin)
    return _among(e, op, _inside(e, op, bad, running), access)


def _inside(e: RegionEmitter, op: Op, bad: str, running: str) -> str:
    """The mask of the running lanes that are in bounds: a branch that is hardly ever taken removes the others."""
    fail, after, before = e.label("outside"), e.label("guarded"), e.block
    e.split(e.any(running), fail, after, unlikely=True)
    e.enter(fail)
    _report(e, op, running, e.lanes)
    some, there = e.within(e.flip(bad)), e.block
    e.jump(after)
    e.enter(after)
    usual = e.mask or e.w.constant(True, u1, e.lanes)
    return e.w.let(f"phi {e.mask_type} [ {some}, %{there} ], [ {usual}, %{before} ]")


def _is_run(e: RegionEmitter, op: Op) -> bool:
    """Whether lanes access neighbours: like an atomic, lane by lane, that is quicker without a mask."""
    place: Place | None = op.attrs.get("place")
    return place is not None and e.strides is not None and e.strides.contiguous(place, _indices(op))


def when_inside(e: RegionEmitter, op: Op, act: Callable[[], object]) -> None:
    """Run `act` if the indices of an access, which are the same in all iterations, are in bounds."""
    if not is_guarded(e, op):
        act()
        return
    bad = _outside(e, op, 1)
    fail, fine, after = e.label("outside"), e.label("inside"), e.label("guarded")
    e.split(bad, fail, fine, unlikely=True)
    e.enter(fail)
    _report(e, op, bad, 1)
    e.jump(after)
    e.enter(fine)
    act()
    e.jump(after)
    e.enter(after)


def is_inside(e: RegionEmitter, op: Op) -> str:
    """Whether all indices of an access by one lane are inside (i1); nothing is recorded."""
    return e.w.let(f"xor i1 {_outside(e, op, 1)}, true") if is_guarded(e, op) else "true"


def _outside(e: RegionEmitter, op: Op, width: int) -> str:
    """Where some guarded index is out of bounds."""
    bad, extents = "", _extents(e, op)
    for axis, index in zip(_axes(e, op), _guarded_indices(e, op), strict=True):
        over = _over(e, index, extents[axis], width)
        bad = e.w.let(f"or {type_text(u1, width)} {bad}, {over}") if bad else over
    return bad


def _over(e: RegionEmitter, index: Value, extent: str, width: int) -> str:
    """Where an index is not below an extent: a negative one is a huge number without a sign, also in its own type."""
    dtype, name = index.dtype, e.at(index, width)
    if not dtype.is_signed or dtype.bits == 64:
        dtype, name = i64, e.wide(index, width)
    elif extent.isdigit():
        extent = str(min(int(extent), int(dtype.max) + 1))
    else:
        most = str(int(dtype.max) + 1)
        least = e.w.intrinsic("llvm.umin.i64", "i64", [("i64", extent), ("i64", most)])
        extent = e.w.let(f"trunc i64 {least} to i{dtype.bits}")
    return e.w.let(f"icmp uge {type_text(dtype, width)} {name}, {_spread(e, extent, dtype, width)}")


def _spread(e: RegionEmitter, number: str, dtype: DType, width: int) -> str:
    """An integer as a vector of so many lanes."""
    if width == 1:
        return number
    return f"splat ({scalar_type(dtype)} {number})" if number.isdigit() else e.splat(number, dtype)


def _either(e: RegionEmitter, op: Op, failing: str, bad: str, width: int, usual: Access, careful: Access) -> str | None:
    """The usual access, or, on a cold path, what there is to do where `failing` holds."""
    fail, fine, after = e.label("outside"), e.label("inside"), e.label("guarded")
    e.split(failing, fail, fine, unlikely=True)
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
    """The access for the lanes of a mask, which may be empty."""
    outer, e.missing = e.missing, "zeroinitializer"
    with e.masked(inside):
        name = access()
    e.missing = outer
    if name is None or op.name != "atomic":
        return name  # what is loaded for lanes that do not run is 0
    return e.choose(inside, name, "zeroinitializer", op.result.dtype)


def _report(e: RegionEmitter, op: Op, bad: str, width: int) -> None:
    """Record the first lane of a mask, or the first that runs, if it is no mask."""
    indices = _indices(op)
    types, told = tuple(v.dtype for v in indices), list[str]()
    place: Place | None = op.attrs.get("place")
    if place is None:
        site = Site("local", str(_length(op)), op.loc, types)
    else:
        told = _extents(e, op) if None in place.shape else told
        site = Site("bounds", "", op.loc, (*types, *[i64] * len(told)), place=place)
    number, values = numbered(e, site), (*e.frame.indices, *indices)
    mask = bad if width > 1 else e.mask or (e.w.constant(True, u1, e.lanes) if e.lanes > 1 else "")
    if e.target is HOST:
        _call(e, number, mask, values, told)
    else:
        record(e, str(number), first_lane(e, mask) if mask else "0", values, told)


def _call(e: RegionEmitter, number: int, mask: str, values: Sequence[Value], told: Sequence[str]) -> None:
    """Record by a call of a cold function, as there are many such places, and hardly any of them is ever reached."""
    forms = [e.form(v) for v in values]
    key = "outside", (e.lanes, tuple((v.dtype, e.width(v)) for v in values), len(told))
    symbol = e.module.once(key, lambda symbol: _recorder(e, symbol, values, len(told)))
    args = ["ptr %errors", f"i64 {number}", *([f"{e.mask_type} {mask}"] if mask else [])]
    args += [f"{form} {e.at(v, e.width(v))}" for form, v in zip(forms, values, strict=True)]
    e.w.do(f"call void @{symbol}({', '.join([*args, *(f'i64 {word}' for word in told)])})")


def _recorder(outer: RegionEmitter, symbol: str, values: Sequence[Value], told: int) -> str:
    """The function that records such values."""
    inner = [Value(v.type) for v in values]
    varying = {v for v, was in zip(inner, values, strict=True) if outer.is_varying(was)}
    e = RegionEmitter(outer.module, Writer(), outer.lanes, varying)
    e.task, e.target = outer.task, outer.target
    params = ["ptr %errors", "i64 %site", *([f"{e.mask_type} %mask"] if e.lanes > 1 else [])]
    for k, v in enumerate(inner):
        e.bind(v, f"%p{k}")
        params.append(f"{e.form(v)} %p{k}")
    words = [f"%w{k}" for k in range(told)]
    record(e, "%site", first_lane(e, "%mask") if e.lanes > 1 else "0", inner, words)
    e.w.do("ret void")
    e.module.take(e.w)
    head = f"define internal void @{symbol}({', '.join([*params, *(f'i64 {word}' for word in words)])})"
    return f"{head} #1 {{\nentry:\n" + "\n".join(e.w.lines) + "\n}\n"


def _guarded_indices(e: RegionEmitter, op: Op) -> list[Value]:
    indices = _indices(op)
    return [indices[axis] for axis in _axes(e, op)]


def _indices(op: Op) -> Sequence[Value]:
    place: Place | None = op.attrs.get("place")
    return op.operands[1:2] if place is None else op.operands[: place.rank]


def _extents(e: RegionEmitter, op: Op) -> list[str]:
    """The extents, as i64."""
    place: Place | None = op.attrs.get("place")
    return [str(_length(op))] if place is None else [e.extent(place, axis, 1) for axis in range(place.rank)]


def _length(op: Op) -> int:
    array = op.operands[0].type
    assert isinstance(array, ArrayType)
    return array.length
