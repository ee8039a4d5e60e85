"""Where CPython keeps what machine code reads without calling it, and for which interpreters that is known.

Offsets are those of 64-bit builds with the interpreter's lock: `ob_type` of `PyObject` (Include/object.h), and the
members of `Py_buffer` (Include/pybuffer.h), part of the stable ABI since Python 3.11.
"""

from __future__ import annotations

import struct
import sys
from typing import Final, NamedTuple

__all__ = ["BUFFER", "BUFFER_RANK", "BUFFER_WORDS", "OLDEST", "TYPE", "YOUNGEST", "Interpreter", "is_known", "running"]

TYPE: Final = 1
"""The word of an object that points to its type."""

BUFFER: Final = {"buf": 0, "format": 5, "shape": 6}
"""The words of a buffer that machine code reads."""
BUFFER_RANK: Final = 9
"""Where the number of its axes stands, in words of 32 bits."""
BUFFER_WORDS: Final = 16
"""At least so many words are in a buffer; it has 10."""

OLDEST: Final = (3, 10)
YOUNGEST: Final = (3, 14)
"""The first and the last version whose headers say so."""


class Interpreter(NamedTuple):
    """What decides about the layout of objects."""

    name: str
    version: tuple[int, int]
    free_threaded: bool
    pointer_bytes: int


def running() -> Interpreter:
    """The interpreter that runs this."""
    free = "t" in sys.abiflags  # PEP 703; sysconfig says it too, and takes 10 ms to load the build's configuration
    return Interpreter(sys.implementation.name, sys.version_info[:2], free, struct.calcsize("P"))


def is_known(interpreter: Interpreter) -> bool:
    """Whether machine code may serve calls in it; if not, Python does."""
    return (
        interpreter.name == "cpython"
        and OLDEST <= interpreter.version <= YOUNGEST
        and not interpreter.free_threaded
        and interpreter.pointer_bytes == 8
    )
