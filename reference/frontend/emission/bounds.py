"""Checks of runtime indices into vectors and matrices that are not in memory: locals and intermediate values."""

from __future__ import annotations

from ...ir.structure import Value
from ...values.kinds import Operand
from .current import current
from .expr import Expr

__all__ = ["checked", "within"]


def within(index: Expr, extent: int) -> Value:
    """The index; in debug mode the kernel asserts that it is one of 0 .. extent - 1."""
    context = current()
    if context.option("debug", False):
        inside = index >= 0
        if index.dtype.is_bool or extent <= index.dtype.max:
            inside = inside & (index < extent)
        message = f"Accessing component {{}} of {extent}"
        context.builder.assert_(inside.value, message, index.value)  # noqa: PT009 - the builder's
    return index.value


def checked(indices: tuple[Operand, ...], shape: tuple[int, ...]) -> tuple[Operand, ...]:
    """The indices of an element, with checks of the runtime ones; static ones have been checked while compiling."""
    pairs = zip(indices, shape, strict=True)
    return tuple(Expr(within(i, extent)) if isinstance(i, Expr) else i for i, extent in pairs)
