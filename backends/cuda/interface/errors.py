"""Calls of the driver that failed, and what a program is told about them."""

from __future__ import annotations

from typing import Final

from adstack.errors import AdstackError, AdstackMemoryError, AdstackRuntimeError

__all__ = ["LOST", "NOT_FOUND", "NOT_STARTED", "OUT_OF_MEMORY", "REFUSED", "DriverError", "failure"]

REFUSED: Final = 1
"""CUDA_ERROR_INVALID_VALUE."""
OUT_OF_MEMORY: Final = 2
"""CUDA_ERROR_OUT_OF_MEMORY."""
NOT_STARTED: Final = 3
"""CUDA_ERROR_NOT_INITIALIZED."""
NOT_FOUND: Final = 500
"""CUDA_ERROR_NOT_FOUND."""
LOST: Final = frozenset({700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999})
"""Codes after which nothing works any more in this process: illegal addresses, traps, time-outs, hardware errors."""


class DriverError(Exception):
    """A call that failed: its name, CUDA's code, and what that means."""

    def __init__(self, call: str, code: int, meaning: str) -> None:
        super().__init__(f"{call} failed: {meaning} (CUDA error {code})")
        self.code = code

    @property
    def is_lost(self) -> bool:
        """Whether the device can't be used any more by this process."""
        return self.code in LOST


def failure(error: DriverError, doing: str, memory: str = "") -> AdstackError:
    """What a program is told about a call that failed.

    Args:
        error: of the call.
        doing: what the program was about.
        memory: how the device's memory is used, in words.
    """
    if error.code == OUT_OF_MEMORY:
        return AdstackMemoryError(
            f"the device has no memory left for {doing}" + (f": {memory}" if memory else ""),
            do="use smaller arrays, free those not needed, or end other programs that use the device",
        )
    if error.is_lost:
        return AdstackRuntimeError(
            f"the device failed, {doing}: {error}",
            do="end this process, which can't use the device any more; debug=True finds accesses out of bounds",
        )
    forked = "start processes by spawn: one that was forked can't use the device" if error.code == NOT_STARTED else ""
    return AdstackRuntimeError(f"{doing}: {error}", do=forked)
