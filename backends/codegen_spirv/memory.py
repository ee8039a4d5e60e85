"""How a shader reaches memory: by addresses, or by the storage buffers that a launch binds.

An `Address` is a byte of memory. By addresses it is a number of 64 bits, and all memory is alike. By bindings it is so
many bytes from where one of the shader's buffers begins, a number of 32 bits: no device binds more than 4 GiB as one.
An element is reached through a variable that shows the buffer as an array of such elements. There are several of a
buffer with elements of several types, and two buffers may be one memory: all of them are decorated Aliased.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from adstack.ir.types import DType, u32, u64

from .opcodes import Capability, Decoration, Op, Storage

if TYPE_CHECKING:
    from .code import Code, Num
    from .module import Module

__all__ = ["HEAP", "PRINT", "RECORD", "WORDS", "Address", "ByAddress", "ByBinding", "Memory", "buffer_of"]

WORDS: Final = "words"
"""The buffer with what a launch hands over, and what lives in it."""
RECORD: Final = "record"
"""With reports of failed checks and of stacks that are too small."""
PRINT: Final = "print"
"""With what is printed."""
HEAP: Final = "heap"
"""With the adstacks."""
_PHYSICAL_64, _LOGICAL = 5348, 0
"""SPIR-V's words for how pointers look."""
_ALIGNED: Final = 2


def buffer_of(place: str) -> str:
    """The name of the buffer with a place that outlives the launch."""
    return f"@{place}"


class Address:
    """Where something begins.

    Attributes:
        number: the address, or the bytes from where the buffer begins.
        buffer: the number of the binding; always 0 where memory is reached by addresses.
    """

    __slots__ = ("buffer", "number")

    def __init__(self, number: Num, buffer: int) -> None:
        self.number, self.buffer = number, buffer

    def __add__(self, distance: Num | int) -> Address:
        """So many bytes further on."""
        more = distance if isinstance(distance, int) else distance.resize(self.number.dtype)
        return Address(self.number + more, self.buffer)

    def elements(self, count: Num, size: int) -> Address:
        """So many elements further on."""
        return self + count.resize(self.number.dtype) * size

    def word(self) -> tuple[Address, Num]:
        """The word of 32 bits around it, and the number of the bit where it begins (u32)."""
        number = self.number
        return Address(number & number.dtype.max - 3, self.buffer), (number.resize(u32) & 3) << 3


class Memory(Protocol):
    """What a module knows of the memory that it reaches.

    Attributes:
        counts: the type of what a launch hands over to say where something is; it stands in a word of 64 bits.
        capability: what the module declares for it, if anything.
        addressing: SPIR-V's word for how pointers look.
        buffers: what is to be bound, in the order of the numbers of the bindings.
    """

    counts: DType
    capability: Capability | None
    addressing: int
    buffers: tuple[str, ...]

    def of(self, buffer: str, number: Num) -> Address:
        """What the launch says about where something is, of what lies in a buffer."""

    def pointer(self, c: Code, address: Address, dtype: DType) -> int:
        """A pointer to an element of a type that memory holds."""

    def access(self, dtype: DType) -> tuple[int, ...]:
        """What a load or a store says about it."""


class ByAddress:
    """By buffer device addresses: nothing is bound."""

    counts = u64
    capability: Capability | None = Capability.PhysicalStorageBufferAddresses
    addressing = _PHYSICAL_64
    buffers: tuple[str, ...] = ()

    def of(self, buffer: str, number: Num) -> Address:
        return Address(number.resize(u64), 0)

    def pointer(self, c: Code, address: Address, dtype: DType) -> int:
        to = c.m.pointer(Storage.PhysicalStorageBuffer, c.m.type(dtype))
        return c.raw(Op.ConvertUToPtr, to, address.number.id)

    def access(self, dtype: DType) -> tuple[int, ...]:
        return _ALIGNED, dtype.size


class ByBinding:
    """By storage buffers of one descriptor set."""

    counts = u32
    capability: Capability | None = None
    addressing = _LOGICAL

    def __init__(self) -> None:
        self.buffers: tuple[str, ...] = ()
        self._variables: dict[tuple[int, int], int] = {}

    def of(self, buffer: str, number: Num) -> Address:
        if buffer not in self.buffers:
            self.buffers = (*self.buffers, buffer)
        return Address(number.resize(u32), self.buffers.index(buffer))

    def pointer(self, c: Code, address: Address, dtype: DType) -> int:
        m = c.m
        to = m.pointer(Storage.StorageBuffer, m.type(dtype))
        number = address.number  # an index is taken for a signed number: that of a byte needs more than 32 bits
        element = number >> dtype.size.bit_length() - 1 if dtype.size > 1 else number.resize(u64)
        return c.raw(Op.AccessChain, to, self._variable(m, address.buffer, dtype), m.word(0), element.id)

    def _variable(self, m: Module, buffer: int, dtype: DType) -> int:
        """The buffer as an array of elements."""
        block = m.block(dtype)
        key = (buffer, block)
        if key not in self._variables:
            self._variables[key] = made = m.variable(Storage.StorageBuffer, block)
            m.decorate(made, Decoration.DescriptorSet, 0)
            m.decorate(made, Decoration.Binding, buffer)
            m.decorate(made, Decoration.Aliased)
        return self._variables[key]

    def access(self, dtype: DType) -> tuple[int, ...]:
        return ()
