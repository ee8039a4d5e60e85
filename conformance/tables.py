"""A function of one argument at the arguments of a table: what cases about the math library share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .case import Run

__all__ = ["unary"]


def unary(qd: Any, name: str, dtype: Any, table: Sequence[tuple[Any, Any]], budget: str | None) -> Run:
    """The function of this name at the table's arguments; not all of them have a name at the top level."""
    function = getattr(qd, name) if hasattr(qd, name) else getattr(qd.math, name)
    x, out = qd.field(dtype, shape=len(table)), qd.field(dtype, shape=len(table))

    @qd.kernel
    def k():  # type: ignore[no-untyped-def]
        for i in x:
            out[i] = function(x[i])

    arguments, values = zip(*table, strict=True)
    return Run(k, given={x: list(arguments)}, expect={out: list(values)}, budget=budget)
