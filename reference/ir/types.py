"""Types of IR values: twelve scalars, with their conversions, and handles to memory that lives inside one thread."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import AdstackTypeError

__all__ = [
    "ALL",
    "FLOATS",
    "INTS",
    "NUMERIC",
    "SIGNED",
    "UNSIGNED",
    "Array",
    "ArrayType",
    "DType",
    "StackType",
    "Type",
    "by_name",
    "cast",
    "cast_number",
    "f16",
    "f32",
    "f64",
    "float_to_integer",
    "from_numpy",
    "i8",
    "i16",
    "i32",
    "i64",
    "promote",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
]

Array: TypeAlias = npt.NDArray[Any]
"""Elements as numpy has them, of whatever type the memory is of."""


class DType:
    """A scalar type. There is one object per type: compare with `is`.

    Attributes:
        name: "u1", "i8", ..., "f64".
        kind: "b" (u1), "i" (signed), "u" (unsigned) or "f" (IEEE binary float).
        bits: width of a value; u1 has 1.
        size: bytes of one element in memory; u1 has 1.
        numpy: the numpy dtype that holds it.
    """

    __slots__ = ("bits", "kind", "name", "numpy", "size")

    def __init__(self, name: str, kind: str, bits: int, numpy_dtype: npt.DTypeLike) -> None:
        self.name: Final = name
        self.kind: Final = kind
        self.bits: Final = bits
        self.numpy: Final[np.dtype[Any]] = np.dtype(numpy_dtype)
        self.size: Final[int] = self.numpy.itemsize

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return (by_name, (self.name,))

    def __or__(self, other: object) -> NoReturn:
        raise AdstackTypeError(
            f"{self} | {other} names several types, and an argument or result has one",
            do="write the one that holds all, or qd.template() for values known while compiling",
        )

    __ror__ = __or__

    def __call__(self, value: object) -> Any:
        """`i64(3)` on the host: the number rounded, wrapped or saturated as `cast` does it."""
        try:
            return cast_number(value, self)
        except (TypeError, ValueError) as error:
            raise AdstackTypeError(f"{self}(x) takes one number on the host, got {type(value).__name__}") from error

    @property
    def is_float(self) -> bool:
        """Whether it is f16, f32 or f64."""
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """True of every type that is not a float, u1 included."""
        return self.kind != "f"

    @property
    def is_signed(self) -> bool:
        """Whether it has negative numbers: signed integers and floats."""
        return self.kind in "if"

    @property
    def is_bool(self) -> bool:
        """Whether it is u1."""
        return self.kind == "b"

    @property
    def min(self) -> int:
        """The least value of an integer type."""
        return -(1 << (self.bits - 1)) if self.kind == "i" else 0

    @property
    def max(self) -> int:
        """The greatest value of an integer type."""
        return (1 << (self.bits - (self.kind == "i"))) - 1


u1 = DType("u1", "b", 1, np.bool_)
i8 = DType("i8", "i", 8, np.int8)
i16 = DType("i16", "i", 16, np.int16)
i32 = DType("i32", "i", 32, np.int32)
i64 = DType("i64", "i", 64, np.int64)
u8 = DType("u8", "u", 8, np.uint8)
u16 = DType("u16", "u", 16, np.uint16)
u32 = DType("u32", "u", 32, np.uint32)
u64 = DType("u64", "u", 64, np.uint64)
f16 = DType("f16", "f", 16, np.float16)
f32 = DType("f32", "f", 32, np.float32)
f64 = DType("f64", "f", 64, np.float64)

SIGNED: Final = (i8, i16, i32, i64)
UNSIGNED: Final = (u8, u16, u32, u64)
FLOATS: Final = (f16, f32, f64)
INTS: Final = SIGNED + UNSIGNED
NUMERIC: Final = INTS + FLOATS
ALL: Final = (u1, *NUMERIC)

_BY_NAME: Final = {t.name: t for t in ALL}
_BY_NUMPY: Final = {t.numpy: t for t in ALL}


def by_name(name: str) -> DType:
    """The scalar type called `name`; KeyError if there is none."""
    return _BY_NAME[name]


def unsigned(dtype: DType) -> DType:
    """The unsigned integer type as wide as an integer type."""
    return dtype if dtype.kind == "u" else by_name(f"u{dtype.bits}")


def from_numpy(dtype: npt.DTypeLike) -> DType:
    """The scalar type that a numpy dtype (any byte order equal to native) stands for; KeyError if none."""
    return _BY_NUMPY[np.dtype(dtype)]


def promote(a: DType, b: DType) -> DType:
    """The common type of two operands.

    A float beats an integer; the wider type wins; equal width with mixed sign is unsigned; u1 counts as i32 once it
    meets arithmetic, so `promote(u1, u1)` is i32.
    """
    a, b = (i32 if t.is_bool else t for t in (a, b))
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a.kind == "u" else b


def float_to_integer(to: DType, a: Array) -> Array:
    """Truncated, saturated to the range of `to`; 0 for NaN."""
    wide = np.trunc(a.astype(np.float64))
    low, high = float(to.min), float(to.max + 1)
    inside = (wide >= low) & (wide < high)
    safe = np.where(inside, wide, 0.0)
    truncated = safe.astype(np.uint64).astype(to.numpy) if to is u64 else safe.astype(np.int64).astype(to.numpy)
    clipped = np.where(wide >= high, to.numpy.type(to.max), np.where(wide < low, to.numpy.type(to.min), truncated))
    return np.where(np.isnan(a), to.numpy.type(0), clipped)


def cast(to: DType, a: Array) -> Array:
    """Conversion between any two scalar types: floats round to nearest even, integers wrap, u1 is `a != 0`."""
    if to is u1:
        return np.asarray(a != 0)
    if a.dtype.kind == "f" and to.kind in "iu":
        return float_to_integer(to, a)
    return a.astype(to.numpy)


def cast_number(value: Any, to: DType) -> Any:
    """A Python or numpy number converted to `to` as `cast` does it, as a Python bool, int or float."""
    if isinstance(value, (int, np.integer, np.bool_)):
        return _cast_int(int(value), to)
    with np.errstate(all="ignore"):
        return cast(to, np.asarray(value, np.float64)).item()


def _cast_int(value: int, to: DType) -> Any:
    if to is u1:
        return value != 0
    if to.is_float:
        return _round_int(value, to)
    wrapped = value & ((1 << to.bits) - 1)
    return wrapped - (1 << to.bits) if to.is_signed and wrapped > to.max else wrapped


def _round_int(value: int, to: DType) -> float:
    """An integer of any size rounded once to a float type."""
    try:
        if to is f64:
            return float(value)
        # 48 leading bits and a sticky one: a double, exactly, so that the rounding below is the only one
        drop = max(abs(value).bit_length() - 48, 0)
        lead = (abs(value) >> drop) << 1 | (abs(value) & ((1 << drop) - 1) != 0)
        wide = math.copysign(math.ldexp(lead, drop - 1), value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    with np.errstate(over="ignore"):
        return float(to.numpy.type(wide))


@dataclass(frozen=True)
class ArrayType:
    """A handle to `length` elements of `dtype` that live inside one thread."""

    dtype: DType
    length: int

    def __repr__(self) -> str:
        return f"array<{self.dtype}, {self.length}>"


@dataclass(frozen=True)
class StackType:
    """A handle to an adstack of `dtype`; its capacity is an operand of `stack.alloca`."""

    dtype: DType

    def __repr__(self) -> str:
        return f"stack<{self.dtype}>"


Type = DType | ArrayType | StackType
