"""Functions of the running Python that machine code calls."""

from __future__ import annotations

import ctypes
import re
from typing import Final

__all__ = ["python_symbols"]

_RENAMED: Final = {"PyThreadState_GetUnchecked": "_PyThreadState_UncheckedGet"}
"""Name -> what it was before Python 3.13."""


def python_symbols(text: str) -> dict[str, int]:
    """Name -> address, of the functions of Python that a module declares."""
    return {name: _address(name) for name in re.findall(r"^declare [^@]*@(Py\w+)", text, re.MULTILINE)}


def _address(name: str) -> int:
    symbol = name if hasattr(ctypes.pythonapi, name) else _RENAMED[name]
    return ctypes.cast(getattr(ctypes.pythonapi, symbol), ctypes.c_void_p).value or 0
