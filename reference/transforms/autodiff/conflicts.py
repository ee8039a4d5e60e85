"""Values that the reverse pass would read from memory, but that the kernel has overwritten since.

`.grad()` runs after the forward launch. A load that it repeats sees the memory of then: that is the value of its own
time only if no write of the kernel to that element comes after the load. Where that can't be shown the kernel is
refused: a wrong gradient is never returned.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import AdstackDataAccessError
from ...ir.structure import Kernel, Op, Value

__all__ = ["Order", "refuse_overwritten"]


@dataclass(frozen=True)
class Spot:
    """Where an op stands.

    Attributes:
        number: its position in program order.
        loops: the loops around it, outermost first, parallel ones included.
        task: the position of the top-level op that it is, or is inside.
    """

    number: int
    loops: tuple[Op, ...]
    task: int


class Order:
    """Positions of all ops of a kernel, and where its integers come from."""

    def __init__(self, kernel: Kernel) -> None:
        self.spots: dict[Op, Spot] = {}
        self.makers: dict[Value, Op] = {}
        self.indices: dict[Value, Op] = {}
        for task, op in enumerate(kernel.body.ops):
            self._place(op, (), task)

    def _place(self, op: Op, loops: tuple[Op, ...], task: int) -> None:
        self.spots[op] = Spot(len(self.spots), loops, task)
        self.makers.update((v, op) for v in op.results)
        inside = (*loops, op) if op.name in ("for", "while", "parallel_for") else loops
        if op.name == "for":
            self.indices[op.regions[0].args[0]] = op
        elif op.name == "parallel_for":
            self.indices.update((a, op) for a in op.regions[0].args)
        for region in op.regions:
            for nested in region.ops:
                self._place(nested, inside, task)

    def offset(self, value: Value) -> tuple[Value | None, int]:
        """A value as (base + number); base None for a constant."""
        total = 0
        while (maker := self.makers.get(value)) is not None:
            if maker.name == "const":
                return None, total + int(maker.attrs["value"])
            if maker.name == "cast" and maker.operands[0].dtype.is_integer and not maker.operands[0].dtype.is_bool:
                value = maker.operands[0]
            elif maker.name in ("add", "sub") and (step := self._constant(maker.operands[1])) is not None:
                total += step if maker.name == "add" else -step
                value = maker.operands[0]
            elif maker.name == "add" and (step := self._constant(maker.operands[0])) is not None:
                total += step
                value = maker.operands[1]
            else:
                break
        return value, total

    def _constant(self, value: Value) -> int | None:
        maker = self.makers.get(value)
        return int(maker.attrs["value"]) if maker is not None and maker.name == "const" else None


def refuse_overwritten(kernel: Kernel, repeated: list[Op]) -> None:
    """Raise AdstackDataAccessError if one of these loads may see a value written after its time."""
    order = Order(kernel)
    writes = [op for op in kernel.body.walk() if op.name in ("store", "atomic")]
    for load in repeated:
        for write in writes:
            if _same_memory(load, write) and not _stays(order, load, write):
                raise _overwritten(load, write)


def _same_memory(load: Op, write: Op) -> bool:
    """Array arguments may be the same array."""
    a, b = load.attrs["place"], write.attrs["place"]
    if a.name == b.name:
        return True
    return "ndarray" in (a.kind, b.kind) and a.dtype is b.dtype and {a.kind, b.kind} <= {"field", "ndarray"} and (
        a.role == b.role
    )


def _stays(order: Order, load: Op, write: Op) -> bool:
    """Whether the write never changes, after the load, the element that the load read."""
    here, there = order.spots[load], order.spots[write]
    shared = [loop for loop in here.loops if loop in there.loops]
    serial = [loop for loop in shared if loop.name != "parallel_for"]
    earlier = there.number < here.number
    if earlier and not serial:
        return True
    if load.attrs["place"].name != write.attrs["place"].name:
        return False
    pairs = zip(load.operands, write.operands[: len(load.operands)], strict=True)
    return any(_apart(order, a, b, shared, earlier=earlier) for a, b in pairs)


def _apart(order: Order, read: Value, written: Value, shared: list[Op], *, earlier: bool) -> bool:
    """Whether on this axis the index written is never, at or after the load, the index read."""
    (base, a), (other, b) = order.offset(read), order.offset(written)
    if base is not other:
        return False
    if base is None:
        return a != b
    loop = order.indices.get(base)
    if loop is None:
        # the same value of the same iteration of whatever is around both, if that is where it is made
        maker = order.makers.get(base)
        around = order.spots[maker].loops if maker is not None else ()
        inner = [s for s in shared if s.name != "parallel_for" and s not in around]
        return a != b and (not inner or maker is None)
    if loop not in shared:
        return False
    if loop.name == "parallel_for":
        return a != b
    # loops inside this one repeat with the same index; this one goes on with larger ones
    return a < b or (a == b and earlier and shared[-1] is loop)


def _overwritten(load: Op, write: Op) -> AdstackDataAccessError:
    place = load.attrs["place"]
    name = f"{place.kind} {place.label or place.name}"
    line = f", line {write.loc.line}" if write.loc.line else ""
    return AdstackDataAccessError(
        f"Breaks the global data access rule: the derivative needs the value of {name} that is read here, "
        f"and it may be overwritten by the same kernel afterwards ({write.loc.file.rsplit('/', 1)[-1]}{line})",
        loc=load.loc if load.loc.line else None,
        do="write the result to another field, or to another element (x[t + 1] from x[t])",
    )


