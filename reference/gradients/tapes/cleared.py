"""Gradients of ndarrays that a tape starts from zero, once each, when something that it records first uses them."""

from __future__ import annotations

from collections.abc import Iterable

from ...data.ndarrays import Ndarray
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ...runtime.memory.clearing import fill
from ...runtime.threads.recording import forward_mode
from ..modes.companions import companion_memory, companions, field_beside

__all__ = ["Cleared", "clearable", "clearable_arrays"]


def clearable(specialisation: Specialisation, call: Call) -> list[Buffer]:
    """The memory of gradients of ndarrays that a launch gets; those of torch tensors add up, as torch has it."""
    buffers = [
        companion_memory(specialisation, call, name, place, "grad")
        for name, place in companions(specialisation, "grad").items()
        if place.kind == "ndarray" or isinstance(field_beside(specialisation, name, "grad"), Ndarray)
    ]
    return [buffer for buffer in buffers if buffer.owned]


def clearable_arrays(data: Iterable[object]) -> list[Buffer]:
    """The memory of gradients of the ndarrays among some data, and in forward mode of their tangents.

    Those of fields start from zero with the tape.
    """
    firsts = [one.grad for one in data if isinstance(one, Ndarray) and one.grad is not None]
    seconds = [one.dual for one in firsts if one.dual is not None] if forward_mode() is not None else []
    return [one.buffer for one in (*firsts, *seconds)]


class Cleared:
    """What has started from zero.

    Args:
        wanted: whether anything has to.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._cleared: dict[int, Buffer] = {}

    def clear(self, gradients: Iterable[Buffer]) -> None:
        """Set the gradients among these to zero that the tape has not set to zero before."""
        if self._wanted:
            others = {id(one): one for one in gradients if id(one) not in self._cleared}
            fill([*others.values()])
            self._cleared |= others
