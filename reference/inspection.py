"""What tools may ask adstack about itself: backends, gaps, the cache, budgets of operations, hand-written IR."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .ir.ops import TABLE
from .ir.types import by_name
from .runtime.backend import Capabilities, Probe, Unavailable
from .runtime.ir_program import IRProgram
from .runtime.registry import ARCHES, probe

__all__ = [
    "ARCHES",
    "Cache",
    "Capabilities",
    "IRProgram",
    "Probe",
    "Unavailable",
    "budget",
    "cache",
    "clear_cache",
    "error_bounds",
    "gaps",
    "probe",
]


def gaps(arch: str) -> tuple[tuple[str, str], ...]:
    """What a backend is known not to do: (rule or pattern of case ids, reason), `GAPS` of its capability module."""
    try:
        module = importlib.import_module(f"adstack.backends.{arch}.capability")
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"adstack.backends.{arch}.capability".startswith(missing.name):
            raise
        return ()
    return tuple((covers, reason) for covers, reason in getattr(module, "GAPS", ()))


@dataclass(frozen=True)
class Cache:
    """Compiled kernels that are kept on disk.

    Attributes:
        folder: where.
        entries: how many kernels.
        bytes: what they take.
        most: what they may take; those used longest ago go first.
    """

    folder: str
    entries: int
    bytes: int
    most: int


def cache() -> Cache:
    """What is kept on disk."""
    room = importlib.import_module("adstack.backends.llvm.cache")
    kept = room.ObjectCache(room.default_folder())
    sizes = [size for _, size in kept.entries()]
    return Cache(str(kept.folder), len(sizes), sum(sizes), room.MOST_BYTES)


def clear_cache() -> int:
    """Remove the compiled kernels that are kept on disk; how many there were."""
    room = importlib.import_module("adstack.backends.llvm.cache")
    removed: int = room.ObjectCache(room.default_folder()).clear()
    return removed


def budget(op: str, dtype: str) -> float:
    """How far the result of an operation may be from the correctly rounded one, in units in the last place.

    KeyError if there is no such operation.
    """
    return TABLE[op].budget.of(by_name(dtype))


def error_bounds(run: Callable[[], Any], of: str, data: Sequence[Any]) -> list[Any]:
    """How far rounding can carry the "value", "grad" or "dual" of fields and ndarrays that `run()` computes.

    An array of bounds on |computed - exact| for each of `data`, by running error analysis of what the launches do.
    """
    from .lang.ad.nearness import error_bounds as found

    return found(run, of, data)
