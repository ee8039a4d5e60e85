"""Parts of a place that are part of a loop's state as a whole: all elements at some of the indices, along other axes.

Where a loop accesses other elements from iteration to iteration, or accesses one in some iterations only, a snapshot
holds every element that it may access. Restoring them must not undo what other threads have stored: all stores of the
parallel iteration to the place go to indices that no other iteration has.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from ...analysis.order import Order
from ...ir.builder import Builder
from ...ir.ops import PARALLEL_FOR, PLACE_WRITES
from ...ir.scalar_ops import FLOORDIV, MOD
from ...ir.structure import Op, Place, Region, Value
from ...ir.types import i64, u1
from ..emission.state import Names, counter

__all__ = ["Slab", "slab_of"]

MOST: Final = 1024
"""Elements of the largest slab in the state of a loop whose trip count is not known."""


@dataclass(frozen=True)
class Slab:
    """All elements of a place that a loop may touch.

    Attributes:
        place: the place.
        fixed: for each axis the index, as a value from around the loop and what is added to it; None for all indices.
    """

    place: Place
    fixed: tuple[tuple[Value, int] | None, ...]

    @property
    def size(self) -> int:
        """How many elements it has."""
        free = (extent for extent, at in zip(self.place.shape, self.fixed, strict=True) if at is None)
        return prod(extent for extent in free if extent is not None)

    def save(self, b: Builder, names: Names, stack: Value, slot: Value) -> None:
        """Copy the elements to a slot of a stack."""
        self._copy(b, names, stack, slot, restore=False)

    def restore(self, b: Builder, names: Names, stack: Value, slot: Value) -> None:
        """Copy the elements back from a slot of a stack."""
        self._copy(b, names, stack, slot, restore=True)

    def _copy(self, b: Builder, names: Names, stack: Value, slot: Value, *, restore: bool) -> None:
        """Copy the elements; none where an index is outside of the place, as no iteration accesses it then."""
        some, none = Region(), Region()
        at = [None if one is None else self._index(b, names, *one) for one in self.fixed]
        with b.into(some):
            body = Region([Value(i64)])
            with b.into(body):
                element = body.args[0]
                entry, indices = b.add(b.mul(slot, counter(b, self.size)), element), self._indices(b, at, element)
                if restore:
                    b.store(self.place, indices, b.get(stack, entry))
                else:
                    b.put(stack, entry, b.load(self.place, indices))
                b.yield_()
            b.for_(counter(b), counter(b, self.size), [], body)
            b.yield_()
        with b.into(none):
            b.yield_()
        b.if_(self._exists(b, at), some, none)

    def _exists(self, b: Builder, at: Sequence[Value | None]) -> Value:
        """Whether the place has these indices."""
        inside = b.const(True, u1)
        for axis, index in enumerate(at):
            if index is not None:
                inside = b.and_(inside, b.le(counter(b), index))
                inside = b.and_(inside, b.lt(index, b.shape(self.place, axis, i64)))
        return inside

    @staticmethod
    def _index(b: Builder, names: Names, base: Value, shift: int) -> Value:
        return b.add(b.cast(names.get(base, base), i64), counter(b, shift))

    def _indices(self, b: Builder, at: Sequence[Value | None], element: Value) -> list[Value]:
        """The indices of an element, from its number in row-major order."""
        indices: list[Value] = []
        for extent, index in zip(reversed(self.place.shape), reversed(at), strict=True):
            if index is None:
                assert extent is not None
                indices.append(b.emit(MOD, element, counter(b, extent)))
                element = b.emit(FLOORDIV, element, counter(b, extent))
            else:
                indices.append(index)
        return indices[::-1]


def slab_of(order: Order, loop: Op, touching: Sequence[Op], trips: int | None) -> Slab | str:
    """The part of a place that a loop touches by these ops, or why a snapshot can't hold it.

    `trips` is how often the loop runs, if that is a number: more elements than that are not worth it.
    """
    place: Place = touching[0].attrs["place"]
    inside = {v for op in Region(ops=[loop]).walk() for v in op.results}
    inside |= {a for op in Region(ops=[loop]).walk() for region in op.regions for a in region.args}
    fixed = tuple(_fixed(order, [op.operands[axis] for op in touching], inside) for axis in range(place.rank))
    if any(extent is None and at is None for extent, at in zip(place.shape, fixed, strict=True)):
        return "how many there are is not known before the launch"
    if not _is_own(order, loop, place, fixed):
        return "to put them back would undo what other threads have stored"
    slab, most = Slab(place, fixed), MOST if trips is None else trips
    return slab if slab.size <= most else f"these are {slab.size} elements, where {most} are worth it"


def _fixed(order: Order, indices: Sequence[Value], inside: Collection[Value]) -> tuple[Value, int] | None:
    """The index along an axis, if it is the same in all iterations: (value, number added to it); otherwise None."""
    forms = {order.offset(v) for v in indices}
    if len(forms) > 1:
        return None
    outside = next((v for v in indices if v not in inside), None)
    base, shift = forms.pop()
    if outside is not None:
        return outside, 0
    return None if base is None or base in inside else (base, shift)


def _is_own(order: Order, loop: Op, place: Place, fixed: Sequence[tuple[Value, int] | None]) -> bool:
    """Whether no other parallel iteration stores to elements at these indices."""
    parallel = [one for one in order.spots[loop].loops if one.opdef is PARALLEL_FOR]
    lanes = [lane for one in parallel for lane in one.regions[0].args]
    writes = [op for one in parallel for op in one.regions[0].walk() if op.opdef in PLACE_WRITES]
    writes = [op for op in writes if op.attrs["place"].name == place.name]
    forms = [None if at is None else _moved(order.offset(at[0]), at[1]) for at in fixed]
    return all(
        any(
            form is not None and form[0] is lane and all(order.offset(op.operands[axis]) == form for op in writes)
            for axis, form in enumerate(forms)
        )
        for lane in lanes
    )


def _moved(form: tuple[Value | None, int], shift: int) -> tuple[Value | None, int]:
    return form[0], form[1] + shift
