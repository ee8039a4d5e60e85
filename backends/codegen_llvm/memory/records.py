"""Elements of the records that lanes access, which follow each other: vectors of an array of vectors, say.

All that the records hold is loaded, and elements are picked from it; what is stored of one element of each is spread,
under a mask that leaves out the rest. That is a few vector accesses and shuffles, where a gather or a scatter takes one
access a lane. Loads of the other elements of the same records are the same loads, which LLVM merges; stores and updates
that follow each other, of all elements of the same records, are emitted as one. What lies between the elements of lanes
that run is in the memory that they access, so that it may be loaded; another thread may write it meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Op
from adstack.ir.types import u1

from ..function.address import Address
from ..function.region import RegionEmitter
from ..safety.accesses import guarded_axes, run_of

__all__ = ["load_all", "load_records", "record_from", "store_all", "store_records", "together"]


def load_all(e: RegionEmitter, address: Address, element: str, size: int) -> str:
    """Load the records of the active lanes; gives a vector of all their elements.

    Args:
        e: writes the code.
        address: of a run of records.
        element: the LLVM type of an element in memory.
        size: of an element, in bytes.
    """
    count = e.lanes * address.stride
    ty = f"<{count} x {element}>"
    if e.mask is None:
        return e.w.let(f"load {ty}, ptr {address.name}, align {size}")
    operands = [("ptr", f"align {size} {address.name}"), (f"<{count} x i1>", _wanted(e, address)), (ty, e.missing)]
    return e.w.intrinsic(f"llvm.masked.load.{_suffix(count, element, size)}.p0", ty, operands)


def load_records(e: RegionEmitter, address: Address, element: str, size: int) -> str:
    """Load one element per active lane; gives a vector of these. The arguments are those of `load_all`."""
    everything = load_all(e, address, element, size)
    picked = (k * address.stride + address.position for k in range(e.lanes))
    return _shuffled(e, e.lanes * address.stride, element, everything, "poison", picked)


def store_all(e: RegionEmitter, address: Address, element: str, size: int, name: str) -> None:
    """Store the records of the active lanes; the arguments are those of `load_all`, and a vector of all elements."""
    count = e.lanes * address.stride
    ty = f"<{count} x {element}>"
    if e.mask is None:
        e.w.do(f"store {ty} {name}, ptr {address.name}, align {size}")
    else:
        _store_masked(e, address, element, size, name, _wanted(e, address))


def store_records(e: RegionEmitter, address: Address, element: str, size: int, name: str) -> None:
    """Store one element per active lane; the arguments are those of `load_all`, and a vector of the elements."""
    stride, count = address.stride, e.lanes * address.stride
    lanes = [k // stride if k % stride == address.position else e.lanes for k in range(count)]
    spread = _shuffled(e, e.lanes, element, name, "poison", lanes)
    running = e.mask or e.w.constant(True, u1, e.lanes)
    wanted = _shuffled(e, e.lanes, "i1", running, "zeroinitializer", lanes)
    _store_masked(e, address, element, size, spread, wanted)


def together(e: RegionEmitter, element: str, names: Sequence[str]) -> str:
    """The elements of each lane's record side by side, from one vector for each position in a record."""
    width, parts = e.lanes, list(names)
    if len(parts) > 2:
        if len(parts) % 2:
            parts.append("poison")
        both = range(2 * width)
        parts = [_shuffled(e, width, element, a, b, both) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        width *= 2
    order = [k + position * e.lanes for k in range(e.lanes) for position in range(len(names))]
    return _shuffled(e, width, element, parts[0], parts[1], order)


def record_from(e: RegionEmitter, op: Op, fits: Callable[[Op], bool] = lambda other: True) -> list[Op]:
    """An access and those that follow it, if they are of all elements of the same records: by their position there.

    Nothing but constants stands between them, which are emitted; the accesses behind the first one are marked as
    emitted with it. Empty where they are not of all elements, or do not fit, or where each is checked by itself.
    """
    place = op.attrs["place"]
    run = None if e.current is None or e.frame.debug else run_of(e, place, op.operands[: place.rank])
    if run is None or run.stride == 1 or e.current is None:
        return []
    record, constants = {run.position: op}, list[Op]()
    ops = e.current.ops
    for other in ops[ops.index(op) + 1 :]:
        if other.opdef is CONST:
            constants.append(other)
            continue
        same = _is_beside(e, op, other, run.axes) and fits(other)
        beside = run_of(e, place, other.operands[: place.rank]) if same else None
        if beside is None or beside.position in record:
            break
        record[beside.position] = other
        if len(record) == run.stride:
            break
    if len(record) < run.stride:
        return []
    for constant in constants:
        e.op(constant)
    e.joined.update(other for other in record.values() if other is not op)
    return [record[position] for position in range(run.stride)]


def _is_beside(e: RegionEmitter, op: Op, other: Op, axes: int) -> bool:
    """Whether another access does the same to elements of the same records: they agree on the axes in front."""
    return (
        other.opdef is op.opdef
        and other.attrs["place"] == op.attrs["place"]
        and other.attrs.get("kind") == op.attrs.get("kind")
        and other.operands[:axes] == op.operands[:axes]
        and guarded_axes(e, other) == guarded_axes(e, op)
    )


def _store_masked(e: RegionEmitter, address: Address, element: str, size: int, name: str, wanted: str) -> None:
    count = e.lanes * address.stride
    operands = [(f"<{count} x {element}>", name), ("ptr", f"align {size} {address.name}"), (f"<{count} x i1>", wanted)]
    e.w.effect(f"llvm.masked.store.{_suffix(count, element, size)}.p0", operands)


def _wanted(e: RegionEmitter, address: Address) -> str:
    """The mask of all elements of the records of lanes that run."""
    assert e.mask is not None
    places = (k // address.stride for k in range(e.lanes * address.stride))
    return _shuffled(e, e.lanes, "i1", e.mask, "poison", places)


def _shuffled(e: RegionEmitter, width: int, element: str, name: str, other: str, places: Iterable[int]) -> str:
    """Elements of a vector of this width, by their places; those from `width` on are of another vector."""
    ty, order = f"<{width} x {element}>", [f"i32 {k}" for k in places]
    return e.w.let(f"shufflevector {ty} {name}, {ty} {other}, <{len(order)} x i32> <{', '.join(order)}>")


def _suffix(count: int, element: str, size: int) -> str:
    return f"v{count}{element if element.startswith('i') else f'f{8 * size}'}"
