"""Calls of the driver that failed."""

from __future__ import annotations

from .header import LOST

__all__ = ["DriverError"]


class DriverError(Exception):
    """A call that failed: its name, CUDA's code, and what that means."""

    def __init__(self, call: str, code: int, meaning: str) -> None:
        super().__init__(f"{call} failed: {meaning} (CUDA error {code})")
        self.code = code

    @property
    def is_lost(self) -> bool:
        """Whether the device can't be used any more by this process."""
        return self.code in LOST
