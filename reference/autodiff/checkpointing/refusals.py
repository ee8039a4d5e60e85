"""Which loops can't be checkpointed: they can't run again."""

from __future__ import annotations

from ...errors import AdstackDataAccessError
from ...ir.ops import LOAD, PLACE_ACCESSES, PLACE_WRITES
from ...ir.structure import Kernel, Op

__all__ = ["refuse_unrepeatable"]


def refuse_unrepeatable(kernel: Kernel, loop: Op) -> None:
    """Raise AdstackDataAccessError if a serial loop can't run again: sweeps change temps that it uses."""
    order = list(kernel.body.walk())
    writes = [op for op in order[order.index(loop) :] if op.opdef in PLACE_WRITES]
    changed = {op.attrs["place"].name for op in writes if op.attrs["place"].kind == "temp"}
    for op in loop.regions[-1].walk():
        place = op.attrs.get("place")
        if place is not None and place.name in changed and op.opdef in PLACE_ACCESSES:
            raise AdstackDataAccessError(
                f"This loop can't be checkpointed: it would have to run again, and {place.label or place.name}, "
                f"which it {'reads' if op.opdef is LOAD else 'writes'} here, has changed by then",
                loc=op.loc if op.loc.line else None,
                do="raise the memory limit of adstacks, or carry the value in a local variable of the loop",
            )
