"""What a tape can't link is an error: a loss that nothing computes, and numbers that go where adjoints do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...data.device_arrays import is_torch
from ...errors import AdstackRuntimeError
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ...values.linked import Linked
from ..events import CustomCall, Event, HostWrites, Launch
from ..memory.undo import identity
from ..scalar_arguments import active_parameters, unlink
from .aliases import check_apart
from .links import Linking, Links
from .losses import Loss
from .run import Run

__all__ = ["check_reached", "check_scalars"]

Calls = Sequence[tuple[Any, tuple[Any, ...]]]
"""(kernel, arguments) of calls."""


def check_reached(
    loss: Loss, events: Sequence[Event], gradients: Callable[[], Iterable[Buffer]], calls: Callable[[], Calls]
) -> None:
    """An error if launches were recorded, none of them computes the loss, and so all gradients would be zero; or if
    they have memory by different names.

    Args:
        loss: of the tape.
        events: what it recorded.
        gradients: gives memory of gradients that a caller may have filled: what they hold is propagated, too.
        calls: gives what was called: (kernel, arguments).
    """
    check_apart(events)
    if not any(isinstance(event, (Launch, Run)) for event in events) or _is_reached(loss, events, calls):
        return
    own = None if is_torch(loss.data) else loss.data.grad.buffer
    if any(gradient is not own and np.any(gradient.read()) for gradient in gradients()):
        return
    label = "tensor" if is_torch(loss.data) else loss.data.label
    raise AdstackRuntimeError(
        f"nothing that the Tape recorded computes its loss, {label}: all gradients would be zero",
        note="float(), math, numpy and formatting make plain numbers, which are constants",
        do="let a kernel write the loss, or store what a kernel returns as it is: loss[None] = k()",
    )


def _is_reached(loss: Loss, events: Sequence[Event], calls: Callable[[], Calls]) -> bool:
    """Whether an adjoint of the loss may reach a launch."""
    if is_torch(loss.data):
        return any(is_torch(argument) for _, args in calls() for argument in args)
    grad, memory = loss.data.grad.buffer, identity(loss.data.buffer)
    for event in reversed(events):
        if isinstance(event, Linking):
            if event.grad is grad:
                return event.is_linked
        elif isinstance(event, HostWrites):
            if any(one.grad is grad and one.mask.any() for one in event.overwritten):
                return False
        elif isinstance(event, CustomCall) or event.computes(memory):
            return True
    return False


# ---- scalar arguments


def check_scalars(specialisation: Specialisation, call: Call, links: Links, events: Sequence[Event]) -> None:
    """An error for a scalar argument that depends on a recorded launch, if something differentiated depends on it."""
    if not any(isinstance(scalar, Linked) for scalar in call.scalars):
        return
    active = active_parameters(specialisation, "grad")
    for param, scalar in zip(specialisation.kernel.params, call.scalars, strict=True):
        origin = links.origin(scalar) if param in active else ""
        if origin:
            name = specialisation.kernel.name
            raise AdstackRuntimeError(
                f"the argument {param.name} of {name} depends on what {origin} returned, and scalar "
                "arguments have no gradient",
                loc=specialisation.kernel.loc,
                do=f"store the number in a field of shape () with needs_grad=True and read that in {name}, "
                "or write float(...) around it if it is a constant",
            )
    unlink(call)
