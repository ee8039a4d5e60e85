"""Definitions and uses of values: which a region defines, which it takes from around it, and who uses each.

Which op or region defines a value, the value says itself (`Value.owner`). Uses are not kept in the IR, because passes
replace operands in place; they are collected here, by one walk, and hold until the region is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.structure import Op, Region, Value

__all__ = ["DefUse", "defined_in", "live_in"]


class DefUse:
    """The def-use chains of a region, with all that is nested in it.

    Attributes:
        users: for each value that is used in the region, the ops that have it as an operand, in program order. An op
            is listed once per operand that is the value.
    """

    def __init__(self, users: Mapping[Value, Sequence[Op]]) -> None:
        self.users = users

    @classmethod
    def of(cls, region: Region) -> DefUse:
        """Collect the uses in a region. Linear in the number of operands."""
        users: dict[Value, list[Op]] = {}
        for op in region.walk():
            for value in op.operands:
                users.setdefault(value, []).append(op)
        return cls(users)

    def users_of(self, value: Value) -> Sequence[Op]:
        """The ops of the region that use a value; empty for one that none of them uses."""
        return self.users.get(value, ())


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
