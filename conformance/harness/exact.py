"""Numbers of cases, rounded once and correctly to the type they are compared in, and distances between floats."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..case import CaseError

Array = npt.NDArray[Any]
DType = np.dtype[Any]
Literals: TypeAlias = Any
"""What a case expects: a number, a string that stands for one, or a nested sequence of these."""

__all__ = ["Exact", "array_of", "digest", "exact_value", "nested", "rounded", "ulp_distance", "unit_roundoff"]

Exact: TypeAlias = "Fraction | float"
"""A rational number; or, as a float: a NaN, an infinity or minus zero."""

_ORDINAL = {2: np.int16, 4: np.int32, 8: np.int64}


def digest(array: Array) -> str:
    """Equal for two arrays exactly if their types, shapes and bits are; all NaN count as one, as they mean the same."""
    canonical = np.ascontiguousarray(array)
    if canonical.dtype.kind == "f":
        canonical = np.where(np.isnan(canonical), np.array(np.nan, canonical.dtype), canonical)
    return hashlib.sha256(f"{array.dtype} {array.shape} ".encode() + canonical.tobytes()).hexdigest()


def exact_value(literal: Literals) -> Exact:
    """What a literal of a case means, without rounding."""
    if isinstance(literal, np.generic):
        literal = literal.item()
    if isinstance(literal, str):
        literal = _from_text(literal)
    if isinstance(literal, float) and (not math.isfinite(literal) or (literal == 0 and math.copysign(1, literal) < 0)):
        return literal
    if isinstance(literal, (bool, int, float, Fraction)):
        return Fraction(literal)
    raise CaseError(f"{literal!r} is not a number: write an int, a float, a Fraction, or a string of one")


def _from_text(text: str) -> Exact:
    special = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}.get(text.strip().lower())
    if special is not None:
        return special
    try:
        value = Fraction(text)
    except ValueError as error:
        raise CaseError(f"{text!r} is not a number") from error
    return -0.0 if value == 0 and text.strip().startswith("-") else value


def rounded(value: Exact, dtype: DType) -> np.generic:
    """The number of type `dtype` nearest to `value`, ties to even; an integer type must hold it exactly."""
    if dtype.kind == "f":
        nearest: np.generic = dtype.type(value if isinstance(value, float) else _nearest(value, dtype))
        return nearest
    if isinstance(value, float) or value.denominator != 1:
        raise CaseError(f"{value} is not an integer, but it is compared with an element of type {dtype}")
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if not low <= value <= high:
        raise CaseError(f"{value} is out of range of type {dtype}")
    integer: np.generic = dtype.type(int(value))
    return integer


def _nearest(value: Fraction, dtype: DType) -> float:
    least, digits, most = _range(dtype)
    numerator, denominator = abs(value.numerator), value.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
        exponent -= 1
    step = max(exponent, least) - digits
    denominator <<= max(step, 0)
    units, rest = divmod(numerator << max(-step, 0), denominator)
    units += 2 * rest > denominator or (2 * rest == denominator and units % 2)
    size = math.ldexp(units, step) if units.bit_length() + step <= most else math.inf
    return -size if value < 0 else size


@cache
def _range(dtype: DType) -> tuple[int, int, int]:
    """(least exponent, bits of the fraction, exponent of the least power of 2 out of range) of a float type."""
    info = np.finfo(dtype)
    return int(info.minexp), int(info.nmant), int(info.maxexp)


def unit_roundoff(dtype: DType) -> Fraction:
    """Half the distance from 1 to the next number of a float type; 0 for integers."""
    return Fraction(1, 2 ** (int(np.finfo(dtype).nmant) + 1)) if dtype.kind == "f" else Fraction(0)


def nested(literals: Literals) -> tuple[tuple[int, ...], list[Literals]]:
    """Shape and leaves, row by row, of a nested list; a leaf alone has shape ()."""
    if isinstance(literals, np.ndarray):
        return literals.shape, list(literals.ravel())
    if not isinstance(literals, (list, tuple, range)):
        return (), [literals]
    parts = [nested(part) for part in literals]
    shapes = {shape for shape, _ in parts}
    if len(shapes) > 1:
        raise CaseError(f"ragged values: rows of shapes {sorted(shapes)}")
    inner = shapes.pop() if shapes else ()
    return (len(parts), *inner), [leaf for _, leaves in parts for leaf in leaves]


def array_of(literals: Literals, dtype: DType, shape: tuple[int, ...]) -> Array:
    """Literals as an array of this type and shape; one number alone fills it."""
    if isinstance(literals, np.ndarray) and literals.dtype == dtype and literals.shape == shape:
        array: Array = literals
        return array
    got, leaves = nested(literals)
    if got not in (shape, ()):
        raise CaseError(f"values of shape {got} for data of shape {shape}")
    values = np.array([rounded(exact_value(leaf), dtype) for leaf in leaves], dtype=dtype).reshape(got)
    filled: Array = np.broadcast_to(values, shape).copy()
    return filled


def ulp_distance(got: Array, want: Array) -> Array:
    """Elementwise number of floats between two arrays of one type; for integers 0 or infinity.

    Two NaNs are at 0, a NaN is at infinity from any number, and so is 0 from -0: a sign of zero is never rounding.
    """
    if got.dtype.kind != "f":
        return np.where(got == want, 0.0, np.inf)
    both, one = np.isnan(got) & np.isnan(want), np.isnan(got) ^ np.isnan(want)
    flipped = (got == want) & (np.signbit(got) != np.signbit(want))
    distance = np.asarray(np.abs(_position(got) - _position(want))).astype(np.float64)
    return np.where(both, 0.0, np.where(one | flipped, np.inf, distance))


def _position(values: Array) -> Array:
    """Where each float stands in the order of its type, as Python ints or int64: neighbours differ by 1."""
    bits = values.view(_ORDINAL[values.dtype.itemsize])
    wide = bits.astype(object if values.dtype.itemsize == 8 else np.int64)
    lowest = -(1 << (8 * values.dtype.itemsize - 1))
    return np.where(bits < 0, lowest - wide, wide)
