"""What is in charge inside of functions whose launches a tape does not record one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...analysis.must_access import must_access
from ...runtime.memory.buffers import Buffer
from ..events import memory_of
from ..memory.undo import Log, Overwritten, Touched, differing, whole
from ..modes.companions import companion_memory, companions
from .links import Links

__all__ = ["Constants", "Inside"]


class Inside:
    """Lets launches be plain, and notes what memory they touch; with a log, it is watched from then on.

    What they return, and what the host reads, is of no use outside of the function that is called.
    """

    def __init__(self, log: Log | None, links: Links, title: str) -> None:
        self.log = log
        self.links = links
        self.why = f"it comes from inside {title}, which has a gradient of its own"
        self.touched: dict[int, tuple[str, Buffer]] = {}

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch."""
        made, call, _ = kernel.prepared(args, kwargs)
        compiled = made.plan.compiled
        for label, buffer in memory_of(made, call, compiled.read | compiled.written):
            self.touched[id(buffer)] = label, buffer
            if self.log is not None:
                self.log.watch([Touched(label, buffer, whole(buffer))])
        return self.links.refused(made.returns, made.launch(call), self.why)

    def host_read(self, array: Any, position: tuple[int, ...], value: float) -> Any:
        """What was read has no adjoint that could be passed on."""
        beside = array.grad is not None and array.grad.is_placed
        return self.links.refused_number(value, self.why) if beside else value

    def host_wrote(self, array: object, where: object) -> None:
        """The call's own business."""


class Constants:
    """Lets launches be plain, and notes which elements with a gradient they overwrite.

    Attributes:
        overwritten: those, in order.
    """

    def __init__(self) -> None:
        self.overwritten: list[Overwritten] = []

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch."""
        made, call, _ = kernel.prepared(args, kwargs)
        places = {name: place for name, place in companions(made, "grad").items() if name in made.plan.compiled.written}
        memory = {name: made.plan.buffers.get(name) or call.arrays[name] for name in places}
        before = {name: np.array(buffer.read()) for name, buffer in memory.items()}
        shapes = {name: buffer.shape for name, buffer in call.arrays.items()}
        stored = must_access(made.plan.compiled.program, call.scalars, shapes).written
        result = made.launch(call)
        for name, buffer in memory.items():
            mask = np.zeros(buffer.shape, bool)
            mask.reshape(-1)[differing(before[name], buffer.read())] = True
            for box in stored.get(name, ()):  # the same numbers again are constants, too
                mask[tuple(slice(low, high + 1) for low, high in box)] = True
            self._note(companion_memory(made, call, name, places[name], "grad"), mask)
        return result

    def host_wrote(self, array: Any, where: Any) -> None:
        """Constants as well."""
        if array.grad is not None and array.grad.is_placed:
            mask = np.zeros(array.grad.buffer.shape, bool)
            mask[where] = True
            self._note(array.grad.buffer, mask)

    def _note(self, grad: Buffer, mask: npt.NDArray[np.bool_]) -> None:
        if mask.any():
            self.overwritten.append(Overwritten(grad, mask, given=False))
