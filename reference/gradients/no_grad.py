"""What is in charge inside of functions under `no_grad`: launches are plain, and what they write is constant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..ir.types import i32
from ..launch.arguments import Call
from ..launch.specialisation import Specialisation
from ..runtime.memory.buffers import Buffer
from .modes.companions import companion_memory, companions
from .modes.compiled import marking_writes
from .modes.differentiated import with_arrays
from .modes.state import Role

__all__ = ["Constants", "Mask", "Pair", "beside", "beside_array"]

Pair: TypeAlias = tuple[Buffer, Buffer]
"""Memory, and the memory of its gradients or duals."""
Mask: TypeAlias = npt.NDArray[np.bool_]


class Constants(ABC):
    """Lets launches be plain, and finds which elements with a gradient, or with a dual, they and the host overwrite.

    Args:
        role: which of the two.
    """

    def __init__(self, role: Role) -> None:
        self.role: Role = role

    def begin(self, specialisation: Specialisation, call: Call) -> None:
        """A launch is about to be made."""
        self.touch(beside(specialisation, call, self.role))

    @abstractmethod
    def touch(self, pairs: Iterable[Pair]) -> None:
        """Something is about to use memory that has such memory beside it."""

    @abstractmethod
    def overwrite(self, companion: Buffer, mask: Mask) -> None:
        """Elements hold constants now: those where the mask of the shape of their gradients, or duals, is true."""

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch a kernel, and return what it returns, as a constant."""
        specialisation, call, runtime = kernel.prepared(args, kwargs)
        self.begin(specialisation, call)
        written = marking_writes(specialisation, self.role, runtime)
        if not written.marks:
            return specialisation.launch(call)
        places = companions(specialisation, self.role)
        buffers = {**specialisation.plan.buffers, **call.arrays}
        marks = {mark: Buffer(runtime.backend, i32, buffers[name].shape) for mark, name in written.marks.items()}
        try:
            result = written.forward.run(with_arrays(call, marks))
            masks = {name: marks[mark].read() != 0 for mark, name in written.marks.items()}
        finally:
            for buffer in marks.values():
                buffer.drop()
        if specialisation.records is not None:
            specialisation.records.note_taped(call)
        for name, mask in masks.items():
            if mask.any():
                self.overwrite(companion_memory(specialisation, call, name, places[name], self.role), mask)
        return result

    def host_wrote(self, array: Any, where: Any) -> None:
        """The elements hold constants from now on."""
        for primal, companion in beside_array(array, self.role):
            self.touch([(primal, companion)])
            mask = np.zeros(companion.shape, bool)
            mask[where] = True
            if mask.any():
                self.overwrite(companion, mask)


def beside(specialisation: Specialisation, call: Call, role: Role) -> Iterator[Pair]:
    """The memory that a launch may touch and that has gradients, or duals, with these."""
    for name, place in companions(specialisation, role).items():
        primal = specialisation.plan.buffers.get(name) or call.arrays.get(name)
        if primal is not None:
            yield primal, companion_memory(specialisation, call, name, place, role)


def beside_array(array: Any, role: Role) -> list[Pair]:
    """The memory of a field or an array, with that of its gradient or dual if it has one."""
    companion = array.grad if role == "grad" else array.dual
    return [(array.buffer, companion.buffer)] if companion is not None and companion.is_placed else []
