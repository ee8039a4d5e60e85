"""The lowering in progress: what lets a runtime scalar emit ops when its operators are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import InternalError
from ...values.protocol import lowered

if TYPE_CHECKING:
    from .context import Context

__all__ = ["current"]


def current() -> Context:
    """The context of the kernel being compiled."""
    context: Context | None = lowered()
    if context is None:
        raise InternalError("a runtime value was used after its kernel was compiled")
    return context
