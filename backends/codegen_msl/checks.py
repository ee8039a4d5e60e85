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
from adstack.ir.types import ArrayType, DType, i64

from .region import RegionEmitter, handles
from .spelling import literal, raw

__all__ = ["Argument", "check_bounds", "check_local_bounds", "check_trap", "outside", "refuse", "report"]

Argument = tuple[str, DType]
"""What a record holds: a value, and its type."""


def typed(e: RegionEmitter, values: Sequence[Value]) -> list[Argument]:
    """Values, with their types."""
    return [(e.get(v), v.dtype) for v in values]


def check_bounds(e: RegionEmitter, op: Op, place: Place, indices: Sequence[Value]) -> None:
    """In debug mode, every index is below its extent."""
    if not e.frame.debug or not indices:
        return
    extents = [e.extent(place, axis) for axis in range(place.rank)]
    site = Site("bounds", "", op.loc, tuple(v.dtype for v in indices), place=place)
    refuse(e, site, outside(e, indices, extents), typed(e, indices))


def check_local_bounds(e: RegionEmitter, op: Op) -> None:
    """In debug mode, an index into a local array is below its length."""
    if e.frame.debug:
        array, index = op.operands[:2]
        assert isinstance(array.type, ArrayType)
        length = array.type.length
        site = local_site(op.operands[0], length, op.loc, (index.dtype,))
        refuse(e, site, outside(e, [index], [literal(length, i64)]), typed(e, [index]))


def outside(e: RegionEmitter, indices: Sequence[Value], extents: Sequence[str]) -> str:
    """Whether some index is out of bounds; compared without a sign, negative ones are huge."""
    return " || ".join(f"ulong({e.index(v)}) >= ulong({n})" for v, n in zip(indices, extents, strict=True))


def check_trap(e: RegionEmitter, op: Op) -> None:
    """In debug mode, check that the op is defined for its operands."""
    trap = op.opdef.trap
    if trap is None or e.task is None or not e.task.debug:
        return
    bad = _TRAPS[trap.when](e.get(op.operands[1]), op.operands[1].dtype)
    if bad:
        refuse(e, Site("trap", trap.message, op.loc), bad, ())


_TRAPS: dict[Callable[..., object], Callable[[str, DType], str]] = {
    arithmetic.is_zero: lambda b, dtype: f"{b} == 0",
    arithmetic.out_of_width: lambda b, dtype: f"!is_shift({b})",
    arithmetic.negative_exponent: lambda b, dtype: f"{b} < 0" if dtype.is_signed else "",
}
"""What is an error of an op's second operand."""


@handles(ASSERT)
def _assert(e: RegionEmitter, op: Op) -> None:
    if not e.frame.debug:
        return
    condition, *arguments = op.operands
    site = Site("assert", op.attrs["message"], op.loc, tuple(v.dtype for v in arguments))
    refuse(e, site, f"!{e.get(condition)}", typed(e, arguments))


def refuse(e: RegionEmitter, site: Site, bad: str, arguments: Sequence[Argument]) -> None:
    """Where `bad` holds, leave the task with a record, if no other thread was first."""
    e.frame.leaves = True
    with e.w.block(f"if ({bad})"):
        report(e, site, arguments)
        e.w.line("return;")


def report(e: RegionEmitter, site: Site, arguments: Sequence[Argument]) -> None:
    """Write the record, if no other thread was first."""
    frame = e.frame
    number = frame.site(replace(site, indices=tuple(v.dtype for v in frame.indices)))
    words = [f"{number}ul", *(raw(*argument) for argument in (*typed(e, frame.indices), *arguments))]
    with e.w.block("if (claim_record(launch.errors))"):
        for k, word in enumerate(words):
            e.w.line(f"launch.errors[{k + 1}] = {word};")


@handles(PRINT)
def _print(e: RegionEmitter, op: Op) -> None:
    w, frame = e.w, e.frame
    site = Site("print", "", op.loc, tuple(v.dtype for v in op.operands), op.attrs["parts"])
    words = [f"{frame.site(site)}ul", *(raw(*argument) for argument in typed(e, op.operands))]
    taken = f"atomic_fetch_add_explicit((device atomic_uint*)launch.print, {len(words)}u, memory_order_relaxed)"
    at = w.typed("uint", taken, "taken")
    with w.block(f"if ({at} + {len(words)}u <= uint(launch.print[1]) && {at} <= {at} + {len(words)}u)"):
        for k, word in enumerate(words):
            w.line(f"launch.print[2 + {at} + {k}] = {word};")
