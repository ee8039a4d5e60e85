"""Which function of a code generator emits which operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from adstack.ir.opdef import OpDef
from adstack.ir.structure import Op

__all__ = ["Handlers"]

E = TypeVar("E")


class Handlers(dict[OpDef, Callable[[E, Op], None]], Generic[E]):
    """The row of an operation -> the function that emits such ops, given the generator's emitter and the op."""

    def handles(self, row: OpDef) -> Callable[[Callable[[E, Op], None]], Callable[[E, Op], None]]:
        """Decorator: this function emits the ops of that row."""

        def register(handler: Callable[[E, Op], None]) -> Callable[[E, Op], None]:
            self[row] = handler
            return handler

        return register
