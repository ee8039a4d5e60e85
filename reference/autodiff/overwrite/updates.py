"""Atomic products, exchanges and compare-and-swaps as loads and stores: `plain_updates(kernel) -> Kernel`.

Requires: a verified kernel.
Ensures: the same meaning, up to the order of products. An update of an element that only one iteration of a parallel
loop touches, and any in serial code, needs no atomicity. A parallel loop in which several iterations multiply one
element becomes a serial one. Exchanges of an element that several iterations share stay: their order is not known.

`ordered_updates(kernel)` does so with every update whose derivative depends on an order: a parallel loop with such
updates of shared elements becomes a serial one, so the launch itself has to run what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ...analysis.manager import Analyses
from ...analysis.order import Order
from ...ir.builder import Builder
from ...ir.ops import ATOMIC, FOR, PARALLEL_FOR, PLACE_ACCESSES, PLACE_WRITES, TABLE, YIELD
from ...ir.structure import Kernel, Op, Place, Region, Value
from ...ir.types import DType, i16, i32, i64
from ...transforms.rewriting.rewrite import clone_kernel
from .conflicts import same_memory

__all__ = ["ordered_updates", "plain_updates", "serial"]

_BITS: dict[int, DType] = {16: i16, 32: i32, 64: i64}


def plain_updates(kernel: Kernel) -> Kernel:
    """The kernel with these updates spelled out."""
    if not any(_is_update(op) for op in kernel.body.walk()):
        return kernel
    return _spelled_out(clone_kernel(kernel), _is_update, lambda op: op.attrs["kind"] == "mul")


def ordered_updates(kernel: Kernel) -> Kernel:
    """The kernel with the updates spelled out whose order matters."""
    kernel = clone_kernel(kernel)
    writes = [op for op in kernel.body.walk() if op.opdef in PLACE_WRITES]
    kinds: dict[str, set[str]] = {}
    for op in writes:
        kinds.setdefault(op.attrs["place"].name, set()).add(op.attrs.get("kind", "store"))
    looked_at = {op.attrs["place"].name for op in writes if op.results and op.result.uses}

    def wanted(op: Op) -> bool:
        if op.opdef is not ATOMIC or not op.attrs["place"].dtype.is_float:
            return False
        name = op.attrs["place"].name
        alone = name not in looked_at and len(kinds[name]) == 1
        return _is_update(op) or bool(op.result.uses) or (op.attrs["kind"] in ("min", "max") and not alone)

    return _spelled_out(kernel, wanted, lambda op: True)


def _spelled_out(kernel: Kernel, wanted: Callable[[Op], bool], is_ordered: Callable[[Op], bool]) -> Kernel:
    """The kernel with the wanted updates spelled out; loops with shared ones that have to be ordered are serial."""
    analyses, ops = Analyses(), kernel.body.ops
    chosen = {op for op in kernel.body.walk() if wanted(op)}
    ordered = {op for op in chosen if is_ordered(op) and _shared(kernel, op, analyses.get(Order, kernel.body))}
    if ordered:
        ops[:] = [
            serial(op) if op.opdef is PARALLEL_FOR and not ordered.isdisjoint(op.regions[0].walk()) else op
            for op in ops
        ]
        analyses.invalidate()
    _spell_out(kernel.body, {op for op in chosen if not _shared(kernel, op, analyses.get(Order, kernel.body))})
    return kernel


def _is_update(op: Op) -> bool:
    return op.opdef is ATOMIC and op.attrs["kind"] in ("mul", "xchg", "cas") and op.attrs["place"].dtype.is_float


def _shared(kernel: Kernel, op: Op, order: Order) -> bool:
    """Whether several iterations of a parallel loop may touch an element that an update touches."""
    parallel = [loop for loop in order.spots[op].loops if loop.opdef is PARALLEL_FOR]
    return any(not _picks(kernel, index, loop, op, order) for loop in parallel for index in loop.regions[0].args)


def _picks(kernel: Kernel, index: Value, loop: Op, update: Op, order: Order) -> bool:
    """Whether, by some axis, all accesses of the memory in an iteration are to elements of that iteration alone."""
    place = update.attrs["place"]
    touching = (op for op in loop.regions[0].walk() if op.opdef in PLACE_ACCESSES)
    common: set[tuple[int, int]] | None = None
    for op in touching:
        if same_memory(kernel, op.attrs["place"], place):
            other = op.attrs["place"].name != place.name
            places = set() if other else _places_of(index, op, order)
            common = places if common is None else common & places
    return bool(common)


def _places_of(index: Value, op: Op, order: Order) -> set[tuple[int, int]]:
    """(axis, number) wherever the op has the index plus a number."""
    offsets = (order.offset(v) for v in op.operands[: op.attrs["place"].rank])
    return {(axis, number) for axis, (base, number) in enumerate(offsets) if base is index}


def _spell_out(region: Region, chosen: Collection[Op]) -> None:
    builder = Builder(Region())
    for op in region.ops:
        for inner in op.regions:
            _spell_out(inner, chosen)
        if op in chosen:
            with builder.at(op.loc):
                op.result.replace_all_uses_with(_update(builder, op))
            op.erase()
        else:
            builder.region.ops.append(op)
    region.ops = builder.region.ops


def _update(b: Builder, op: Op) -> Value:
    """Load, combine, store; the old value."""
    place: Place = op.attrs["place"]
    indices, values = op.operands[: place.rank], op.operands[place.rank :]
    old = b.load(place, indices)
    b.store(place, indices, _combined(b, op.attrs["kind"], old, values))
    return old


def _combined(b: Builder, kind: str, old: Value, values: Sequence[Value]) -> Value:
    if kind in ("add", "mul", "min", "max"):
        return b.emit(TABLE[kind], old, values[0])
    if kind == "xchg":
        return values[0]
    bits = _BITS[old.dtype.bits]
    return b.select(b.eq(b.bitcast(old, bits), b.bitcast(values[0], bits)), values[1], old)


def serial(op: Op) -> Op:
    """A parallel loop as a nest of serial ones, the last axis fastest."""
    (body,) = op.regions
    bounds = list(zip(op.operands[::2], op.operands[1::2], strict=True))
    op.regions = []
    op.erase()
    for (lo, hi), index in zip(reversed(bounds), reversed(body.args), strict=True):
        body.args = []
        body.define((index,))
        loop = Op(FOR, [lo, hi], regions=[body], loc=op.loc)
        body = Region(ops=[loop, Op(YIELD, [], loc=op.loc)])
    return loop
