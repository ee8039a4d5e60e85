"""The algorithms of the library, by the operation that each computes. Modules of algorithms enter them: `computes`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from ...ir import scalar_ops as ops
from ...ir.opdef import OpDef
from .num import Num

__all__ = ["ALGORITHMS", "FAST", "PAIRS", "SINCOS", "SINHCOSH", "WIDE", "Algorithm", "computes"]

Build = Callable[..., Num | tuple[Num, ...]]
B = TypeVar("B", bound=Build)

SINCOS: Final = "sincos"
"""The sine and the cosine of a number at once."""
SINHCOSH: Final = "sinhcosh"
"""The hyperbolic sine and cosine of a number at once."""
PAIRS: Final = {SINCOS: (ops.SIN, ops.COS), SINHCOSH: (ops.SINH, ops.COSH)}
"""The functions that are no operation: they give the bits of two operations, of which each is the derivative of the
other, up to its sign.
"""


@dataclass(frozen=True)
class Algorithm:
    """One function of the library.

    Attributes:
        build: emits the IR, for f32 or f64.
        arity: how many numbers it takes.
    """

    build: Build
    arity: int = 1


ALGORITHMS: Final[dict[str, Algorithm]] = {}
"""By the name of the operation."""

FAST: Final[dict[str, Algorithm]] = {}
"""Functions with a variant that `fast_math` licenses: theirs take `fast`."""

WIDE: Final[dict[str, Algorithm]] = {}
"""Functions of f32 with a variant for devices whose multiply-add of f32 is made of f64: see wide.py."""


def computes(operation: OpDef | str, *tables: dict[str, Algorithm]) -> Callable[[B], B]:
    """Enter the decorated function, which builds what computes an operation, in tables: in `ALGORITHMS`, if none is
    named.
    """
    name, arity = (operation, 1) if isinstance(operation, str) else (operation.name, len(operation.signature.inputs))

    def enter(build: B) -> B:
        for table in tables or (ALGORITHMS,):
            table[name] = Algorithm(build, arity)
        return build

    return enter
