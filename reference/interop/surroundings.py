"""What a launch works with beside the arrays that the other library keeps: attributes, numbers, and other memory.

The library asks for a derivative long after the launch, and nobody keeps these for it. So what they were is noted at
the launch, and a derivative that would use something else is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import AdstackDataAccessError
from ..launch.arguments import Call
from ..launch.specialisation import Specialisation
from ..runtime.memory.buffers import Array, Buffer
from ..runtime.memory.scalar_bits import scalar_bits

__all__ = ["Surroundings"]


@dataclass(frozen=True)
class _Memory:
    """Memory as it was at a launch.

    Attributes:
        version: what a buffer says that only adstack writes.
        contents: a copy of what others may write, of which versions do not tell; None elsewhere.
    """

    version: int
    contents: Array | None

    @staticmethod
    def of(memory: Buffer | Array) -> _Memory:
        """The memory as it is now."""
        if isinstance(memory, Buffer) and memory.owned and not memory.shared:
            return _Memory(memory.version, None)
        return _Memory(0, np.array(_read(memory)))

    def is_same(self, memory: Buffer | Array) -> bool:
        """Whether it certainly holds the same bits."""
        if self.contents is None:
            return self == _Memory.of(memory)
        contents = _read(memory)
        return contents.shape == self.contents.shape and contents.tobytes() == self.contents.tobytes()


@dataclass(frozen=True)
class Surroundings:
    """What was there at a launch.

    Attributes:
        specialisation: what was launched, with all that is compiled in.
        key: of the call; threads that make the first calls of one key at a time may compile it more than once.
        scalars: the numbers that were passed, those in vectors and structs included, as bytes.
        memory: by the name of the place.
    """

    specialisation: Specialisation
    key: Sequence[object]
    scalars: bytes
    memory: Mapping[str, _Memory]

    @staticmethod
    def of(specialisation: Specialisation, call: Call, names: Collection[str]) -> Surroundings:
        """What is there now, of memory the places `names`."""
        memory = {name: _Memory.of(memory) for name, memory in _memory(specialisation, call, names)}
        return Surroundings(specialisation, [*call.key], _bits(specialisation, call), memory)

    def check(self, specialisation: Specialisation, call: Call) -> None:
        """AdstackDataAccessError if a call would not find the same."""
        if specialisation is not self.specialisation and not (
            self.key == call.key and self.specialisation.is_current()
        ):
            raise self._changed("what is compiled in, such as attributes of objects", "has changed")
        if _bits(specialisation, call) != self.scalars:
            raise self._changed("the numbers that it was passed", "have changed")
        for name, memory in _memory(specialisation, call, self.memory):
            if not self.memory[name].is_same(memory):
                raise self._changed(specialisation.kernel.places[name].label or name, "has been written")

    def _changed(self, what: str, how: str) -> AdstackDataAccessError:
        kernel = self.specialisation.kernel
        return AdstackDataAccessError(
            f"the derivative of {kernel.name} needs {what}, which {how} since the launch",
            loc=kernel.loc,
            do="change it when the derivative has been computed, or pass it as an array of the other library, which is "
            "kept",
        )


def _bits(specialisation: Specialisation, call: Call) -> bytes:
    return scalar_bits(specialisation.plan.compiled.program.params, call.scalars)


def _memory(specialisation: Specialisation, call: Call, names: Collection[str]) -> Iterator[tuple[str, Buffer | Array]]:
    """Of each place its memory: the array that was passed where a launch works on a copy, which it fills then."""
    passed = {loan.place: loan.original for loan in call.loans or () if loan.copy is not None}
    memory: dict[str, Buffer | Array] = {**specialisation.plan.buffers, **call.arrays, **passed}
    return ((name, memory[name]) for name in names)


def _read(memory: Buffer | Array) -> Array:
    return np.asarray(memory.read() if isinstance(memory, Buffer) else memory)
