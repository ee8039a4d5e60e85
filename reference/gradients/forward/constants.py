"""What is constant in forward mode: scalar arguments, which have to be, and what is under `no_grad`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from ...errors import AdstackRuntimeError
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ...values.linked import Linked
from ..no_grad import Constants, Mask, Pair
from ..scalar_arguments import active_parameters, unlink

__all__ = ["ForwardConstants", "check_constants"]


class Moving(Protocol):
    """Forward mode, as far as what is constant matters to it."""

    def check_plain(self, specialisation: Specialisation, call: Call) -> None:
        """Refuse a launch that can't be made without tangents."""

    def check_array(self, array: Any) -> None:
        """Refuse an array that the host may not write to."""

    def take(self, primal: Buffer, dual: Buffer) -> None:
        """Work with memory that has duals."""

    def beside(self, dual: Buffer) -> Sequence[Buffer]:
        """The memory of tangents along all directions, of which the first has `dual`."""


class ForwardConstants(Constants):
    """What forward mode puts in charge inside of a function under `no_grad`: duals of what is written become zero.

    Args:
        mode: forward mode.
    """

    def __init__(self, mode: Moving) -> None:
        super().__init__("dual")
        self._mode = mode

    def begin(self, specialisation: Specialisation, call: Call) -> None:
        """See `Constants.begin`."""
        self._mode.check_plain(specialisation, call)
        super().begin(specialisation, call)

    def touch(self, pairs: Iterable[Pair]) -> None:
        """See `Constants.touch`."""
        for primal, dual in pairs:
            self._mode.take(primal, dual)

    def overwrite(self, companion: Buffer, mask: Mask) -> None:
        """See `Constants.overwrite`."""
        positions = np.flatnonzero(mask)
        for buffer in self._mode.beside(companion):
            buffer.exchange(positions, np.zeros(len(positions), buffer.dtype.numpy))

    def host_wrote(self, array: Any, where: Any) -> None:
        """See `Constants.host_wrote`."""
        self._mode.check_array(array)
        super().host_wrote(array, where)


def check_constants(specialisation: Specialisation, call: Call) -> None:
    """In forward mode, AdstackRuntimeError if a call passes a number with a dual as a scalar argument that matters.

    It matters if something with a dual depends on the parameter. The call passes plain numbers afterwards.
    """
    if not any(isinstance(scalar, Linked) for scalar in call.scalars):
        return
    active = active_parameters(specialisation, "dual")
    name = specialisation.kernel.name
    for param, scalar in zip(specialisation.kernel.params, call.scalars, strict=True):
        if param in active and isinstance(scalar, Linked) and scalar.chain.open and scalar.dual != 0.0:
            raise AdstackRuntimeError(
                f"the argument {param.name} of {name} has a dual of {scalar.dual}, and scalar arguments are constants",
                loc=specialisation.kernel.loc,
                do=f"store the number in a field of shape () with needs_dual=True and read that in {name}, "
                "or write float(...) around it if it is a constant",
            )
    unlink(call)
