"""The names of scalar types, as programs use them: in annotations, as arguments, and called.

At run time each name is a type of the IR. For a type checker it is Python's `int`, `float` or `bool`: that is what a
caller passes for such a parameter, and what the parameter behaves like in the body of the kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "f16",
    "f32",
    "f64",
    "float16",
    "float32",
    "float64",
    "i8",
    "i16",
    "i32",
    "i64",
    "int8",
    "int16",
    "int32",
    "int64",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint1",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

if TYPE_CHECKING:
    from builtins import bool as u1
    from builtins import bool as uint1
    from builtins import float as f16
    from builtins import float as f32
    from builtins import float as f64
    from builtins import float as float16
    from builtins import float as float32
    from builtins import float as float64
    from builtins import int as i8
    from builtins import int as i16
    from builtins import int as i32
    from builtins import int as i64
    from builtins import int as int8
    from builtins import int as int16
    from builtins import int as int32
    from builtins import int as int64
    from builtins import int as u8
    from builtins import int as u16
    from builtins import int as u32
    from builtins import int as u64
    from builtins import int as uint8
    from builtins import int as uint16
    from builtins import int as uint32
    from builtins import int as uint64
else:
    from ..ir.types import f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64

    float16, float32, float64 = f16, f32, f64
    int8, int16, int32, int64 = i8, i16, i32, i64
    uint1, uint8, uint16, uint32, uint64 = u1, u8, u16, u32, u64
