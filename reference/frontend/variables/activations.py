"""Activations: what a call of a function that calls itself at run time passes, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ...ir.builder import Builder
from ...ir.opdef import OpDef
from ...ir.structure import Op, Value
from .cells import Cell

__all__ = ["CALL_AGAIN", "Activation", "Leaf", "call_again"]

CALL_AGAIN: Final = OpDef(
    "call.again",
    pure=False,
    reads=True,
    writes=True,
    attrs=("activation",),
    doc="a call of the function that it stands in; operands: its arguments, results: what it returns",
)

Leaf = tuple[Cell, int]
"""A scalar of a variable: the cell, and which of its elements."""


@dataclass
class Activation:
    """A function of which calls may be under way inside of each other.

    Attributes:
        name: for messages.
        most: how many calls may be under way.
        parameters: the scalars that a call passes; the cells hold those of the outermost call.
        returned: the scalars that a call gives back, in cells outside of the function.
        calls: the calls that stand in the function itself.
    """

    name: str
    most: int
    parameters: Sequence[Leaf] = ()
    returned: Sequence[Leaf] = ()
    calls: list[Op] = field(default_factory=list)


def call_again(builder: Builder, activation: Activation, args: Sequence[Value]) -> list[Value]:
    """Emit a call of the function from inside of it; what it returns."""
    results = [Value(cell.dtype) for cell, _ in activation.returned]
    op = Op(CALL_AGAIN, args, {"activation": activation}, results, [], builder.loc)
    builder.region.ops.append(op)
    activation.calls.append(op)
    return results
