"""A SPIR-V module under construction: ids, types, constants, declarations, and functions as streams of words."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from adstack.ir.types import DType, f16, f32, f64, u8

from .opcodes import MAGIC, VERSION, Capability, Decoration, Mode, Op, Storage
from .traits import IEEE, Traits

__all__ = ["Module", "instruction", "memory_dtype", "text_words"]

_FOR_TYPES = {
    "int8": Capability.Int8,
    "int16": Capability.Int16,
    "int64": Capability.Int64,
    "float16": Capability.Float16,
    "float64": Capability.Float64,
}
_PHYSICAL_64, _LOGICAL = 5348, 0
"""SPIR-V's addressing models: buffer device addresses, or none."""
_FOR_MEMORY = {1: Capability.StorageBuffer8BitAccess, 2: Capability.StorageBuffer16BitAccess}


def instruction(op: int, *words: int) -> list[int]:
    """The words of one instruction."""
    return [(len(words) + 1) << 16 | op, *words]


def text_words(text: str) -> list[int]:
    """A string as words, with a zero at its end."""
    raw = text.encode() + b"\0"
    raw += b"\0" * (-len(raw) % 4)
    return list(struct.unpack(f"<{len(raw) // 4}I", raw))


def memory_dtype(dtype: DType) -> DType:
    """The type by which a value is stored: a u1 takes a byte."""
    return u8 if dtype.is_bool else dtype


class Module:
    """Collects declarations; `words` is the whole, in the order that SPIR-V asks for.

    Attributes:
        traits: of the device that it is for.
        functions: library functions emitted so far: name -> id.
        pushed: the block of push constants, once it is declared; its first member is an address, as an u64.
    """

    def __init__(self, traits: Traits = IEEE) -> None:
        self.traits = traits
        self.functions: dict[str, int] = {}
        self.pushed = 0
        self.helpers: dict[str, int] = {}
        self._last = 0
        self._capabilities: set[int] = {Capability.Shader}
        if traits.addresses:
            self.need(Capability.PhysicalStorageBufferAddresses)
        self._extensions: dict[str, None] = {}
        self.fast_paths = True
        """Whether functions may take more code to be quicker."""
        self.floats: dict[int, float] = {}
        """Constants by their ids."""
        self._unique: dict[tuple[int, ...], int] = {}
        self._blocks: dict[int, int] = {}
        self._decorations: list[int] = []
        self._globals: list[int] = []
        self._interface: list[int] = []
        self._code: list[int] = []
        self._modes: list[int] = []
        self._entry: list[int] = []
        self.std = self.new()
        """The id of GLSL.std.450."""

    def new(self) -> int:
        """A fresh id."""
        self._last += 1
        return self._last

    def need(self, capability: Capability, extension: str = "") -> None:
        """Declare what is used."""
        self._capabilities.add(capability)
        if extension:
            self._extensions[extension] = None

    @property
    def capabilities(self) -> frozenset[int]:
        """The capabilities that are declared so far."""
        return frozenset(self._capabilities)

    def decorate(self, target: int, decoration: Decoration, *extra: int) -> None:
        """Decorate an id, such as with the number of its binding."""
        self._decorations += instruction(Op.Decorate, target, decoration, *extra)

    # ---- types and constants, each declared once

    def _declare(self, op: Op, *words: int, typed: int = 0) -> int:
        key = (op, typed, *words)
        if key not in self._unique:
            self._unique[key] = number = self.new()
            self._globals += instruction(op, *((typed, number) if typed else (number,)), *words)
        return self._unique[key]

    @property
    def void(self) -> int:
        """The type of functions without a result. Like the types below it is an id, and declared once."""
        return self._declare(Op.TypeVoid)

    def type(self, dtype: DType) -> int:
        """The SPIR-V type of a value. Integers have none with a sign: operations say how they interpret them."""
        if dtype.is_bool:
            return self._declare(Op.TypeBool)
        word = "float" if dtype.is_float else "int"
        capability = _FOR_TYPES.get(f"{word}{dtype.bits}")
        if capability is not None:
            self.need(capability)
        return self._declare(Op.TypeFloat, dtype.bits) if dtype.is_float else self._declare(Op.TypeInt, dtype.bits, 0)

    def vector(self, dtype: DType, count: int) -> int:
        """The type of `count` scalars that are one operand."""
        return self._declare(Op.TypeVector, self.type(dtype), count)

    def array(self, dtype: DType, length: int) -> int:
        """The type of an array; its stride is a decoration of its own."""
        return self._declare(Op.TypeArray, self.type(dtype), self.word(length))

    def struct(self, *members: int) -> int:
        """The type of a structure with members of these types."""
        return self._declare(Op.TypeStruct, *members)

    def pointer(self, storage: Storage, to: int) -> int:
        """The type of pointers into a storage class, to a type."""
        return self._declare(Op.TypePointer, storage, to)

    def block(self, dtype: DType) -> int:
        """The type of a buffer that is an array of elements of unknown length."""
        element = self.type(dtype)
        if element not in self._blocks:
            array = self._declare(Op.TypeRuntimeArray, element)
            self._blocks[element] = block = self.struct(array)
            self.decorate(array, Decoration.ArrayStride, dtype.size)
            self.decorate(block, Decoration.Block)
            self._decorations += instruction(Op.MemberDecorate, block, 0, Decoration.Offset, 0)
        return self._blocks[element]

    def keep(self, dtype: DType) -> None:
        """Declare that elements of a type stand in memory."""
        capability = _FOR_MEMORY.get(dtype.size)
        if capability is not None:
            self.need(capability)

    def signature(self, result: int, *params: int) -> int:
        """The type of functions with this result and these parameters."""
        return self._declare(Op.TypeFunction, result, *params)

    def word(self, value: int) -> int:
        """A constant of 32 bits."""
        return self._declare(Op.Constant, value & 0xFFFFFFFF, typed=self._declare(Op.TypeInt, 32, 0))

    def constant(self, value: bool | int | float, dtype: DType) -> int:
        """A constant of a scalar type."""
        ty = self.type(dtype)
        if dtype.is_bool:
            return self._declare(Op.ConstantTrue if value else Op.ConstantFalse, typed=ty)
        constant = self._declare(Op.Constant, *_literal(value, dtype), typed=ty)
        if dtype.is_float:
            self.floats[constant] = float(value)
        return constant

    def null(self, ty: int) -> int:
        """The constant of a type whose bits are all zero."""
        return self._declare(Op.ConstantNull, typed=ty)

    # ---- variables, functions, the whole

    def variable(self, storage: Storage, to: int) -> int:
        """A global variable, which becomes part of the entry point's interface."""
        variable = self.new()
        self._globals += instruction(Op.Variable, self.pointer(storage, to), variable, storage)
        self._interface.append(variable)
        return variable

    def builtin(self, number: int, ty: int) -> int:
        """An input that the device fills."""
        variable = self.variable(Storage.Input, ty)
        self.decorate(variable, Decoration.BuiltIn, number)
        return variable

    def push_constants(self, *members: tuple[int, int]) -> int:
        """The block of push constants: (type, offset) per member."""
        block = self.new()
        self._globals += instruction(Op.TypeStruct, block, *(ty for ty, _ in members))
        self.decorate(block, Decoration.Block)
        for k, (_, offset) in enumerate(members):
            self._decorations += instruction(Op.MemberDecorate, block, k, Decoration.Offset, offset)
        self.pushed = self.variable(Storage.PushConstant, block)
        return self.pushed

    def add(self, code: Sequence[int]) -> None:
        """Add a finished function."""
        self._code += code

    def entry(self, function: int, local_size: int) -> None:
        """Name the function that runs, and how many threads run it side by side."""
        self._entry = [function, *text_words("main")]
        self._modes += instruction(Op.ExecutionMode, function, Mode.LocalSize, local_size, 1, 1)
        wanted = (
            (Mode.SignedZeroInfNanPreserve, Capability.SignedZeroInfNanPreserve, self.traits.preserve),
            (Mode.RoundingModeRTE, Capability.RoundingModeRTE, self.traits.nearest),
            (Mode.DenormPreserve, Capability.DenormPreserve, self.traits.denormals),
        )
        for mode, capability, widths in wanted:
            for dtype in (f16, f32, f64):
                if dtype.bits in widths and (Op.TypeFloat, 0, dtype.bits) in self._unique:
                    self.need(capability)
                    self._modes += instruction(Op.ExecutionMode, function, mode, dtype.bits)

    @property
    def words(self) -> list[int]:
        """The module."""
        head: list[int] = []
        for capability in sorted(self._capabilities):
            head += instruction(Op.Capability, capability)
        for extension in self._extensions:
            head += instruction(Op.Extension, *text_words(extension))
        head += instruction(Op.ExtInstImport, self.std, *text_words("GLSL.std.450"))
        head += instruction(Op.MemoryModel, _PHYSICAL_64 if self.traits.addresses else _LOGICAL, 1)
        head += instruction(Op.EntryPoint, 5, *self._entry, *self._interface)
        body = [*head, *self._modes, *self._decorations, *self._globals, *self._code]
        return [MAGIC, VERSION, 0, self._last + 1, 0, *body]


def _literal(value: bool | int | float, dtype: DType) -> list[int]:
    """A number as the words of a constant: at least one, the lowest first, narrow integers zero-extended."""
    if dtype.is_float:
        raw = struct.pack({16: "<e", 32: "<f", 64: "<d"}[dtype.bits], value)
        number = int.from_bytes(raw, "little")
    else:
        number = int(value) & ((1 << dtype.bits) - 1)
    return [number & 0xFFFFFFFF, number >> 32] if dtype.bits == 64 else [number]
