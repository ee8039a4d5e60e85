"""LLVM IR as text: names, types, constants, declarations.

Text is about five times quicker to make than llvmlite's objects.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from adstack.ir.types import DType

__all__ = [
    "Writer",
    "allocation",
    "any_lane",
    "any_of",
    "literal",
    "mangled",
    "return_values",
    "scalar_type",
    "type_text",
]

_SCALARS = {"f16": "half", "f32": "float", "f64": "double"}


def scalar_type(dtype: DType) -> str:
    """The LLVM type of a value: u1 is i1, integers lose their sign."""
    return _SCALARS.get(dtype.name) or f"i{dtype.bits}"


def type_text(dtype: DType, lanes: int) -> str:
    """The LLVM type of a value held for `lanes` iterations at once."""
    return scalar_type(dtype) if lanes == 1 else f"<{lanes} x {scalar_type(dtype)}>"


def literal(value: float, dtype: DType) -> str:
    """A scalar constant."""
    if dtype.is_bool:
        return "true" if value else "false"
    if not dtype.is_float:
        return str(int(value))
    if dtype.name == "f16":
        return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
    (bits,) = struct.unpack("<Q", struct.pack("<d", float(value)))
    return f"0x{bits:016X}"


def allocation(name: str, ty: str, align: int, space: int) -> list[str]:
    """The lines that take memory of a function's frame and name a pointer to it.

    Args:
        name: of the pointer, which is one to any memory.
        ty: what the memory holds.
        align: in bytes.
        space: the address space of frames; 0 where all memory is in one.
    """
    if not space:
        return [f"  {name} = alloca {ty}, align {align}"]
    taken = f"  {name}.private = alloca {ty}, align {align}, addrspace({space})"
    return [taken, f"  {name} = addrspacecast ptr addrspace({space}) {name}.private to ptr"]


class Writer:
    """Collects the lines of one function and what the module must declare for them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self._next = 0

    def fresh(self) -> str:
        """A name that the function does not use yet."""
        self._next += 1
        return f"%t{self._next}"

    def let(self, text: str) -> str:
        """A new value computed by `text`; gives its name."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """A line of the function, whose result is of no interest, or is named in it."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def declare(self, symbol: str, text: str) -> None:
        """Make sure that the module declares (or defines) `symbol` by `text`."""
        self.declarations.setdefault(symbol, text)

    def constant(self, value: float, dtype: DType, lanes: int) -> str:
        """A constant operand, repeated over the lanes."""
        text = literal(value, dtype)
        return text if lanes == 1 else f"splat ({scalar_type(dtype)} {text})"

    def intrinsic(self, name: str, result: str, operands: list[tuple[str, str]]) -> str:
        """Call an intrinsic: `operands` are (type, name) pairs; `name` is mangled already."""
        self.declare(name, f"declare {result} @{name}({', '.join(t for t, _ in operands)})")
        return self.let(f"call {result} @{name}({', '.join(f'{t} {v}' for t, v in operands)})")

    def effect(self, name: str, operands: list[tuple[str, str]]) -> None:
        """Call an intrinsic that gives nothing; a value may carry attributes ("align 4 %p")."""
        self.declare(name, f"declare void @{name}({', '.join(t for t, _ in operands)})")
        self.do(f"call void @{name}({', '.join(f'{t} {v}' for t, v in operands)})")


def any_lane(w: Writer, lanes: int, mask: str) -> str:
    """Whether some lane's bit is set, as an i1."""
    if lanes == 1:
        return mask
    return w.intrinsic(f"llvm.vector.reduce.or.v{lanes}i1", "i1", [(f"<{lanes} x i1>", mask)])


def any_of(w: Writer, conditions: Sequence[str]) -> str:
    """Whether one of some i1 holds."""
    either = "false"
    for condition in conditions:
        either = condition if either == "false" else w.let(f"or i1 {either}, {condition}")
    return either


def return_values(w: Writer, names: Sequence[str], types: Sequence[str], *, struct: bool = False) -> str:
    """End a function: return its one value, or a struct of its values; gives the LLVM type of what is returned."""
    if len(names) == 1 and not struct:
        w.do(f"ret {types[0]} {names[0]}")
        return types[0]
    result, aggregate = f"{{ {', '.join(types)} }}", "poison"
    for k, (name, ty) in enumerate(zip(names, types, strict=True)):
        aggregate = w.let(f"insertvalue {result} {aggregate}, {ty} {name}, {k}")
    w.do(f"ret {result} {aggregate}")
    return result


def mangled(dtype: DType, lanes: int) -> str:
    """The suffix that LLVM gives to an intrinsic overloaded on this type."""
    base = f"f{dtype.bits}" if dtype.is_float else f"i{dtype.bits}"
    return base if lanes == 1 else f"v{lanes}{base}"
