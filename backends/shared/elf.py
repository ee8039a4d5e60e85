"""Object files (ELF64, little-endian), as they are read: sections, symbols, relocations. See elf(5)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = ["ALLOCATED", "EXECUTABLE", "UNDEFINED", "WRITABLE", "Object", "Relocation", "Section", "Symbol"]

_HEADER: Final = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QIIq")
_SYMTAB, _RELA, _NOBITS = 2, 4, 8
WRITABLE, ALLOCATED, EXECUTABLE = 1, 2, 4
"""Flags of sections."""
UNDEFINED: Final = 0
"""The section of symbols that are defined elsewhere."""


@dataclass(frozen=True)
class Section:
    """A section.

    Attributes:
        name: such as ".text".
        kind: what it holds.
        flags: how it is loaded.
        address: where it is loaded; 0 in a relocatable object.
        at: where it stands in the file.
        size: in bytes.
        link, info: numbers of sections that it is about, and more, by its kind.
        alignment: in bytes.
        is_empty: whether the file holds nothing of it: it is zeros.
    """

    name: str
    kind: int
    flags: int
    address: int
    at: int
    size: int
    link: int
    info: int
    alignment: int

    @property
    def is_empty(self) -> bool:
        return self.kind == _NOBITS


@dataclass(frozen=True)
class Symbol:
    """A symbol: `value` is an offset into the `section` of that number, or an address in a linked file."""

    name: str
    kind: int
    is_local: bool
    visibility: int
    section: int
    value: int
    size: int


class Relocation(NamedTuple):
    """At an `offset` of a section, put what a symbol and an addend come to, in the way that `kind` says."""

    offset: int
    kind: int
    symbol: int
    addend: int


class Object:
    """An object file.

    Args:
        image: its contents.

    Attributes:
        kind, machine, flags: of its header.
        sections: by number.
        symbols: by number.
    """

    def __init__(self, image: bytes) -> None:
        self.image = image
        self.kind, self.machine, *_, start, self.flags, _, _, _, _, count, names = _HEADER.unpack_from(image)
        raw = [_SECTION.unpack_from(image, start + _SECTION.size * k) for k in range(count)]
        self.sections = [Section(self._text(raw[names][4], name), *rest[:-1]) for name, *rest in raw]
        self.symbols = list(self._symbols())

    def _text(self, table: int, at: int) -> str:
        return self.image[table + at : self.image.index(b"\0", table + at)].decode()

    def _symbols(self) -> Iterator[Symbol]:
        table = next((section for section in self.sections if section.kind == _SYMTAB), None)
        if table is None:
            return
        names = self.sections[table.link].at
        for name, info, other, section, value, size in _SYMBOL.iter_unpack(self.data(table)):
            yield Symbol(self._text(names, name), info & 15, info < 16, other & 3, section, value, size)

    def section(self, name: str) -> Section | None:
        """The first section of a name, if there is one."""
        return next((section for section in self.sections if section.name == name), None)

    def data(self, section: Section) -> bytes:
        """What a section holds."""
        return bytes(section.size) if section.is_empty else self.image[section.at : section.at + section.size]

    def relocations(self) -> Iterator[tuple[int, Relocation]]:
        """Every relocation, with the number of the section that it changes."""
        for section in self.sections:
            if section.kind == _RELA:
                for entry in _RELOCATION.iter_unpack(self.data(section)):
                    offset, kind, symbol, addend = entry
                    yield section.info, Relocation(offset, kind, symbol, addend)
