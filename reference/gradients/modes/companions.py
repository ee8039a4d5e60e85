"""The memory of gradients and duals that stands beside what a kernel touches."""

from __future__ import annotations

from ...data.fields import PLACED, Field
from ...data.ndarrays import Ndarray
from ...errors import AdstackRuntimeError
from ...ir.structure import Kernel, Place
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.derived import has_outputs, inputs
from ...runtime.memory.buffers import Buffer
from .state import Accompanied, Names, Role, state_of

__all__ = ["accompanied", "check_storage", "companion_memory", "companions", "field_beside", "names_of"]


def companions(made: Specialisation, role: Role) -> dict[str, Place]:
    """Primal place name -> the place of its gradient or dual, where there is memory for it."""
    return {place.name: _beside(made, place, role) for place in accompanied(made, role)}


def names_of(places: dict[str, Place]) -> Names:
    """The names of the primal places among companions, as keys have them."""
    return tuple(sorted(places))


def accompanied(made: Specialisation, role: Role) -> list[Place]:
    """The primal places with such memory beside them: the same list until some field gets or loses its memory."""
    state = state_of(made)
    known = state.accompanied.get(role)
    if known is not None and known.placed == PLACED[0]:
        return known.places
    real = state.real.get(role)
    if real is None:
        real = state.real[role] = _real(made.kernel, role)
    placed = PLACED[0]
    places = [place for place in real if place.kind == "ndarray" or _has(made.fields[place.name], role)]
    state.accompanied[role] = Accompanied(placed, places)
    return places


def companion_memory(made: Specialisation, call: Call, name: str, place: Place, role: Role) -> Buffer:
    """The memory of the gradient or dual `place` of a primal place `name`."""
    return call.arrays[place.name] if place.kind == "ndarray" else field_beside(made, name, role).buffer


def field_beside(made: Specialisation, name: str, role: Role) -> Field | Ndarray:
    """The gradient or dual of the field or ndarray that a primal place stands for."""
    beside = _role_of(made.fields[name], role)
    assert beside is not None
    return beside


def _role_of(data: Field | Ndarray, role: Role) -> Field | Ndarray | None:
    return data.grad if role == "grad" else data.dual


def _beside(made: Specialisation, place: Place, role: Role) -> Place:
    if place.kind == "ndarray":
        return made.kernel.places[f"{place.name}.{role}"]
    return field_beside(made, place.name, role).place


def _real(kernel: Kernel, role: Role) -> list[Place]:
    """The primal places of real numbers; of array arguments those that come with more."""
    real = [place for place in kernel.places.values() if place.role == "primal" and place.dtype.is_float]
    return [p for p in real if p.kind == "field" or (p.kind == "ndarray" and f"{p.name}.{role}" in kernel.places)]


def _has(data: Field | Ndarray, role: Role) -> bool:
    beside = _role_of(data, role)
    return beside is not None and beside.is_placed


def check_storage(made: Specialisation, role: Role = "grad") -> None:
    """An error if the kernel makes real numbers of real numbers, and all that it reads counts as constant.

    A kernel that reads no real numbers, or writes none, is no mistake: its derivative is zero everywhere.
    """
    reads = inputs(made.kernel)
    if reads and reads.isdisjoint(companions(made, role)) and has_outputs(made.kernel):
        labels = ", ".join(sorted(made.kernel.places[name].label or name for name in reads))
        raise AdstackRuntimeError(
            f"{made.kernel.name}.grad(): nothing that the kernel reads has a gradient ({labels})",
            loc=made.kernel.loc,
            do="make what is to be differentiated with needs_grad=True, or place its .grad",
        )
