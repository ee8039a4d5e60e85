"""Checks of debug mode, asserts and prints: what a running task reports to the host.

A failed check writes one record (the first to do so wins) and ends the thread; a guard (see `guards`) goes on. It is
words of 64 bits at `errors`: flag, site, indices, arguments. A print appends site and arguments to the words at
`print`: how many are taken, how many there are, then the prints; what does not fit is counted all the same, so that the
host can say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from adstack.backends.shared.sites import Site, local_site
from adstack.ir import arithmetic
from adstack.ir.ops import ASSERT, PRINT
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, DType, i64, u32, u64

from .assembly.code import Num, unsigned
from .assembly.opcodes import Op as Spv
from .region import RegionEmitter, handles

__all__ = ["DEVICE", "RELAXED", "check_bounds", "check_local_bounds", "check_trap", "outside", "refuse", "report"]

DEVICE = 1
"""The scope of atomics: all threads of the device."""
RELAXED = 0
"""The memory semantics of atomics: relaxed, they order no other memory."""


def check_bounds(e: RegionEmitter, op: Op, place: Place, indices: Sequence[Value]) -> None:
    """In debug mode, emit a check that every index is below its extent; otherwise nothing.

    Args:
        e: emits it.
        op: the access, for its location.
        place: what is accessed.
        indices: one value per axis.
    """
    if not e.frame.debug or not indices:
        return
    extents = [e.extent(place, axis) for axis in range(place.rank)]
    site = Site("bounds", "", op.loc, tuple(v.dtype for v in indices), place=place)
    refuse(e, site, outside(e, indices, extents), e.all(indices))


def check_local_bounds(e: RegionEmitter, op: Op) -> None:
    """In debug mode, an index into a local array is below its length."""
    if e.frame.debug:
        array, index = op.operands[:2]
        assert isinstance(array.type, ArrayType)
        length = array.type.length
        site = local_site(op.operands[0], length, op.loc, (index.dtype,))
        refuse(e, site, outside(e, [index], [e.c.const(length, i64)]), [e.get(index)])


def outside(e: RegionEmitter, indices: Sequence[Value], extents: Sequence[Num]) -> Num:
    """Whether some index is out of bounds (u1); compared as unsigned, negative ones are huge.

    Args:
        e: emits the comparisons.
        indices: at least one, of any integer types.
        extents: as many.
    """
    bad: Num | None = None
    for index, extent in zip(indices, extents, strict=True):
        over = e.index(index).signed(u64) >= extent.signed(u64)
        bad = over if bad is None else bad | over
    assert bad is not None
    return bad


def check_trap(e: RegionEmitter, op: Op) -> None:
    """In debug mode, check that the op is defined for its operands."""
    trap = op.opdef.trap
    if trap is None or e.task is None or not e.task.debug:
        return
    bad = _TRAPS[trap.when](e.get(op.operands[1]))
    if bad is not None:
        refuse(e, Site("trap", trap.message, op.loc), bad, ())


def _out_of_width(b: Num) -> Num:
    bad = b >= b.dtype.bits if b.dtype.bits < b.dtype.max else b < 0
    return (b < 0) | bad if b.dtype.is_signed else bad


_TRAPS: dict[Callable[..., object], Callable[[Num], Num | None]] = {
    arithmetic.is_zero: lambda b: b.eq(0),
    arithmetic.out_of_width: _out_of_width,
    arithmetic.negative_exponent: lambda b: b < 0 if b.dtype.is_signed else None,
}
"""What is an error of an op's second operand."""


@handles(ASSERT)
def _assert(e: RegionEmitter, op: Op) -> None:
    if not e.frame.debug:
        return
    condition, *arguments = op.operands
    site = Site("assert", op.attrs["message"], op.loc, tuple(v.dtype for v in arguments))
    refuse(e, site, ~e.get(condition), e.all(arguments))


def refuse(e: RegionEmitter, site: Site, bad: Num, arguments: Sequence[Num]) -> None:
    """Emit: where a condition holds, write the record, if no other thread was first, and leave the task.

    Args:
        e: emits it.
        site: what went wrong and where.
        bad: the condition (u1).
        arguments: the numbers that the message tells, of the types that the site says.
    """
    e.settle()
    c = e.c
    fail, go_on = c.m.new(), c.m.new()
    c.do(Spv.SelectionMerge, go_on, 0)
    c.split(bad, fail, go_on)
    c.enter(fail)
    report(e, site, arguments)
    c.do(Spv.Return)
    c.enter(go_on)


def report(e: RegionEmitter, site: Site, arguments: Sequence[Num]) -> None:
    """Emit: write the record of an error, if no other thread was first.

    Args:
        e: emits it.
        site: what went wrong and where.
        arguments: the numbers that the message tells; the indices of the iteration are added.
    """
    c, frame = e.c, e.frame
    number = frame.site(replace(site, indices=tuple(v.dtype for v in frame.indices)))
    record = frame.own["errors"]
    scope, order = c.m.word(DEVICE), c.m.word(RELAXED)
    swap = (scope, order, order, c.m.word(1), c.m.word(0))
    first = c.let(Spv.AtomicCompareExchange, u32, record.pointer(u32), *swap)

    def write() -> None:
        words = [c.const(number, u64), *map(_raw, (*e.all(frame.indices), *arguments))]
        for k, word in enumerate(words):
            (record + 8 * (k + 1)).store(word, u64)

    c.when(first.eq(0), write)


def _raw(number: Num) -> Num:
    """A value as the low bits of a u64."""
    dtype: DType = number.dtype
    if dtype.is_float:
        number = number.bits(unsigned(dtype))
    return number.resize(u64)


@handles(PRINT)
def _print(e: RegionEmitter, op: Op) -> None:
    c, frame = e.c, e.frame
    site = Site("print", "", op.loc, tuple(v.dtype for v in op.operands), op.attrs["parts"])
    words = [c.const(frame.site(site), u64), *map(_raw, e.all(op.operands))]
    buffer = frame.own["print"]
    taken = c.let(Spv.AtomicIAdd, u32, buffer.pointer(u32), c.m.word(DEVICE), c.m.word(RELAXED), c.m.word(len(words)))
    end = taken + len(words)
    room = (buffer + 8).load(u32)

    def write() -> None:
        at = (buffer + 16).elements(taken, 8)
        for k, word in enumerate(words):
            (at + 8 * k).store(word, u64)

    c.when((end <= room) & (taken <= end), write)
