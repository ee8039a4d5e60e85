"""Objects as they stand in JSON: what workers answer, logs keep, and reports write."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["Record"]

Record: TypeAlias = dict[str, Any]
"""A JSON object: its values are numbers, strings, None, lists and further objects."""
