"""What the host computes within forward mode: numbers with their directional derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...launch.results import mapped, result_value
from ...values.linked import Linked
from ...values.specs import Spec
from ..seeds import real_scalars

__all__ = ["Tangents", "tangent_of"]


class Tangents:
    """The numbers of one block in forward mode; their nodes are their tangents."""

    def __init__(self) -> None:
        self.open = True

    def close(self) -> None:
        """Numbers that are still around are constants."""
        self.open = False

    def combined(self, parts: Sequence[tuple[float, float]]) -> float:
        """The tangent of a number that depends on others, each a (tangent, slope); a tangent of 0 adds nothing."""
        return sum((slope * tangent for tangent, slope in parts if tangent != 0.0), 0.0)

    def returned(self, spec: Spec, scalars: Sequence[Any]) -> Any:
        """What a launch returned, as `spec` says, of its scalars and, behind them, the tangents of the real ones."""
        types = real_scalars(spec)
        tangents, places = iter(scalars[len(types) :]), iter(types)

        def link(value: Any) -> Any:
            return value if next(places) is None else Linked.of(value, self, float(next(tangents)))

        return mapped(spec, result_value(spec, scalars[: len(types)]), link)


def tangent_of(value: Any, tangents: Tangents) -> float:
    """The tangent of a number; 0 of a constant."""
    return value.node if isinstance(value, Linked) and value.chain is tangents else 0.0
