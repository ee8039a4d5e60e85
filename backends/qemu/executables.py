"""Programs for aarch64 as ELF files."""

from __future__ import annotations

import struct
from typing import Final

__all__ = ["elf"]

_LOADED: Final = 0x400000
_CODE: Final = 0x1000
"""How far behind that the code stands."""
_EXECUTABLE, _AARCH64, _LOAD, _READ_EXECUTE = 2, 183, 1, 5


def elf(code: bytes) -> bytes:
    """A program of one segment, which may be read and executed; it starts with the first byte of its code."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    header = struct.pack("<HHIQQQIHHHHHH", _EXECUTABLE, _AARCH64, 1, _LOADED + _CODE, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    size = _CODE + len(code)
    segment = struct.pack("<IIQQQQQQ", _LOAD, _READ_EXECUTE, 0, _LOADED, _LOADED, size, size, 0x10000)
    return (ident + header + segment).ljust(_CODE, b"\0") + code
