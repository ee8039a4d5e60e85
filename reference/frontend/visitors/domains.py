"""What a `for` runs over: boxes of indices of fields, arrays, ranges, and how their points are handed to the body.

A range with a step runs over how many iterations it has: its index is begin + k * step.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, KeysView, Sequence, ValuesView
from dataclasses import dataclass, replace
from typing import NoReturn

from ...data.components import ComponentField
from ...data.levels import Cells
from ...data.snode import SNode
from ...data.struct_fields import StructField
from ...errors import AdstackTypeError, AdstackValueError
from ...ir.structure import Value
from ...ir.types import DType, i32, u1, unsigned
from ...values.compile_time import Grouped, NdRange
from ...values.elements import Elements
from ...values.functions import abs_, cast, max_, select
from ...values.kinds import KernelObject
from ..emission.arrays import ArrayArgument, touch
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import describe, is_number, plain
from ..emission.type_promotion import alone, common, typed
from ..expressions.indexing import indexable

__all__ = ["Domain", "RuntimeRange", "domain_of"]


class RuntimeRange:
    """`range(lo, hi, step)` of runtime values."""

    def __init__(self, lo: KernelObject, hi: KernelObject, step: KernelObject = 1) -> None:
        self.lo, self.hi, self.step = lo, hi, step

    def __iter__(self) -> KernelObject:
        raise AdstackTypeError(
            "bounds of a static range must be compile-time constants",
            do="write a plain loop, without static(...) or a comprehension, or make the bound a template() argument",
        )


@dataclass
class Domain:
    """What a runtime loop runs over: a box of indices.

    Attributes:
        bounds: (lo, hi) of each axis as values of one integer type.
        offsets: what to add to each index before the body sees it.
        grouped: the body gets one vector instead of one scalar per axis.
        step: what each index is multiplied by before.
        cells: in which cells of sparse levels the points lie; the body is for active ones.
        sort: brings the indices of a point, which come as `bounds` do, into the order in which the body sees them.
    """

    bounds: list[tuple[Value, Value]]
    offsets: Sequence[KernelObject]
    grouped: bool = False
    step: KernelObject = 1
    cells: tuple[Cells, ...] = ()
    sort: Callable[[list[KernelObject]], list[KernelObject]] = list

    def indices(self, values: Sequence[Value]) -> list[KernelObject]:
        """The indices of a point of the box, as the body sees them."""
        return self.sort([self._moved(Expr(i), o) for i, o in zip(values, self.offsets, strict=False)])

    def targets(self, indices: list[KernelObject]) -> list[KernelObject]:
        """What the loop's targets are given."""
        return [Elements.over(indices, (len(indices),))] if self.grouped else indices

    def _moved(self, index: Expr, offset: KernelObject) -> Expr:
        if is_number(self.step) and self.step < 0:  # subtracted: an unsigned index has no negative step
            return offset - index * -self.step  # type: ignore[no-any-return]
        if isinstance(self.step, Expr) or self.step != 1:
            index = index * self.step
        return index + offset if isinstance(offset, Expr) or offset else index


def domain_of(context: Context, iterable: object) -> Domain:
    """The domain of a runtime loop over `iterable`."""
    if isinstance(iterable, Grouped):
        inner = domain_of(context, iterable.domain)
        return replace(inner, grouped=True)
    if isinstance(iterable, range):
        if iterable.step == 1:
            return _box(context, [(iterable.start, iterable.stop)])
        return replace(_box(context, [(0, len(iterable))]), offsets=(iterable.start,), step=iterable.step)
    if isinstance(iterable, RuntimeRange):
        return _stepped(context, plain(iterable.lo), plain(iterable.hi), plain(iterable.step))
    if isinstance(iterable, NdRange):
        return replace(_box(context, iterable.nested), sort=iterable.sorted)
    if isinstance(iterable, ComponentField):
        return domain_of(context, iterable.field)
    if isinstance(iterable, StructField):
        return domain_of(context, iterable.member_fields[0])
    if indexable(iterable):
        return _array(context, iterable)
    if isinstance(iterable, SNode):
        return replace(_box(context, [(0, extent) for extent in iterable.shape]), cells=iterable.cells)
    return _refused(context, iterable)


def _refused(context: Context, iterable: object) -> NoReturn:
    do = "loop over range, ndrange, a field, an ndarray or grouped(...)"
    if isinstance(iterable, (list, tuple, Elements, dict, set, str, zip, enumerate, KeysView, ValuesView, ItemsView)):
        do = "write `for ... in static(...)`, which unrolls the loop"
    context.fail(AdstackTypeError, f"a runtime loop can't run over {describe(iterable)}", do=do)


def _array(context: Context, array: KernelObject) -> Domain:
    if isinstance(array, ArrayArgument):
        touch(context, array)
        return _box(context, [(0, extent) for extent in array.shape])
    touch(context, array)
    box = _box(context, [(0, extent) for extent in array.shape])
    return Domain(box.bounds, array.offset or (0,) * len(box.bounds), cells=getattr(array, "cells", ()))


def _box(context: Context, axes: Sequence[tuple[KernelObject, KernelObject]]) -> Domain:
    bounds = [_axis(context, plain(lo), plain(hi)) for lo, hi in axes]
    return Domain(bounds, (0,) * len(bounds))


def _axis(context: Context, lo: object, hi: object) -> tuple[Value, Value]:
    for bound in (lo, hi):
        _check_bound(context, bound)
    to = _index_type(context, lo, hi)
    return typed(lo, to), typed(hi, to)


def _index_type(context: Context, *parts: object) -> DType:
    to = common(*parts)
    return i32 if to.is_bool else to


def _stepped(context: Context, lo: KernelObject, hi: KernelObject, step: KernelObject) -> Domain:
    """The domain of a range of runtime values."""
    if is_number(step) and step == 1:
        return _box(context, [(lo, hi)])
    for part in (lo, hi, step):
        _check_bound(context, part)
    if is_number(step) and step == 0:
        context.fail(AdstackValueError, "the step of a range must not be zero", do="step by 1, -1, ...")
    to = _index_type(context, lo, hi, *([step] if isinstance(step, Expr) else []))
    if isinstance(step, Expr):
        _check_step(context, step, to)
        step = Expr(typed(step, to))
    lo, hi = Expr(typed(lo, to)), Expr(typed(hi, to))
    return Domain([(typed(0, to), _trips(lo, hi, step, to))], (lo,), step=step)


def _check_step(context: Context, step: Expr, to: DType) -> None:
    if to.kind == "u" and step.dtype.kind == "i":
        note = f"this is {step.dtype}, the range is of {to}"
        context.fail(AdstackTypeError, "a signed step can't step through unsigned numbers", note=note, do="cast one")
    if context.option("debug", False):
        nonzero = Expr(typed(step != 0, u1))
        context.builder.assert_(nonzero.value, "the step of a range must not be zero")  # noqa: PT009 - the builder's


def _trips(lo: Expr, hi: Expr, step: KernelObject, to: DType) -> Value:
    """How many numbers a range has; none if the step is zero. Distances are unsigned, or might overflow."""
    up = step > 0
    first, last = (select(up, a, b) for a, b in ((lo, hi), (hi, lo)))
    distance = cast(last, unsigned(to)) - cast(first, unsigned(to))
    size = max_(cast(abs_(step), unsigned(to)), 1) if isinstance(step, Expr) else abs(step)
    trips = cast((distance - 1) // size + 1, to)
    some = first < last
    if isinstance(step, Expr):
        some = some & (step != 0)
    return typed(select(some, trips, 0), to)


def _check_bound(context: Context, bound: object) -> None:
    scalar = isinstance(bound, Expr) or is_number(bound)
    if not scalar or alone(bound).is_float:
        note = f"this is {bound.dtype}" if isinstance(bound, Expr) else f"got {describe(bound)}"
        context.fail(AdstackTypeError, "a bound of a range must be an integer", note=note, do="cast it: i32(...)")
