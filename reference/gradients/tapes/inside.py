"""What is in charge inside of functions whose launches a tape does not record one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ...analysis.must_access import must_access
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ..events import memory_of
from ..memory.undo import Log, Overwritten, Touched, differing, whole
from ..modes.companions import companion_memory, companions
from .cleared import clearable, clearable_arrays
from .links import Links

__all__ = ["Constants", "Inside"]

Pair = tuple[Buffer, Buffer]
"""Memory, and the memory of its gradients."""


class Inside:
    """Lets launches be plain, and notes what memory they touch; with a log, it is watched from then on.

    What they return, and what the host reads, is of no use outside of the function that is called.

    Attributes:
        touched: identity -> (label, memory).
        gradients: (memory that was touched, memory of its gradients).
        clearable: the memory of gradients of the ndarrays among these.
    """

    def __init__(self, log: Log | None, links: Links, title: str) -> None:
        self.log = log
        self.links = links
        self.why = f"it comes from inside {title}, which has a gradient of its own"
        self.touched: dict[int, tuple[str, Buffer]] = {}
        self.gradients: list[Pair] = []
        self.clearable: list[Buffer] = []

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch a kernel; what it returns has no gradient."""
        specialisation, call, _ = kernel.prepared(args, kwargs)
        compiled = specialisation.plan.compiled
        self.clearable += clearable(specialisation, call)
        self.gradients += _gradients(specialisation, call)
        for label, buffer in memory_of(specialisation, call, compiled.read | compiled.written):
            self.touched[id(buffer)] = label, buffer
            if self.log is not None:
                self.log.watch([Touched(label, buffer, whole(buffer))])
        return self.links.refused(specialisation.returns, specialisation.launch(call), self.why)

    def host_read(self, array: Any, position: tuple[int, ...], value: float) -> Any:
        """What was read has no adjoint that could be passed on."""
        self.host_looked(array)
        beside = array.grad is not None and array.grad.is_placed
        return self.links.refused_number(value, self.why) if beside else value

    def host_wrote(self, array: Any, where: object) -> None:
        """No event: a function under `grad_replaced` answers itself for the gradients of what it writes."""
        self.host_looked(array)

    def host_looked(self, array: Any) -> None:
        """The function uses an array, and so may its gradient."""
        self.gradients += _gradient(array)
        self.clearable += clearable_arrays([array])


class Constants:
    """Lets launches be plain, and notes which elements with a gradient they overwrite.

    Attributes:
        overwritten: those, in order.
        gradients: (memory that was touched, memory of its gradients).
    """

    def __init__(self) -> None:
        self.overwritten: list[Overwritten] = []
        self.gradients: list[Pair] = []

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch a kernel, and return what it returns, as a constant."""
        specialisation, call, _ = kernel.prepared(args, kwargs)
        self.gradients += _gradients(specialisation, call)
        places = {
            name: place
            for name, place in companions(specialisation, "grad").items()
            if name in specialisation.plan.compiled.written
        }
        memory = {name: specialisation.plan.buffers.get(name) or call.arrays[name] for name in places}
        before = {name: np.array(buffer.read()) for name, buffer in memory.items()}
        shapes = {name: buffer.shape for name, buffer in call.arrays.items()}
        stored = must_access(specialisation.plan.compiled.program, call.scalars, shapes).written
        result = specialisation.launch(call)
        for name, buffer in memory.items():
            mask = np.zeros(buffer.shape, bool)
            mask.reshape(-1)[differing(before[name], buffer.read())] = True
            for box in stored.get(name, ()):  # the same numbers again are constants, too
                mask[tuple(slice(low, high + 1) for low, high in box)] = True
            self._note(companion_memory(specialisation, call, name, places[name], "grad"), mask)
        return result

    def host_wrote(self, array: Any, where: Any) -> None:
        """Note that the elements hold constants from now on."""
        for pair in _gradient(array):
            self.gradients.append(pair)
            mask = np.zeros(pair[1].shape, bool)
            mask[where] = True
            self._note(pair[1], mask)

    def _note(self, grad: Buffer, mask: npt.NDArray[np.bool_]) -> None:
        if mask.any():
            self.overwritten.append(Overwritten(grad, mask, given=False))


def _gradients(specialisation: Specialisation, call: Call) -> Iterator[Pair]:
    """The memory that a launch may touch and that has gradients, with these."""
    for name, place in companions(specialisation, "grad").items():
        primal = specialisation.plan.buffers.get(name) or call.arrays.get(name)
        if primal is not None:
            yield primal, companion_memory(specialisation, call, name, place, "grad")


def _gradient(array: Any) -> list[Pair]:
    """The memory of a field or an array, with that of its gradient if it has one."""
    beside = array.grad is not None and array.grad.is_placed
    return [(array.buffer, array.grad.buffer)] if beside else []
