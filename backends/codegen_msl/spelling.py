"""Types, constants and names as the Metal Shading Language spells them."""

from __future__ import annotations

import math
import re
from itertools import accumulate
from typing import Final

from adstack.errors import BackendUnavailableError
from adstack.ir.types import DType

__all__ = [
    "bits_of",
    "enclosed",
    "literal",
    "memory_type",
    "raw",
    "symbol",
    "type_name",
    "unsigned_name",
    "unsupported",
]

_TYPES: Final = {
    "u1": "bool",
    "i8": "char",
    "i16": "short",
    "i32": "int",
    "i64": "long",
    "u8": "uchar",
    "u16": "ushort",
    "u32": "uint",
    "u64": "ulong",
    "f16": "half",
    "f32": "float",
}
_UNSIGNED: Final = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}
_SUFFIX: Final = {"i32": "", "u32": "u", "i64": "l", "u64": "ul"}


def unsupported(what: str) -> BackendUnavailableError:
    """The error for what the language has no way to say."""
    return BackendUnavailableError(what, do="use f32 and integers of 32 bits there, or arch=qd.cpu, which has all")


def type_name(dtype: DType) -> str:
    """The type of a value; BackendUnavailableError for f64, which the language does not have."""
    if dtype.name not in _TYPES:
        raise unsupported(f"the Metal Shading Language has no type of 64 bits for floats: {dtype} can't be computed")
    return _TYPES[dtype.name]


def memory_type(dtype: DType) -> str:
    """The type of an element in memory: truth values are bytes."""
    return "uchar" if dtype.is_bool else type_name(dtype)


def unsigned_name(dtype: DType) -> str:
    """The integer without a sign that is as wide as an element in memory."""
    return _UNSIGNED[8 * dtype.size]


def bits_of(text: str, dtype: DType) -> str:
    """The bits of a value, as the integer without a sign that is as wide."""
    to = unsigned_name(dtype)
    return f"as_type<{to}>({text})" if dtype.is_float else f"{to}({text})"


def raw(text: str, dtype: DType) -> str:
    """A value as the low bits of a word of 64 bits."""
    return f"ulong({bits_of(text, dtype) if dtype.is_float else text})"


def literal(value: bool | int | float, dtype: DType) -> str:
    """A constant, exactly."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_float:
        return _float(float(value), dtype)
    number = int(value)
    if dtype.bits < 32:
        return f"{type_name(dtype)}({number})"
    text = f"{abs(number)}{_SUFFIX[dtype.name]}"
    if dtype.is_signed and number == dtype.min:
        return f"(-{abs(number) - 1}{_SUFFIX[dtype.name]} - 1)"
    return f"(-{text})" if number < 0 else text


def _float(value: float, dtype: DType) -> str:
    """With as few digits as give it back, or its bits where it has none."""
    element = dtype.numpy.type(value)
    if not math.isfinite(element):
        unsigned = unsigned_name(dtype)
        number = int(element.view(f"u{dtype.size}"))
        bits = f"{number:#x}u" if dtype.bits == 32 else f"{unsigned}({number:#x})"
        return f"as_type<{type_name(dtype)}>({bits})"
    text = repr(float(str(element)))
    text = f"{text}f" if dtype.bits == 32 else f"half({text}f)"
    return f"({text})" if math.copysign(1, value) < 0 and dtype.bits == 32 else text


def enclosed(text: str) -> str:
    """An expression in parentheses, one pair of them."""
    depths = accumulate((letter == "(") - (letter == ")") for letter in text[:-1])
    return text if text.startswith("(") and all(depths) else f"({text})"


def symbol(name: str) -> str:
    """A name with the letters that identifiers may have; it begins with a letter."""
    text = re.sub(r"_*\W+_*|__+", "_", name, flags=re.ASCII).strip("_")
    return text if text[:1].isalpha() else f"v{text}"
