"""What the backend asks of a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from adstack.backends.shared.queueing import Batching, Pipeline

__all__ = ["Driver"]


class Driver(Batching, Protocol):
    """A device that compiles source texts, and runs dispatches in the order in which they come."""

    def load(self, text: str, names: Sequence[str], *, keep: bool) -> list[Pipeline]:
        """Compile a source text, and return its kernel functions of these names, in their order.

        `keep` says whether what comes out may be kept on disk. InternalError if the source does not compile.
        """
