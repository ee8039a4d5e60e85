"""What a `for` runs over: boxes of indices of fields, arrays, ranges, and how their points are handed to the body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from ...data.struct_fields import StructField
from ...errors import AdstackSyntaxError, AdstackTypeError
from ...ir.structure import Value
from ...ir.types import DType, i32
from ...values.compile_time import Grouped, NdRange
from ...values.elements import Elements
from ...values.kinds import KernelObject
from ..emission.arrays import ArrayArgument
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import describe, is_number, plain
from ..emission.type_promotion import alone, common, typed
from .indexing import indexable, touch

__all__ = ["Domain", "RuntimeRange", "domain_of"]


class RuntimeRange:
    """`range(lo, hi)` of runtime bounds."""

    def __init__(self, lo: object, hi: object) -> None:
        self.lo, self.hi = lo, hi

    def __iter__(self) -> KernelObject:
        raise AdstackTypeError("bounds of a static range must be compile-time constants", do="drop static(...)")


@dataclass
class Domain:
    """What a runtime loop runs over: a box of indices.

    Attributes:
        bounds: (lo, hi) of each axis as values of one integer type.
        offsets: what to add to each index before the body sees it.
        grouped: the body gets one vector instead of one scalar per axis.
    """

    bounds: list[tuple[Value, Value]]
    offsets: Sequence[int]
    grouped: bool = False

    def points(self, context: Context, indices: Sequence[Value]) -> list[KernelObject]:
        """What the loop's targets are given."""
        exprs = [Expr(i) + o if o else Expr(i) for i, o in zip(indices, self.offsets, strict=False)]
        return [Elements.over(exprs, (len(exprs),))] if self.grouped else exprs


def domain_of(context: Context, iterable: object) -> Domain:
    """The domain of a runtime loop over `iterable`."""
    if isinstance(iterable, Grouped):
        inner = domain_of(context, iterable.domain)
        return Domain(inner.bounds, inner.offsets, True)
    if isinstance(iterable, range):
        if iterable.step != 1:
            context.fail(
                AdstackSyntaxError, "range with a step is not supported in a runtime loop", do="compute a + k * step"
            )
        return _box(context, [(iterable.start, iterable.stop)])
    if isinstance(iterable, RuntimeRange):
        return _box(context, [(iterable.lo, iterable.hi)])
    if isinstance(iterable, NdRange):
        return _box(context, iterable.axes)
    if isinstance(iterable, StructField):
        return domain_of(context, iterable.member_fields[0])
    if indexable(iterable):
        return _array(context, iterable)
    return _refused(context, iterable)


def _refused(context: Context, iterable: object) -> NoReturn:
    do = "loop over range, ndrange, a field, an ndarray or grouped(...)"
    if isinstance(iterable, (list, tuple, Elements, dict, str, zip, enumerate)):
        do = "write `for ... in static(...)`, which unrolls the loop"
    context.fail(AdstackTypeError, f"a runtime loop can't run over {describe(iterable)}", do=do)


def _array(context: Context, array: KernelObject) -> Domain:
    if isinstance(array, ArrayArgument):
        touch(context, array)
        return _box(context, [(0, extent) for extent in array.shape])
    touch(context, array)
    box = _box(context, [(0, extent) for extent in array.shape])
    return Domain(box.bounds, array.offset or (0,) * len(box.bounds))


def _box(context: Context, axes: Sequence[tuple[KernelObject, KernelObject]]) -> Domain:
    bounds = [_axis(context, plain(lo), plain(hi)) for lo, hi in axes]
    return Domain(bounds, (0,) * len(bounds))


def _axis(context: Context, lo: object, hi: object) -> tuple[Value, Value]:
    for bound in (lo, hi):
        _check_bound(context, bound)
    to = _index_type(context, lo, hi)
    return typed(lo, to), typed(hi, to)


def _index_type(context: Context, lo: object, hi: object) -> DType:
    to = common(lo, hi)
    return i32 if to.is_bool else to


def _check_bound(context: Context, bound: object) -> None:
    scalar = isinstance(bound, Expr) or is_number(bound)
    if not scalar or alone(bound).is_float:
        note = f"this is {bound.dtype}" if isinstance(bound, Expr) else f"got {describe(bound)}"
        context.fail(AdstackTypeError, "a bound of a range must be an integer", note=note, do="cast it: i32(...)")
