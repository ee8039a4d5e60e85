"""Random kernels whose places are read, overwritten and updated in every order: to be recovered, or refused.

The places `a` and `b` have three elements, `c` has one; all have gradients. Serial code may do anything to them; in a
parallel loop each iteration keeps to its own elements of `a` and `b`, and to atomic updates of `c` of one kind.
"""

from __future__ import annotations

from random import Random
from typing import Final

from adstack.ir.builder import Builder
from adstack.ir.scalar_ops import SIN
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.types import DType, f64, i32
from adstack.ir.verify.verifier import verify

__all__ = ["traffic_kernel"]

EXTENT: Final = 3
KINDS: Final = ("add", "min", "max")


def traffic_kernel(seed: int, size: int = 8, dtype: DType = f64) -> Kernel:
    """A verified kernel of about `size` accesses; equal seeds give equal kernels."""
    kernel = Traffic(Random(seed), dtype).kernel(size)
    verify(kernel)
    return kernel


class Traffic:
    """Draws from `random`.

    Attributes:
        values: floats at hand.
        own: the index of the parallel loop around, if there is one.
        kind: how iterations of that loop update `c`.
    """

    def __init__(self, random: Random, dtype: DType) -> None:
        self.random, self.dtype = random, dtype
        self.b = Builder()
        self.places = {
            name: Place(name, dtype, shape) for name, shape in (("a", (EXTENT,)), ("b", (EXTENT,)), ("c", ()))
        }
        self.values: list[Value] = []
        self.own: Value | None = None
        self.kind = random.choice(KINDS)

    def kernel(self, size: int) -> Kernel:
        """Serial code around a loop, a parallel loop, or either alone."""
        shape = self.random.randrange(4)
        if shape != 1:
            self._fill(size if shape == 0 else size // 2)
        if shape != 0:
            self._loop(size, parallel=self.random.random() < 0.6)
        if shape == 2:
            self._fill(size // 2)
        self.b.return_()
        return Kernel("traffic", self.b.region, self.places)

    def _loop(self, size: int, parallel: bool) -> None:
        region = Region([Value(i32)])
        bounds = self.b.const(0, i32), self.b.const(EXTENT, i32)
        outer, self.values = self.values, list(self.values)
        self.own = region.args[0] if parallel else None
        with self.b.into(region):
            self._fill(size, None if parallel else region.args[0])
            self.b.yield_()
        self.own, self.values = None, outer
        if parallel:
            self.b.parallel_for([bounds], region)
        else:
            self.b.for_(*bounds, [], region)

    def _fill(self, size: int, index: Value | None = None) -> None:
        for _ in range(size):
            self.random.choice((self._load, self._load, self._math, self._store, self._atomic))(index)

    def _element(self, index: Value | None, shared: bool) -> tuple[Place, list[Value]]:
        """A place and an index into it; `c` where sharing is allowed."""
        if shared and self.random.random() < 0.35:
            return self.places["c"], []
        place = self.places[self.random.choice("ab")]
        if self.own is not None:
            return place, [self.own]
        if index is not None and self.random.random() < 0.6:
            return place, [index]
        return place, [self.b.const(self.random.randrange(EXTENT), i32)]

    def _value(self) -> Value:
        if self.values and self.random.random() < 0.85:
            return self.random.choice(self.values[-4:])
        return self.b.const(self.random.uniform(-1.5, 1.5), self.dtype)

    def _load(self, index: Value | None) -> None:
        place, indices = self._element(index, self.own is None)
        self.values.append(self.b.load(place, indices))

    def _math(self, index: Value | None) -> None:
        pick = self.random.randrange(3)
        if pick == 0:
            value = self.b.emit(SIN, self._value())
        elif pick == 1:
            value = self.b.mul(self._value(), self._value())
        else:
            value = self.b.add(self._value(), self._value())
        self.values.append(value)

    def _store(self, index: Value | None) -> None:
        place, indices = self._element(index, self.own is None)
        self.b.store(place, indices, self._value())

    def _atomic(self, index: Value | None) -> None:
        place, indices = self._element(index, True)
        shared = self.own is not None and not indices
        kind = self.kind if shared else self.random.choice(KINDS)
        old = self.b.atomic(kind, place, indices, self._value())
        if not shared and self.random.random() < 0.3:
            self.values.append(old)
