"""Scalar arguments of launches that are differentiated: they are constants to the derivatives."""

from __future__ import annotations

from ..autodiff.activities.activity import Activity
from ..ir.structure import Value
from ..launch.arguments import Call
from ..launch.specialisation import Specialisation
from ..values.linked import Linked
from .modes.companions import companions, names_of
from .modes.state import ActiveKey, Role, state_of

__all__ = ["active_parameters", "unlink"]


def active_parameters(specialisation: Specialisation, role: Role) -> set[Value]:
    """The scalar parameters that what is differentiated depends on."""
    places, state = companions(specialisation, role), state_of(specialisation)
    key = ActiveKey(role, names_of(places))
    active = state.active.get(key)
    if active is None:
        temps = {place.name for place in specialisation.kernel.places.values() if place.kind == "temp"}
        values = Activity(specialisation.kernel.body, {*places, *temps}, specialisation.kernel.params).values
        active = state.active[key] = values & {*specialisation.kernel.params}
    return active


def unlink(call: Call) -> None:
    """Make the scalar arguments plain numbers: a call is kept longer than what they know."""
    call.scalars = [float(scalar) if isinstance(scalar, Linked) else scalar for scalar in call.scalars]
