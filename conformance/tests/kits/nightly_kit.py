"""How much random tests do: a part of it by day, all of it by night."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["BY_NIGHT", "examples"]

BY_NIGHT: Final = bool(os.environ.get("ADSTACK_CI_NIGHTLY"))
"""Whether there is time for tests that take long."""


def examples(by_night: int) -> int:
    """How many random examples a test takes that has so many by night."""
    return by_night if BY_NIGHT else -(-by_night // 3)
