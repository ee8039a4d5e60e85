"""Atomic updates.

Serial code needs no atomics: it loads, combines, stores. So do updates of an element that no other iteration touches
(see `exclusive_updates`). In a parallel loop an update of one element by all lanes, whose old value is unused, is
first combined over the lanes, or over all iterations of a thread (see `reductions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adstack.analysis.reductions import COMBINING
from adstack.ir.ops import ATOMIC
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import DType, i64, u1

from ..function.address import Address, Offsets
from ..function.lanes import Spilled, each_lane, lane_by_lane
from ..function.region import RegionEmitter, handles
from ..safety.checks import check_bounds
from ..safety.guards import guarded
from ..text.writer import Writer, scalar_type, type_text
from .access import address_kind, address_of, from_memory, memory_type, read, to_memory, type_of_lanes, write
from .joined import join, joins
from .one_lane import add_plainly, combine, combined, identity, update
from .pairs import add_pair, neighbour
from .records import load_all, record_from, store_all, together

__all__ = ["reduced"]


@handles(ATOMIC)
def _atomic(e: RegionEmitter, op: Op) -> None:
    if e.frame.combines and op.attrs["sums"] == "atomic":
        meet = e.target.parting(e)
        _updating(e, op)
        meet()
    else:
        _updating(e, op)


def _updating(e: RegionEmitter, op: Op) -> None:
    gathered = e.reductions.get(op)
    if gathered is not None:
        gathered.add(e, op.operands[-1])
        return
    place: Place = op.attrs["place"]
    indices = op.operands[: place.rank]
    values = op.operands[place.rank :]
    if op in e.promoted:
        running = e.mask
        with e.masked(None):  # the slot is the thread's, so that its lanes that do not run may be written, too
            e.bind(op.result, _plain(e, op, e.promoted[op], values, running))
        return
    if op in e.joined:
        e.joined.remove(op)  # a region may be emitted again
        return
    if joins(e, op):
        join(e, op, _forgetful)
        return
    other = neighbour(e, op)
    if other is not None:
        add_pair(e, op, other, _forgetful)
        return
    check_bounds(e, op, place, indices)
    record = record_from(e, op, lambda other: _is_alone(e, other)) if _is_alone(e, op) else []
    if record:
        guarded(e, op, lambda: _updated_records(e, record))
        return
    careful = (lambda: _one_by_one(e, op, indices, values)) if _is_scattered(e, op, indices) else None
    old = guarded(e, op, lambda: _updated(e, op, indices, values), careful)
    if old is not None:
        e.bind(op.result, old)


def _forgetful(e: RegionEmitter, kind: str, pointer: str, dtype: DType, value: str) -> None:
    """One lane's atomic update whose old value is not used."""
    update(e, kind, pointer, dtype, value, wanted=False)


def _updated(e: RegionEmitter, op: Op, indices: Sequence[Value], values: Sequence[Value]) -> str | None:
    """Emit an atomic update; the old value, if it is used."""
    address, exclusive = address_of(e, op.attrs["place"], indices), _exclusive(e, op)
    if exclusive == "":
        e.bind(op.result, _alone(e, op, address, values))
    elif exclusive is None:
        _shared(e, op, address, values)
    elif _is_scattered(e, op, indices):
        _scattered(e, op, address, values[0], exclusive)
    else:
        _either(e, op, exclusive, address, values)
    return e.at(op.result, e.width(op.result)) if op.result.uses else None


def _one_by_one(e: RegionEmitter, op: Op, indices: Sequence[Value], values: Sequence[Value]) -> None:
    """Emit an update of elements anywhere as a loop over the lanes that run: atomic, though it need not be."""
    _scattered(e, op, address_of(e, op.attrs["place"], indices), values[0], "false")


def _is_alone(e: RegionEmitter, op: Op) -> bool:
    """Whether an update combines numbers, forgets the old one, and is of an element that no other thread touches."""
    plain = op.attrs["kind"] in COMBINING and not op.result.uses and not op.attrs["place"].dtype.is_bool
    return plain and _exclusive(e, op) == "" and op not in e.reductions and op not in e.promoted


def _updated_records(e: RegionEmitter, record: Sequence[Op]) -> None:
    """Load, combine, store all elements of the lanes' records, which no other thread touches."""
    kind, place = record[0].attrs["kind"], record[0].attrs["place"]
    address, element, size = address_of(e, place, record[0].operands[:-1]), memory_type(place.dtype), place.dtype.size
    values = together(e, element, [e.vector(op.operands[-1]) for op in record])
    old = load_all(e, address, element, size)
    store_all(e, address, element, size, combine(e, e.lanes * address.stride, kind, place.dtype, old, values))


def _exclusive(e: RegionEmitter, op: Op) -> str | None:
    """Whether other threads keep off the element (i1): "" if they certainly do, None if they may not."""
    return e.exclusive.get(op) if e.frame.parallel else ""


def _is_scattered(e: RegionEmitter, op: Op, indices: Sequence[Value]) -> bool:
    """Whether lanes update elements anywhere, of which they may share some, while other threads keep off them."""
    if e.lanes == 1 or _exclusive(e, op) is None or op.attrs["sums"] == "own":
        return False
    return address_kind(e, op.attrs["place"], indices) == "many" and not _are_distinct(e, op)


def _either(e: RegionEmitter, op: Op, exclusive: str, address: Address, values: Sequence[Value]) -> None:
    """A plain update where the element is exclusive, which is known when the task runs; an atomic one elsewhere."""
    plain, shared, after = e.label("plain"), e.label("shared"), e.label("updated")
    e.split(exclusive, plain, shared)
    e.enter(plain)
    old, where = _alone(e, op, address, values), e.block
    e.jump(after)
    e.enter(shared)
    _shared(e, op, address, values)
    other, there = e.at(op.result, e.lanes) if op.result.uses else "poison", e.block
    e.jump(after)
    e.enter(after)
    e.bind(op.result, e.w.let(f"phi {type_text(op.result.dtype, e.lanes)} [ {old}, %{where} ], [ {other}, %{there} ]"))


def _shared(e: RegionEmitter, op: Op, address: Address, values: Sequence[Value]) -> None:
    """Update an element that other iterations may update at the same time."""
    if e.lanes == 1:
        names, wanted = [e.scalar(v) for v in values], bool(op.result.uses)
        e.bind(op.result, update(e, op.attrs["kind"], address.name, op.attrs["place"].dtype, *names, wanted=wanted))
    else:
        _over_lanes(e, op, address, values)


def _alone(e: RegionEmitter, op: Op, address: Address, values: Sequence[Value]) -> str:
    """Update an element that no other thread updates meanwhile, though other lanes of this one may; the old value."""
    if e.lanes == 1 or op.attrs["sums"] == "own" or address.kind == "run" or _are_distinct(e, op):
        return _plain(e, op, address, values)
    kind, dtype = op.attrs["kind"], op.attrs["place"].dtype
    if address.kind == "one":
        add_plainly(e, kind, dtype, address.name, _over_all_lanes(e, kind, dtype, values[0]))
        return "poison"
    _scattered(e, op, address, values[0], "true")
    return "poison"


def _scattered(e: RegionEmitter, op: Op, address: Address, value: Value, apart: str) -> None:
    """Update elements of which lanes may share some, plainly if threads are kept apart, by a call of a function."""
    kind, dtype = op.attrs["kind"], op.attrs["place"].dtype
    at = _offsets(e, address, dtype)
    symbol = f'"{kind}.{dtype.name}.x{e.lanes}.{at.element or "ptr"}.{at.word.name}"'
    e.module.call(symbol, lambda: _scatter(e, symbol, kind, dtype, at))
    mask = e.mask or e.w.constant(True, u1, e.lanes)
    where = f"ptr {at.base}, {type_text(at.word, e.lanes)} {at.counts}"
    values = f"{type_of_lanes(e, dtype)} {to_memory(e, e.vector(value), dtype, e.lanes)}"
    e.w.do(f"call void @{symbol}({where}, {values}, {e.mask_type} {mask}, i1 {apart})")


def _offsets(e: RegionEmitter, address: Address, dtype: DType) -> Offsets:
    """Where lanes update: lanes that do not run update memory that nobody reads."""
    if e.mask is None:
        return _counted(e, address)
    vector = f"<{e.lanes} x ptr>"
    nowhere = e.w.let(f"insertelement {vector} poison, ptr {e.frame.scratch(memory_type(dtype))}, i64 0")
    nowhere = e.w.let(f"shufflevector {vector} {nowhere}, {vector} poison, <{e.lanes} x i32> zeroinitializer")
    pointers = e.w.let(f"select {e.mask_type} {e.mask}, {vector} {address.name}, {vector} {nowhere}")
    return _counted(e, Address("many", pointers))


def _counted(e: RegionEmitter, address: Address) -> Offsets:
    """Where lanes update, as offsets, or as addresses, which have no base.

    They are no offsets from the null pointer: of that LLVM takes for granted that it points to nothing.
    """
    if address.offsets is not None:
        return address.offsets
    words = type_text(i64, e.lanes)
    return Offsets("null", "", e.w.let(f"ptrtoint <{e.lanes} x ptr> {address.name} to {words}"), i64)


def _at(e: RegionEmitter, at: Offsets, base: str, count: str) -> str:
    """The pointer of a lane."""
    if not at.element:
        return e.w.let(f"inttoptr {scalar_type(at.word)} {count} to ptr")
    return e.w.let(f"getelementptr {at.element}, ptr {base}, {scalar_type(at.word)} {count}")


def _scatter(outer: RegionEmitter, symbol: str, kind: str, dtype: DType, at: Offsets) -> tuple[str, str]:
    """The function for lanes that may share elements, up to its attributes, and its body."""
    e = RegionEmitter(outer.module, Writer(), outer.lanes, set())
    e.target = outer.target
    many, values = type_text(at.word, e.lanes), type_of_lanes(e, dtype)
    counts = Spilled(e.slot(many), scalar_type(at.word), at.word.size)
    numbers = Spilled(e.slot(values), memory_type(dtype), dtype.size)

    def of(lane: str) -> tuple[str, str]:
        """The address and the value of a lane, out of memory."""
        return _at(e, at, "%base", counts.of(e, lane)), from_memory(e, numbers.of(e, lane), dtype, 1)

    def out_of_registers(k: int) -> tuple[str, str]:
        count, value = (e.w.let(f"extractelement {v}, i64 {k}") for v in (f"{many} %counts", f"{values} %values"))
        return _at(e, at, "%base", count), from_memory(e, value, dtype, 1)

    def atomically(lane: str) -> None:
        pointer, value = of(lane)
        update(e, kind, pointer, dtype, value, wanted=False)

    e.split("%apart", "plainly", "atomically")
    e.enter("plainly")
    if kind == "add" and dtype.is_float:  # by memory it takes 0.8 times as long; integers, and maxima, 1.2 times
        counts.put(e, "%counts")
        numbers.put(e, "%values")
        lane_by_lane(e, lambda lane: add_plainly(e, kind, dtype, *of(lane)))
    else:
        for k in range(e.lanes):
            add_plainly(e, kind, dtype, *out_of_registers(k))
    e.w.do("ret void")
    e.enter("atomically")
    counts.put(e, "%counts")
    numbers.put(e, "%values")
    with e.masked("%mask"):
        each_lane(e, atomically)
    e.w.do("ret void")
    e.module.take(e.w)
    arguments = f"ptr %base, {many} %counts, {values} %values, {e.mask_type} %mask, i1 %apart"
    body = "\n".join([*e.slots, *e.w.lines])
    return f"define internal void @{symbol}({arguments})", f"{{\nentry:\n{body}\n}}\n"


def _are_distinct(e: RegionEmitter, op: Op) -> bool:
    """Whether lanes update different elements."""
    return e.strides is not None and e.strides.distinct(op.operands[: op.attrs["place"].rank])


def _over_all_lanes(e: RegionEmitter, kind: str, dtype: DType, value: Value) -> str:
    """The values of the running lanes, combined."""
    vector = e.vector(value)
    if e.mask is not None:
        vector = e.choose(e.mask, vector, e.repeated(identity(kind, dtype), dtype), dtype)
    return reduced(e, kind, dtype, vector)


def _over_lanes(e: RegionEmitter, op: Op, address: Address, values: Sequence[Value]) -> None:
    kind, dtype = op.attrs["kind"], op.attrs["place"].dtype
    unused = not op.result.uses
    if unused and address.kind == "one" and kind in COMBINING:
        update(e, kind, address.name, dtype, _over_all_lanes(e, kind, dtype, values[0]))
        return
    numbers = [_spilled(e, f"value{k}", dtype, e.vector(v)) for k, v in enumerate(values)]
    old_values = Spilled(e.frame.scratch(type_of_lanes(e, dtype), "old"), memory_type(dtype), dtype.size)
    pointer = _lane_pointers(e, address, dtype)

    def one(lane: str) -> None:
        names = [from_memory(e, number.of(e, lane), dtype, 1) for number in numbers]
        old = update(e, kind, pointer(lane), dtype, *names, wanted=not unused)
        if not unused:
            old_values.set(e, lane, to_memory(e, old, dtype, 1))

    each_lane(e, one)
    if not unused:
        e.bind(op.result, from_memory(e, old_values.whole(e), dtype, e.lanes))


def _spilled(e: RegionEmitter, name: str, dtype: DType, vector: str) -> Spilled:
    slot = Spilled(e.frame.scratch(type_of_lanes(e, dtype), name), memory_type(dtype), dtype.size)
    return slot.put(e, to_memory(e, vector, dtype, e.lanes))


def _lane_pointers(e: RegionEmitter, address: Address, dtype: DType) -> Callable[[str], str]:
    """What emits the pointer of a lane."""
    if address.kind == "one":
        return lambda lane: address.name
    if address.kind == "run":
        return lambda lane: _of_run(e, address, dtype, lane)
    at = _counted(e, address)
    counts = _spilled(e, "at", at.word, at.counts)
    return lambda lane: _at(e, at, at.base, counts.of(e, lane))


def _of_run(e: RegionEmitter, address: Address, dtype: DType, lane: str) -> str:
    if address.stride > 1:
        first = e.w.let(f"mul i64 {lane}, {address.stride}")
        lane = e.w.let(f"add i64 {first}, {address.position}")
    return e.w.let(f"getelementptr inbounds {memory_type(dtype)}, ptr {address.name}, i64 {lane}")


def reduced(e: RegionEmitter, kind: str, dtype: DType, vector: str) -> str:
    """The lanes of a vector combined pairwise: halves onto each other."""
    width, name = e.lanes, vector
    while width > 1:
        half = width // 2
        ty = type_text(dtype, width)
        parts = []
        for start in (0, half):
            lanes = "<" + ", ".join(f"i32 {start + k}" for k in range(half)) + ">"
            parts.append(e.w.let(f"shufflevector {ty} {name}, {ty} poison, <{half} x i32> {lanes}"))
        if half == 1:
            parts = [e.w.let(f"extractelement <1 x {scalar_type(dtype)}> {p}, i64 0") for p in parts]
        name = combine(e, half, kind, dtype, parts[0], parts[1])
        width = half
    return name


def _plain(e: RegionEmitter, op: Op, address: Address, values: Sequence[Value], changing: str | None = None) -> str:
    """Load, combine, store, in all lanes, where no other thread touches the elements; gives the old values.

    Of lanes that are not in the mask `changing`, if there is one, the element stays what it is.
    """
    kind, dtype = op.attrs["kind"], op.attrs["place"].dtype
    old = from_memory(e, read(e, address, dtype), dtype, e.lanes)
    new = combined(e, e.lanes, kind, dtype, old, [e.at(v, e.lanes) for v in values])
    if changing is not None:
        new = e.choose(changing, new, old, dtype)
    write(e, address, dtype, to_memory(e, new, dtype, e.lanes))
    return old
