"""Cells: the mutable variables of a kernel, before mem2reg turns them into SSA values.

A cell holds one scalar, or the elements of a vector or matrix row by row. Its pseudo-ops exist only between emission
and `mem2reg.py`; no pass below the frontend sees them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...ir.builder import Builder
from ...ir.opdef import OpDef
from ...ir.structure import Op, Value
from ...ir.types import DType

__all__ = ["ALLOC", "READ", "UPDATE", "WRITE", "Cell", "alloc", "read", "update", "write"]

ALLOC: Final = OpDef("cell.alloc", pure=False, writes=True, attrs=("cell",), doc="a new cell; operands: its elements")
READ: Final = OpDef("cell.read", pure=False, reads=True, attrs=("cell", "at"), doc="an element; operand: runtime index")
WRITE: Final = OpDef("cell.write", pure=False, writes=True, attrs=("cell", "at"), doc="operands: value, runtime index")
UPDATE: Final = OpDef(
    "cell.update", pure=False, reads=True, writes=True, attrs=("cell", "at", "kind"), doc="as `atomic` does to a place"
)


class Cell:
    """A mutable variable of `size` elements of one type, `length` None for a scalar.

    `of_literal` tells that a plain integer of Python's gave it its type: nobody chose that. A cell that is
    `in_memory` is an array however short it is. `team` is what the array is to a block of threads, see `TEAM_ARRAYS`.
    """

    __slots__ = ("dtype", "in_memory", "length", "name", "of_literal", "team")

    def __init__(
        self, name: str, dtype: DType, length: int | None = None, of_literal: bool = False, in_memory: bool = False
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.length = length
        self.of_literal = of_literal
        self.in_memory = in_memory
        self.team = ""

    @property
    def size(self) -> int:
        """How many elements it has; a scalar variable has one."""
        return 1 if self.length is None else self.length

    def __repr__(self) -> str:
        return f"<cell {self.name}: {self.dtype}>"


def _append(builder: Builder, opdef: OpDef, operands: list[Value], result: DType | None, **attrs: object) -> Op:
    results = [] if result is None else [Value(result)]
    op = Op(opdef, operands, dict(attrs), results, [], builder.loc)
    builder.region.ops.append(op)
    return op


def alloc(builder: Builder, cell: Cell, initial: Sequence[Value]) -> None:
    """Allocate `cell` in the current region, with these elements as its initial values."""
    _append(builder, ALLOC, list(initial), None, cell=cell)


def read(builder: Builder, cell: Cell, at: int | Value = 0) -> Value:
    """Emit a read of the element at a position, which is a constant or a runtime value."""
    if isinstance(at, Value):
        return _append(builder, READ, [at], cell.dtype, cell=cell, at=None).result
    return _append(builder, READ, [], cell.dtype, cell=cell, at=at).result


def write(builder: Builder, cell: Cell, value: Value, at: int | Value = 0) -> None:
    """Emit a write of an element."""
    if isinstance(at, Value):
        _append(builder, WRITE, [value, at], None, cell=cell, at=None)
    else:
        _append(builder, WRITE, [value], None, cell=cell, at=at)


def update(builder: Builder, cell: Cell, kind: str, values: Sequence[Value], at: int | Value = 0) -> Value:
    """Emit an update of an element, as an atomic of this kind does it; the old value."""
    if isinstance(at, Value):
        return _append(builder, UPDATE, [*values, at], cell.dtype, cell=cell, at=None, kind=kind).result
    return _append(builder, UPDATE, list(values), cell.dtype, cell=cell, at=at, kind=kind).result
