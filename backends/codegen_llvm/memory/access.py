"""Elements of places and thread-local arrays: addresses, loads, stores."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from adstack.analysis.shared_updates import Update
from adstack.ir.ops import ARRAY_ALLOC, ARRAY_LOAD, ARRAY_STORE, LOAD, SHAPE, STORE
from adstack.ir.scalar_ops import MAX, MIN
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, DType, i32, i64, u1

from ..function.address import Address, Offsets
from ..function.region import RegionEmitter, handles
from ..safety.accesses import run_of
from ..safety.checks import check_bounds, check_local_bounds
from ..safety.guards import guarded
from ..text.writer import scalar_type, type_text
from .records import load_records, record_from, store_all, store_records, together
from .thread_heap import room

__all__ = ["address_kind", "address_of", "last_lane", "memory_type", "read", "type_of_lanes", "write"]


def memory_type(dtype: DType) -> str:
    """The LLVM type of an element in memory: a u1 takes a byte."""
    return "i8" if dtype.is_bool else scalar_type(dtype)


def address_of(e: RegionEmitter, place: Place, indices: Sequence[Value], *, inbounds: bool = True) -> Address:
    """The element of a place, in row-major order; say so if the indices may be out of bounds."""
    base = e.frame.pointers[place.name]
    if not any(e.is_varying(v) for v in indices):
        return _or_aside(e, "one", _step(e, base, place.dtype, _offset(e, place, indices, 1), inbounds=inbounds))
    run = run_of(e, place, indices)
    if run is not None:
        before = _offset(e, place, indices[: run.axes], 1)
        if run.stride > 1:
            before = e.w.let(f"mul i64 {before}, {run.stride}")
        # the index of a first lane that does not run may be out of bounds
        first = _step(e, base, place.dtype, before, inbounds=inbounds and e.mask is None)
        return _or_aside(e, "run", first, run.stride, run.position)
    word = _word(place, indices)
    offsets = _offset(e, place, indices, e.lanes, word)
    vector, element = type_text(word, e.lanes), memory_type(place.dtype)
    address = _or_aside(e, "many", e.w.let(f"getelementptr inbounds {element}, ptr {base}, {vector} {offsets}"))
    if e.aside is None:
        address.offsets = Offsets(base, element, offsets, word)
    return address


def _word(place: Place, indices: Sequence[Value]) -> DType:
    """The integers that offsets of lanes are computed in.

    With 32 bits a register holds the offsets of twice as many lanes, and a gather takes them: enough where all of the
    place's elements can be numbered so. An index that is out of bounds may come out as any number: lanes of which a
    guard says so do not use it.
    """
    small = None not in place.shape and prod(n for n in place.shape if n is not None) <= i32.max
    return i32 if small and all(index.dtype.bits <= i32.bits for index in indices) else i64


def _or_aside(e: RegionEmitter, kind: str, name: str, *record: int) -> Address:
    """The address of an access, or of other memory in lanes in which that is outside (see `RegionEmitter.aside`)."""
    if e.aside is None:
        return Address(kind, name, *record)
    inside, other = e.aside
    ty = "ptr"
    if kind == "many":
        ty = f"<{e.lanes} x ptr>"
        first = e.w.let(f"insertelement {ty} poison, ptr {other}, i64 0")
        other = e.w.let(f"shufflevector {ty} {first}, {ty} poison, <{e.lanes} x i32> zeroinitializer")
    return Address(kind, e.w.let(f"select {inside}, {ty} {name}, {ty} {other}"), *record)


def address_kind(e: RegionEmitter, place: Place, indices: Sequence[Value]) -> str:
    """Which elements the lanes access (see `Address`)."""
    if not any(e.is_varying(v) for v in indices):
        return "one"
    return "many" if run_of(e, place, indices) is None else "run"


def _step(e: RegionEmitter, base: str, dtype: DType, offset: str, *, inbounds: bool) -> str:
    return e.w.let(f"getelementptr {'inbounds ' if inbounds else ''}{memory_type(dtype)}, ptr {base}, i64 {offset}")


def _offset(e: RegionEmitter, place: Place, indices: Sequence[Value], width: int, word: DType = i64) -> str:
    """The number of elements before this one; of width 1, before that of the first lane, as i64.

    Without the last indices, it is the number of records that these count in.
    """
    ty = type_text(word, width)
    total = e.w.constant(0, word, width)
    for axis, index in enumerate(indices):
        if axis:
            total = e.w.let(f"mul {ty} {total}, {e.extent(place, axis, width, word)}")
        total = e.w.let(f"add {ty} {total}, {e.wide(index, width, word) if width > 1 else e.wide_first(index)}")
    return total


def from_memory(e: RegionEmitter, name: str, dtype: DType, width: int) -> str:
    """A loaded value: the byte of a u1 becomes a bit."""
    if not dtype.is_bool:
        return name
    return e.w.let(f"trunc {'i8' if width == 1 else f'<{width} x i8>'} {name} to {type_text(dtype, width)}")


def to_memory(e: RegionEmitter, name: str, dtype: DType, width: int) -> str:
    """A value to be stored: the bit of a u1 becomes a byte."""
    if not dtype.is_bool:
        return name
    return e.w.let(f"zext {type_text(dtype, width)} {name} to {'i8' if width == 1 else f'<{width} x i8>'}")


def type_of_lanes(e: RegionEmitter, dtype: DType) -> str:
    """The LLVM type of one element per lane as memory has it, where a u1 is a byte."""
    return memory_type(dtype) if e.lanes == 1 else f"<{e.lanes} x {memory_type(dtype)}>"


@handles(SHAPE)
def _shape(e: RegionEmitter, op: Op) -> None:
    extent = e.extent(op.attrs["place"], op.attrs["axis"], 1)
    bits = op.result.dtype.bits
    e.bind(op.result, extent if bits == 64 else e.w.let(f"trunc i64 {extent} to i{bits}"))


@handles(LOAD)
def _load(e: RegionEmitter, op: Op) -> None:
    check_bounds(e, op, op.attrs["place"], op.operands)
    _bind_read(e, op, guarded(e, op, lambda: _loaded(e, op)))


def _bind_read(e: RegionEmitter, op: Op, name: str | None) -> None:
    assert name is not None, "a load gives something"
    e.bind(op.result, name)


def _loaded(e: RegionEmitter, op: Op) -> str:
    place: Place = op.attrs["place"]
    address, dtype = address_of(e, place, op.operands), place.dtype
    if address.kind == "one" and place.name in e.frame.read_only and e.frame.indices:
        name = read(e, address, dtype, fixed=True)
    else:
        name = read(e, address, dtype)
    if address.kind == "one":
        name = from_memory(e, name, dtype, 1)
        return name if not e.is_varying(op.result) else e.splat(name, dtype)
    return from_memory(e, name, dtype, e.lanes)


def read(e: RegionEmitter, address: Address, dtype: DType, *, fixed: bool = False) -> str:
    """Load one element, or one per running lane. `fixed`: the memory does not change while the task runs."""
    if address.kind == "one":
        text = f"load {memory_type(dtype)}, ptr {address.name}, align {dtype.size}"
        return e.w.let(f"{text}, !invariant.load !1" if fixed else text)
    return vector_load(e, address, dtype)


def write(e: RegionEmitter, address: Address, dtype: DType, name: str) -> None:
    """Store to one element, or to one per running lane."""
    if address.kind == "one":
        e.w.do(f"store {memory_type(dtype)} {name}, ptr {address.name}, align {dtype.size}")
    else:
        vector_store(e, address, dtype, name)


def vector_load(e: RegionEmitter, address: Address, dtype: DType) -> str:
    """One element per active lane: a load of all there is in between where the address is a run, else a gather."""
    ty, size = type_of_lanes(e, dtype), dtype.size
    if address.stride > 1:
        return load_records(e, address, memory_type(dtype), size)
    if address.kind == "run" and e.mask is None:
        return e.w.let(f"load {ty}, ptr {address.name}, align {size}")
    mask = e.mask or e.w.constant(True, u1, e.lanes)
    suffix = _suffix(e, dtype)
    if address.kind == "run":
        name, pointers = f"llvm.masked.load.{suffix}.p0", "ptr"
    else:
        name, pointers = f"llvm.masked.gather.{suffix}.v{e.lanes}p0", f"<{e.lanes} x ptr>"
    operands = [(pointers, f"align {size} {address.name}"), (e.mask_type, mask), (ty, e.missing)]
    return e.w.intrinsic(name, ty, operands)


def _suffix(e: RegionEmitter, dtype: DType) -> str:
    element = f"f{dtype.bits}" if dtype.is_float else f"i{8 * dtype.size}"
    return f"v{e.lanes}{element}"


@handles(STORE)
def _store(e: RegionEmitter, op: Op) -> None:
    if op in e.joined:
        e.joined.remove(op)  # a region may be emitted again
        return
    check_bounds(e, op, op.attrs["place"], op.operands[:-1])
    record = record_from(e, op)
    guarded(e, op, lambda: _stored_records(e, record) if record else _stored(e, op))


def _stored_records(e: RegionEmitter, record: Sequence[Op]) -> None:
    """Store all elements of the lanes' records."""
    place: Place = record[0].attrs["place"]
    address, dtype = address_of(e, place, record[0].operands[:-1]), place.dtype
    names = [to_memory(e, e.vector(op.operands[-1]), dtype, e.lanes) for op in record]
    element = memory_type(dtype)
    store_all(e, address, element, dtype.size, together(e, element, names))


def _stored(e: RegionEmitter, op: Op) -> None:
    *indices, value = op.operands
    place: Place = op.attrs["place"]
    address, dtype = address_of(e, place, indices), place.dtype
    if address.kind == "one":
        name = last_lane(e, value) if e.is_varying(value) else e.scalar(value)
        write(e, address, dtype, to_memory(e, name, dtype, 1))
    else:
        write(e, address, dtype, to_memory(e, e.vector(value), dtype, e.lanes))


def vector_store(e: RegionEmitter, address: Address, dtype: DType, name: str) -> None:
    """Write one element per active lane: a store of vectors where the address is a run, else a scatter."""
    ty, size = type_of_lanes(e, dtype), dtype.size
    if address.stride > 1:
        store_records(e, address, memory_type(dtype), size, name)
        return
    if address.kind == "run" and e.mask is None:
        e.w.do(f"store {ty} {name}, ptr {address.name}, align {size}")
        return
    mask = e.mask or e.w.constant(True, u1, e.lanes)
    run = address.kind == "run"
    pointer, kind, at = ("ptr", "store", "p0") if run else (f"<{e.lanes} x ptr>", "scatter", f"v{e.lanes}p0")
    symbol = f"llvm.masked.{kind}.{_suffix(e, dtype)}.{at}"
    e.w.effect(symbol, [(ty, name), (pointer, f"align {size} {address.name}"), (e.mask_type, mask)])


def last_lane(e: RegionEmitter, value: Value) -> str:
    """The element of the last running lane: what stays when all of them store to one element."""
    ty = type_text(value.dtype, e.lanes)
    if e.mask is None:
        return e.w.let(f"extractelement {ty} {e.vector(value)}, i64 {e.lanes - 1}")
    bits = e.w.let(f"bitcast {e.mask_type} {e.mask} to i{e.lanes}")
    word = f"i{e.lanes}"
    zeros = e.w.intrinsic(f"llvm.ctlz.{word}", word, [(word, bits), ("i1", "false")])
    lane = e.w.let(f"sub {word} {e.lanes - 1}, {zeros}")
    return e.w.let(f"extractelement {ty} {e.vector(value)}, {word} {lane}")


@handles(ARRAY_ALLOC)
def _array_alloc(e: RegionEmitter, op: Op) -> None:
    array = op.result.type
    assert isinstance(array, ArrayType)
    if e.team is not None and e.team.has(op.result):
        e.team.allocate(e, op)
        return
    count = array.length * e.lanes
    size = count * array.dtype.size
    if e.frame.takes(size):
        pointer = e.frame.slot(f"[{count} x {memory_type(array.dtype)}]")
    else:
        pointer = room(e, count, array.dtype.size, op.loc)
    e.w.effect("llvm.memset.p0.i64", [("ptr", pointer), ("i8", "0"), ("i64", str(size)), ("i1", "false")])
    e.bind(op.result, pointer)


def _element(e: RegionEmitter, op: Op) -> Address:
    """An element of a local array: element i of lane t stands at i * lanes + t."""
    array, index = op.operands[:2]
    assert isinstance(array.type, ArrayType)
    if e.team is not None and e.team.has(array):
        return Address("one", e.team.pointer(e, array, index))
    ty = memory_type(array.type.dtype)
    base = e.handle(array)
    if not e.is_varying(index):
        offset = e.w.let(f"mul i64 {e.wide(index, 1)}, {e.lanes}")
        at = e.w.let(f"getelementptr inbounds {ty}, ptr {base}, i64 {offset}")
        return _or_aside(e, "run" if e.lanes > 1 else "one", at)
    vector = type_text(i64, e.lanes)
    scaled = e.w.let(f"mul {vector} {e.wide(index, e.lanes)}, {e.w.constant(e.lanes, i64, e.lanes)}")
    lane_numbers = "<" + ", ".join(f"i64 {k}" for k in range(e.lanes)) + ">"
    offsets = e.w.let(f"add {vector} {scaled}, {lane_numbers}")
    return _or_aside(e, "many", e.w.let(f"getelementptr inbounds {ty}, ptr {base}, {vector} {offsets}"))


@handles(ARRAY_LOAD)
def _array_load(e: RegionEmitter, op: Op) -> None:
    dtype = op.result.dtype
    check_local_bounds(e, op)
    if e.team is not None:
        e.team.wait(e, op)
    _bind_read(e, op, guarded(e, op, lambda: from_memory(e, read(e, _element(e, op), dtype), dtype, e.lanes)))


@handles(ARRAY_STORE)
def _array_store(e: RegionEmitter, op: Op) -> None:
    check_local_bounds(e, op)
    update = None if e.team is None else e.team.update(op)
    guarded(e, op, lambda: _array_stored(e, op) if update is None else _array_updated(e, op, update))


def _array_stored(e: RegionEmitter, op: Op) -> None:
    value = op.operands[2]
    write(e, _element(e, op), value.dtype, to_memory(e, e.vector(value), value.dtype, e.lanes))


def _array_updated(e: RegionEmitter, op: Op, update: Update) -> None:
    """Update an integer that the threads of a block share, which several may do at once."""
    assert e.team is not None
    dtype, name = op.operands[2].dtype, update.combining.opdef.name
    word = f"u{name}" if update.combining.opdef in (MIN, MAX) and not dtype.is_signed else name
    ty, pointer, value = scalar_type(dtype), _element(e, op).name, e.scalar(update.value)
    e.w.let(f"atomicrmw {word} ptr {pointer}, {ty} {value}{e.team.blocks.scope} monotonic, align {dtype.size}")
