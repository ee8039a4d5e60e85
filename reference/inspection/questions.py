"""What tools may ask adstack about itself: backends, gaps, the cache, budgets of operations, hand-written IR."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.ops import TABLE
from ..ir.types import by_name
from ..runtime.backend import Capabilities, Probe, Unavailable
from ..runtime.ir_program import IRProgram
from ..runtime.registry import ARCHES, probe

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
        device_files: how many files beside them are about devices: their drivers' compiled code, and what is known of
            them.
        device_bytes: what those take.
        refusal: why nothing is read from the folder or written to it, "" if it is used.
    """

    folder: str
    entries: int
    bytes: int
    most: int
    device_files: int = 0
    device_bytes: int = 0
    refusal: str = ""


def cache() -> Cache:
    """What is kept on disk."""
    room, files = _kept()
    objects = room.ObjectCache(files.default_folder())
    refusal = files.refusal(objects.folder)
    if refusal:
        return Cache(str(objects.folder), 0, 0, room.MOST_BYTES, refusal=refusal)
    sizes = [size for _, size in objects.entries()]
    others = [size for _, size in files.device_files(objects.folder)]
    return Cache(str(objects.folder), len(sizes), sum(sizes), room.MOST_BYTES, len(others), sum(others))


def clear_cache() -> tuple[int, int]:
    """Remove what is kept on disk: how many kernels there were, and how many files about devices."""
    room, files = _kept()
    objects = room.ObjectCache(files.default_folder())
    others = [name for name, _ in files.device_files(objects.folder)]
    for name in others:
        files.remove(objects.folder, name)
    return objects.clear(), len(others)


def _kept() -> tuple[Any, Any]:
    names = ("llvm.cache", "shared.kept")
    room, files = (importlib.import_module(f"adstack.backends.{name}") for name in names)
    return room, files


def budget(op: str, dtype: str) -> float:
    """How far the result of an operation may be from the correctly rounded one, in units in the last place.

    KeyError if there is no such operation.
    """
    return TABLE[op].budget.of(by_name(dtype))


def error_bounds(run: Callable[[], Any], of: str, data: Sequence[Any]) -> list[Any]:
    """How far rounding can carry the "value", "grad" or "dual" of fields and ndarrays that `run()` computes.

    An array of bounds on |computed - exact| for each of `data`, by running error analysis of what the launches do.
    """
    from ..gradients.tapes.nearness import error_bounds as found

    return found(run, of, data)
