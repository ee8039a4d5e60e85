"""Whether calls of kernels are being recorded for a graph: nothing runs then, and memory is not to be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from ..errors import AdstackRuntimeError

__all__ = ["CAPTURING", "allowing", "capturing", "check"]

CAPTURING: Final[list[bool]] = []
"""While calls are recorded: whether what the host does now is the program's own doing."""


def check(what: str) -> None:
    """Raise AdstackRuntimeError if a program does this while its calls are recorded."""
    if CAPTURING and CAPTURING[-1]:
        raise AdstackRuntimeError(
            f"{what} while a graph is recorded: the calls inside the block have not run yet",
            do="do it before the block, or after the graph has been launched",
        )


@contextmanager
def _inside(strictly: bool) -> Iterator[None]:
    CAPTURING.append(strictly)
    try:
        yield
    finally:
        CAPTURING.pop()


def capturing() -> AbstractContextManager[None]:
    """A context in which calls are recorded."""
    return _inside(True)


def allowing() -> AbstractContextManager[None]:
    """A context, inside the other one, for what adstack does itself to record a call."""
    return _inside(False)
