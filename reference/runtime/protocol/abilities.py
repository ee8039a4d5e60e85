"""What a backend can do besides what every backend does; looked at once for each kind of backend."""

from __future__ import annotations

from functools import cache
from typing import cast

from .backend import Backend, Copying, Filling, Reclaiming

__all__ = ["copying", "filling", "reclaims"]


def filling(backend: Backend) -> Filling | None:
    """The backend, if it fills and copies memory without the host."""
    return cast(Filling, backend) if _fills(type(backend)) else None


def copying(backend: Backend) -> Copying | None:
    """The backend, if it copies parts of memory that the host had better not look at."""
    return cast(Copying, backend) if not backend.capabilities.direct and _copies(type(backend)) else None


@cache
def _copies(kind: type) -> bool:
    return issubclass(kind, Copying)


@cache
def _fills(kind: type) -> bool:
    return issubclass(kind, Filling)


@cache
def reclaims(kind: type) -> bool:
    """Whether backends of a kind give memory back that has lost its owner."""
    return issubclass(kind, Reclaiming)
