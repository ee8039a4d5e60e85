"""Launches that log what their reverse pass needs and could not have otherwise."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..autodiff.places import WANTED
from ..ir.types import u64
from ..launch.specialisation import Specialisation
from ..runtime.memory.buffers import Array, Buffer
from .events import Launch, memory_of
from .modes.differentiated import Differentiated, with_arrays
from .modes.state import Journaled, state_of

__all__ = ["JournaledLaunch"]


@dataclass
class JournaledLaunch(Launch):
    """A launch that logs what its reverse pass needs and could not have otherwise.

    Attributes:
        ways: the kernels that log, and the reverse mode that reads the logs.
        logs: name of a log's place -> the memory that the launch has written.
    """

    ways: Journaled
    logs: dict[str, Buffer] = field(default_factory=dict)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Place name -> extents, in this launch, of logs too."""
        return {**super().shapes, **{log.place.name: (1, 1) for log in self.ways.mode.logs}}

    def launch(self) -> object:
        """Launch, from the start again as long as the logs had no room; the value that the kernel returns."""
        kept = [(buffer, np.array(buffer.read())) for _, buffer in self._written()]
        sizes = self._sizes()
        if sizes is None:
            _, sizes = self._attempt(self.ways.sizing, np.zeros(2 * self.ways.mode.sheets, np.uint64))
            _restore(kept)
        result, wanted = self._attempt(self.ways.forward, sizes)
        while (wanted > sizes).any():
            _restore(kept)
            sizes = np.maximum(sizes, wanted)
            result, wanted = self._attempt(self.ways.forward, sizes)
        state_of(self.specialisation).journal_sizes = wanted
        weakref.finalize(self, _drop, list(self.logs.values()))
        return result

    def _sizes(self) -> Array | None:
        """How much room there should be, if the kernel has run before, and if running it again would not be heard."""
        return state_of(self.specialisation).journal_sizes if self.ways.sizing is self.ways.forward else None

    def _written(self) -> Iterable[tuple[str, Buffer]]:
        return memory_of(self.specialisation, self.call, self.specialisation.plan.compiled.written)

    def _attempt(self, specialisation: Specialisation, sizes: Array) -> tuple[object, Array]:
        """Launch with logs of these extents; what the kernel returns, and the extents that were needed."""
        backend = specialisation.plan.backend
        _drop(self.logs.values())
        self.logs = {}
        for log in self.ways.mode.logs:
            shape = tuple(max(1, int(n)) for n in sizes[2 * log.sheet : 2 * log.sheet + 2])
            self.logs[log.place.name] = Buffer(backend, log.place.dtype, shape)
        wanted = Buffer(backend, u64, (len(sizes),))
        try:
            result = specialisation.run(with_arrays(self.call, {**self.logs, WANTED: wanted}))
            return result, np.array(wanted.read())
        finally:
            wanted.drop()

    def again(self) -> None:
        """See `Event.again`: launch without a log."""
        self.specialisation.launch(self.call)

    def _propagate(self, mode: Differentiated) -> None:
        mode.launch(self.call, self.logs)

    def kept(self) -> list[tuple[str, int, int]]:
        """See `Event.kept`: logs come last."""
        logged = [(log.label, self.logs[log.place.name]) for log in self.ways.mode.logs]
        sizes = [(label, int(np.prod(b.shape)), int(np.prod(b.shape)) * b.dtype.size) for label, b in logged]
        return [*super().kept(), *sizes]


def _restore(kept: Iterable[tuple[Buffer, Array]]) -> None:
    for buffer, contents in kept:
        buffer.write(contents)


def _drop(buffers: Iterable[Buffer]) -> None:
    for buffer in buffers:
        buffer.drop()
