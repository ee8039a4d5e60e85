"""Removes locals that iterations share and no op reads, and scratch memory: `drop_unread(body, scratch)`.

Requires: verified IR of a whole kernel; after `dce`. Ensures: the same effects on all memory but "temp" places and the
scratch; every such place that is written is also read. What computed the values is dead then, and gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...ir.ops import LOAD
from ...ir.structure import Place, Region
from ..rewriting.options import DEFAULT, Options
from .dce import dce

__all__ = ["drop_unread"]


def drop_unread(body: Region, scratch: Collection[str] = (), options: Options = DEFAULT) -> None:
    """Remove stores and atomic updates of temps that nothing loads, in place, and what was only for them.

    Args:
        body: the body of the kernel.
        scratch: names of more places that nobody looks at afterwards.
        options: what `dce` takes.
    """
    while True:
        temps = [op for op in body.walk() if "place" in op.attrs and _is_local(op.attrs["place"], scratch)]
        read = {op.attrs["place"].name for op in temps if op.opdef is LOAD or any(v.uses for v in op.results)}
        dead = {op for op in temps if op.attrs["place"].name not in read}
        alive = set(body.walk()) - dead
        if not dead:
            return
        for region in _regions(body):
            region.keep(alive.__contains__)
        dce(body, options)


def _is_local(place: Place, scratch: Collection[str]) -> bool:
    return place.kind == "temp" or place.name in scratch


def _regions(body: Region) -> Iterator[Region]:
    yield body
    for op in body.ops:
        for region in op.regions:
            yield from _regions(region)
