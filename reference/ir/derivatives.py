"""The table of derivatives, by the names of operations: what the rows of the table of operations say."""

from __future__ import annotations

from typing import Final

from .ops import TABLE
from .pulls import Number, Pull, Pulls, Saved

__all__ = ["NOT_DIFFERENTIABLE", "RULES", "Number", "Pull", "Saved"]

RULES: Final[dict[str, Pulls]] = {row.name: row.pulls for row in TABLE.values() if row.pulls}
"""Per operation, one entry per operand: its pull, or None where no change passes (a condition)."""

NOT_DIFFERENTIABLE: Final = frozenset(row.name for row in TABLE.values() if row.pulls == ())
"""Scalar operations through which nothing passes; each one is either here or has a rule."""
