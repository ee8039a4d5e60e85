"""The lowering in progress: what lets a runtime scalar emit ops when its operators are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ...errors import InternalError
from ..protocol import emitting

if TYPE_CHECKING:
    from .context import Context

__all__ = ["current", "lowering"]

_CURRENT: ContextVar[Context | None] = ContextVar("adstack_lowering", default=None)


def current() -> Context:
    """The context of the kernel being compiled."""
    context = _CURRENT.get()
    if context is None:
        raise InternalError("a runtime value was used after its kernel was compiled")
    return context


@contextmanager
def lowering(context: Context) -> Iterator[None]:
    """Make `context` the current one, and the emitter of the language's functions."""
    token = _CURRENT.set(context)
    try:
        with emitting(context):
            yield
    finally:
        _CURRENT.reset(token)
