"""The memory of gradients and duals that stands beside what a kernel touches.

Reverse mode of a kernel that computes tangents (`jvp.py`) has two adjoints for each number x. That of its tangent is
the gradient; that of x itself is the tangent of the gradient, since d/dx of <g, J x'> is the derivative of J^T g along
x'. So the former has its memory at `x.grad`, the latter at `x.grad.dual`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...data.fields import Field
from ...data.ndarrays import Ndarray
from ...data.placement import PLACED
from ...errors import AdstackRuntimeError
from ...ir.structure import Place
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.derived import has_outputs, inputs
from ...runtime.memory.buffers import Buffer
from ...values.specs import NdarraySpec, Spec, StructSpec
from .state import Accompanied, Names, Role, state_of

__all__ = [
    "accompanied",
    "check_demanded",
    "check_storage",
    "companion_memory",
    "companions",
    "field_beside",
    "names_of",
]


def companions(specialisation: Specialisation, role: Role) -> dict[str, Place]:
    """Primal place name -> the place of its gradient or dual, where there is memory for it."""
    return {place.name: _beside(specialisation, place, role) for place in accompanied(specialisation, role)}


def names_of(places: dict[str, Place]) -> Names:
    """The names of the primal places among companions, as keys have them."""
    return tuple(sorted(places))


def accompanied(specialisation: Specialisation, role: Role) -> list[Place]:
    """The primal places with such memory beside them: the same list until some field gets or loses its memory."""
    state = state_of(specialisation)
    latest = state.accompanied.get(role)
    if latest is not None and latest.placed == PLACED[0]:
        return latest.places
    real = state.real.get(role)
    if real is None:
        real = state.real[role] = _real(specialisation, role)
    placed = PLACED[0]
    places = [place for place in real if place.kind == "ndarray" or _has(specialisation, place.name, role)]
    state.accompanied[role] = Accompanied(placed, places)
    return places


def companion_memory(specialisation: Specialisation, call: Call, name: str, place: Place, role: Role) -> Buffer:
    """The memory of the gradient or dual `place` of a primal place `name`."""
    return call.arrays[place.name] if place.kind == "ndarray" else field_beside(specialisation, name, role).buffer


def field_beside(specialisation: Specialisation, name: str, role: Role) -> Field | Ndarray:
    """The gradient or dual of the field or ndarray that a primal place stands for."""
    beside = _field_beside(specialisation, name, role)
    assert beside is not None
    return beside


def _field_beside(specialisation: Specialisation, name: str, role: Role) -> Field | Ndarray | None:
    data: Field | Ndarray = specialisation.fields[specialisation.tangents.get(name, name)]
    if role == "dual":
        return data.dual
    return (
        data.grad.dual
        if specialisation.tangents and name not in specialisation.tangents and data.grad is not None
        else data.grad
    )


def _name_beside(specialisation: Specialisation, name: str, role: Role) -> str:
    """The name of the gradient or dual of an array argument."""
    if role == "dual":
        return f"{name}.dual"
    return (
        f"{specialisation.tangents[name]}.grad"
        if name in specialisation.tangents
        else f"{name}.grad{'.dual' if specialisation.tangents else ''}"
    )


def _beside(specialisation: Specialisation, place: Place, role: Role) -> Place:
    if place.kind == "ndarray":
        return specialisation.kernel.places[_name_beside(specialisation, place.name, role)]
    return field_beside(specialisation, place.name, role).place


def _real(specialisation: Specialisation, role: Role) -> list[Place]:
    """The primal places of real numbers; of array arguments those that come with more."""
    places = specialisation.kernel.places
    real = [place for place in places.values() if place.role == "primal" and place.dtype.is_float]
    return [
        p
        for p in real
        if p.kind == "field" or (p.kind == "ndarray" and _name_beside(specialisation, p.name, role) in places)
    ]


def _has(specialisation: Specialisation, name: str, role: Role) -> bool:
    beside = _field_beside(specialisation, name, role)
    return beside is not None and beside.is_placed


def check_storage(specialisation: Specialisation, role: Role = "grad") -> None:
    """An error if the kernel makes real numbers of real numbers, and all that it reads counts as constant.

    A kernel that reads no real numbers, or writes none, is no mistake: its derivative is zero everywhere.
    """
    reads = inputs(specialisation.kernel)
    if reads and reads.isdisjoint(companions(specialisation, role)) and has_outputs(specialisation.kernel):
        labels = ", ".join(sorted(specialisation.kernel.places[name].label or name for name in reads))
        raise AdstackRuntimeError(
            f"{specialisation.kernel.name}.grad(): nothing that the kernel reads has a gradient ({labels})",
            loc=specialisation.kernel.loc,
            do="make what is to be differentiated with needs_grad=True, or place its .grad",
        )


def check_demanded(specialisation: Specialisation) -> None:
    """An error if an annotation demands the gradient of an array of real numbers that can't have one."""
    for name in _lacking(specialisation.specs):
        raise AdstackRuntimeError(
            f"{specialisation.kernel.name}: argument {name} is to have a gradient (needs_grad=True), and an array of "
            "numpy has none",
            loc=specialisation.kernel.loc,
            do="pass qd.ndarray(..., needs_grad=True), or leave needs_grad out of the annotation: it is then constant",
        )


def _lacking(specs: Iterable[Spec]) -> Iterator[str]:
    """The names of parameters that lack a gradient which their annotation demands."""
    for spec in specs:
        if isinstance(spec, StructSpec):
            yield from _lacking(member for _, member in spec.members)
        elif isinstance(spec, NdarraySpec) and spec.lacks and spec.dtype.is_float:
            yield spec.lacks
