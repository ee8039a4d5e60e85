"""Reductions: atomic updates that each thread may combine on its own and apply once, and places that are only read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..ir.ops import ATOMIC
from ..ir.scalar_ops import CONST
from ..ir.structure import Op, Place, Region
from ..ir.types import DType
from .exclusivity import by_place, may_overlap
from .facts import integer

__all__ = ["COMBINING", "neutral", "read_only_places", "reductions"]

COMBINING = ("add", "mul", "min", "max", "and", "or", "xor")
"""Kinds of atomics that combine the old value with a new one, in any order, by the operation of that name."""


_NEUTRAL = {"add": 0, "or": 0, "xor": 0, "mul": 1}


def neutral(kind: str, dtype: DType) -> float:
    """What changes nothing. Of float addition that is -0.0; of min and max, NaN, which loses to every number."""
    if dtype.is_float:
        return {"add": -0.0, "mul": 1.0}.get(kind, float("nan"))
    if kind in _NEUTRAL:
        return _NEUTRAL[kind]
    if kind == "and":
        return -1 if dtype.kind == "i" else dtype.max
    return dtype.max if kind == "min" else dtype.min


def reductions(body: Region, touching: Iterable[list[Op]]) -> Iterator[Op]:
    """The atomics of a loop's body that are reductions.

    Reductions update one element each in all iterations, all of one element in one way, are the only accesses to their
    place, and nobody takes the old value.

    Args:
        body: of a parallel loop.
        touching: the accesses of the body, grouped by place (see `exclusivity.by_place`).
    """
    varying = set(body.args)
    for op in body.walk():
        if op.opdef is not CONST:
            varying.update(op.results)
        varying.update(arg for region in op.regions for arg in region.args)
    for ops in touching:
        if all(_combines(op) and varying.isdisjoint(op.operands[:-1]) for op in ops) and _by_element(ops):
            yield from ops


def _combines(op: Op) -> bool:
    return op.opdef is ATOMIC and op.attrs["kind"] in COMBINING and not op.result.uses


def _by_element(ops: Sequence[Op]) -> bool:
    """Whether updates of a place are of one kind, or of one kind for each element, which constants tell apart."""
    if len({op.attrs["kind"] for op in ops}) == 1:
        return True
    elements = {op: tuple(integer(v) for v in op.operands[:-1]) for op in ops}
    if any(None in element for element in elements.values()):
        return False
    return len({(element, op.attrs["kind"]) for op, element in elements.items()}) == len(set(elements.values()))


def read_only_places(body: Region) -> set[str]:
    """Names of the places that a task reads while neither they, nor what may overlap them, are written to."""
    touching = by_place(body)
    places: dict[str, Place] = {name: ops[0].attrs["place"] for name, ops in touching.items()}
    written = [places[name] for name, ops in touching.items() if any(op.opdef.writes for op in ops)]
    return {
        name
        for name, place in places.items()
        if place not in written and not any(may_overlap(place, other) for other in written)
    }
