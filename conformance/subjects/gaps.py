"""What each subject is known not to do. A gap that passes fails the run, and so does one that matches no case."""

from __future__ import annotations

from typing import Final

from ..harness.cells import Gap

__all__ = ["BACKEND_GAPS", "QUADRANTS_GAPS", "TAICHI_GAPS"]

BACKEND_GAPS: Final[dict[str, tuple[Gap, ...]]] = {}

QUADRANTS_GAPS: Final[tuple[Gap, ...]] = ()

TAICHI_GAPS: Final[tuple[Gap, ...]] = ()
