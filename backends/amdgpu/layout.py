"""What a code object says of its kernels: their descriptors, which the hardware is set up by, and their metadata.

Both are of LLVM's "User Guide for AMDGPU Backend": "Kernel Descriptor", and "Code Object V5 Metadata", which is a note
in MessagePack.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, TypeAlias

from adstack.backends.shared.elf import Object, Section, Symbol
from adstack.errors import InternalError

__all__ = ["Descriptor", "Kernel", "kernels_of", "metadata", "metadata_in"]

_DESCRIPTOR: Final = struct.Struct("<III4xq20xIIIHH4x")
_NOTE: Final = struct.Struct("<III")
_METADATA: Final = 32, b"AMDGPU\0"
"""The kind of the note, and whose it is."""
_WAVE32, _DYNAMIC_STACK = 1 << 10, 1 << 11
"""Bits of a descriptor's properties."""

Packed: TypeAlias = "dict[str, Packed] | list[Packed] | str | int | bool | None"


@dataclass(frozen=True)
class Descriptor:
    """The 64 bytes that a dispatch points to.

    Attributes:
        address: of the descriptor, in the code object.
        group_bytes, private_bytes: memory of a workgroup and of a thread.
        words_bytes: what the kernel is handed.
        entry: address of its first instruction.
        registers: the three words that go to COMPUTE_PGM_RSRC1, 2 and 3.
        properties: which values are set up in scalar registers, and more.
    """

    address: int
    group_bytes: int
    private_bytes: int
    words_bytes: int
    entry: int
    registers: tuple[int, int, int]
    properties: int

    @property
    def wave(self) -> int:
        """How many threads a wave has: 32 or 64."""
        return 32 if self.properties & _WAVE32 else 64

    @property
    def has_dynamic_stack(self) -> bool:
        """Whether threads take more memory than is known when compiling."""
        return bool(self.properties & _DYNAMIC_STACK)


@dataclass(frozen=True)
class Kernel:
    """A kernel, with its descriptor.

    Attributes:
        symbol: of the code; its descriptor has ".kd" behind that.
        most_threads: of a workgroup.
        vector_registers, scalar_registers: that a wave takes.
        spills: how many of them were spilled to memory.
    """

    symbol: str
    descriptor: Descriptor
    most_threads: int
    vector_registers: int
    scalar_registers: int
    spills: int


def kernels_of(image: bytes) -> dict[str, Kernel]:
    """The kernels of a code object, by name. InternalError if what it says of them in two places differs."""
    source = Object(image)
    listed = metadata(image).get("amdhsa.kernels")
    assert isinstance(listed, list)
    symbols = {symbol.name: symbol for symbol in source.symbols}
    kernels = [_kernel(source, symbols, entry) for entry in listed]
    return {kernel.symbol: kernel for kernel in kernels}


def metadata(image: bytes) -> dict[str, Packed]:
    """What the note of a code object says. InternalError if there is none."""
    source = Object(image)
    return metadata_in(b"".join(source.data(section) for section in source.sections if section.name == ".note"))


def metadata_in(notes: bytes) -> dict[str, Packed]:
    """What the note among `notes` says that is about a code object. InternalError if there is none."""
    at = 0
    while at < len(notes):
        name, size, kind = _NOTE.unpack_from(notes, at)
        at += _NOTE.size
        owner, at = notes[at : at + name], at + -(-name // 4) * 4
        if (kind, owner) == _METADATA:
            value, _ = _unpacked(notes, at)
            assert isinstance(value, dict)
            return value
        at += -(-size // 4) * 4
    raise InternalError("a code object has no metadata")


def _kernel(source: Object, symbols: dict[str, Symbol], entry: Packed) -> Kernel:
    assert isinstance(entry, dict)
    name, described = entry[".name"], entry[".symbol"]
    assert isinstance(name, str)
    assert isinstance(described, str)
    descriptor = _descriptor(source, symbols[described])
    sizes = {
        ".group_segment_fixed_size": descriptor.group_bytes,
        ".private_segment_fixed_size": descriptor.private_bytes,
        ".kernarg_segment_size": descriptor.words_bytes,
        ".wavefront_size": descriptor.wave,
        ".uses_dynamic_stack": descriptor.has_dynamic_stack,
    }
    wrong = {key: (entry[key], value) for key, value in sizes.items() if entry[key] != value}
    if wrong or descriptor.entry != symbols[name].value:
        raise InternalError(f"the descriptor of {name} and what is said of it are not the same: {wrong}")
    numbers = [entry[f".{key}_count"] for key in ("vgpr", "sgpr", "vgpr_spill", "sgpr_spill")]
    vector, scalar, *spills = (number for number in numbers if isinstance(number, int))
    most = entry[".max_flat_workgroup_size"]
    assert isinstance(most, int)
    return Kernel(name, descriptor, most, vector, scalar, sum(spills))


def _descriptor(source: Object, symbol: Symbol) -> Descriptor:
    section: Section = source.sections[symbol.section]
    raw = source.data(section)[symbol.value - section.address :][: _DESCRIPTOR.size]
    group, private, words, entry, third, first, second, properties, _ = _DESCRIPTOR.unpack(raw)
    registers = (first, second, third)
    return Descriptor(symbol.value, group, private, words, symbol.value + entry, registers, properties)


def _unpacked(data: bytes, at: int) -> tuple[Packed, int]:
    """A value of MessagePack, and where it ends. InternalError if it is of a kind that metadata has none of."""
    kind, at = data[at], at + 1
    if kind < 0x80 or kind >= 0xE0:
        return (kind if kind < 0x80 else kind - 256), at
    if kind < 0xA0:
        return (_map if kind < 0x90 else _list)(data, at, kind & 15)
    if kind < 0xC0:
        return data[at : at + (kind & 31)].decode(), at + (kind & 31)
    if kind in _SIMPLE:
        return _SIMPLE[kind], at
    if kind not in _SIZED:
        raise InternalError(f"the metadata of a code object has a value of kind {kind:#x}, which is not known")
    form, what = _SIZED[kind]
    size = struct.calcsize(form)
    (number,) = struct.unpack_from(form, data, at)
    at += size
    if what == "int":
        return int(number), at
    if what == "str":
        return data[at : at + number].decode(), at + number
    return (_map if what == "map" else _list)(data, at, number)


def _map(data: bytes, at: int, count: int) -> tuple[Packed, int]:
    out: dict[str, Packed] = {}
    for _ in range(count):
        key, at = _unpacked(data, at)
        out[str(key)], at = _unpacked(data, at)
    return out, at


def _list(data: bytes, at: int, count: int) -> tuple[Packed, int]:
    out: list[Packed] = []
    for _ in range(count):
        value, at = _unpacked(data, at)
        out.append(value)
    return out, at


_SIMPLE: Final[dict[int, Packed]] = {0xC0: None, 0xC2: False, 0xC3: True}
_SIZED: Final = {
    **{0xCC + k: (form, "int") for k, form in enumerate((">B", ">H", ">I", ">Q", ">b", ">h", ">i", ">q"))},
    **{0xD9 + k: (form, "str") for k, form in enumerate((">B", ">H", ">I"))},
    **{0xDC + k: (form, "list") for k, form in enumerate((">H", ">I"))},
    **{0xDE + k: (form, "map") for k, form in enumerate((">H", ">I"))},
}
"""The form of the number behind a kind, which is the value itself, or how much of it follows."""
