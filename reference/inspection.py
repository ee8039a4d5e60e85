"""What tools may ask adstack about itself: its backends, how exact its operations are, what IR written by hand does."""

from __future__ import annotations

from .ir.ops import TABLE
from .ir.types import by_name
from .runtime.backend import Capabilities, Probe, Unavailable
from .runtime.ir_program import IRProgram
from .runtime.registry import ARCHES, probe

__all__ = ["ARCHES", "Capabilities", "IRProgram", "Probe", "Unavailable", "budget", "probe"]


def budget(op: str, dtype: str) -> float:
    """How far the result of an operation may be from the correctly rounded one, in units in the last place.

    KeyError if there is no such operation.
    """
    return TABLE[op].budget.of(by_name(dtype))
