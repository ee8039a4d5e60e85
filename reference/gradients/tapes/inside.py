"""What is in charge inside of functions whose launches a tape does not record one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...runtime.memory.buffers import Buffer
from ..events import memory_of
from ..memory.undo import Log, Overwritten, Touched, identity, whole
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
    """Lets launches be plain, and notes which elements with a gradient they overwrite."""

    def __init__(self, gradients: Mapping[Any, Buffer]) -> None:
        self.gradients = gradients
        self.overwritten: list[Overwritten] = []

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch."""
        made, call, _ = kernel.prepared(args, kwargs)
        log = Log()
        written = memory_of(made, call, made.plan.compiled.written)
        log.watch(Touched(label, buffer, whole(buffer)) for label, buffer in written)
        result = made.launch(call)
        for change in log.mark():
            grad = self.gradients.get(identity(change.buffer))
            if grad is not None:
                self.overwritten.append(Overwritten(grad, change.mask(), given=False))
        return result

    def host_wrote(self, array: Any, where: Any) -> None:
        """Constants as well."""
        grad = self.gradients.get(identity(array.buffer))
        if grad is not None:
            mask = np.zeros(grad.shape, bool)
            mask[where] = True
            self.overwritten.append(Overwritten(grad, mask, given=False))
