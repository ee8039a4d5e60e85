"""What is in charge inside of functions whose launches a tape does not record one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...runtime.memory.buffers import Buffer
from ..events import CustomCall, Event, memory_of
from ..memory.undo import Log, Overwritten, Touched, whole
from ..no_grad import Constants, Mask, Pair, beside, beside_array
from .cleared import clearable, clearable_arrays
from .kept_regions import include_all
from .links import Links

__all__ = ["Inside", "TapeConstants", "protect"]


def protect(events: Sequence[Event]) -> None:
    """Have gradients of functions, which write what they like, leave what launches recorded before them need."""
    calls, needed = sum(isinstance(event, CustomCall) for event in events), dict[int, Touched]()
    for event in events if calls else ():
        if isinstance(event, CustomCall):
            event.keeps = [Touched(one.label, one.buffer, [*one.boxes]) for one in needed.values()]
            calls -= 1
        elif calls:
            include_all(needed, event.needs())


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
        self.gradients += beside(specialisation, call, "grad")
        for label, buffer in memory_of(specialisation, call, compiled.read | compiled.written):
            self.touched[id(buffer)] = label, buffer
            if self.log is not None:
                self.log.watch([Touched(label, buffer, whole(buffer))])
        return self.links.refused(specialisation.returns, specialisation.launch(call), self.why)

    def host_read(self, array: Any, position: tuple[int, ...], value: float) -> Any:
        """What was read has no adjoint that could be passed on."""
        self.host_looked(array)
        return self.links.refused_number(value, self.why) if beside_array(array, "grad") else value

    def host_wrote(self, array: Any, where: object) -> None:
        """No event: a function under `grad_replaced` answers itself for the gradients of what it writes."""
        self.host_looked(array)

    def host_looked(self, array: Any) -> None:
        """The function uses an array, and so may its gradient."""
        self.gradients += beside_array(array, "grad")
        self.clearable += clearable_arrays([array])


class TapeConstants(Constants):
    """What a tape puts in charge inside of a function under `no_grad`.

    Attributes:
        overwritten: the elements with a gradient that hold constants now, in order.
        gradients: (memory that was touched, memory of its gradients).
    """

    def __init__(self) -> None:
        super().__init__("grad")
        self.overwritten: list[Overwritten] = []
        self.gradients: list[Pair] = []

    def touch(self, pairs: Iterable[Pair]) -> None:
        """See `Constants.touch`."""
        self.gradients += pairs

    def overwrite(self, companion: Buffer, mask: Mask) -> None:
        """See `Constants.overwrite`."""
        self.overwritten.append(Overwritten(companion, mask, given=False))
