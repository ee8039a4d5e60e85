"""Updates that the threads of a subgroup combine before one of them updates memory: those with `sums` "subgroup".

The plan says that neighbouring threads probably update the same element; here they look. Updates that follow each
other are combined at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adstack.analysis.combined_updates import addresses_to_compare, indices_of, run_of_updates
from adstack.ir.structure import Op
from adstack.ir.types import u1, u32

from .access import address_of
from .assembly.code import Num
from .guards import guarded, is_inside
from .memory import Address
from .region import RegionEmitter
from .subgroups import TOGETHER, agree, all_combined, elected

__all__ = ["join", "joins"]

Update = Callable[[Op, Address, Num], Num]
"""Emits one thread's update of memory."""


def joins(e: RegionEmitter, op: Op) -> bool:
    """Whether an update is one that the threads of a subgroup combine."""
    frame, together = e.frame, e.m.traits.subgroups and (op.attrs["kind"], op.attrs["place"].dtype.name) in TOGETHER
    return together and op.attrs.get("sums") == "subgroup" and frame.parallel and not frame.debug


def join(e: RegionEmitter, op: Op, update: Update) -> None:
    """Emit an atomic update together with those that follow it, each combined over the subgroup first where all agree.

    Args:
        e: emits them, and remembers those that are done.
        op: the update; nothing is emitted if an earlier one has brought it along.
        update: emits one thread's atomic update.
    """
    if op in e.joined:
        e.joined.remove(op)  # a region may be emitted again
        return
    e.settle()
    run = _run(e, op)
    e.joined.update(run[1:])
    addresses = [address_of(e, o.attrs["place"], indices_of(o)) for o in run]

    def together() -> Sequence[Num]:
        sums = all_combined([(o.attrs["kind"], e.get(o.operands[-1])) for o in run])

        def speak() -> None:
            for o, address, total in zip(run, addresses, sums, strict=True):
                update(o, address, total)

        e.c.when(elected(e.c), speak)
        return ()

    def apart() -> Sequence[Num]:
        for o, address in zip(run, addresses, strict=True):
            guarded(e, o, lambda o=o, address=address: update(o, address, e.get(o.operands[-1])))  # type: ignore[misc]
        e.settle()
        return ()

    e.c.either(_agree(e, run, addresses), together, apart)


def _run(e: RegionEmitter, op: Op) -> list[Op]:
    """The updates that can be combined together with one; what they need is emitted."""
    assert e.current is not None
    run, constants = run_of_updates(op, e.current.ops, lambda other: joins(e, other))
    for constant in constants:
        e.op(constant)
    return run


def _agree(e: RegionEmitter, run: Sequence[Op], addresses: Sequence[Address]) -> Num:
    """Whether all threads are inside, with the same elements."""
    inside, words = e.c.const(True, u1), list[Num]()
    for op in run:
        inside = inside & is_inside(e, op)
    for number, wide in addresses_to_compare(run, lambda value: e.number(value) is not None):
        at = addresses[number].number
        words.append(at.resize(u32))
        if wide and at.dtype.bits > 32:
            words.append((at >> 32).resize(u32))
    return agree(inside, words)
