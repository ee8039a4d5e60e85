"""Numbers of CUDA's header, cuda.h, that calls of the driver take or give."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ATTRIBUTES",
    "ERROR_LOG",
    "ERROR_LOG_BYTES",
    "HEAP_LIMIT",
    "LOST",
    "NOT_STARTED",
    "NO_TIMING",
    "OUT_OF_MEMORY",
    "PTX",
    "REFUSED",
    "TARGET_FROM_CONTEXT",
]

REFUSED: Final = 1
OUT_OF_MEMORY: Final = 2
NOT_STARTED: Final = 3
LOST: Final = frozenset({700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999})
"""Codes after which nothing works any more in this process: illegal addresses, traps, time-outs, hardware errors."""
ATTRIBUTES: Final = {"multiprocessors": 16, "threads": 39, "major": 75, "minor": 76}
"""Of a device."""
PTX: Final = 1
"""What `cuLinkAddData` is told to link."""
ERROR_LOG: Final = 5
ERROR_LOG_BYTES: Final = 6
TARGET_FROM_CONTEXT: Final = 8
"""Options of `cuLinkCreate`."""
NO_TIMING: Final = 2
"""An event for nothing but order."""
HEAP_LIMIT: Final = 2
"""The size of the device's own heap, as a limit of the context."""
