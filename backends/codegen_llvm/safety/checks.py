"""Checks of debug mode, asserts and prints: what a running task reports to the host.

A failed check writes one record (the first to do so wins) and leaves the task; a guard (see `guards`) goes on. It is an
array of i64 at `%errors`: flag, site, indices, arguments. A print calls the host with the same shape, a lane at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from adstack.backends.shared.sites import Site, local_site
from adstack.ir import arithmetic
from adstack.ir.ops import ASSERT, PRINT, TABLE
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, DType, i64, u1

from ..function.lanes import each_lane
from ..function.region import HANDLERS, RegionEmitter, handles
from ..text.writer import type_text

__all__ = ["check_bounds", "check_local_bounds", "first_lane", "numbered", "record", "refuse"]


def check_bounds(e: RegionEmitter, op: Op, place: Place, indices: Sequence[Value]) -> None:
    """In debug mode, every index of a running lane is below its extent."""
    if not e.frame.debug or not indices:
        return
    width = max(e.width(v) for v in indices)
    extents = [e.extent(place, axis, width) for axis in range(place.rank)]
    site = Site("bounds", "", op.loc, tuple(v.dtype for v in indices), place=place)
    refuse(e, site, _outside(e, indices, extents, width), width, indices)


def check_local_bounds(e: RegionEmitter, op: Op) -> None:
    """In debug mode, an index into a local array is below its length."""
    if not e.frame.debug:
        return
    array, index = op.operands[:2]
    assert isinstance(array.type, ArrayType)
    length = array.type.length
    width = e.width(index)
    bad = _outside(e, [index], [e.w.constant(length, i64, width)], width)
    refuse(e, local_site(array, length, op.loc, (index.dtype,)), bad, width, [index])


def _outside(e: RegionEmitter, indices: Sequence[Value], extents: Sequence[str], width: int) -> str:
    """Where some index is out of bounds; compared as unsigned, negative ones are huge."""
    bad = ""
    for index, extent in zip(indices, extents, strict=True):
        over = e.w.let(f"icmp uge {type_text(i64, width)} {e.wide(index, width)}, {extent}")
        bad = e.w.let(f"or {type_text(u1, width)} {bad}, {over}") if bad else over
    return bad


def _with_trap(e: RegionEmitter, op: Op) -> None:
    """A scalar operation; in debug mode, no running lane has operands for which it is an error."""
    if e.task is not None and e.task.debug:
        _check_trap(e, op)
    e.pure(op)


HANDLERS.update((row, _with_trap) for row in TABLE.values() if row.trap is not None)


def _check_trap(e: RegionEmitter, op: Op) -> None:
    trap = op.opdef.trap
    assert trap is not None
    b = op.operands[1]
    condition = _TRAPS[trap.when](b.dtype)
    if condition is not None:
        width = e.width(b)
        word, than = condition
        bad = e.w.let(f"icmp {word} {type_text(b.dtype, width)} {e.at(b, width)}, {e.w.constant(than, b.dtype, width)}")
        refuse(e, Site("trap", trap.message, op.loc), bad, width, ())


_TRAPS: dict[Callable[..., object], Callable[[DType], tuple[str, int] | None]] = {
    arithmetic.is_zero: lambda dtype: ("eq", 0),
    arithmetic.out_of_width: lambda dtype: ("uge", dtype.bits),
    arithmetic.negative_exponent: lambda dtype: ("slt", 0) if dtype.is_signed else None,
}
"""What is an error of an op's second operand: how it compares, and with what."""


@handles(ASSERT)
def _assert(e: RegionEmitter, op: Op) -> None:
    if not e.frame.debug:
        return
    condition, *arguments = op.operands
    width = max(e.width(v) for v in op.operands)
    ty = type_text(u1, width)
    bad = e.w.let(f"xor {ty} {e.at(condition, width)}, {e.w.constant(True, u1, width)}")
    site = Site("assert", op.attrs["message"], op.loc, tuple(v.dtype for v in arguments))
    refuse(e, site, bad, width, arguments)


def refuse(e: RegionEmitter, site: Site, bad: str, width: int, arguments: Sequence[Value]) -> None:
    """Leave the task with a record of the first running lane for which `bad` holds."""
    if width > 1:
        bad = e.within(bad)
    fail, go_on = e.label("fail"), e.label("fine")
    e.split(e.any(bad) if width > 1 else bad, fail, go_on)
    e.enter(fail)
    report(e, site, bad, width, arguments)
    for slot in e.frame.heap:
        e.w.do(f"call void @free(ptr {e.w.let(f'load ptr, ptr {slot}, align 8')})")
    e.w.do(e.frame.leave)
    e.enter(go_on)


def report(e: RegionEmitter, site: Site, bad: str, width: int, arguments: Sequence[Value]) -> None:
    """Write the record for the first lane of a mask of running lanes, or for the first running lane if it is no mask.

    Args:
        e: where to.
        site: what is reported.
        bad: the mask, if `width` is not 1.
        width: its lanes.
        arguments: values to record.
    """
    lane = first_lane(e, bad) if width > 1 else first_lane(e, e.mask) if e.mask is not None else "0"
    record(e, str(numbered(e, site)), lane, (*e.frame.indices, *arguments))


def numbered(e: RegionEmitter, site: Site) -> int:
    """The number of a site in the loop around the code."""
    return e.frame.site(replace(site, indices=tuple(v.dtype for v in e.frame.indices)))


def record(e: RegionEmitter, number: str, lane: str, values: Sequence[Value], words: Sequence[str] = ()) -> None:
    """Write one lane's values, and more words (i64), as the record of a site, unless another thread was first."""
    first = e.w.let(f"cmpxchg ptr %errors, i64 0, i64 1{e.target.scope} monotonic monotonic")
    won = e.w.let(f"extractvalue {{ i64, i1 }} {first}, 1")
    write, leave = e.label("record"), e.label("leave")
    e.split(won, write, leave)
    e.enter(write)
    for k, value in enumerate([number, *(_raw(e, v, lane) for v in values), *words]):
        at = e.w.let(f"getelementptr i64, ptr %errors, i64 {k + 1}")
        e.w.do(f"store i64 {value}, ptr {at}, align 8")
    e.jump(leave)
    e.enter(leave)


def first_lane(e: RegionEmitter, mask: str) -> str:
    """The number of the first lane of a mask that has one."""
    word = f"i{e.lanes}"
    bits = e.w.let(f"bitcast {e.mask_type} {mask} to {word}")
    zeros = e.w.intrinsic(f"llvm.cttz.{word}", word, [(word, bits), ("i1", "false")])
    return zeros if e.lanes == 64 else e.w.let(f"{'zext' if e.lanes < 64 else 'trunc'} {word} {zeros} to i64")


def _raw(e: RegionEmitter, value: Value, lane: str) -> str:
    """The value of one lane, as the bits of an i64."""
    name, dtype = e.scalar(value), value.dtype
    if e.is_varying(value):
        name = e.w.let(f"extractelement {type_text(dtype, e.lanes)} {name}, i64 {lane}")
    if dtype.is_float:
        name = e.w.let(f"bitcast {type_text(dtype, 1)} {name} to i{dtype.bits}")
    return name if dtype.bits == 64 else e.w.let(f"{_widening(dtype)} i{dtype.bits} {name} to i64")


def _widening(dtype: DType) -> str:
    return "sext" if dtype.kind == "i" else "zext"


@handles(PRINT)
def _print(e: RegionEmitter, op: Op) -> None:
    site = Site("print", "", op.loc, tuple(v.dtype for v in op.operands), op.attrs["parts"])
    number = e.frame.site(site)
    buffer = e.frame.slot(f"[{max(len(op.operands), 1)} x i64]")

    def one(lane: str) -> None:
        for k, v in enumerate(op.operands):
            at = e.w.let(f"getelementptr i64, ptr {buffer}, i64 {k}")
            e.w.do(f"store i64 {_raw(e, v, lane)}, ptr {at}, align 8")
        e.target.print(e, number, buffer, len(op.operands))

    each_lane(e, one)
