"""Why calls under a tape were recorded one by one, rather than followed: counters, for people who wonder."""

from __future__ import annotations

from collections import Counter
from typing import Final

__all__ = ["FALLBACKS", "REASONS", "fell_back"]

REASONS: Final = {
    "logged": "the launch logs what it overwrites, or is made in parts",
    "returns": "the kernel returns numbers",
    "shared": "numpy, torch or others may write the memory",
    "checked": "each launch is checked (debug mode)",
    "device": "the device needs Python for each launch of the reverse mode",
    "arguments": "machine code can't check the arguments",
    "memory": "there was no memory for what must be kept",
    "differs": "the call was not one that was expected",
    "between": "the host wrote memory, or a function with a gradient of its own was called",
}
"""The reasons, and what they say."""

FALLBACKS: Final[Counter[str]] = Counter()
"""How often there was each."""


def fell_back(reason: str) -> None:
    """There was a reason once more."""
    FALLBACKS[reason] += 1
