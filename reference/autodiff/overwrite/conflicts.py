"""Values that the reverse pass would read from memory, but that the kernel has overwritten since.

`.grad()` runs after the forward launch. A load that it repeats sees the memory of then: that is the value of its own
time only if no write of the kernel to that element comes after the load. Where that can't be shown the kernel is
refused: a wrong gradient is never returned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product

from ...analysis.manager import Analyses
from ...analysis.order import Order
from ...errors import AdstackDataAccessError
from ...ir.ops import ATOMIC, FOR, PARALLEL_FOR, PLACE_ACCESSES, PLACE_WRITES, RANDOM
from ...ir.structure import Kernel, Op, Place, Region, Value

__all__ = [
    "confusable",
    "may_be_one",
    "overwritten",
    "refuse_lost",
    "refuse_mixed_extremes",
    "refuse_order_of_updates",
    "refuse_ordered",
    "refuse_overwritten",
    "same_memory",
    "stays",
]


def overwritten(kernel: Kernel, repeated: list[Op], analyses: Analyses) -> Iterator[tuple[Op, Op]]:
    """The loads that may see a later value of their element when the reverse pass repeats them.

    Args:
        kernel: the kernel.
        repeated: loads of it that the reverse pass repeats after the launch.
        analyses: what is known of its body.

    Yields:
        (load, write) for each such load and each write that may come after it.
    """
    order = analyses.get(Order, kernel.body)
    writes = [op for op in kernel.body.walk() if op.opdef in PLACE_WRITES]
    for load in repeated:
        for write in writes:
            if same_memory(kernel, load.attrs["place"], write.attrs["place"]) and not stays(order, load, write):
                yield load, write


def refuse_overwritten(pairs: Iterable[tuple[Op, Op]]) -> None:
    """Raise AdstackDataAccessError if there is such a load."""
    for load, write in pairs:
        raise _overwritten(load, write)


def confusable(kernel: Kernel, needed: Collection[str]) -> frozenset[frozenset[str]]:
    """Pairs of names of places that may be one memory, where the reverse pass has to know whether they are.

    Args:
        kernel: the kernel.
        needed: names of the places that its reverse pass may read; there are no pairs if it writes none of these.
    """
    accesses = [op for op in kernel.body.walk() if op.opdef in PLACE_ACCESSES]
    written = {op.attrs["place"].name: op.attrs["place"] for op in accesses if op.opdef in PLACE_WRITES}
    if written.keys().isdisjoint(needed):
        return frozenset()
    places = {op.attrs["place"].name: op.attrs["place"] for op in accesses}
    pairs = product(places.values(), written.values())
    return frozenset(
        frozenset((one.name, other.name)) for one, other in pairs if one.name != other.name and may_be_one(one, other)
    )


def same_memory(kernel: Kernel, a: Place, b: Place) -> bool:
    """Whether two places of a kernel may be the same memory."""
    return a.name == b.name or (may_be_one(a, b) and frozenset((a.name, b.name)) not in kernel.apart)


def may_be_one(a: Place, b: Place) -> bool:
    """Whether a call may pass the same memory for two places, as far as their types and roles tell."""
    return (
        "ndarray" in (a.kind, b.kind)
        and a.dtype is b.dtype
        and {a.kind, b.kind} <= {"field", "ndarray"}
        and (a.role == b.role)
    )


def stays(order: Order, load: Op, write: Op) -> bool:
    """Whether the write never changes, after the load, the element that the load read."""
    here, there = order.spots[load], order.spots[write]
    shared = [loop for loop in here.loops if loop in there.loops]
    serial = [loop for loop in shared if loop.opdef is not PARALLEL_FOR]
    earlier = there.number < here.number
    if earlier and not serial:
        return True
    if load.attrs["place"].name != write.attrs["place"].name:
        return False
    pairs = list(zip(load.operands, write.operands[: len(load.operands)], strict=True))
    # a loop whose index picks the element on some axis never comes back to the elements of another iteration
    picked = [order.indices.get(base) for base, _ in (order.offset(a) for a, b in pairs if _same(order, a, b)) if base]
    repeats = [loop for loop in serial if loop not in picked]
    return any(_apart(order, a, b, (shared, repeats), earlier=earlier) for a, b in pairs)


def _same(order: Order, read: Value, written: Value) -> bool:
    (base, a), (other, b) = order.offset(read), order.offset(written)
    return base is other and a == b


def _apart(order: Order, read: Value, written: Value, loops: tuple[list[Op], list[Op]], *, earlier: bool) -> bool:
    """Whether on this axis the index written is never, at or after the load, the index read.

    `loops` are those around both, and of these the serial ones that may come back to the same elements.
    """
    shared, repeats = loops
    (base, a), (other, b) = order.offset(read), order.offset(written)
    if base is not other:
        return _beyond(order, read, written) or _behind(order, read, written, loops)
    if base is None:
        return a != b
    loop = order.indices.get(base)
    if loop is None:
        # another iteration of a loop in which it is made may give another value
        return a != b and not any(s in order.varies.get(base, ()) for s in repeats)
    if loop not in shared:
        return False
    if loop.opdef is PARALLEL_FOR:
        return a != b
    if _starts_anew(loop, loops):
        return False
    # loops inside this one repeat with the same index; this one goes on with larger ones
    return a < b or (a == b and earlier and shared[-1] is loop)


def _beyond(order: Order, read: Value, written: Value) -> bool:
    """Whether the ranges of the two indices have nothing in common."""
    (low, high), (least, most) = order.bounds(read), order.bounds(written)
    after = high is not None and least is not None and high < least
    return after or (low is not None and most is not None and most < low)


def _starts_anew(loop: Op, loops: tuple[list[Op], list[Op]]) -> bool:
    """Whether a loop around this one lets its index begin again, for the same elements."""
    shared, repeats = loops
    return any(outer in repeats for outer in shared[: shared.index(loop)])


def _behind(order: Order, read: Value, written: Value, loops: tuple[list[Op], list[Op]]) -> bool:
    """Whether the index read ends where the one written is, which only grows: `for u in range(t)` inside `for t`."""
    (base, a), (other, b) = order.offset(read), order.offset(written)
    if base is None or other is None:
        return False
    inner, outer = order.indices.get(base), order.indices.get(other)
    if inner is None or inner.opdef is not FOR or outer is None or outer.opdef is not FOR:
        return False
    if outer not in loops[0] or _starts_anew(outer, loops):
        return False
    end, c = order.offset(inner.operands[1])
    return end is other and a + c - 1 < b


def _called(op: Op) -> str:
    called: str = op.attrs["place"].called
    return called


def _overwritten(load: Op, write: Op) -> AdstackDataAccessError:
    name = _called(load)
    line = f", line {write.loc.line}" if write.loc.line else ""
    return AdstackDataAccessError(
        f"Breaks the global data access rule: the derivative needs the value of {name} that is read here, "
        f"and it may be overwritten by the same kernel afterwards ({write.loc.file.rsplit('/', 1)[-1]}{line})",
        loc=load.loc if load.loc.line else None,
        do="write the result to another field, or to another element (x[t + 1] from x[t])",
    )


def refuse_lost(body: Region, lost: Mapping[Value, Op]) -> None:
    """Raise AdstackDataAccessError if a reverse kernel uses a value that can't be had again.

    Args:
        body: of the reverse kernel, its dead code gone.
        lost: the values that stand for such ones, and the op of the kernel each comes from.
    """
    for op in body.walk():
        for value in op.operands:
            if value in lost:
                raise _gone(lost[value])


def _gone(op: Op) -> AdstackDataAccessError:
    what = "a random number" if op.opdef is RANDOM else f"the old value that atomic {op.attrs['kind']} gives"
    return AdstackDataAccessError(
        f"Breaks the global data access rule: the derivative needs {what} again, "
        "which only the forward launch has seen",
        loc=op.loc if op.loc.line else None,
        do="store it to a field in a kernel of its own, and read it from there",
    )


def refuse_ordered(body: Region, adjoint: Collection[Value], analyses: Analyses) -> None:
    """Raise AdstackDataAccessError where a derivative depends on the order in which updates of one element were made.

    Args:
        body: of the source.
        adjoint: the values that carry adjoints.
        analyses: what is known of the body.
    """
    order = analyses.get(Order, body)
    for op in body.walk():
        if op.opdef is not ATOMIC or not any(v in adjoint for v in op.results):
            continue
        parallel = [loop for loop in order.spots[op].loops if loop.opdef is PARALLEL_FOR]
        own = {order.offset(v)[0] for v in op.operands[: op.attrs["place"].rank]}
        shared = any(arg not in own for loop in parallel for arg in loop.regions[0].args)
        if op.attrs["kind"] in ("min", "max") or shared:
            raise AdstackDataAccessError(
                f"Breaks the global data access rule: the derivative of the old value that atomic {op.attrs['kind']} "
                f"on {_called(op)} gives depends on the order of the updates, which is not known afterwards",
                loc=op.loc if op.loc.line else None,
                do="read the element before the update, in a kernel of its own",
            )


def refuse_mixed_extremes(kernel: Kernel, differentiated: Collection[str]) -> None:
    """Raise AdstackDataAccessError where what is in memory in the end does not tell who won an atomic min or max."""
    writes: dict[str, list[Op]] = {}
    for op in kernel.body.walk():
        if op.opdef in PLACE_WRITES:
            writes.setdefault(op.attrs["place"].name, []).append(op)
    for name, ops in writes.items():
        kinds = {op.attrs.get("kind", "store") for op in ops}
        if name in differentiated and kinds & {"min", "max"} and len(kinds) > 1:
            first = next(op for op in ops if op.attrs.get("kind") in ("min", "max"))
            raise AdstackDataAccessError(
                f"Breaks the global data access rule: {_called(first)} is updated by atomic "
                f"{first.attrs['kind']} and in "
                "other ways by one kernel, so that memory does not tell afterwards which value won",
                loc=first.loc if first.loc.line else None,
                do="make the other updates in another kernel",
            )


def refuse_order_of_updates(op: Op, differentiated: Collection[str]) -> None:
    """Raise AdstackDataAccessError at the update that is reversed first in an op whose order matters, if there is one.

    Args:
        op: an op of the source.
        differentiated: names of the places that have gradients.
    """
    for update in _backwards(op):
        if update.opdef is not ATOMIC or update.attrs["place"].name not in differentiated:
            continue
        kind = update.attrs["kind"]
        if kind not in ("add", "min", "max"):
            shared = update.attrs["place"].label or update.attrs["place"].name
            raise AdstackDataAccessError(
                f"Breaks the global data access rule: the derivative of atomic {_CALLED.get(kind, kind)} depends on "
                f"the order in which iterations update an element of {shared} that they share, which is not known",
                loc=update.loc if update.loc.line else None,
                do="update elements that one iteration alone touches, or leave the place without a gradient",
            )


def _backwards(op: Op) -> Iterator[Op]:
    """An op and all inside it, in the order of their reversal."""
    yield op
    for region in op.regions:
        for inner in reversed(region.ops):
            yield from _backwards(inner)


_CALLED = {"mul": "product", "xchg": "exchange", "cas": "compare-and-swap"}
