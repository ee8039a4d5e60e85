"""Which accesses of neighbouring iterations touch neighbouring elements, so that they are one vector access."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from adstack.ir.structure import Op, Place, Region, Value

__all__ = ["Strides"]

Monomial = tuple[tuple[str, int], ...]
"""A product of extents not known until launch: (place, axis) pairs, sorted."""

Polynomial = Mapping[Monomial, int]


def _times(a: Polynomial, b: Polynomial) -> Counter[Monomial]:
    product: Counter[Monomial] = Counter()
    for m, x in a.items():
        for n, y in b.items():
            product[tuple(sorted(m + n))] += x * y
    return product


def _nonzero(p: Polynomial) -> dict[Monomial, int]:
    return {m: c for m, c in p.items() if c}


class Strides:
    """Knows, for integer values of a `parallel_for` body, how they grow with each of its indices.

    Args:
        loop: the `parallel_for`.
        header: the ops before it.
        varying: the values that differ between iterations.
    """

    def __init__(self, loop: Op, header: Sequence[Op], varying: set[Value]) -> None:
        self._varying = varying
        self._defined = {v: op for op in header for v in op.results}
        self._growth: dict[Value, dict[int, int]] = {arg: {k: 1} for k, arg in enumerate(loop.regions[0].args)}
        extents = [self._extent(loop.operands[2 * k], loop.operands[2 * k + 1]) for k in range(len(loop.operands) // 2)]
        self._linear: list[Polynomial | None] = []
        stride: Polynomial | None = {(): 1}
        for extent in reversed(extents):
            self._linear.insert(0, stride)
            stride = None if stride is None or extent is None else _times(stride, extent)
        self._scan(loop.regions[0])

    def _extent(self, lo: Value, hi: Value) -> Polynomial | None:
        low, high = self._symbol(lo), self._symbol(hi)
        if low is None or high is None or (set(low) - {()}):
            return None
        return {**high, (): high.get((), 0) - low.get((), 0)}

    def _symbol(self, value: Value) -> Polynomial | None:
        """A bound as a number or an extent of a place."""
        op = self._defined.get(value)
        while op is not None and op.name == "cast":
            op = self._defined.get(op.operands[0])
        if op is None:
            return None
        if op.name == "const":
            return {(): int(op.attrs["value"])}
        if op.name == "shape":
            return _extent_of(op.attrs["place"], op.attrs["axis"])
        return None

    def _scan(self, region: Region) -> None:
        for op in region.ops:
            if op.name == "const":
                self._defined[op.result] = op
            elif op.name in ("add", "sub", "cast", "mul", "neg"):
                growth = self._combine(op)
                if growth is not None:
                    self._growth[op.result] = growth
            for inner in op.regions:
                self._scan(inner)

    def _combine(self, op: Op) -> dict[int, int] | None:
        if any(not v.dtype.is_integer for v in (*op.operands, op.result)):
            return None
        if any(v in self._varying and v not in self._growth for v in op.operands):
            return None
        first = self._growth.get(op.operands[0])
        if op.name in ("cast", "neg"):
            sign = -1 if op.name == "neg" else 1
            return None if first is None else {k: sign * c for k, c in first.items()}
        second = self._growth.get(op.operands[1])
        if op.name == "mul":
            return self._scaled(first, op.operands[1]) or self._scaled(second, op.operands[0])
        if first is None and second is None:
            return None
        sign = -1 if op.name == "sub" else 1
        total = Counter(first or {})
        for k, c in (second or {}).items():
            total[k] += sign * c
        return dict(total)

    def _scaled(self, growth: dict[int, int] | None, factor: Value) -> dict[int, int] | None:
        op = self._defined.get(factor)
        if growth is None or op is None or op.name != "const":
            return None
        return {k: c * int(op.attrs["value"]) for k, c in growth.items()}

    def contiguous(self, place: Place, indices: Sequence[Value]) -> bool:
        """Whether the element that iteration n + 1 touches always follows the one of iteration n."""
        total: list[Counter[Monomial]] = [Counter() for _ in self._linear]
        stride: Polynomial = {(): 1}
        for axis in reversed(range(place.rank)):
            index = indices[axis]
            if index in self._varying and index not in self._growth:
                return False
            for k, c in self._growth.get(index, {}).items():
                total[k].update({m: c * v for m, v in stride.items()})
            stride = _times(stride, _extent_of(place, axis))
        return all(
            wanted is not None and _nonzero(got) == _nonzero(wanted)
            for got, wanted in zip(total, self._linear, strict=True)
        )


def _extent_of(place: Place, axis: int) -> Polynomial:
    extent = place.shape[axis]
    # a gradient has the extents of its primal
    return {((place.of or place.name, axis),): 1} if extent is None else {(): extent}
