"""Relocatable objects for AMD devices, linked to code objects: shared objects that a driver loads at any address.

What stands in them, and what relocations mean: "User Guide for AMDGPU Backend" of LLVM, "Code Object"; the file around
it: the System V ABI. All that an object refers to is in itself, so that nothing is left to the loader.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final

from adstack.backends.shared.elf import ALLOCATED, EXECUTABLE, UNDEFINED, WRITABLE, Object, Relocation, Section, Symbol
from adstack.errors import InternalError

__all__ = ["MACHINE", "linked"]

MACHINE: Final = 224
"""EM_AMDGPU."""
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_DYN: Final = 3
_LOAD, _DYNAMIC, _NOTES, _STACK = 1, 2, 4, 0x6474E551
"""Kinds of segments; the last says that nothing runs from the stack."""
_BITS, _SYMTAB, _STRTAB, _HASH, _DYNAMICS, _NOTE, _NOBITS, _DYNSYM = 1, 2, 3, 5, 6, 7, 8, 11
"""Kinds of sections."""
_EXECUTE, _WRITE, _READ = 1, 2, 4
_PAGE: Final = 4096
_KNOWN: Final = WRITABLE | ALLOCATED | EXECUTABLE | 0x10 | 0x20
"""Flags of sections that the linker understands; SHF_MERGE and SHF_STRINGS permit merging, which it does not do."""
_REL32, _REL64, _REL32_LO, _REL32_HI = 4, 5, 10, 11
"""Relocations that are relative to where they stand: of 32 and 64 bits, and of the two halves of 64."""


@dataclass
class _Part:
    """A section of the result: its contents, or how many zero bytes, and where it comes to stand."""

    name: str
    kind: int
    flags: int
    data: bytearray
    alignment: int = 8
    zeros: int = 0
    link: str = ""
    info: int = 0
    entry: int = 0
    at: int = 0
    address: int = 0

    @property
    def size(self) -> int:
        return len(self.data) + self.zeros


@dataclass
class _Names:
    """A table of strings."""

    data: bytearray = field(default_factory=lambda: bytearray(1))

    def at(self, name: str) -> int:
        start = len(self.data)
        self.data += name.encode() + b"\0"
        return start


def linked(image: bytes) -> bytes:
    """A code object of a relocatable object. InternalError if it needs what is not in it, or has what is not known."""
    source = Object(image)
    if source.machine != MACHINE:
        raise InternalError(f"an object for machine {source.machine} is none for an AMD device")
    return _Linker(source).linked()


class _Linker:
    def __init__(self, source: Object) -> None:
        self.source = source
        self.places: dict[int, _Part] = {}
        self.exported = [s for s in source.symbols if not s.is_local and s.section != UNDEFINED]
        self.names = _Names()
        self.parts = self._parts()

    def linked(self) -> bytes:
        loaded = [part for part in self.parts if part.flags & ALLOCATED]
        segments = 6
        end = self._place(loaded, _HEADER.size + segments * _SEGMENT.size)
        for number, relocation in self.source.relocations():
            if number in self.places:
                self._relocate(self.places[number], relocation)
        self._fill()
        for part in self.parts:
            if part not in loaded:
                part.at = end = -(-end // part.alignment) * part.alignment
                end += len(part.data)
        start = -(-end // 8) * 8
        out = bytearray(start)
        for part in self.parts:
            out[part.at : part.at + len(part.data)] = part.data
        table = self._segments(loaded, _HEADER.size + segments * _SEGMENT.size)
        assert len(table) == segments
        out[: _HEADER.size] = self._header(start, segments)
        out[_HEADER.size : _HEADER.size + segments * _SEGMENT.size] = b"".join(_SEGMENT.pack(*row) for row in table)
        return bytes(out + self._headers())

    # ---- what there is

    def _parts(self) -> list[_Part]:
        """The sections of the result, in their order, without contents that depend on where they stand."""
        count, text = 1 + len(self.exported), bytearray(self._strings())
        read_only, code, data, zeros = self._sections()
        chain = [k + 1 if 0 < k < count - 1 else 0 for k in range(count)]  # one bucket, with all symbols
        table = struct.pack(f"<{3 + count}I", 1, count, min(1, count - 1), *chain)
        symbols = bytearray(_SYMBOL.size * count)
        return [
            *read_only,
            _Part(".dynsym", _DYNSYM, ALLOCATED, symbols, link=".dynstr", info=1, entry=_SYMBOL.size),
            _Part(".hash", _HASH, ALLOCATED, bytearray(table), link=".dynsym", entry=4),
            _Part(".dynstr", _STRTAB, ALLOCATED, text, 1),
            *code,
            *data,
            _Part(".dynamic", _DYNAMICS, ALLOCATED | WRITABLE, bytearray(6 * 16), link=".dynstr", entry=16),
            *zeros,
            _Part(".symtab", _SYMTAB, 0, bytearray(symbols), link=".strtab", info=1, entry=_SYMBOL.size),
            _Part(".strtab", _STRTAB, 0, bytearray(text), 1),
            _Part(".shstrtab", _STRTAB, 0, bytearray(), 1),
        ]

    def _strings(self) -> bytes:
        names = _Names()
        self.offsets = {symbol.name: names.at(symbol.name) for symbol in self.exported}
        return bytes(names.data)

    def _sections(self) -> tuple[list[_Part], ...]:
        """The sections of the object that are loaded: read-only ones, code, variables, and variables that are zero."""
        groups: tuple[list[_Part], ...] = ([], [], [], [])
        for number, section in enumerate(self.source.sections):
            if section.flags & ALLOCATED:
                part = self._part(section)
                self.places[number] = part
                kind = 1 if section.flags & EXECUTABLE else 2 + section.is_empty if section.flags & WRITABLE else 0
                groups[kind].append(part)
        groups[0].sort(key=lambda part: part.kind != _NOTE)
        return groups

    def _part(self, section: Section) -> _Part:
        if section.flags & ~_KNOWN:
            raise InternalError(f"section {section.name} of an object for an AMD device has flags {section.flags:#x}")
        flags = section.flags & (WRITABLE | ALLOCATED | EXECUTABLE)
        if section.is_empty:
            return _Part(section.name, _NOBITS, flags, bytearray(), section.alignment, section.size)
        kind = _NOTE if section.kind == _NOTE else _BITS
        return _Part(section.name, kind, flags, bytearray(self.source.data(section)), max(1, section.alignment))

    # ---- where it stands

    def _place(self, loaded: list[_Part], at: int) -> int:
        """Give every part that is loaded an address, which is where it stands in the file too; where the file ends."""
        before = ALLOCATED
        for part in loaded:
            if part.flags != before:
                at, before = -(-at // _PAGE) * _PAGE, part.flags
            part.at = part.address = at = -(-at // part.alignment) * part.alignment
            at += part.size
        return max(part.at + len(part.data) for part in loaded if not part.zeros)

    def _address(self, symbol: Symbol) -> int:
        if symbol.section not in self.places:
            raise InternalError(f"code for an AMD device needs {symbol.name or 'a section'}, which is not in it")
        return self.places[symbol.section].address + symbol.value

    def _relocate(self, part: _Part, relocation: Relocation) -> None:
        at = relocation.offset
        value = self._address(self.source.symbols[relocation.symbol]) + relocation.addend - (part.address + at)
        if relocation.kind == _REL64:
            struct.pack_into("<q", part.data, at, value)
        elif relocation.kind == _REL32_HI:
            struct.pack_into("<i", part.data, at, value >> 32)
        elif relocation.kind == _REL32_LO or (relocation.kind == _REL32 and -(1 << 31) <= value < 1 << 31):
            struct.pack_into("<I", part.data, at, value & 0xFFFFFFFF)
        else:
            raise InternalError(f"code for an AMD device has a relocation of kind {relocation.kind} over {value} bytes")

    # ---- contents that depend on that

    def _fill(self) -> None:
        """Write symbols, what the loader looks for, and names of sections."""
        for name in (".dynsym", ".symtab"):
            table = self._named(name).data
            for k, symbol in enumerate(self.exported, 1):
                number = 1 + self.parts.index(self.places[symbol.section])
                info, other = 16 | symbol.kind, symbol.visibility
                row = (self.offsets[symbol.name], info, other, number, self._address(symbol), symbol.size)
                _SYMBOL.pack_into(table, k * _SYMBOL.size, *row)
        strings, symbols = self._named(".dynstr"), self._named(".dynsym").address
        rows = [(6, symbols), (11, _SYMBOL.size), (5, strings.address), (10, strings.size)]
        rows += [(4, self._named(".hash").address), (0, 0)]
        self._named(".dynamic").data[:] = b"".join(struct.pack("<QQ", *row) for row in rows)
        self._named(".shstrtab").data[:] = self._section_names()

    def _section_names(self) -> bytearray:
        names = _Names()
        self.titles = [names.at(part.name) for part in self.parts]
        return names.data

    def _named(self, name: str) -> _Part:
        return next(part for part in self.parts if part.name == name)

    def _segments(self, loaded: list[_Part], head: int) -> list[tuple[int, ...]]:
        """What is loaded, and how: what is read, with the headers in front; code; variables; and what is where."""
        notes, dynamic = [part for part in loaded if part.kind == _NOTE], [self._named(".dynamic")]
        reads = [part for part in loaded if part.flags == ALLOCATED]
        runs = [part for part in loaded if part.flags & EXECUTABLE]
        writes = [part for part in loaded if part.flags & WRITABLE]
        end = max([head, *(part.at + part.size for part in reads)])
        return [
            (_LOAD, _READ, 0, 0, 0, end, end, _PAGE),
            _segment(_LOAD, _READ | _EXECUTE, runs, _PAGE),
            _segment(_LOAD, _READ | _WRITE, writes, _PAGE),
            _segment(_DYNAMIC, _READ | _WRITE, dynamic, 8),
            _segment(_NOTES, _READ, notes, 4),
            (_STACK, _READ | _WRITE, 0, 0, 0, 0, 0, 0),
        ]

    def _header(self, sections: int, segments: int) -> bytes:
        entries = _SEGMENT.size, segments, _SECTION.size, 1 + len(self.parts), len(self.parts)
        ident, flags = self.source.image[:16], self.source.flags
        return _HEADER.pack(ident, _DYN, MACHINE, 1, 0, _HEADER.size, sections, flags, _HEADER.size, *entries)

    def _headers(self) -> bytes:
        rows = [bytes(_SECTION.size)]
        numbers = {part.name: number for number, part in enumerate(self.parts, 1)}
        for title, p in zip(self.titles, self.parts, strict=True):
            link = numbers[p.link] if p.link else 0
            address = p.address if p.flags & ALLOCATED else 0
            row = title, p.kind, p.flags, address, p.at, p.size, link, p.info, p.alignment, p.entry
            rows.append(_SECTION.pack(*row))
        return b"".join(rows)


def _segment(kind: int, flags: int, parts: list[_Part], alignment: int) -> tuple[int, ...]:
    """A segment of neighbouring parts; those without contents come last."""
    if not parts:
        return kind, flags, 0, 0, 0, 0, 0, alignment
    start, end = parts[0].at, parts[-1].at + parts[-1].size
    stored = max(part.at + len(part.data) for part in parts if not part.zeros) - start
    return kind, flags, start, start, start, stored, end - start, alignment
