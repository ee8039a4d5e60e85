"""Updates that the threads of a subgroup combine before one of them updates memory: those with `sums` "subgroup".

The plan says that neighbouring threads probably update the same element; here they look. Updates that follow each
other are combined at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import u1, u32

from .access import address_of
from .assembly.code import Num
from .guards import guarded, is_inside
from .memory import Address
from .region import RegionEmitter
from .subgroups import TOGETHER, agree, combined, elected

__all__ = ["join", "joins"]

_MOST = 8
"""Updates that are combined at once."""
_SMALL = 1 << 32
"""The bytes of memory within which 32 bits of an address tell elements apart."""

Update = Callable[[Op, Address, Num], Num]
"""Emits one thread's update of memory."""


def joins(e: RegionEmitter, op: Op) -> bool:
    """Whether an update is one that the threads of a subgroup combine."""
    frame, known = e.frame, e.m.traits.subgroups and (op.attrs["kind"], op.attrs["place"].dtype.name) in TOGETHER
    return known and op.attrs.get("sums") == "subgroup" and frame.parallel and not frame.debug


def join(e: RegionEmitter, op: Op, update: Update) -> None:
    """Emit an update and those that follow it, unless it follows one itself: then it is there already."""
    if op in e.joined:
        e.joined.remove(op)  # a region may be emitted again
        return
    run = _run(e, op)
    e.joined.update(run[1:])
    addresses = [address_of(e, o.attrs["place"], _indices(o)) for o in run]

    def together() -> Sequence[Num]:
        sums = [combined(o.attrs["kind"], e.get(o.operands[-1])) for o in run]

        def speak() -> None:
            for o, address, total in zip(run, addresses, sums, strict=True):
                update(o, address, total)

        e.c.when(elected(e.c.const(True, u1)), speak)
        return ()

    def apart() -> Sequence[Num]:
        for o, address in zip(run, addresses, strict=True):
            guarded(e, o, lambda o=o, address=address: update(o, address, e.get(o.operands[-1])))  # type: ignore[misc]
        return ()

    e.c.either(_agree(e, run, addresses), together, apart)


def _run(e: RegionEmitter, op: Op) -> list[Op]:
    """The updates that can be combined together with one: they follow it, with nothing but constants between."""
    assert e.current is not None
    ops, run = e.current.ops, list[Op]()
    for other in ops[ops.index(op) :]:
        if other.name == "const":
            e.op(other)
        elif len(run) < _MOST and other.name == "atomic" and joins(e, other):
            run.append(other)
        else:
            break
    return run


def _indices(op: Op) -> Sequence[Value]:
    return op.operands[: op.attrs["place"].rank]


def _agree(e: RegionEmitter, run: Sequence[Op], addresses: Sequence[Address]) -> Num:
    """Whether all threads are inside, with the same elements: addresses that differ by constants are one."""
    inside, words, seen = e.c.const(True, u1), list[Num](), set[tuple[str, tuple[Value | None, ...]]]()
    for op, address in zip(run, addresses, strict=True):
        inside = inside & is_inside(e, op)
        place: Place = op.attrs["place"]
        key = place.name, tuple(None if e.number(v) is not None else v for v in _indices(op))
        if key not in seen:
            seen.add(key)
            words += _words(place, address.number)
    return agree(inside, words)


def _words(place: Place, number: Num) -> list[Num]:
    """Words that tell the elements of a place apart."""
    size = place.dtype.size
    for extent in place.shape:
        size *= _SMALL if extent is None else extent
    wide = size > _SMALL and number.dtype.bits > 32
    return [number.resize(u32), (number >> 32).resize(u32)] if wide else [number.resize(u32)]
