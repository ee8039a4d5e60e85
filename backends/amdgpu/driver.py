"""What the backend asks of a device: HIP does it (`native.py`), or the host (`emulator.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from adstack.backends.shared.queueing import Driver as ImmediateDriver
from adstack.backends.shared.queueing import Pipeline

__all__ = ["Driver"]


class Driver(ImmediateDriver, Protocol):
    """A device whose dispatches have finished when `finish` returns.

    Attributes:
        processor: that code objects are made for.
    """

    processor: str

    def load(self, image: bytes, names: Sequence[str]) -> list[Pipeline]:
        """The kernels of these names in a code object, in their order."""
