"""Guarded accesses: nothing out of bounds is touched, and the first index that is out of bounds is recorded.

The case that some index is out of bounds is kept off the usual path. An access of one lane, or of neighbours in all
lanes, stays what it is, beside a second version of it for the case that some lane is out of bounds. Any other access
has a mask, from which a branch that is hardly ever taken removes lanes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final

from adstack.analysis.strides import Run
from adstack.backends.shared.sites import Site, local_site
from adstack.ir.ops import ATOMIC
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, DType, i64, u1

from ..function.region import RegionEmitter
from ..function.target import HOST
from ..text.writer import Writer, scalar_type, type_text
from .checks import first_lane, numbered, record

__all__ = ["guarded", "guarded_axes", "is_guarded", "is_inside", "open_notes", "record_notes", "run_of", "when_inside"]

Access = Callable[[], str | None]
"""Emits an access; gives the name of what it read, in the form that the op's result has, if anybody wants it."""


def is_guarded(e: RegionEmitter, op: Op) -> bool:
    """Whether an access may be outside."""
    return bool(guarded_axes(e, op))


def guarded_axes(e: RegionEmitter, op: Op) -> list[int]:
    """The axes on which an access may be out of bounds."""
    inside = e.frame.in_bounds.get(op, ())
    return [axis for axis in op.attrs.get("guarded", ()) if axis not in inside]


def guarded(e: RegionEmitter, op: Op, access: Access, *, by_mask: bool = False) -> str | None:
    """An access, which gives 0 and does nothing where it is outside; `by_mask` says that a mask costs it nothing."""
    if not is_guarded(e, op):
        return access()
    width = max(e.width(v) for v in _guarded_indices(e, op))
    bad = _outside(e, op, width)
    if width == 1:
        return _either(e, op, bad, bad, 1, access, lambda: None)
    running = e.within(bad)
    if e.mask is None and not by_mask and (op.opdef is ATOMIC or _is_run(e, op)):
        twin = lambda: _among(e, op, e.flip(bad), access)  # noqa: E731
        return _either(e, op, e.any(running), running, width, access, twin)
    return _among(e, op, _inside(e, op, bad, running), access)


def _inside(e: RegionEmitter, op: Op, bad: str, running: str) -> str:
    """The mask of the running lanes that are in bounds: a branch that is hardly ever taken removes the others."""
    some, fail, after = e.within(e.flip(bad)), e.label("outside"), e.label("guarded")
    # without a mask compared once, the other way round
    failing = e.w.let(f"icmp ne i{e.lanes} {_word(e, some)}, -1") if e.mask is None else e.any(running)
    e.split(failing, fail, after, unlikely=True)
    e.enter(fail)
    _report(e, op, running if e.mask is not None else e.flip(some), e.lanes)
    e.jump(after)
    e.enter(after)
    return some


def _is_run(e: RegionEmitter, op: Op) -> bool:
    """Whether lanes access neighbours: like an atomic, lane by lane, that is quicker without a mask."""
    place: Place | None = op.attrs.get("place")
    return place is not None and run_of(e, place, _indices(op)) is not None


def run_of(e: RegionEmitter, place: Place, indices: Sequence[Value]) -> Run | None:
    """The run of elements that lanes access, if it is one."""
    return None if e.strides is None else e.strides.run(place, indices)


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
    for axis, index in zip(guarded_axes(e, op), _guarded_indices(e, op), strict=True):
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
    if name is None or op.opdef is not ATOMIC:
        return name  # what is loaded for lanes that do not run is 0
    return e.choose(inside, name, "zeroinitializer", op.result.dtype)


def _report(e: RegionEmitter, op: Op, bad: str, width: int) -> None:
    """Record the first lane of a mask, or the first that runs, if it is no mask."""
    indices = _indices(op)
    types, limits = tuple(v.dtype for v in indices), list[str]()
    place: Place | None = op.attrs.get("place")
    if place is None:
        site = local_site(op.operands[0], _length(op), op.loc, types)
    else:
        limits = _extents(e, op) if None in place.shape else limits
        site = Site("bounds", "", op.loc, (*types, *[i64] * len(limits)), place=place)
    number, values = numbered(e, site), (*e.frame.indices, *indices)
    mask = bad if width > 1 else e.mask or (e.w.constant(True, u1, e.lanes) if e.lanes > 1 else "")
    if e.target is HOST:
        _note(e, number, mask, values, limits)
    else:
        record(e, str(number), first_lane(e, mask) if mask else "0", values, limits)


def _note(e: RegionEmitter, number: int, mask: str, values: Sequence[Value], limits: Sequence[str]) -> None:
    """Note what is to be recorded when the function ends: stores alone, as a call here would make all registers live
    across it be saved and loaded again, at each of many such places.
    """
    key = "outside", (e.lanes, tuple((v.dtype, e.width(v)) for v in values), len(limits))
    symbol = e.module.once(key, lambda symbol: _recorder(e, symbol, values, len(limits)))
    note = e.w.let(f"load ptr, ptr {_NEXT}, align 8")
    site = f"@{symbol}.site{number}"
    e.module.constant(site, f"{{ ptr, i64 }} {{ ptr @{symbol}, i64 {number} }}")
    e.w.do(f"store ptr {site}, ptr {note}, align 8")
    names = [*([_word(e, mask)] if mask else []), *(e.at(v, e.width(v)) for v in values), *limits]
    places = _places(e, values, len(limits))
    for (ty, offset), name in zip(places, names, strict=True):
        e.w.do(f"store {ty} {name}, ptr {e.w.let(f'getelementptr i8, ptr {note}, i64 {offset}')}, align 8")
    e.w.do(f"store ptr {_LATER}, ptr {_NEXT}, align 8")
    e.frame.note_bytes = max(e.frame.note_bytes, places[-1][1] + 2 * e.lanes * i64.size)


_FIRST: Final = "%outside.first"
_LATER: Final = "%outside.later"
_NEXT: Final = "%outside.next"
"""What is noted of the first access outside, and of later ones, which nobody looks at; where the next note goes."""


def open_notes(e: RegionEmitter) -> list[str]:
    """The lines of the entry block that make room for notes, if any are taken."""
    size = e.frame.note_bytes
    slots = [f"  {name} = alloca [{size} x i8], align 64" for name in (_FIRST, _LATER)]
    slots += [f"  {_NEXT} = alloca ptr, align 8", f"  store ptr {_FIRST}, ptr {_NEXT}, align 8"]
    return [*slots, f"  store ptr null, ptr {_FIRST}, align 8"] if size else []


def record_notes(e: RegionEmitter) -> None:
    """Where the function ends: record the first access outside that was noted."""
    if not e.frame.note_bytes:
        return
    site = e.w.let(f"load ptr, ptr {_FIRST}, align 8")
    some, none = e.label("noted"), e.label("unnoted")
    e.split(e.w.let(f"icmp ne ptr {site}, null"), some, none, unlikely=True)
    e.enter(some)
    recorder = e.w.let(f"load ptr, ptr {site}, align 8")
    number = e.w.let(f"load i64, ptr {e.w.let(f'getelementptr i64, ptr {site}, i64 1')}, align 8")
    e.w.do(f"call void {recorder}(ptr %errors, i64 {number}, ptr nocapture {_FIRST})")
    e.jump(none)
    e.enter(none)


def _word(e: RegionEmitter, mask: str) -> str:
    return e.w.let(f"bitcast {e.mask_type} {mask} to i{e.lanes}")


def _places(e: RegionEmitter, values: Sequence[Value], words: int) -> list[tuple[str, int]]:
    """Types and offsets in bytes of what stands in a note after its site: the mask, the values, and other words."""
    types = [*([f"i{e.lanes}"] if e.lanes > 1 else []), *map(e.form, values), *["i64"] * words]
    sizes = [*([16] if e.lanes > 1 else []), *(e.width(v) * i64.size for v in values), *[8] * words]
    return list(zip(types, itertools.accumulate(sizes, initial=8), strict=False))


def _recorder(outer: RegionEmitter, symbol: str, values: Sequence[Value], words: int) -> str:
    """The function that records what such a note says."""
    inner = [Value(v.type) for v in values]
    varying = {v for v, was in zip(inner, values, strict=True) if outer.is_varying(was)}
    e = RegionEmitter(outer.module, Writer(), outer.lanes, varying)
    e.task, e.target = outer.task, outer.target
    names = [_read(e, ty, offset) for ty, offset in _places(e, inner, words)]
    mask = e.w.let(f"bitcast i{e.lanes} {names.pop(0)} to {e.mask_type}") if e.lanes > 1 else ""
    for v, name in zip(inner, names, strict=False):
        e.bind(v, name)
    record(e, "%site", first_lane(e, mask) if mask else "0", inner, names[len(inner) :])
    e.w.do("ret void")
    e.module.take(e.w)
    body = "\n".join(e.w.lines)
    return f"define internal void @{symbol}(ptr %errors, i64 %site, ptr nocapture %note) #1 {{\nentry:\n{body}\n}}\n"


def _read(e: RegionEmitter, ty: str, offset: int) -> str:
    return e.w.let(f"load {ty}, ptr {e.w.let(f'getelementptr i8, ptr %note, i64 {offset}')}, align 8")


def _guarded_indices(e: RegionEmitter, op: Op) -> list[Value]:
    indices = _indices(op)
    return [indices[axis] for axis in guarded_axes(e, op)]


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
