"""Definitions and uses of values by region: which values a region defines, and which it takes from around it.

Which op or region defines a value, and which ops take it, the value says itself (`Value.owner`, `Value.uses`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.structure import Op, Region, Value

__all__ = ["defined_in", "live_in"]


def defined_in(region: Region) -> set[Value]:
    """The values that a region defines: its arguments, and the results and arguments of all that is nested in it."""
    defined = set(region.args)
    for op in region.walk():
        defined.update(op.results)
        for inner in op.regions:
            defined.update(inner.args)
    return defined


def live_in(op: Op) -> Sequence[Value]:
    """The values that an op takes from around it: its operands, and what its regions use but do not define.

    They come in the order of their first use, each once; of an op without regions these are its operands as they are.
    """
    if not op.regions:
        return op.operands
    inside = Region(ops=[op])
    defined = defined_in(inside)
    used = dict.fromkeys(value for nested in inside.walk() for value in nested.operands)
    return [value for value in used if value not in defined]
