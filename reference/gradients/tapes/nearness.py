"""What a run computes, by the tape oracle, and how far rounding can carry it: values, gradients or duals."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ...error_analysis.chain import Enclosure, Step, Written, chained
from ...ir.structure import Kernel
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime import state
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.modes import forward_mode
from ...runtime.threads.recording import recording
from ..events import Event, HostWrites, Launch
from ..memory.undo import identity
from ..modes.companions import companions

__all__ = ["enclosures", "value_bound"]


def enclosures(run: Callable[[], Any], of: str, data: Sequence[Any], loss: Any = None) -> list[Enclosure]:
    """What `run()` makes of fields or ndarrays, with bounds on |computed - exact|; memory is as before afterwards.

    Args:
        run: launches kernels; what the host does between launches must not write.
        of: "value": what the data holds afterwards; "grad": its gradients, propagated back through all launches from
            those that it has now; "dual": its duals, from those that it has now.
        data: fields or ndarrays.
        loss: what is differentiated, with an adjoint of 1; the others' are 0, whatever memory holds.
    """
    watch = _Watch(of)
    try:
        with recording(watch):
            run()
    finally:
        watch.restore()
    answers = watch.answers(None if loss is None else identity(loss.grad.buffer))
    parts = [one.buffer if of == "value" else getattr(one, of).buffer for one in data]
    return [answers.get(identity(part)) or Enclosure(part.read(), np.zeros(part.shape)) for part in parts]


def value_bound(events: Sequence[Event], memory: Hashable) -> tuple[float, list[tuple[Buffer, Array]]]:
    """A bound on the error of the one number in a memory when what a tape recorded happens again.

    Args:
        events: what it recorded; memory is as before afterwards.
        memory: the identity of the buffer.

    Returns:
        The bound; each buffer that the events touch, with its contents.
    """
    watch = _Watch("value")
    try:
        with recording(watch):
            for event in events:
                watch.event(event)
        watch.host()
    finally:
        watch.restore()
    answer = watch.answers().get(memory)
    return 0.0 if answer is None else float(np.max(answer.bound)), list(watch.memory.values())


class _Watch:
    """Launches kernels, and keeps what each of them was and what memory held before all of them."""

    def __init__(self, of: str) -> None:
        self.of = of
        self.steps: list[Step | Written] = []
        self.written: dict[Hashable, tuple[Buffer, Array]] = {}
        self.memory: dict[Hashable, tuple[Buffer, Array]] = {}
        self.gradients: dict[Hashable, Hashable] = {}

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch."""
        specialisation, call, runtime = kernel.prepared(args, kwargs)
        self.note(specialisation, call, runtime)
        return specialisation.launch(call)

    def event(self, event: Event) -> None:
        """What a tape recorded, again."""
        for change in event.changes:
            self._keep(change.buffer)
        if isinstance(event, Launch):
            self.note(event.specialisation, event.call, state.current())
        event.again()
        if isinstance(event, HostWrites):
            for change in event.changes:
                self._host(change.buffer, change.mask())

    def note(self, specialisation: Specialisation, call: Call, runtime: state.Runtime) -> None:
        """A launch that is about to be."""
        self.host()
        memories = companions(specialisation, "dual" if self.of == "dual" else "grad")
        program: Kernel = specialisation.kernel
        if self.of == "dual" and memories:
            program = forward_mode(program, memories, runtime.options).kernel
        names = {name for name, place in program.places.items() if place.kind in ("field", "ndarray")}
        buffers = {name: _buffer(specialisation, call, name) for name in names}
        for name, companion in memories.items():
            role = "dual" if self.of == "dual" else "grad"
            beside = call.arrays.get(companion.name) or getattr(specialisation.fields[name], role).buffer
            if companion.name in names:
                buffers[companion.name] = beside
            if self.of == "grad":
                self._keep(beside)
                self.gradients[identity(buffers[name])] = identity(beside)
        for buffer in buffers.values():
            self._keep(buffer)
        self.steps.append(Step(program, {n: identity(b) for n, b in buffers.items()}, tuple(call.scalars)))

    def host_wrote(self, array: Any, where: Any) -> None:
        """Remember which elements."""
        self._host(array.buffer, where)

    def _host(self, buffer: Buffer, where: Any) -> None:
        self._keep(buffer)
        _, mask = self.written.setdefault(identity(buffer), (buffer, np.zeros(buffer.shape, bool)))
        mask[where] = True

    def host(self) -> None:
        """Note the elements that the host has written since the last launch, with what they hold now."""
        for key, (buffer, mask) in self.written.items():
            at = np.flatnonzero(mask)
            self.steps.append(Written(key, at, buffer.read().reshape(-1)[at]))
        self.written.clear()

    def _keep(self, buffer: Buffer) -> None:
        self.memory.setdefault(identity(buffer), (buffer, np.array(buffer.read())))

    def restore(self) -> None:
        """Put memory back."""
        for buffer, contents in self.memory.values():
            buffer.write(contents)

    def answers(self, loss: Hashable = None) -> dict[Hashable, Enclosure]:
        """By the identity of the buffers of values, gradients or duals; with a loss only its adjoint is not 0."""
        contents = {key: kept for key, (_, kept) in self.memory.items()}
        if self.of != "grad":
            return chained(self.steps, contents)
        adjoints = {key: contents[grad] for key, grad in self.gradients.items()}
        if loss is not None:
            adjoints = {key: np.full_like(one, self.gradients[key] == loss) for key, one in adjoints.items()}
        answers = chained(self.steps, contents, adjoints)
        return {self.gradients[key]: answer for key, answer in answers.items()}


def _buffer(specialisation: Specialisation, call: Call, name: str) -> Any:
    """The memory of a place of the kernel, or of the dual of one."""
    if name in call.arrays:
        return call.arrays[name]
    if name in specialisation.fields:
        return specialisation.fields[name].buffer
    return next(data.dual.buffer for data in specialisation.fields.values() if _is_dual(data, name))


def _is_dual(data: Any, name: str) -> bool:
    dual = data.dual
    return dual is not None and dual.is_placed and dual.place.name == name
