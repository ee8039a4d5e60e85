"""Strides of accesses in a parallel loop: which are runs across iterations, so that vector accesses do them.

An access is a run if the linear address that it computes, as a polynomial in the extents of places, changes by the same
few elements from each iteration to the next: by one, or by the size of a record, as in an array of vectors. Indices are
followed by scalar evolution (`evolution.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..ir import scalar_ops as ops
from ..ir.ops import SHAPE
from ..ir.structure import Op, Place, Region, Value
from .evolution import Evolution, convert, minus, plus, times
from .facts import integer

__all__ = ["Run", "Strides"]

Monomial = tuple[tuple[str, int], ...]
"""A product of extents not known until launch: (place, axis) pairs, sorted."""

Polynomial = Mapping[Monomial, int]

_WIDEST: Final = 4
"""Elements of a record that are loaded together; of wider records it takes too many shuffles to tell them apart."""


@dataclass(frozen=True)
class Run:
    """What the iterations of a loop access one after another: the same element of records that follow each other.

    A record is what the last axes of a place make up, if their extents are known: a vector of an array of vectors, say.

    Attributes:
        stride: the elements of a record; 1 if the elements themselves follow each other.
        position: which of them is accessed.
        axes: the axes of the place in front of those of the record.
    """

    stride: int
    position: int
    axes: int


def _times(a: Polynomial, b: Polynomial) -> Counter[Monomial]:
    product: Counter[Monomial] = Counter()
    for m, x in a.items():
        for n, y in b.items():
            product[tuple(sorted(m + n))] += x * y
    return product


def _nonzero(p: Polynomial) -> dict[Monomial, int]:
    return {m: c for m, c in p.items() if c}


class Strides:
    """The strides of a `parallel_for`, from the evolution of its integers with each of its indices.

    Args:
        loop: the `parallel_for`.
        varying: the values that differ between iterations. If of the indices that is only the last, neighbours are
            those in a row of the last axis.
    """

    def __init__(self, loop: Op, varying: Collection[Value]) -> None:
        self._varying = varying
        bounds = list(zip(loop.operands[::2], loop.operands[1::2], strict=True))
        self._evolution: dict[Value, Evolution] = {
            arg: self._index(k, arg, *bounds[k]) for k, arg in enumerate(loop.regions[0].args) if arg in varying
        }
        self._linear: list[Polynomial | None] = []
        stride: Polynomial | None = {(): 1}
        for arg, (lo, hi) in zip(reversed(loop.regions[0].args), reversed(bounds), strict=True):
            self._linear.insert(0, stride if arg in varying else {})
            extent = self._extent(lo, hi)
            stride = None if stride is None or extent is None else _times(stride, extent)
        self._scan(loop.regions[0])

    def _index(self, k: int, arg: Value, lo: Value, hi: Value) -> Evolution:
        """The evolution of an index of the loop: it lies between its bounds, which lie in its type."""
        least, most = integer(lo), integer(hi)
        dtype = arg.dtype
        return Evolution({k: 1}, dtype.min if least is None else least, (dtype.max if most is None else most) - 1)

    def _extent(self, lo: Value, hi: Value) -> Polynomial | None:
        low, high = self._symbol(lo), self._symbol(hi)
        if low is None or high is None or (set(low) - {()}):
            return None
        return _nonzero({**high, (): high.get((), 0) - low.get((), 0)})

    def _symbol(self, value: Value) -> Polynomial | None:
        """A bound as a number or as an extent of a place; None if it is neither."""
        op = value.op
        while op is not None and op.opdef is ops.CAST and _holds_extents(op.result) and _holds_extents(op.operands[0]):
            op = op.operands[0].op
        if op is not None and op.opdef is ops.CONST:
            return {(): int(op.attrs["value"])}
        if op is not None and op.opdef is SHAPE and _holds_extents(op.result):
            return _extent_of(op.attrs["place"], op.attrs["axis"])
        return None

    def _scan(self, region: Region) -> None:
        for op in region.ops:
            if op.opdef in (ops.ADD, ops.SUB, ops.CAST, ops.MUL, ops.NEG):
                evolution = self._combine(op)
                if evolution is not None:
                    self._evolution[op.result] = evolution
            for inner in op.regions:
                self._scan(inner)

    def _of(self, value: Value) -> Evolution | None:
        """The evolution of a value; None if it is not known to be linear in the indices."""
        number = integer(value)
        if number is not None:
            return Evolution({}, number, number)
        return self._evolution.get(value) if value in self._varying else Evolution({})

    def _combine(self, op: Op) -> Evolution | None:
        if any(v.dtype.kind not in "iu" for v in (*op.operands, op.result)):
            return None
        evolutions = [self._of(v) for v in op.operands]
        dtype = op.result.dtype
        match op.opdef, evolutions:
            case _, [None, *_] | [_, None]:
                return None
            case ops.CAST, [Evolution() as a]:
                return convert(a, op.operands[0].dtype, dtype)
            case ops.NEG, [Evolution() as a]:
                return times(a, -1, dtype)
            case ops.ADD, [Evolution() as a, Evolution() as b]:
                return plus(a, b, dtype)
            case ops.SUB, [Evolution() as a, Evolution() as b]:
                return minus(a, b, dtype)
            case _, [Evolution() as a, Evolution() as b]:
                return self._product(op, a, b)
        return None

    def _product(self, op: Op, a: Evolution, b: Evolution) -> Evolution | None:
        for evolution, other in ((a, op.operands[1]), (b, op.operands[0])):
            factor = integer(other)
            if factor is not None:
                return times(evolution, factor, op.result.dtype)
        return None

    def distinct(self, indices: Sequence[Value]) -> bool:
        """Whether different iterations always access different elements: each index of the loop is one of the access's,
        moved by what is the same in all iterations, and perhaps negated.
        """
        evolutions = [(index.dtype, self._of(index)) for index in indices]
        alone = {
            k
            for dtype, evolution in evolutions
            if evolution is not None and len(evolution.factors) == 1 and evolution.linear_as_index(dtype)
            for k, factor in evolution.factors.items()
            if abs(factor) == 1
        }
        return all(k in alone for k, stride in enumerate(self._linear) if stride != {})

    def contiguous(self, place: Place, indices: Sequence[Value]) -> bool:
        """Whether the element that iteration n + 1 accesses always follows that of iteration n.

        Args:
            place: the memory that is accessed.
            indices: of the access, one per axis of the place.
        """
        return self._stride(place, indices) == 1

    def run(self, place: Place, indices: Sequence[Value]) -> Run | None:
        """The run that an access is, if it is one of vector accesses; the arguments are those of `contiguous`."""
        stride = self._stride(place, indices)
        if stride == 1:
            return Run(1, 0, place.rank)
        size, position, axis = 1, 0, place.rank
        while axis and size < stride <= _WIDEST:
            axis -= 1
            extent, index = place.shape[axis], integer(indices[axis])
            if extent is None or index is None or not 0 <= index < extent:
                return None
            position += index * size
            size *= extent
        return Run(stride, position, axis) if 1 < size == stride else None

    def _stride(self, place: Place, indices: Sequence[Value]) -> int:
        """How many elements behind that of iteration n the one of iteration n + 1 always is; 0 if that differs."""
        total: list[Counter[Monomial]] = [Counter() for _ in self._linear]
        stride: Polynomial = {(): 1}
        for axis in reversed(range(place.rank)):
            index = indices[axis]
            evolution = self._of(index)
            if evolution is None or (evolution.factors and not evolution.linear_as_index(index.dtype)):
                return 0
            for k, c in evolution.factors.items():
                total[k].update({m: c * v for m, v in stride.items()})
            stride = _times(stride, _extent_of(place, axis))
        step = total[-1][()]
        same = all(
            wanted is not None and _nonzero(got) == _nonzero({m: step * v for m, v in wanted.items()})
            for got, wanted in zip(total, self._linear, strict=True)
        )
        return step if same else 0


def _holds_extents(value: Value) -> bool:
    """Whether its type is wide enough for the number of elements of anything."""
    return value.dtype.is_integer and value.dtype.bits >= 32


def _extent_of(place: Place, axis: int) -> Polynomial:
    extent = place.shape[axis]
    # a gradient has the extents of its primal
    return {((place.of or place.name, axis),): 1} if extent is None else {(): extent}
