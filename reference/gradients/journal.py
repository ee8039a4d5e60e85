"""Launches that log what their reverse pass needs and could not have otherwise."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..autodiff.places import WANTED
from ..ir.types import i64
from ..launch.specialisation import Specialisation
from ..runtime.memory.buffers import Array, Buffer
from .events import Launch, memory_of
from .modes.differentiated import Differentiated, with_arrays
from .modes.state import Journaled, state_of

__all__ = ["JournaledLaunch"]


@dataclass
class JournaledLaunch(Launch):
    """A launch that logs.

    Attributes:
        ways: the kernels that do so.
        logs: what was logged: place name -> memory.
    """

    ways: Journaled
    logs: dict[str, Buffer] = field(default_factory=dict)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {**super().shapes, **{log.place.name: (1, 1) for log in self.ways.mode.logs}}

    def launch(self) -> object:
        """Launch; again from the start, as long as there was not enough room."""
        kept = [(buffer, np.array(buffer.read())) for _, buffer in self._written()]
        sizes = self._sizes()
        if sizes is None:
            _, sizes = self._attempt(self.ways.sizing, np.zeros(2 * self.ways.mode.sheets, np.int64))
            _restore(kept)
        result, wanted = self._attempt(self.ways.forward, sizes)
        while (wanted > sizes).any():
            _restore(kept)
            sizes = np.maximum(sizes, wanted)
            result, wanted = self._attempt(self.ways.forward, sizes)
        state_of(self.made).journal_sizes = wanted
        weakref.finalize(self, _drop, list(self.logs.values()))
        return result

    def _sizes(self) -> Array | None:
        """How much room there should be, if the kernel has run before, and if running it again would not be heard."""
        return state_of(self.made).journal_sizes if self.ways.sizing is self.ways.forward else None

    def _written(self) -> Iterable[tuple[str, Buffer]]:
        return memory_of(self.made, self.call, self.made.plan.compiled.written)

    def _attempt(self, made: Specialisation, sizes: Array) -> tuple[object, Array]:
        """Launch with so much room; the result, and how much room would have been needed."""
        backend = made.plan.backend
        _drop(self.logs.values())
        self.logs = {}
        for log in self.ways.mode.logs:
            shape = tuple(max(1, int(n)) for n in sizes[2 * log.sheet : 2 * log.sheet + 2])
            self.logs[log.place.name] = Buffer(backend, log.place.dtype, shape)
        wanted = Buffer(backend, i64, (len(sizes),))
        try:
            result = made.run(with_arrays(self.call, {**self.logs, WANTED: wanted}))
            return result, np.array(wanted.read())
        finally:
            wanted.drop()

    def again(self) -> None:
        self.made.launch(self.call)

    def _propagate(self, mode: Differentiated) -> None:
        mode.launch(self.call, self.logs)

    def kept(self) -> list[tuple[str, int, int]]:
        logged = [(log.label, self.logs[log.place.name]) for log in self.ways.mode.logs]
        sizes = [(label, int(np.prod(b.shape)), int(np.prod(b.shape)) * b.dtype.size) for label, b in logged]
        return [*super().kept(), *sizes]


def _restore(kept: Iterable[tuple[Buffer, Array]]) -> None:
    for buffer, contents in kept:
        buffer.write(contents)


def _drop(buffers: Iterable[Buffer]) -> None:
    for buffer in buffers:
        buffer.drop()
