"""Whether calls of kernels are being recorded for a graph: nothing runs then, and memory is not to be looked at."""

from __future__ import annotations

from typing import Final

from ...errors import AdstackRuntimeError
from .scopes import Scopes, Within

__all__ = ["CAPTURING", "allowing", "check", "is_capturing"]

CAPTURING: Final[Scopes[bool]] = Scopes()
"""While calls are recorded: whether what the host does now is the program's own doing."""


def is_capturing() -> bool:
    """Whether calls of this thread are being recorded."""
    return bool(CAPTURING) and CAPTURING.innermost() is not None


def check(what: str) -> None:
    """Raise AdstackRuntimeError if a program does this while its calls are recorded."""
    if CAPTURING and CAPTURING.innermost():
        raise AdstackRuntimeError(
            f"{what} while a graph is recorded: the calls inside the block have not run yet",
            do="do it before the block, or after the graph has been launched",
        )


def allowing() -> Within[bool]:
    """A context, inside the other one, for what adstack does itself to record a call."""
    return Within(CAPTURING, False)
