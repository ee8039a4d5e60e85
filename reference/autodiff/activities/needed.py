"""Which memory the reverse pass may look at: `needed(kernel, grads) -> names of places`.

Requires: a verified kernel as the frontend made it; the names of the places that have adjoints.
Ensures: every place that `reverse` of the kernel loads elements of, gradients aside, is among the names; but not what
it takes to make the launch again in scratch memory (`replay.py`).

The derivative of a sum looks at nothing; that of a product at its factors. So a load matters if its value is one that
the derivative of an active operation names, an index, or decides control flow, or if one of these is computed from it:
the rows of the table of operations say which (ir/pulls.py). This is decided without making the reverse pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...ir.ops import ARRAY_LOAD, ARRAY_STORE, ATOMIC, PLACE_ACCESSES
from ...ir.structure import Kernel, Op, Value
from .activity import Activity, is_real
from .origins import Origins, decides

__all__ = ["needed"]


def needed(kernel: Kernel, grads: Collection[str]) -> set[str]:
    """Names of the places of a kernel that its reverse pass may read; `grads` names those that have adjoints."""
    inside = {place.name for place in kernel.places.values() if place.kind in ("temp", "result")}
    active = Activity(kernel.body, inside.union(grads))
    names: set[str] = set()
    wanted: list[Value] = []
    for op in kernel.body.walk():
        wanted += _wanted(op, active)
        if op.opdef is ATOMIC and op.attrs["kind"] != "add" and active.place(op.attrs["place"]):
            names.add(op.attrs["place"].name)  # which update won, and what it replaced
    names |= {op.attrs["place"].name for op in Origins(kernel.body, through_memory=True).loads_behind(wanted)}
    return {name for name in names if kernel.places[name].role == "primal" and kernel.places[name].kind != "temp"}


def _wanted(op: Op, active: Activity) -> Iterator[Value]:
    """The values that reversing an op looks at."""
    yield from decides(op)
    if op.opdef in PLACE_ACCESSES:
        place = op.attrs["place"]
        if active.place(place):
            yield from op.operands[: place.rank]
            if op.opdef is ATOMIC and op.attrs["kind"] != "add":
                yield from op.operands[place.rank :]
    elif op.opdef in (ARRAY_LOAD, ARRAY_STORE):
        yield op.operands[1]
    elif op.opdef.pulls:
        yield from _saved(op, active)
    elif not op.regions and op.opdef.pulls is None and any(is_real(v) for v in op.results):
        yield from op.operands


def _saved(op: Op, active: Activity) -> Iterator[Value]:
    """The primals that the derivatives of a scalar operation name."""
    if not any(result in active for result in op.results):
        return
    for operand, pull in zip(op.operands, op.opdef.pulls or (), strict=True):
        if pull is not None and operand in active:
            for letter in pull.needs:
                yield op.result if letter == "r" else op.operands["xyz".index(letter)]
