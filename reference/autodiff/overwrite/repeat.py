"""Forward parts that run once more: what is left of a parallel loop, and what of serial code can't be.

A sweep of serial code repeats what the launch stored to kernel-level locals. Where an op is swept a second time, right
before its reversal, what it reads must be as it was the first time, local arrays apart, which are copied for that; and
where the iterations of its loops are counted ahead, which repeats no stores, no loop and no counted branch may depend
on what the op itself stores. Elsewhere repeating it is AdstackDataAccessError.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ...errors import AdstackDataAccessError
from ...ir.ops import (
    ARRAY_STORE,
    ASSERT,
    ATOMIC,
    FOR,
    IF,
    LOAD,
    PLACE_WRITES,
    PRINT,
    RANDOM,
    SERIAL_LOOPS,
    STORE,
)
from ...ir.structure import Op, Place, Region, Value
from ...transforms.rewriting.rewrite import constant_op

__all__ = ["decides", "drop_effects", "refuse_second_sweep", "refuse_uncounted"]


def refuse_second_sweep(op: Op, after: Sequence[Op], repeats: Callable[[Op], bool]) -> None:
    """AdstackDataAccessError if an op of serial code would find something else when it is swept once more.

    Args:
        op: the op.
        after: those that are swept between the two times.
        repeats: whether a sweep repeats what this store or atomic does to memory.
    """
    changing = next((o for o in Region(ops=[op]).walk() if _changes(o, repeats)), None)
    if changing is None:
        read = {o.attrs["place"].name for o in Region(ops=[op]).walk() if o.opdef is LOAD}
        later = Region(ops=list(after)).walk()
        changing = next((o for o in later if _changes(o, repeats) and o.attrs["place"].name in read), None)
    if changing is not None:
        raise _refused(changing, "is updated by a serial loop before a parallel one")


def refuse_uncounted(op: Op, repeats: Callable[[Op], bool], counted: Collection[Region]) -> None:
    """AdstackDataAccessError if what an op stores decides how often a loop or counted branch in it runs.

    Args:
        op: the op.
        repeats: see `refuse_second_sweep`.
        counted: the sides of branches that have counters.
    """
    region = Region(ops=[op])
    changing = [o for o in region.walk() if o.opdef in PLACE_WRITES and repeats(o)]
    names = {o.attrs["place"].name for o in changing}
    if names and decides(region, names, counted):
        raise _refused(changing[0], "is updated where it decides how often a loop runs")


def _changes(op: Op, repeats: Callable[[Op], bool]) -> bool:
    return op.opdef in PLACE_WRITES and repeats(op)


def _refused(op: Op, how: str) -> AdstackDataAccessError:
    place: Place = op.attrs["place"]
    return AdstackDataAccessError(
        f"Breaks the global data access rule: {place.called} {how}, and the derivative needs what was there on the way",
        loc=op.loc if op.loc.line else None,
        do="put the loop in a kernel of its own, or record the launch with qd.ad.Tape",
    )


def decides(body: Region, names: Collection[str], counted: Collection[Region] = ()) -> bool:
    """Whether what is loaded from places of these names decides how often a loop, or one of these branches, runs."""
    tainted: set[Value] = set()
    handles: set[Value] = set()
    size = -1
    while size != len(tainted):
        size = len(tainted)
        for op in body.walk():
            _spread(op, names, tainted)
    loops = [op for op in body.walk() if op.opdef in SERIAL_LOOPS]
    for op in loops:
        handles.update(op.operands[:2] if op.opdef is FOR else op.regions[0].terminator.operands[:1])
    handles.update(op.operands[0] for op in body.walk() if op.opdef is IF and _is_counted(op, counted))
    return not handles.isdisjoint(tainted)


def _is_counted(op: Op, counted: Collection[Region]) -> bool:
    """Whether there is something to count in a branch."""
    loops = any(inner.opdef in SERIAL_LOOPS for region in op.regions for inner in region.walk())
    return loops or any(region in counted for region in op.regions)


def _spread(op: Op, names: Collection[str], tainted: set[Value]) -> None:
    """Add to `tainted` the values that may depend on a load from one of these places, by an op or what is inside it."""
    loaded = op.opdef in (LOAD, ATOMIC) and op.attrs["place"].name in names
    if loaded or any(v in tainted for v in op.operands):
        tainted.update(op.results)
        tainted.update(arg for region in op.regions for arg in region.args)
        if op.opdef is ARRAY_STORE:
            tainted.add(op.operands[0])
    for region in op.regions:
        if any(v in tainted for v in region.terminator.operands):
            tainted.update(op.results)
            tainted.update(arg for inner in op.regions for arg in inner.args)


def drop_effects(region: Region) -> dict[Value, Op]:
    """Leave no effect but on temps; gives the constants that stand for values that can't be had again, and for what."""
    lost: dict[Value, Op] = {}
    left = []
    for op in region.ops:
        place = op.attrs.get("place")
        if op.opdef in (PRINT, ASSERT) or (op.opdef is STORE and place is not None and place.kind != "temp"):
            op.erase()
            continue
        if op.opdef is RANDOM or (op.opdef is ATOMIC and place is not None and place.kind != "temp"):
            lost[op.result] = op
            left.append(_zero(op))
            op.erase()
            continue
        for inner in op.regions:
            lost.update(drop_effects(inner))
        left.append(op)
    region.ops = left
    return lost


def _zero(op: Op) -> Op:
    """A constant in place of a value that can't be had again."""
    return constant_op(op.result.dtype(0), op.result, op)
