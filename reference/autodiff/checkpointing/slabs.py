"""Parts of a place that are part of a loop's state as a whole: all elements at some of the indices, along other axes.

Where a loop accesses other elements from iteration to iteration, or accesses one in some iterations only, a snapshot
holds every element that it may access. Restoring them must not undo what other threads have stored: all stores of the
parallel iteration to the place go to indices that no other iteration has, `i` or `i * 4 + k % 4`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from ...analysis.order import Order
from ...analysis.windows import Window, window_of
from ...ir.builder import Builder
from ...ir.ops import PARALLEL_FOR, PLACE_WRITES
from ...ir.scalar_ops import FLOORDIV, MAX, MIN, MOD
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
        fixed: for each axis the indices, next to a value from around the loop; None for all indices.
    """

    place: Place
    fixed: tuple[Window | None, ...]

    @property
    def size(self) -> int:
        """How many elements it has."""
        return prod(count for count in self._counts if count is not None)

    @property
    def _counts(self) -> list[int | None]:
        """How many indices it has along each axis; None where only a launch decides, which a slab never has."""
        return [extent if at is None else at.count for extent, at in zip(self.place.shape, self.fixed, strict=True)]

    def save(self, b: Builder, names: Names, stack: Value, slot: Value) -> None:
        """Copy the elements to a slot of a stack."""
        self._copy(b, names, stack, slot, restore=False)

    def restore(self, b: Builder, names: Names, stack: Value, slot: Value) -> None:
        """Copy the elements back from a slot of a stack."""
        self._copy(b, names, stack, slot, restore=True)

    def _copy(self, b: Builder, names: Names, stack: Value, slot: Value, *, restore: bool) -> None:
        """Copy the elements; none where the indices are outside of the place, as no iteration accesses it then."""
        some, none = Region(), Region()
        at = [None if one is None else self._first(b, names, one) for one in self.fixed]
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
        """Whether the place has any of these indices."""
        inside = b.const(True, u1)
        for axis, (index, window) in enumerate(zip(at, self.fixed, strict=True)):
            if index is not None and window is not None:
                inside = b.and_(inside, b.lt(counter(b, -window.count), index))
                inside = b.and_(inside, b.lt(index, b.shape(self.place, axis, i64)))
        return inside

    @staticmethod
    def _first(b: Builder, names: Names, window: Window) -> Value:
        """The least index of a window."""
        base = b.cast(names.get(window.base, window.base), i64)
        return b.add(base if window.factor == 1 else b.mul(base, counter(b, window.factor)), counter(b, window.lo))

    def _indices(self, b: Builder, at: Sequence[Value | None], element: Value) -> list[Value]:
        """The indices of an element, from its number in row-major order.

        Those of a window that the place does not have stand for the nearest one that it has.
        """
        indices: list[Value] = []
        for axis, count in reversed([*enumerate(self._counts)]):
            first = at[axis]
            assert count is not None
            if first is not None and count == 1:
                indices.append(first)
                continue
            index = b.emit(MOD, element, counter(b, count))
            element = b.emit(FLOORDIV, element, counter(b, count))
            if first is not None:
                last = b.sub(b.shape(self.place, axis, i64), counter(b, 1))
                index = b.emit(MIN, b.emit(MAX, b.add(first, index), counter(b)), last)
            indices.append(index)
        return indices[::-1]


def slab_of(order: Order, loop: Op, touching: Sequence[Op], trips: int | None) -> Slab | str:
    """The part of a place that a loop touches by these ops, or why a snapshot can't hold it.

    `trips` is how often the loop runs, if that is a number: more elements than that are not worth it.
    """
    place: Place = touching[0].attrs["place"]
    inside = {v for op in Region(ops=[loop]).walk() for v in op.results}
    inside |= {a for op in Region(ops=[loop]).walk() for region in op.regions for a in region.args}
    fixed = tuple(_fixed(order, touching, axis, inside) for axis in range(place.rank))
    if any(extent is None and at is None for extent, at in zip(place.shape, fixed, strict=True)):
        return "how many there are is not known before the launch"
    store = _stored_by_others(order, loop, touching, fixed)
    if store is not None:
        return f"to put them back would undo what other threads have stored{_where(store)}"
    slab, most = Slab(place, fixed), MOST if trips is None else trips
    return slab if slab.size <= most else f"these are {slab.size} elements, where {most} are worth it"


def _fixed(order: Order, touching: Sequence[Op], axis: int, inside: Collection[Value]) -> Window | None:
    """The index that is the same in all iterations, or the indices that they are among, if not all of the axis."""
    indices = [op.operands[axis] for op in touching]
    forms = {order.offset(v) for v in indices}
    outside = next((v for v in indices if v not in inside), None)
    if len(forms) == 1 and outside is not None:
        return Window(outside, 1, 0, 0)
    base, shift = forms.pop() if len(forms) == 1 else (None, 0)
    if base is not None and base not in inside:
        return Window(base, 1, shift, shift)
    window, extent = _hull(order, touching, axis), touching[0].attrs["place"].shape[axis]
    return None if window is None or (extent is not None and window.count > extent) else window


def _hull(order: Order, ops: Sequence[Op], axis: int) -> Window | None:
    """The window that the indices of several accesses lie in."""
    window = window_of(order, ops[0], axis)
    for op in ops[1:]:
        window = None if window is None else window.hull(window_of(order, op, axis))
    return window


def _stored_by_others(order: Order, loop: Op, touching: Sequence[Op], fixed: Sequence[Window | None]) -> Op | None:
    """A store by which another parallel iteration may change elements at these indices, those of `touching` among them.

    None if there is no such store: each iteration stores to windows of its own, or nothing is stored while they run.
    """
    place = touching[0].attrs["place"]
    parallel = [one for one in order.spots[loop].loops if one.opdef is PARALLEL_FOR]
    lanes = {lane for one in parallel for lane in one.regions[0].args}
    writes = [op for one in parallel for op in one.regions[0].walk() if op.opdef in PLACE_WRITES]
    writes = [op for op in writes if op.attrs["place"].name == place.name]

    def are_apart(ops: Sequence[Op]) -> bool:
        windows = [None if at is None else _hull(order, ops, axis) for axis, at in enumerate(fixed)]
        return lanes <= {window.base for window in windows if window is not None and window.is_apart}

    if not are_apart(touching):  # whatever is stored elsewhere, each snapshot holds what others store in this way
        return next((op for op in writes if not are_apart([op])), writes[0] if writes else None)
    return next((op for k, op in enumerate(writes) if not are_apart([*touching, *writes[: k + 1]])), None)


def _where(store: Op) -> str:
    """The file and the line of a store, if they are known."""
    return f" ({store.loc.file.rsplit('/', 1)[-1]}, line {store.loc.line})" if store.loc.line else ""
