"""Relocatable objects for aarch64 (ELF64, little-endian), linked for an address.

What stands in them and what relocations mean: "ELF for the Arm 64-bit Architecture (AArch64)". Here are the relocations
that LLVM's small code model makes for code that is linked statically; any other is an error.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

from adstack.backends.shared.elf import ALLOCATED, UNDEFINED, Object, Relocation, Symbol
from adstack.errors import InternalError

__all__ = ["Image", "link", "room"]

_UNWIND: Final = ".eh_frame"
"""What unwinding needs: nothing here unwinds."""
_VENEER: Final = struct.pack("<II", 0x58000050, 0xD61F0200)
"""`ldr x16, 8; br x16`, before an address: how far a call is from what it calls does not matter then."""
_PAGE: Final = 0xFFF


class Image(NamedTuple):
    """Linked code and data: the bytes, and symbol -> address of what is defined in it."""

    data: bytearray
    symbols: dict[str, int]


def link(image: bytes, base: int, externals: Mapping[str, int]) -> Image:
    """Link an object for an address.

    Args:
        image: the object.
        base: where it will stand; a multiple of the largest alignment of a section.
        externals: address of what it may call: InternalError if it calls anything else.
    """
    return _Linker(image, base, externals).linked()


def room(image: bytes) -> int:
    """No less than the bytes that an object takes when it is linked."""
    return len(image) + sum(section.size for section in Object(image).sections if section.is_empty)


class _Linker:
    def __init__(self, image: bytes, base: int, externals: Mapping[str, int]) -> None:
        self.object, self.base, self.externals = Object(image), base, externals
        self.data = bytearray()
        self.places: dict[int, int] = {}
        self.veneers: dict[str, int] = {}
        self.table: dict[tuple[str, int], int] = {}

    def linked(self) -> Image:
        for number, section in enumerate(self.object.sections):
            if section.flags & ALLOCATED and not section.name.startswith(_UNWIND):
                self.data += bytes(-len(self.data) % max(1, section.alignment))
                self.places[number] = len(self.data)
                self.data += self.object.data(section)
        for number, relocation in self.object.relocations():
            if number in self.places:
                self._relocate(self.places[number] + relocation.offset, relocation)
        symbols = [s for s in self.object.symbols if s.section in self.places and not s.is_local]
        return Image(self.data, {s.name: self._address(s, 0) for s in symbols})

    def _address(self, symbol: Symbol, addend: int) -> int:
        if symbol.section in self.places:
            return self.base + self.places[symbol.section] + symbol.value + addend
        if symbol.section == UNDEFINED and symbol.name in self.externals:
            return self.externals[symbol.name] + addend
        raise InternalError(f"code for an emulated processor needs {symbol.name or 'a section'}, which is not there")

    def _relocate(self, place: int, relocation: Relocation) -> None:
        kind, symbol, addend = relocation.kind, self.object.symbols[relocation.symbol], relocation.addend
        if kind in _CALLS and symbol.section == UNDEFINED:
            target = self._veneer(symbol)
        elif kind in _TABLED:
            target = self._tabled(symbol, addend)
        else:
            target = self._address(symbol, addend)
        self._apply(kind, place, target)

    def _veneer(self, symbol: Symbol) -> int:
        """The address of code that goes on to a symbol elsewhere."""
        if symbol.name not in self.veneers:
            self.data += bytes(-len(self.data) % 8)
            self.veneers[symbol.name] = self.base + len(self.data)
            self.data += _VENEER + struct.pack("<Q", self._address(symbol, 0))
        return self.veneers[symbol.name]

    def _tabled(self, symbol: Symbol, addend: int) -> int:
        """The address of a word that holds the address of a symbol."""
        key = symbol.name, self._address(symbol, addend)
        if key not in self.table:
            self.data += bytes(-len(self.data) % 8)
            self.table[key] = self.base + len(self.data)
            self.data += struct.pack("<Q", key[1])
        return self.table[key]

    def _apply(self, kind: int, place: int, target: int) -> None:
        here = self.base + place
        if kind in _WORDS:
            size, relative = _WORDS[kind]
            value = target - here if relative else target
            self.data[place : place + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
            return
        (word,) = struct.unpack_from("<I", self.data, place)
        if kind in _BRANCHES:
            bits, shift = _BRANCHES[kind]
            word |= (_within(target - here, bits + 2) >> 2) << shift
        elif kind in _PAGES:
            pages = _within((target & ~_PAGE) - (here & ~_PAGE), 33) >> 12
            word |= (pages & 3) << 29 | (pages >> 2) << 5
        elif kind in _LOW:
            word |= ((target & _PAGE) >> _LOW[kind]) << 10
        else:
            raise InternalError(f"code for an emulated processor has a relocation of kind {kind}, which is not known")
        struct.pack_into("<I", self.data, place, word)


def _within(distance: int, bits: int) -> int:
    """A signed number as so many bits; InternalError if it is none."""
    if not -(1 << (bits - 1)) <= distance < 1 << (bits - 1):
        raise InternalError(f"code for an emulated processor is {distance} bytes from what it refers to")
    return distance & ((1 << bits) - 1)


_WORDS: Final = {257: (8, False), 258: (4, False), 260: (8, True), 261: (4, True)}
"""R_AARCH64_ABS64, _ABS32, _PREL64, _PREL32: bytes, and whether they are relative."""
_BRANCHES: Final = {282: (26, 0), 283: (26, 0), 280: (19, 5), 279: (14, 5), 273: (19, 5)}
"""R_AARCH64_JUMP26, _CALL26, _CONDBR19, _TSTBR14, _LD_PREL_LO19: bits of a distance in words, and where they stand."""
_CALLS: Final = frozenset({282, 283})
_PAGES: Final = frozenset({275, 276, 311})
"""R_AARCH64_ADR_PREL_PG_HI21, without a check, and _ADR_GOT_PAGE."""
_LOW: Final = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4, 312: 3}
"""R_AARCH64_ADD_ABS_LO12_NC, _LDST{8, 16, 32, 64, 128}_ABS_LO12_NC, _LD64_GOT_LO12_NC: low bits are left out."""
_TABLED: Final = frozenset({311, 312})
"""Relocations that refer to a word with the address of a symbol."""
