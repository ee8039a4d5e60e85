"""Definitions and uses of values by region: which values a region defines, and which are live into it.

Which op or region defines a value, and which ops take it, the value says itself (`Value.owner`, `Value.uses`).
"""

from __future__ import annotations

from collections.abc import Sequence

from .structure import Op, Region, Value

__all__ = ["defined_in", "live_in", "live_into"]


def defined_in(region: Region) -> set[Value]:
    """The values that a region defines: its arguments, and the results and arguments of all that is nested in it."""
    defined = set(region.args)
    for op in region.walk():
        defined.update(op.results)
        for inner in op.regions:
            defined.update(inner.args)
    return defined


def live_in(*regions: Region) -> list[Value]:
    """The values that regions use and none of them defines, each once, in the order of their first use."""
    used: dict[Value, None] = {}
    defined: set[Value] = set()
    for region in regions:
        defined.update(region.args)
        for op in region.walk():
            used.update(dict.fromkeys(op.operands))
            defined.update(op.results)
            for inner in op.regions:
                defined.update(inner.args)
    return [value for value in used if value not in defined]


def live_into(op: Op) -> Sequence[Value]:
    """The values that an op takes from around it: its operands, then what is live into its regions.

    Of an op with regions each value comes once; of others these are the operands as they are.
    """
    if not op.regions:
        return op.operands
    return list(dict.fromkeys([*op.operands, *live_in(*op.regions)]))
