"""Operands: which LLVM value stands for a value of the IR, in which form.

An operand is *uniform* (one scalar for all lanes) or *varying* (a vector with one element per lane).
"""

from __future__ import annotations

from adstack.ir.structure import Place, Value
from adstack.ir.types import DType, i64

from ..text.writer import Writer, literal, type_text
from .blocks import BlockWriter
from .frame import TaskFrame

__all__ = ["FunctionWriter"]


class FunctionWriter(BlockWriter):
    """Writes one LLVM function and knows the names of its operands.

    Attributes:
        varying: the values that differ between lanes.
        task: what the code needs to know of the task around it; None in a math function, which touches no memory.
    """

    def __init__(self, w: Writer, lanes: int, varying: set[Value]) -> None:
        super().__init__(w, lanes)
        self.varying = varying if lanes > 1 else set()
        self.task: TaskFrame | None = None
        self._names: dict[Value, str] = {}
        self._constants: dict[Value, str] = {}

    @property
    def frame(self) -> TaskFrame:
        """The task around the code."""
        assert self.task is not None, "memory is out of reach in a math function"
        return self.task

    # ---- what stands for a value

    def bind(self, value: Value, name: str) -> None:
        """Let an LLVM value stand for an IR value, in the form (scalar or vector) that the IR value has."""
        self._names[value] = name

    def give(self, value: Value, text: str) -> None:
        """Let a literal stand for a value."""
        self._constants[value] = text

    def constant(self, value: Value, number: bool | int | float) -> None:
        """Let a number stand for a value."""
        self._constants[value] = literal(number, value.dtype)

    def is_constant(self, value: Value) -> bool:
        """Whether a literal stands for the value."""
        return value in self._constants

    def known(self, value: Value) -> int | None:
        """The integer that a value is, if that is known when compiling."""
        text = self._constants.get(value)
        return int(text) if text is not None and value.dtype.kind in "iu" else None

    # ---- forms

    def is_varying(self, value: Value) -> bool:
        """Whether lanes may have different numbers, so that the value is a vector."""
        return value in self.varying

    def width(self, value: Value) -> int:
        """Lanes of the form that a value has: 1 if it is uniform."""
        return self.lanes if value in self.varying else 1

    def form(self, value: Value) -> str:
        """The LLVM type of the form that a value has."""
        return type_text(value.dtype, self.width(value))

    def scalar(self, value: Value) -> str:
        """The operand for a uniform value."""
        constant = self._constants.get(value)
        return constant if constant is not None else self._names[value]

    def vector(self, value: Value) -> str:
        """The operand for a value with one element per lane."""
        constant = self._constants.get(value)
        if constant is not None:
            return self.repeated(constant, value.dtype)
        name = self._names[value]
        return name if self.lanes == 1 or value in self.varying else self.splat(name, value.dtype)

    def at(self, value: Value, width: int) -> str:
        """The operand for a value in the form with so many lanes."""
        return self.scalar(value) if width == 1 else self.vector(value)

    def wide(self, index: Value, width: int, word: DType = i64) -> str:
        """An integer value, of no more bits than `word` has, as such a word: extended by its sign."""
        return self._extended(index.dtype, self.at(index, width), width, word)

    def wide_first(self, index: Value) -> str:
        """The same of the first lane alone."""
        if not self.is_varying(index) or self.is_constant(index):
            return self.wide(index, 1)
        first = self.w.let(f"extractelement {self.form(index)} {self.vector(index)}, i64 0")
        return self._extended(index.dtype, first, 1)

    def _extended(self, dtype: DType, name: str, width: int, word: DType = i64) -> str:
        if dtype.bits == word.bits:
            return name
        extend = "sext" if dtype.is_signed else "zext"
        return self.w.let(f"{extend} {type_text(dtype, width)} {name} to {type_text(word, width)}")

    def handle(self, value: Value) -> str:
        """The pointer that stands for a local array or a stack."""
        return self._names[value]

    def extent(self, place: Place, axis: int, width: int, word: DType = i64) -> str:
        """An extent of a place as i64, or as a smaller word if it is known."""
        length = place.shape[axis]
        if length is not None:
            return self.w.constant(length, word, width)
        name = self.frame.extents[place.name, axis]
        return name if width == 1 else self.splat(name, i64)
