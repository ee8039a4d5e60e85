"""Integers that grow by the same in every turn of a loop."""

from __future__ import annotations

from ..ir.structure import Op, Region, Value
from ..ir.types import i64

__all__ = ["Evenly", "few"]


class Evenly:
    """Knows those that grow by -1, 0 or 1 from turn to turn of a `for`.

    An i64 that wraps goes on at the other end, and so does its limit; narrower integers count only as they are: as the
    loop's index.

    Attributes:
        index: of the loop.
        made: the op inside that gives a value.
    """

    def __init__(self, body: Region) -> None:
        self.index = body.args[0]
        self.made: dict[Value, Op] = {v: o for o in body.walk() for v in o.results}
        self._inner = {*self.made, *(a for o in body.walk() for r in o.regions for a in r.args), *body.args}

    def slope(self, value: Value) -> int | None:
        """By how much it grows; None if not by the same."""
        if value is self.index:
            return 1
        if value not in self._inner:
            return 0
        op = self.made.get(value)
        if op is None or any(not v.dtype.is_integer for v in op.operands):
            return None
        if op.name == "const":
            return 0
        if op.name == "cast" and op.operands[0] is self.index and value.dtype.bits == 64:
            return 1
        if op.name not in ("add", "sub") or value.dtype.bits != 64:
            return None
        a, b = (self.slope(v) for v in op.operands)
        if a is None or b is None:
            return None
        total = a + b if op.name == "add" else a - b
        return total if abs(total) <= 1 else None


def few(body: Region) -> set[Value]:
    """The i64 inside that are certainly below 2^31, and not below -2^31."""
    found: set[Value] = set()
    for op in body.walk():
        if len(op.results) != 1 or op.result.type is not i64:
            continue
        if op.name == "const":
            small = -(2**31) <= op.attrs["value"] < 2**31
        elif op.name == "cast":
            source = op.operands[0].dtype
            small = source.is_integer and source.bits <= 32 - (source.kind == "u")
        else:
            small = op.name in ("select", "min", "max") and found.issuperset(op.operands[-2:])
        if small:
            found.add(op.result)
    return found
