"""How wide vector registers are, and what LLVM is told where a processor decides that (SVE)."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

__all__ = ["NEON", "attributes", "vector_bytes"]

NEON: Final = 16
"""Bytes of a register that every aarch64 processor has."""
_MOST_SCALABLE: Final = 64
"""Bytes of a register of SVE up to which LLVM's code was executed and right: of 128 it was wrong under qemu."""
_GET_LENGTH: Final = 51
"""PR_SVE_GET_VL of Linux' prctl."""


def vector_bytes(features: str) -> int:
    """The width of a vector register of this process' processor, whose features stand as LLVM writes them."""
    offered = set(features.split(","))
    if "+avx512f" in offered:
        return 64
    if "+avx2" in offered:
        return 32
    scalable = _scalable_bytes() if "+sve" in offered else 0
    return scalable if NEON <= scalable <= _MOST_SCALABLE else NEON


def attributes(width: int, *, scalable: bool) -> str:
    """What each function is told where registers of SVE have a width of so many bytes; "" where NEON's are as wide.

    LLVM makes code of vectors for registers of exactly that width then, as it does for those of other processors.
    """
    return f"vscale_range({width // NEON},{width // NEON})" if scalable and width > NEON else ""


def _scalable_bytes() -> int:
    """The width of the registers of SVE in this process; 0 where the system does not tell."""
    if sys.platform != "linux":
        return 0
    length: int = ctypes.CDLL(None).prctl(_GET_LENGTH, 0, 0, 0, 0)
    return length & 0xFFFF if length > 0 else 0
