"""What the host computes within forward mode: numbers with their directional derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...launch.results import mapped, result_value
from ...values.linked import Linked
from ...values.specs import Spec
from ..seeds import real_scalars

__all__ = ["Lanes", "Tangents"]


class Tangents:
    """The numbers of one block in forward mode; their nodes are their tangents.

    Attributes:
        open: whether the block goes on.
        directions: how many tangents a number has.
    """

    directions = 1

    def __init__(self) -> None:
        self.open = True

    def close(self) -> None:
        """Numbers that are still around are constants."""
        self.open = False

    def combined(self, parts: Sequence[tuple[float, float]]) -> float:
        """The tangent of a number that depends on others, each a (tangent, slope); a tangent of 0 adds nothing."""
        return sum((slope * tangent for tangent, slope in parts if tangent != 0.0), 0.0)

    def dual(self, node: float) -> float:
        """The directional derivative of the number at a node."""
        return node

    def node(self, tangents: Sequence[float]) -> Any:
        """The node of a number that has these tangents, one for each direction."""
        (tangent,) = tangents
        return tangent

    def has(self, value: Any) -> bool:
        """Whether a number belongs to the block: others are plain."""
        return isinstance(value, Linked) and value.chain is self

    def tangents(self, value: Any) -> Sequence[float]:
        """The tangents of a number; 0 of a constant."""
        return (value.node if self.has(value) else 0.0,)

    def returned(self, spec: Spec, scalars: Sequence[Any]) -> Any:
        """What a launch returned, as `spec` says, of its scalars and, behind them, the tangents of the real ones."""
        types = real_scalars(spec)
        tangents, places = map(float, scalars[len(types) :]), iter(types)

        def link(value: Any) -> Any:
            if next(places) is None:
                return value
            return Linked.of(value, self, self.node([next(tangents) for _ in range(self.directions)]))

        return mapped(spec, result_value(spec, scalars[: len(types)]), link)


class Lanes(Tangents):
    """The same for several directions at once; the nodes are tuples with a tangent for each.

    Args:
        directions: how many there are.
        refuse: gives the error for asking for the one directional derivative of a number.
    """

    def __init__(self, directions: int, refuse: Callable[[str], Exception]) -> None:
        super().__init__()
        self.directions = directions
        self._refuse = refuse

    def combined(self, parts: Sequence[tuple[Any, float]]) -> Any:
        """See `Tangents.combined`."""
        along = [[(tangents[k], slope) for tangents, slope in parts] for k in range(self.directions)]
        return tuple([super(Lanes, self).combined(one) for one in along])

    def dual(self, node: Any) -> float:
        """See `Tangents.dual`."""
        if any(node):
            raise self._refuse("the host asks for the dual of a number")
        return 0.0

    def node(self, tangents: Sequence[float]) -> Any:
        """See `Tangents.node`."""
        return tuple(tangents)

    def tangents(self, value: Any) -> Sequence[float]:
        """See `Tangents.tangents`."""
        return value.node if self.has(value) else (0.0,) * self.directions
