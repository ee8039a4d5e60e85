"""Gradients of ndarrays that a tape starts from zero, once each, when a recorded launch first uses them."""

from __future__ import annotations

from collections.abc import Container, Iterable

from ...data.ndarrays import Ndarray
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ..modes.companions import companions

__all__ = ["Cleared", "clearable"]


def clearable(made: Specialisation, call: Call) -> list[Buffer]:
    """The memory of gradients of ndarrays that a launch gets; those of torch tensors add up, as torch has it."""
    arrays = companions(made, "grad").values() if call.arrays else ()
    buffers = [call.arrays[p.name] for p in arrays if p.kind == "ndarray"]
    buffers += [d.grad.buffer for d in made.fields.values() if isinstance(d, Ndarray) and d.grad is not None]
    return [buffer for buffer in buffers if buffer.owned]


class Cleared:
    """What has started from zero.

    Args:
        wanted: whether anything has to.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._cleared: dict[int, Buffer] = {}
        self._early: list[Buffer] = []

    def clear(self, gradients: Iterable[Buffer]) -> None:
        """Start some from zero that have not yet."""
        for buffer in gradients if self._wanted else ():
            if id(buffer) not in self._cleared:
                buffer.write(0)
                self._cleared[id(buffer)] = buffer

    def clear_early(self, gradients: Iterable[Buffer]) -> None:
        """The same for those that calls may use which machine code serves."""
        self._early = [one for one in gradients if id(one) not in self._cleared]
        self.clear(self._early)

    def keep(self, used: Container[int]) -> None:
        """Of these, only those that calls have used have started from zero."""
        for buffer in self._early:
            if id(buffer) not in used:
                self._cleared.pop(id(buffer), None)
        self._early = []
