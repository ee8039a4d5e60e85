"""Atomic updates.

Serial code needs no atomics: it loads, combines, stores. So do updates of an element that no other iteration touches
(see `exclusive_updates`). In a parallel loop an update of one element by all lanes, whose old value is unused, is
first combined over the lanes, or over all iterations of a thread (see `reductions`).
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.reductions import COMBINING, neutral
from adstack.ir.ops import ATOMIC, ATOMICS, TABLE
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import DType, u1

from ..function.address import Address
from ..function.lanes import each_lane
from ..function.region import RegionEmitter, handles
from ..safety.checks import check_bounds
from ..safety.guards import guarded
from ..text.scalar_ops import emit
from ..text.writer import Writer, literal, scalar_type, type_text
from .access import address_kind, address_of, from_memory, memory_type, read, to_memory, write
from .joined import join, joins
from .pairs import add_pair, neighbour
from .records import load_all, record_from, store_all, together

__all__ = ["combine", "identity", "reduced", "update"]

_NATIVE = {"add": "add", "and": "and", "or": "or", "xor": "xor", "xchg": "xchg"}


def identity(kind: str, dtype: DType) -> str:
    """The neutral element of a kind of atomics, as a literal."""
    return literal(neutral(kind, dtype), dtype)


@handles(ATOMIC)
def _atomic(e: RegionEmitter, op: Op) -> None:
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
        _add_plainly(e, kind, dtype, address.name, _over_all_lanes(e, kind, dtype, values[0]))
        return "poison"
    _scattered(e, op, address, values[0], "true")
    return "poison"


def _scattered(e: RegionEmitter, op: Op, address: Address, value: Value, apart: str) -> None:
    """Update elements of which lanes may share some, plainly if threads are kept apart, by a call of a function."""
    kind, dtype, ty = op.attrs["kind"], op.attrs["place"].dtype, type_text(op.attrs["place"].dtype, e.lanes)
    symbol = f'"{kind}.{dtype.name}.x{e.lanes}"'
    e.module.call(symbol, lambda: _scatter(e, symbol, kind, dtype))
    mask = e.mask or e.w.constant(True, u1, e.lanes)
    pointers = f"<{e.lanes} x ptr> {address.name}"
    e.w.do(f"call void @{symbol}({pointers}, {ty} {e.vector(value)}, {e.mask_type} {mask}, i1 {apart})")


def _scatter(outer: RegionEmitter, symbol: str, kind: str, dtype: DType) -> tuple[str, str]:
    """The function for lanes that may share elements, up to its attributes, and its body.

    Plain updates are one after another, without a branch: lanes that do not run update memory that nobody reads.
    """
    e, ty = RegionEmitter(outer.module, Writer(), outer.lanes, set()), type_text(dtype, outer.lanes)
    e.target = outer.target
    e.split("%apart", "plainly", "atomically")
    e.enter("plainly")
    vector = f"<{e.lanes} x ptr>"
    nowhere = e.w.let(f"insertelement {vector} poison, ptr {e.slot(scalar_type(dtype))}, i64 0")
    nowhere = e.w.let(f"shufflevector {vector} {nowhere}, {vector} poison, <{e.lanes} x i32> zeroinitializer")
    pointers = e.w.let(f"select {e.mask_type} %mask, {vector} %pointers, {vector} {nowhere}")
    for lane in range(e.lanes):
        at = e.w.let(f"extractelement {vector} {pointers}, i64 {lane}")
        _add_plainly(e, kind, dtype, at, e.w.let(f"extractelement {ty} %values, i64 {lane}"))
    e.w.do("ret void")
    e.enter("atomically")

    def one(lane: str, _: list[str]) -> list[str]:
        at = e.w.let(f"extractelement {vector} %pointers, i64 {lane}")
        update(e, kind, at, dtype, e.w.let(f"extractelement {ty} %values, i64 {lane}"), wanted=False)
        return []

    with e.masked("%mask"):
        each_lane(e, one)
    e.w.do("ret void")
    e.module.take(e.w)
    head = f"define internal void @{symbol}({vector} %pointers, {ty} %values, {e.mask_type} %mask, i1 %apart)"
    body = "\n".join([*e.slots, *e.w.lines])
    return head, f"{{\nentry:\n{body}\n}}\n"


def _are_distinct(e: RegionEmitter, op: Op) -> bool:
    """Whether lanes update different elements."""
    return e.strides is not None and e.strides.distinct(op.operands[: op.attrs["place"].rank])


def _add_plainly(e: RegionEmitter, kind: str, dtype: DType, pointer: str, value: str) -> None:
    """Load, combine, store, in one lane."""
    ty = scalar_type(dtype)
    old = e.w.let(f"load {ty}, ptr {pointer}, align {dtype.size}")
    e.w.do(f"store {ty} {combine(e, 1, kind, dtype, old, value)}, ptr {pointer}, align {dtype.size}")


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
    ty = type_text(dtype, e.lanes)
    vectors = [e.vector(v) for v in values]

    def one(lane: str, wholes: list[str]) -> list[str]:
        at = _lane_pointer(e, address, dtype, lane)
        names = [e.w.let(f"extractelement {ty} {v}, i64 {lane}") for v in vectors]
        old = update(e, kind, at, dtype, *names)
        return [e.w.let(f"insertelement {ty} {w}, {scalar_type(dtype)} {old}, i64 {lane}") for w in wholes]

    old_values = each_lane(e, one, () if unused else (ty,))
    if not unused:
        e.bind(op.result, old_values[0])


def _lane_pointer(e: RegionEmitter, address: Address, dtype: DType, lane: str) -> str:
    if address.kind == "one":
        return address.name
    if address.kind == "run":
        if address.stride > 1:
            first = e.w.let(f"mul i64 {lane}, {address.stride}")
            lane = e.w.let(f"add i64 {first}, {address.position}")
        return e.w.let(f"getelementptr inbounds {memory_type(dtype)}, ptr {address.name}, i64 {lane}")
    return e.w.let(f"extractelement <{e.lanes} x ptr> {address.name}, i64 {lane}")


def combine(e: RegionEmitter, lanes: int, kind: str, dtype: DType, a: str, b: str) -> str:
    """Two numbers, or vectors of so many, combined as an atomic of that kind does."""
    return emit(e.w, lanes, TABLE[kind], dtype, (dtype, dtype), (a, b))


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
    new = _combined(e, e.lanes, kind, dtype, old, [e.at(v, e.lanes) for v in values])
    if changing is not None:
        new = e.choose(changing, new, old, dtype)
    write(e, address, dtype, to_memory(e, new, dtype, e.lanes))
    return old


def _combined(e: RegionEmitter, lanes: int, kind: str, dtype: DType, old: str, values: Sequence[str]) -> str:
    if kind == "xchg":
        return values[0]
    if kind == "cas":
        ty, word = type_text(dtype, lanes), f"i{dtype.bits}" if lanes == 1 else f"<{lanes} x i{dtype.bits}>"
        a, b = (e.w.let(f"bitcast {ty} {v} to {word}") if dtype.is_float else v for v in (old, values[0]))
        same = e.w.let(f"icmp eq {word} {a}, {b}")
        return e.w.let(f"select {type_text(u1, lanes)} {same}, {ty} {values[1]}, {ty} {old}")
    return combine(e, lanes, kind, dtype, old, values[0])


def update(e: RegionEmitter, kind: str, pointer: str, dtype: DType, *values: str, wanted: bool = True) -> str:
    """One lane's atomic update; the old value, which may be poison where it is not wanted."""
    assert kind in ATOMICS
    if not dtype.is_float and kind in _NATIVE:
        value = to_memory(e, values[0], dtype, 1)
        return from_memory(e, _atomic_update(e, _NATIVE[kind], pointer, dtype, value, wanted=wanted), dtype, 1)
    if dtype.kind in "iu" and kind in ("min", "max"):
        word = kind if dtype.kind == "i" else f"u{kind}"
        return _atomic_update(e, word, pointer, dtype, values[0], wanted=wanted)
    least = e.target.float_adds.get(dtype.name) if kind == "add" else None
    if least == 0:
        return _atomic_update(e, "fadd", pointer, dtype, values[0], wanted=wanted)
    if least is not None:
        return _added(e, pointer, dtype, values[0], least, wanted=wanted)
    return _exchanged(e, kind, pointer, dtype, values)


def _added(e: RegionEmitter, pointer: str, dtype: DType, value: str, least: float, *, wanted: bool) -> str:
    """Add by one instruction if its magnitude is at least `least`, from which that is exact; NaN is not."""
    w, ty = e.w, scalar_type(dtype)
    size = w.intrinsic(f"llvm.fabs.f{dtype.bits}", ty, [(ty, value)])
    small, large, after = e.label("small"), e.label("large"), e.label("added")
    e.split(w.let(f"fcmp olt {ty} {size}, {literal(least, dtype)}"), small, large)
    e.enter(large)
    old, here = _atomic_update(e, "fadd", pointer, dtype, value, wanted=wanted), e.block
    e.jump(after)
    e.enter(small)
    other, there = _exchanged(e, "add", pointer, dtype, (value,), spares=True), e.block
    e.jump(after)
    e.enter(after)
    return w.let(f"phi {ty} [ {old}, %{here} ], [ {other}, %{there} ]")


def _atomic_update(e: RegionEmitter, word: str, pointer: str, dtype: DType, value: str, *, wanted: bool) -> str:
    """An update by one instruction of the target; the old value, or poison if it is not wanted."""
    if not wanted and e.target.reduce(e, word, pointer, dtype, value):
        return "poison"
    where = f"ptr {pointer}, {memory_type(dtype)} {value}"
    return e.w.let(f"atomicrmw {word} {where}{e.target.scope} monotonic, align {dtype.size}")


def _exchanged(
    e: RegionEmitter, kind: str, pointer: str, dtype: DType, values: tuple[str, ...], *, spares: bool = False
) -> str:
    """Update by a compare-and-exchange loop on the bits.

    With `spares`, bits that would not change are not written, as many threads that add zero would wait for each other.
    """
    word, ty, size = f"i{8 * dtype.size}", scalar_type(dtype), dtype.size
    before, head, after = e.block, e.label("try"), e.label("done")
    order = f" atomic {word}, ptr {pointer}{e.target.scope} monotonic" if spares else f" {word}, ptr {pointer}"
    start = e.w.let(f"load{order}, align {size}")
    e.jump(head)
    e.enter(head)
    seen = e.w.let("phi " + word)
    line = len(e.w.lines) - 1
    old = e.w.let(f"bitcast {word} {seen} to {ty}") if dtype.is_float else from_memory(e, seen, dtype, 1)
    new = _combined(e, 1, kind, dtype, old, values)
    raw = e.w.let(f"bitcast {ty} {new} to {word}") if dtype.is_float else to_memory(e, new, dtype, 1)
    if spares:
        change = e.label("change")
        e.split(e.w.let(f"icmp eq {word} {raw}, {seen}"), after, change)
        e.enter(change)
    swap = f"cmpxchg ptr {pointer}, {word} {seen}, {word} {raw}{e.target.scope}"
    pair = e.w.let(f"{swap} monotonic monotonic, align {size}")
    now = e.w.let(f"extractvalue {{ {word}, i1 }} {pair}, 0")
    done = e.w.let(f"extractvalue {{ {word}, i1 }} {pair}, 1")
    e.w.lines[line] += f" [ {start}, %{before} ], [ {now}, %{e.block} ]"
    e.split(done, after, head)
    e.enter(after)
    return old
