"""Why Python served a call, and not machine code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..launch.specialisation import Specialisation
from ..runtime import state
from ..runtime.protocol.abilities import serving
from ..runtime.threads.recording import in_charge
from ..values.specs import ScalarSpec

if TYPE_CHECKING:
    from ..kernels.kernel import Kernel

__all__ = ["FIRST", "reason", "reason_of_gradient", "recorder"]

FIRST = "the first call of its kind: compiled, or handed to machine code from the next one on"


def recorder() -> str:
    """What records the calls of this thread, in words; "" if nothing does."""
    owner = in_charge()
    return "" if owner is None else f"recorded: {type(owner).__name__}"


def reason(kernel: Kernel, args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    """Why machine code did not serve a call that has been served; nothing is launched."""
    if kwargs:
        return "arguments by name: machine code knows them by their position"
    specialisation, _, _ = kernel.prepared(args, kwargs)
    return _of_kernel(specialisation) or _of_arguments(kernel, args) or FIRST


def reason_of_gradient() -> str:
    """Why machine code did not serve a call of a reverse mode outside a tape and a graph."""
    if serving(state.current().backend) is None:
        return "the backend has no machine code for calls"
    return "the first call of its kind, or what the launch read has to be looked at before adjoints go through it"


def _of_kernel(specialisation: Specialisation) -> str:
    """What keeps every call of a kernel from machine code."""
    plan, records = specialisation.plan, specialisation.records
    if serving(plan.backend) is None:
        return f"the backend {plan.backend.capabilities.name} has no machine code for calls"
    if plan.compiled.races is not None:
        return "debug mode: launches are checked for races"
    if not (specialisation.returns is None or isinstance(specialisation.returns, ScalarSpec)):
        return "it returns more than a number"
    if records is not None and records.notes:
        return "launches are noted for .grad(): something overwrites what that needs"
    if plan.is_watched:
        return "its memory is watched, by a tape or by launches that .grad() needs, or shared with a stream"
    return ""


def _of_arguments(kernel: Kernel, args: tuple[object, ...]) -> str:
    """What machine code does not take."""
    if kernel.described(args) is not None:
        return ""
    kinds = ", ".join(dict.fromkeys(type(value).__name__ for value in args))
    return f"machine code does not take such arguments: {kinds}"
