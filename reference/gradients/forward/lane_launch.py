"""What a tape records of a launch that follows several directions: `LaneLaunch`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from ...autodiff.places import lane_name
from ...errors import AdstackRuntimeError
from ...launch.arguments import Call
from ...launch.results import result_value
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ...runtime.state import Runtime
from ..events import Launch
from ..memory.undo import Touched
from ..modes.companions import companion_memory
from ..modes.differentiated import Differentiated
from ..modes.footprints import Region

__all__ = ["LaneLaunch", "LaneLaunches"]


class LaneLaunches(Protocol):
    """Who makes such launches."""

    @property
    def is_open(self) -> bool:
        """Whether there is still memory for the directions."""

    def beside(self, dual: Buffer) -> Sequence[Buffer]:
        """The memory of all tangents, from that of those along the first direction."""

    def beside_gradient(self, grad: Buffer) -> Sequence[Buffer]:
        """The same for gradients and their tangents."""

    def launched(self, specialisation: Specialisation, call: Call, runtime: Runtime, part: int | None) -> Sequence[Any]:
        """Launch a specialisation, or one of its parts, along all directions.

        What comes back are scalars; the tangents of one number stand side by side.
        """

    def reverse_mode(self, mode: Differentiated, runtime: Runtime) -> Differentiated:
        """A reverse mode, for all directions instead of one."""

    def reversed(self, one: Differentiated, every: Differentiated, call: Call, more: Mapping[str, Buffer]) -> None:
        """Launch a reverse mode for all directions, made of that for one, with memory for more places."""


@dataclass
class LaneLaunch(Launch):
    """A launch of a kernel with tangents along several directions.

    `specialisation` and `mode` are those for one direction: they say what memory matters, and each direction has its
    own of what depends on it.

    Attributes:
        plain: computes the values alone.
        part: which part of it this is; None if it is all of it.
        lanes: makes the launches.
        count: how many directions there are.
        runtime: what they are compiled for.
    """

    plain: Specialisation
    part: int | None
    lanes: LaneLaunches
    count: int
    runtime: Runtime

    def launch(self) -> object:
        """See `Launch.launch`; what a kernel for the first direction alone returns."""
        scalars = self.lanes.launched(self.plain, self.call, self.runtime, self.part)
        returns, own = self.specialisation.returns, len(self.plain.kernel.returns)
        return None if returns is None else result_value(returns, [*scalars[:own], *scalars[own :: self.count]])

    def buffer_of(self, name: str) -> Buffer | None:
        """See `Launch.buffer_of`; names of lanes are known, too."""
        first, lane = self._lanes_of.get(name, (name, 0))
        buffer = super().buffer_of(first)
        return buffer if buffer is None or not lane else self.lanes.beside(buffer)[lane]

    @cached_property
    def _lanes_of(self) -> dict[str, tuple[str, int]]:
        """What the tangents along a direction are called -> what those along the first are called, and the lane."""
        lanes = range(1, self.count)
        return {lane_name(name, lane): (name, lane) for name in self.specialisation.tangents for lane in lanes}

    def touched(self, regions: Iterable[Region]) -> list[Touched]:
        """See `Launch.touched`; of what has tangents, along all directions."""
        return super().touched([one for region in regions for one in self._everywhere(region)])

    def _everywhere(self, region: Region) -> list[Region]:
        """The same elements along all directions."""
        name, label, boxes = region
        count = self.count if name in self.specialisation.tangents else 1
        return [(lane_name(name, lane), label, boxes) for lane in range(count)]

    @property
    def gradients(self) -> Iterator[tuple[Buffer, Buffer]]:
        """See `Launch.gradients`: a tangent has a gradient, anything else the tangents of one."""
        for name, place in ({} if self.mode is None else self.mode.companions).items():
            first = companion_memory(self.specialisation, self.call, name, place, "grad")
            for lane, grad in enumerate(self.lanes.beside_gradient(first)):
                primal = self.buffer_of(lane_name(name, lane) if name in self.specialisation.tangents else name)
                assert primal is not None
                yield primal, grad

    def _propagate(self, mode: Differentiated) -> None:
        if not self.lanes.is_open:
            raise AdstackRuntimeError(
                "this Tape recorded several directions at once, whose memory is gone", do="differentiate when it ends"
            )
        every = self.lanes.reverse_mode(mode, self.runtime)
        before = self._before(every)
        try:
            self.lanes.reversed(mode, every, self.call, before)
        finally:
            for buffer in before.values():
                buffer.drop()
