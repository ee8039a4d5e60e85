"""The memory of tangents and gradients along several directions, of which duals and gradients hold one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from ...autodiff.places import in_lane, lane_name
from ...errors import AdstackMemoryError, BackendUnavailableError
from ...ir.ops import ARRAY_ALLOC
from ...ir.structure import Kernel
from ...ir.types import ArrayType
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ...runtime.state import Runtime
from ..memory.undo import identity
from ..modes.companions import companions, names_of
from ..modes.differentiated import Differentiated
from ..modes.lanes import own_places, reversed_in_lanes, with_lanes
from ..modes.state import Names

__all__ = ["LaneMemory", "TooManyLanesError"]

MOST_BYTES: Final = 1 << 28
"""So much memory is taken beside that of the duals; with more, fewer directions go at once."""

MOST_PRIVATE: Final = 1 << 15
"""So many bytes of local arrays are added to what a thread has."""


class TooManyLanesError(Exception):
    """So many directions at once take too much memory."""


class LaneMemory:
    """The tangents along several directions, as long as one matrix is computed; and what computes them.

    Args:
        lanes: how many directions there are.

    Attributes:
        open: whether it is still being computed.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.open = True
        self._gradients: set[Hashable] = set()
        self._reversed: dict[int, tuple[Differentiated, Differentiated]] = {}
        self._bytes = 0
        self._buffers: dict[Hashable, tuple[Buffer, ...]] = {}
        self._modes: dict[tuple[Specialisation, Names, int | None], Differentiated] = {}

    def beside(self, dual: Buffer) -> Sequence[Buffer]:
        """The memory of all tangents of what has the memory `dual` beside it, which is the first of them.

        TooManyLanesError if there is not enough memory.
        """
        key = identity(dual)
        every = self._buffers.get(key)
        if every is None:
            self._bytes += (self.lanes - 1) * dual.nbytes
            if self._bytes > MOST_BYTES:
                raise TooManyLanesError
            more: list[Buffer] = []
            try:
                more += [Buffer(dual.backend, dual.dtype, dual.shape) for _ in range(1, self.lanes)]
            except AdstackMemoryError as error:
                raise TooManyLanesError from error
            every = self._buffers[key] = (dual, *more)
        return every

    def beside_gradient(self, grad: Buffer) -> Sequence[Buffer]:
        """The same for memory of gradients, or of their tangents."""
        self._gradients.add(identity(grad))
        return self.beside(grad)

    def clear(self) -> None:
        """Set all tangents and gradients to zero but those along the first direction."""
        for _, *more in self._buffers.values():
            for buffer in more:
                buffer.write(0)

    def clear_gradients(self) -> None:
        """Set the gradients to zero, and their tangents, but those along the first direction."""
        for key in self._gradients:
            for buffer in self._buffers[key][1:]:
                buffer.write(0)

    def drop(self) -> None:
        """Free the memory."""
        self.open = False
        buffers, self._buffers, self._modes, self._reversed = self._buffers, {}, {}, {}
        for _, *more in buffers.values():
            for buffer in more:
                buffer.drop()

    @property
    def is_shared(self) -> bool:
        """Whether others may look at a dual without adstack's knowledge."""
        return any(dual.shared for dual, *_ in self._buffers.values())

    def mode(self, specialisation: Specialisation, runtime: Runtime, part: int | None = None) -> Differentiated:
        """What computes the tangents of the specialisation, or of one of its parts.

        TooManyLanesError if the device has no room for so many.
        """
        key = specialisation, names_of(companions(specialisation, "dual")), part
        mode = self._modes.get(key)
        if mode is None:
            if (self.lanes - 1) * _private(specialisation.kernel) > MOST_PRIVATE:
                raise TooManyLanesError
            try:
                mode = self._modes[key] = with_lanes(specialisation, self.lanes, runtime, self.beside, part)
            except (AdstackMemoryError, BackendUnavailableError) as error:
                raise TooManyLanesError from error
        return mode

    def reverse_mode(self, mode: Differentiated, runtime: Runtime) -> Differentiated:
        """A reverse mode for all directions instead of one; TooManyLanesError if the device has no room for so many."""
        _, every = self._reversed.get(id(mode), (mode, None))
        if every is None:
            if (self.lanes - 1) * _private(mode.derived.kernel) > MOST_PRIVATE:
                raise TooManyLanesError
            try:
                every = reversed_in_lanes(mode, self.lanes, runtime, self.beside)
            except (AdstackMemoryError, BackendUnavailableError) as error:
                raise TooManyLanesError from error
            self._reversed[id(mode)] = mode, every
        return every

    def reversed_arrays(self, one: Differentiated, call: Call) -> dict[str, Buffer]:
        """The memory of a call's array arguments for the launch of a reverse mode in all directions."""
        arrays = {name: call.arrays[name] for name, place in own_places(one).items() if place.kind == "ndarray"}
        return {
            lane_name(name, lane): buffer
            for name, first in arrays.items()
            for lane, buffer in enumerate(self.beside(first))
        }

    def arrays(self, mode: Differentiated, call: Call) -> dict[str, Buffer]:
        """The memory of the tangents of a call's array arguments, by the names of the places."""
        duals = [(place, call.arrays[place.name]) for place in mode.companions.values() if place.kind == "ndarray"]
        return {
            in_lane(place, lane).name: buffer for place, dual in duals for lane, buffer in enumerate(self.beside(dual))
        }


def _private(kernel: Kernel) -> int:
    """Bytes of the local arrays of real numbers that a thread has."""
    types = [op.result.type for op in kernel.body.walk() if op.opdef is ARRAY_ALLOC]
    return sum(t.length * t.dtype.size for t in types if isinstance(t, ArrayType) and t.dtype.is_float)
