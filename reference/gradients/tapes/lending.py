"""Arrays of the host that calls read which a tape follows: numpy's, torch's.

Such calls are the same on any array of the same kind. What each holds is noted when the call is made, see
`runtime/protocol/following.py`, so that the gradient is right whoever writes the array later.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...ir.types import DType
from ...launch.arguments import Call
from ...runtime.memory.buffers import Buffer
from ...runtime.protocol.following import Lent, Sequenced
from ...runtime.protocol.shortcuts import HostArgument
from ..memory.undo import identity

if TYPE_CHECKING:
    from ...runtime.protocol.backend import Backend
    from ...values.kinds import KernelObject
    from ..events import Launch

__all__ = ["Lending", "LentArray", "lent_arrays", "without"]

_MOST_BYTES: Final = 1 << 26
"""So many bytes are noted for the calls of a program before one needs to hold what another did on the same array."""


class LentArray(NamedTuple):
    """An array of the host among the arguments of a call.

    Attributes:
        argument: which it is.
        place: what it stands for.
        dtype, shape: what it holds.
        memory: where it was when the call was learned: equal for the same array.
        is_needed: whether the reverse mode, or another one later, reads it.
    """

    argument: int
    place: str
    dtype: DType
    shape: tuple[int, ...]
    memory: Hashable
    is_needed: bool


def lent_arrays(kernel: KernelObject, args: Sequence[Any], launch: Launch) -> tuple[LentArray, ...]:
    """The arrays of the host that a launch reads as they are, and that neither it nor its reverse mode writes."""
    call, mode, records = launch.call, launch.mode, launch.specialisation.records
    if all(buffer.owned for buffer in call.arrays.values()):
        return ()
    written = launch.specialisation.plan.compiled.written
    needed = set(() if records is None else records.arrays)
    copied = {loan.place for loan in call.loans or () if loan.copy is not None}
    if mode is not None:
        written, needed = written | mode.plan.compiled.written, needed | mode.plan.arguments.keys()
        copied |= {*mode.beside.values()}
    arrays = []
    for at, described in enumerate(kernel.described(tuple(args)) or ()):
        if isinstance(described, HostArgument) and described.place not in written | copied:
            buffer, place = call.arrays[described.place], described.place
            arrays.append(LentArray(at, place, buffer.dtype, buffer.shape, identity(buffer), place in needed))
    return tuple(arrays)


def without(call: Call, lent: Sequence[LentArray]) -> Call:
    """A call without such arrays, whose memory it does not keep alive."""
    if not lent:
        return call
    places, copy = {one.place for one in lent}, Call()
    copy.key, copy.scalars, copy.seeds = call.key, call.scalars, call.seeds
    copy.arrays = {name: buffer for name, buffer in call.arrays.items() if name not in places}
    return copy


class Lending:
    """Memory for what the arrays hold that the calls of a program are passed.

    Args:
        backend: where they run.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._latest: dict[Hashable, tuple[Lent, Buffer]] = {}
        self._nbytes = 0
        self._buffers: dict[int, Buffer] = {}

    def of(self, lent: Sequence[LentArray]) -> tuple[list[Lent], dict[str, Buffer]]:
        """Those of the next call, and by place memory that its reverse mode finds them in at first.

        AdstackMemoryError if there is no memory.
        """
        noted, memory = list[Lent](), dict[str, Buffer]()
        for one in lent:
            earlier, buffer = self._latest.get((one.memory, one.shape, one.dtype), (None, None))
            nbytes = math.prod(one.shape) * one.dtype.size if one.is_needed else 0
            own = None
            if buffer is None or (nbytes and self._nbytes + nbytes <= _MOST_BYTES):
                own = buffer = Buffer(self._backend, one.dtype, one.shape)
                self._nbytes += nbytes
            storage = None if own is None else own.storage
            noted.append(Lent(one.argument, one.place, nbytes, storage, earlier))
            memory[one.place] = buffer
        return noted, memory

    def add(self, lent: Sequence[LentArray], noted: Sequence[Lent], memory: Mapping[str, Buffer]) -> None:
        """The next call is one of the program, with what `of` gave."""
        for one, its in zip(lent, noted, strict=True):
            buffer = memory[one.place]
            self._buffers[self._backend.address(buffer.storage)] = buffer
            if its.nbytes:
                self._latest[one.memory, one.shape, one.dtype] = its, buffer

    def held(self, noted: Sequence[Lent], sequence: Sequenced) -> Iterator[tuple[str, Buffer]]:
        """(place, memory) of what the arrays held when a call was served last, of those that are noted."""
        return ((one.place, self._buffers[sequence.noted(one)]) for one in noted if one.nbytes)
