"""What tools may ask adstack about itself: its backends, their gaps, the budgets of operations, hand-written IR."""

from __future__ import annotations

import importlib

from .ir.ops import TABLE
from .ir.types import by_name
from .runtime.backend import Capabilities, Probe, Unavailable
from .runtime.ir_program import IRProgram
from .runtime.registry import ARCHES, probe

__all__ = ["ARCHES", "Capabilities", "IRProgram", "Probe", "Unavailable", "budget", "gaps", "probe"]


def gaps(arch: str) -> tuple[tuple[str, str], ...]:
    """What a backend is known not to do: (rule or pattern of case ids, reason), `GAPS` of its capability module."""
    try:
        module = importlib.import_module(f"adstack.backends.{arch}.capability")
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"adstack.backends.{arch}.capability".startswith(missing.name):
            raise
        return ()
    return tuple((covers, reason) for covers, reason in getattr(module, "GAPS", ()))


def budget(op: str, dtype: str) -> float:
    """How far the result of an operation may be from the correctly rounded one, in units in the last place.

    KeyError if there is no such operation.
    """
    return TABLE[op].budget.of(by_name(dtype))
