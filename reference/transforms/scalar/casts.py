"""Rules for chains of conversions, and for comparisons of a u1 that was converted."""

from __future__ import annotations

from typing import Final

from ...analysis.facts import constant
from ...ir.opdef import OpDef
from ...ir.scalar_ops import BITCAST, CAST, EQ, GE, GT, LE, LT, NE, NOT
from ...ir.structure import Op, Value
from ...ir.types import ALL, INTS, NUMERIC, DType
from .fold import compute
from .patterns import Maker, Matched, Row, defined_by, taken

__all__ = ["BITCASTS", "CASTS", "COMPARED_FLAG", "holds_all"]

FRACTION: Final = {"f16": 11, "f32": 24, "f64": 53}
EXPONENT: Final = {"f16": 16, "f32": 128, "f64": 1024}


def holds_all(wide: DType, narrow: DType) -> bool:
    """Whether every value of `narrow` is a value of `wide`."""
    if narrow.is_float:
        return wide.is_float and wide.bits >= narrow.bits
    if wide.is_float:
        return narrow.bits - (narrow.kind == "i") <= min(FRACTION[wide.name], EXPONENT[wide.name] - 1)
    return wide.min <= narrow.min and wide.max >= narrow.max


def skips(source: DType, middle: DType, to: DType) -> bool:
    """Whether source -> middle -> to is source -> to, for every value."""
    ints = source in INTS and middle in INTS and to in INTS
    if ints and to.bits <= middle.bits:
        return True  # integers wrap: both ways give the lowest bits of the source
    if not holds_all(middle, source):
        return False
    # the middle holds the number itself, but a float is saturated on its way to an integer where an integer wraps
    return source.is_float == middle.is_float or to.is_float or to.is_bool or holds_all(to, source)


def _cast_source(maker: Maker, op: Op) -> Matched | None:
    """A cast of a cast whose middle does not matter; gives what the first one converts."""
    inner = defined_by(op.operands[0], CAST)
    if inner is None:
        return None
    x = inner.operands[0]
    return (x,) if skips(x.dtype, op.operands[0].dtype, op.result.dtype) else None


def _same_type(maker: Maker, op: Op) -> Matched | None:
    return (op.operands[0],) if op.operands[0].type is op.result.type else None


def _convert(row: OpDef, maker: Maker, op: Op, matched: Matched) -> Value:
    (x,), to = matched, op.result.dtype
    return x if x.type is to else maker.make(row, x, to=to)


def _direct_cast(maker: Maker, op: Op, matched: Matched) -> Value:
    return _convert(CAST, maker, op, matched)


def _direct_bitcast(maker: Maker, op: Op, matched: Matched) -> Value:
    return _convert(BITCAST, maker, op, matched)


def _bitcast_source(maker: Maker, op: Op) -> Matched | None:
    inner = defined_by(op.operands[0], BITCAST)
    if inner is None or (op.result.dtype.is_float and inner.operands[0].dtype.is_float):
        return None  # a number whose bits were an integer is a constant to derivatives
    return (inner.operands[0],)


def _flag_and_number(maker: Maker, op: Op) -> Matched | None:
    """A comparison of a converted u1 with a number; gives the u1."""
    inner = defined_by(op.operands[0], CAST)
    if inner is None or not inner.operands[0].dtype.is_bool or constant(op.operands[1]) is None:
        return None
    return (inner.operands[0],)


def _by_cases(maker: Maker, op: Op, matched: Matched) -> Value | None:
    """The comparison is computed for false and for true."""
    (flag,), to = matched, op.operands[0].dtype
    limit = constant(op.operands[1])
    assert limit is not None
    low, high = (compute(op, [to(n), limit]) for n in (0, 1))
    if low == high:
        return maker.number(bool(low), op.result.dtype)
    return flag if high else maker.make(NOT, flag)


CASTS: Final[tuple[Row, ...]] = (
    ((CAST,), ALL, _same_type, taken(), "the same type"),
    ((CAST,), ALL, _cast_source, _direct_cast, "the type between holds every value, or is a wrapping of a wrapping"),
)

BITCASTS: Final[tuple[Row, ...]] = (
    ((BITCAST,), ALL, _same_type, taken(), "the same type"),
    ((BITCAST,), ALL, _bitcast_source, _direct_bitcast, "the same bits all along"),
)

COMPARED_FLAG: Final[tuple[Row, ...]] = (
    ((EQ, NE, LT, LE, GT, GE), NUMERIC, _flag_and_number, _by_cases, "two cases, computed"),
)
