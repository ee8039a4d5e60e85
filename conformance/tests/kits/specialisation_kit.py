"""What was compiled for a kernel's calls so far."""

from __future__ import annotations

from typing import Any


def specialisations(kernel: Any) -> list[Any]:
    """The specialisations that a kernel has."""
    return [specialisation for several in kernel._compiled.values() for specialisation in several]
