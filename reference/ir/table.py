"""Where rows of the table of operations are entered: `scalar_ops.py` and `ops.py` do."""

from __future__ import annotations

from typing import Any, Final

from .opdef import OpDef, Signature

__all__ = ["TABLE", "row"]

TABLE: Final[dict[str, OpDef]] = {}
"""By name."""


def row(name: str, line: str | None = None, classes: dict[str, Any] | None = None, **rest: Any) -> OpDef:
    """Enter a row: its name, the line and the classes of its `Signature`, and further attributes of `OpDef`."""
    entered = OpDef(name, Signature(line, **(classes or {})), **rest)
    TABLE[name] = entered
    return entered
