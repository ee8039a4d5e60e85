"""Reductions: atomic updates that each thread may combine on its own and apply once, and places that are only read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adstack.ir.structure import Op, Place, Region

from .exclusivity import by_place, may_overlap

__all__ = ["COMBINING", "read_only_places", "reductions"]

COMBINING = ("add", "mul", "min", "max", "and", "or", "xor")
"""Kinds of atomics that combine the old value with a new one, in any order, by the operation of that name."""


def reductions(body: Region, touching: Iterable[list[Op]]) -> Iterator[Op]:
    """The atomics of a loop's body that are reductions.

    A reduction is the only access to its place, updates one element in all iterations, and nobody takes the old value.

    Args:
        body: of a parallel loop.
        touching: the accesses of the body, grouped by place (see `exclusivity.by_place`).
    """
    varying = set(body.args)
    for op in body.walk():
        if op.name != "const":
            varying.update(op.results)
        varying.update(arg for region in op.regions for arg in region.args)
    for op, *others in touching:
        combines = not others and op.name == "atomic" and op.attrs["kind"] in COMBINING
        if combines and not op.result.uses and varying.isdisjoint(op.operands[:-1]):
            yield op


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
