"""How a shader reaches memory: by addresses, or by the storage buffers that a launch binds.

An `Address` is a byte of memory. By addresses it is a number of 64 bits, and all memory is alike. By bindings it is so
many bytes from where one of the shader's buffers begins, a number of 32 bits: no device binds more than 4 GiB as one.
An element is reached through a variable that shows the buffer as an array of such elements. There are several of a
buffer with elements of several types, and two buffers may be one memory: all of them are decorated Aliased.
"""

from __future__ import annotations

from typing import Final, Protocol

from adstack.ir.types import DType, u32, u64

from .assembly.code import Num
from .assembly.module import Module, memory_dtype
from .assembly.opcodes import Decoration, Op, Storage
from .assembly.traits import Traits

__all__ = [
    "HEAP",
    "PRINT",
    "RECORD",
    "REPORTS",
    "WORDS",
    "Address",
    "ByAddress",
    "ByBinding",
    "Memory",
    "buffer_of",
    "memory_of",
]

WORDS: Final = "words"
"""The buffer with what a launch hands over, and what lives in it."""
RECORD: Final = "record"
"""The buffer with reports of failed checks and of stacks that are too small."""
PRINT: Final = "print"
"""The buffer with what is printed."""
HEAP: Final = "heap"
"""The buffer with the adstacks."""
REPORTS: Final = {"errors": RECORD, "overflow": RECORD, "print": PRINT}
"""Which buffer a record of the runtime's own is in."""
_ALIGNED: Final = 2


def buffer_of(place: str) -> str:
    """The name of the buffer with a place that outlives the launch."""
    return f"@{place}"


class Space(Protocol):
    """Memory in which an address counts bytes from one beginning."""

    def pointer(self, number: Num, dtype: DType) -> int:
        """A pointer to an element, so many bytes in, of a type that memory holds."""

    def access(self, dtype: DType) -> tuple[int, ...]:
        """The memory operands of a load or a store."""


class Address:
    """A byte of memory, in the function that its number is a value of.

    Attributes:
        number: the address, or the bytes from where the buffer begins.
        space: the memory that it is in.
    """

    __slots__ = ("number", "space")

    def __init__(self, number: Num, space: Space) -> None:
        self.number, self.space = number, space

    def __add__(self, distance: Num | int) -> Address:
        """The address so many bytes further on."""
        more = distance if isinstance(distance, int) else distance.resize(self.number.dtype)
        return Address(self.number + more, self.space)

    def elements(self, count: Num, size: int) -> Address:
        """The address so many elements further on."""
        return self + count.resize(self.number.dtype) * size

    def word(self) -> tuple[Address, Num]:
        """The word of 32 bits around it, and the number of the bit where it begins (u32)."""
        number = self.number
        return Address(number & number.dtype.max - 3, self.space), (number.resize(u32) & 3) << 3

    def pointer(self, dtype: DType) -> int:
        """A pointer to the element here."""
        self.number.c.m.keep(dtype)
        return self.space.pointer(self.number, memory_dtype(dtype))

    def load(self, dtype: DType) -> Num:
        """The element here."""
        c, stored = self.number.c, memory_dtype(dtype)
        raw = c.let(Op.Load, stored, self.pointer(dtype), *self.space.access(dtype))
        return raw.ne(0) if dtype.is_bool else Num(c, dtype, raw.id)

    def store(self, value: Num, dtype: DType) -> None:
        """Write the element here; a u1 as a byte."""
        stored = value.resize(memory_dtype(dtype)) if dtype.is_bool else value
        self.number.c.do(Op.Store, self.pointer(dtype), stored.id, *self.space.access(dtype))


class Memory(Protocol):
    """The memory that the shader of one module reaches.

    Attributes:
        counts: the type of what a launch hands over to say where something is; it stands in a word of 64 bits.
        buffers: what is to be bound, in the order of the numbers of the bindings.
    """

    counts: DType

    @property
    def buffers(self) -> tuple[str, ...]: ...

    def of(self, buffer: str, number: Num) -> Address:
        """What the launch says about where something is, of what lies in a buffer."""


def memory_of(traits: Traits) -> Memory:
    """The memory of one module, for a device with such traits."""
    return ByAddress() if traits.addresses else ByBinding()


class ByAddress:
    """By buffer device addresses: nothing is bound."""

    counts = u64
    buffers: tuple[str, ...] = ()

    def of(self, buffer: str, number: Num) -> Address:
        """An address in memory, in 64 bits; whose it is does not matter."""
        return Address(number.resize(u64), self)

    def pointer(self, number: Num, dtype: DType) -> int:
        """The pointer to an element at an address in bytes."""
        c = number.c
        to = c.m.pointer(Storage.PhysicalStorageBuffer, c.m.type(dtype))
        return c.raw(Op.ConvertUToPtr, to, number.id)

    def access(self, dtype: DType) -> tuple[int, ...]:
        """The operands of a load or store that say how far the element is aligned, in bytes."""
        return _ALIGNED, dtype.size


class ByBinding:
    """By storage buffers of one descriptor set."""

    counts = u32

    def __init__(self) -> None:
        self._spaces: dict[str, _Buffer] = {}

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers that have been asked for, in the order of the numbers of their bindings."""
        return tuple(self._spaces)

    def of(self, buffer: str, number: Num) -> Address:
        """An offset into a buffer, in 32 bits; a buffer gets the next binding when it is first asked for."""
        if buffer not in self._spaces:
            self._spaces[buffer] = _Buffer(len(self._spaces))
        return Address(number.resize(u32), self._spaces[buffer])


class _Buffer:
    """A storage buffer, by the number of its binding."""

    def __init__(self, binding: int) -> None:
        self._binding = binding
        self._variables: dict[int, int] = {}

    def pointer(self, number: Num, dtype: DType) -> int:
        c = number.c
        to = c.m.pointer(Storage.StorageBuffer, c.m.type(dtype))
        # indices are signed: that of a byte may need more than 32 bits
        element = number >> dtype.size.bit_length() - 1 if dtype.size > 1 else number.resize(u64)
        return c.raw(Op.AccessChain, to, self._variable(c.m, dtype), c.m.word(0), element.id)

    def _variable(self, m: Module, dtype: DType) -> int:
        """The buffer as an array of elements."""
        block = m.block(dtype)
        if block not in self._variables:
            self._variables[block] = variable = m.variable(Storage.StorageBuffer, block)
            m.decorate(variable, Decoration.DescriptorSet, 0)
            m.decorate(variable, Decoration.Binding, self._binding)
            m.decorate(variable, Decoration.Aliased)
        return self._variables[block]

    def access(self, dtype: DType) -> tuple[int, ...]:
        return ()
