"""What forward mode around a tape changes: the tape records the launches with their tangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...errors import AdstackRuntimeError
from ...launch.arguments import Call
from ...launch.results import result_value
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.memory.clearing import fill
from ...runtime.state import Runtime
from ...runtime.threads.recording import RECORDERS, Constant, Forward, in_charge, is_recording
from ..clearing import clear_all
from ..events import Launch
from ..modes.companions import accompanied
from ..modes.jvp import has_second, refuse_partial
from .links import Links
from .losses import Loss

__all__ = ["Around"]

_ORIGIN: Final = "the host in forward mode"
_WHY: Final = "there are no second derivatives of what the host computes"


class Around:
    """What is in force where a tape is opened.

    Attributes:
        forward: forward mode; None if there is none, and then nothing here makes a difference.
    """

    def __init__(self, forward: Forward | None = None) -> None:
        self.forward = forward

    @classmethod
    def here(cls, loss: Loss) -> Around:
        """What is in force in this thread; AdstackRuntimeError if it is a tape, or the loss has no dual."""
        if not RECORDERS:
            return _ALONE
        recorder: object = in_charge()
        if recorder is None or not isinstance(recorder, Forward):  # protocols are slow to ask
            if is_recording():
                raise AdstackRuntimeError("a Tape can't be opened inside another Tape", do="leave that first")
            return _ALONE
        if getattr(loss.data, "dual", None) is None or not loss.data.dual.is_placed:
            raise AdstackRuntimeError(
                "the loss of a Tape inside FwdMode has no dual",
                do="make it with needs_dual=True, or leave FwdMode first",
            )
        return cls(recorder)

    def launched(
        self, kernel: Any, specialisation: Specialisation, call: Call, runtime: Runtime, args: Sequence[object]
    ) -> tuple[Specialisation, Call]:
        """What is launched and differentiated for a call that `specialisation` would serve.

        AdstackRuntimeError if it has tangents, and something has a gradient and no dual.
        """
        if self.forward is None:
            return specialisation, call
        jvp: Specialisation = self.forward.enter(kernel, specialisation, call, runtime)
        if jvp is not specialisation:
            if accompanied(specialisation, "grad"):
                refuse_partial(specialisation)
            if has_second(specialisation):
                call = self.forward.second(kernel, call, args)
        return jvp, call

    def recorded(self, launches: list[Launch], plain: Specialisation, runtime: Runtime) -> list[Launch]:
        """The launches to record for a call that `plain` would serve, in all directions that forward mode follows."""
        return launches if self.forward is None else self.forward.recorded(launches, plain, runtime)

    def returned(self, specialisation: Specialisation, scalars: Sequence[Any], links: Links) -> Any:
        """What the user gets of what a launch with tangents returned: numbers that no gradient can be taken of."""
        if specialisation.returns is None:
            return None
        value = result_value(specialisation.returns, scalars[: len(specialisation.kernel.returns)])
        return links.refused(specialisation.returns, value, _WHY, _ORIGIN)

    def looked(self, array: Any) -> None:
        """The host reads an array."""
        if self.forward is not None:
            self.forward.host_looked(array)

    def begin(self, loss: Loss, constant: Constant, *, clears: bool, checks: bool) -> None:
        """The tape begins to record: the loss starts from zero, and so do gradients if the tape `clears` them.

        Args:
            loss: of the tape.
            constant: is told which tangents are zero because other threads have written what they are beside.
            clears: whether gradients start from zero.
            checks: whether the tape checks something.
        """
        if self.forward is None:
            start = loss.starting()
            if clears:
                clear_all("grad", also=start)
            else:
                fill(start)
            return
        if clears:
            clear_all("grad")
        self.forward.open_tape(constant, plain=clears and not checks)
        loss.start()

    def read(self, value: float, links: Links) -> Any:
        """A `value` that the host has read of memory that has a gradient: a number that no gradient can be taken of."""
        return links.refused_number(value, _WHY, _ORIGIN)

    def written(self, array: Any, where: Any, entries: Sequence[Any] = ()) -> list[Buffer]:
        """The memory that the host's write is about, tangents included, which are written here."""
        if self.forward is None:
            return [array.buffer]
        if entries:
            self.forward.host_linked(array, where, entries)
        else:
            self.forward.host_wrote(array, where)
        has_dual = array.dual is not None and array.dual.is_placed
        return [array.buffer, *self.forward.beside(array.dual.buffer)] if has_dual else [array.buffer]

    def gradients(self, array: Any) -> list[tuple[Buffer, Buffer]]:
        """(memory, memory of its gradients) of an array that has one: in forward mode also of its tangents.

        The gradient of a tangent is the gradient, and that of what has tangents is the tangent of the gradient.
        """
        if self.forward is None:
            return [(array.buffer, array.grad.buffer)]
        seconds = self.forward.beside_gradient(array.grad.dual.buffer)
        firsts = self.forward.beside_gradient(array.grad.buffer)
        tangents = self.forward.beside(array.dual.buffer)
        return [*((array.buffer, second) for second in seconds), *zip(tangents, firsts, strict=True)]

    def may_copy(self, *arrays: Any) -> bool:
        """Whether arrays that have gradients can be copied to each other at once: in forward mode all have duals."""
        return self.forward is None or all(one.dual is not None and one.dual.is_placed for one in arrays)

    def copy(self, array: Any, source: Any, copy: Callable[[], Array | None]) -> Array | None:
        """Let `copy` write an array with all elements of another; in forward mode their tangents come along.

        What it returns is returned: which elements of the source were active, or None for all.
        """
        active = copy()
        if self.forward is None:
            return active
        for one in (array, source):
            self.forward.host_looked(one)
        for tangents, of_source in zip(*(self.forward.beside(one.dual.buffer) for one in (array, source)), strict=True):
            tangents.write(of_source.read() if active is None else np.where(active, of_source.read(), 0))
        return active

    def seed(self, loss: Loss) -> None:
        """The loss's gradient is the same in every direction."""
        if self.forward is not None:
            gradient = loss.data.grad
            for buffers, number in ((gradient.buffer, 1.0), (gradient.dual.buffer, 0.0)):
                for buffer in self.forward.beside_gradient(buffers):
                    buffer.write(number)

    def refuse(self, function: Any, what: str) -> None:
        """AdstackRuntimeError within forward mode: the function has no second derivative, as `what` says."""
        if self.forward is not None:
            raise AdstackRuntimeError(
                f"{function.__name__} {what}, and there are no second derivatives of it",
                do="call it outside of qd.ad.FwdMode, or without a Tape",
            )


_ALONE: Final = Around()
"""Nothing is in force."""
