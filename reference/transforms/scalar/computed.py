"""Patterns of `identities` that compute with the numbers they find."""

from __future__ import annotations

import math

import numpy as np

from ...analysis.facts import constant
from ...ir.structure import Op
from .fold import compute
from .patterns import Maker, Matched, defined_by

__all__ = ["divided_by_power", "subtracted_number", "two_numbers"]


def two_numbers(maker: Maker, op: Op) -> Matched | None:
    """`(x op c) op d`; gives x and the number `c op d`."""
    d = constant(op.operands[1])
    inner = defined_by(op.operands[0], op.opdef)
    if d is None or inner is None:
        return None
    c = constant(inner.operands[1])
    combined = None if c is None else compute(op, [c, d])
    return None if combined is None else (inner.operands[0], maker.number(combined, op.result.dtype))


def subtracted_number(maker: Maker, op: Op) -> Matched | None:
    """`x - c`; gives x and the number -c of an addition."""
    c, to = constant(op.operands[1]), op.result.dtype
    if c is None:
        return None
    return op.operands[0], maker.number(to(-c), to)


def divided_by_power(maker: Maker, op: Op) -> Matched | None:
    """`x / c` for a power of two whose reciprocal is exact and normal; gives x and the reciprocal."""
    c, to = constant(op.operands[1]), op.result.dtype
    if c is None or not math.isfinite(c) or abs(math.frexp(c)[0]) != 0.5:
        return None
    reciprocal, info = 1.0 / c, np.finfo(to.numpy)
    if not float(info.tiny) <= abs(reciprocal) <= float(info.max):
        return None
    return op.operands[0], maker.number(reciprocal, to)
