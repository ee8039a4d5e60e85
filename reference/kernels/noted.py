"""Specialisations whose launches leave records, so that they can be differentiated later."""

from __future__ import annotations

from ..data.placement import PLACED
from ..gradients.launches.records import Records, records_of
from ..gradients.modes.apart import serving, tell_apart
from ..gradients.modes.jvp import has_second, jvp_of
from ..launch.arguments import Call
from ..launch.specialisation import Specialisation
from ..runtime.state import Runtime

__all__ = ["noted", "with_tangents"]


def noted(specialisation: Specialisation, call: Call, runtime: Runtime) -> Specialisation:
    """What serves a call of a specialisation: it, or what serves calls that pass one memory twice.

    It has records of its launches from now on, if something that it works on has a gradient by now.
    """
    if specialisation.placed != PLACED[0]:
        if specialisation.records is None:
            tell_apart(specialisation)
        _look_for_gradients(specialisation, runtime)
    if not specialisation.kernel.apart:
        return specialisation
    one = serving(specialisation, call)
    if one.placed != PLACED[0]:
        _look_for_gradients(one, runtime, records_of(specialisation))
    return one


def with_tangents(specialisation: Specialisation, runtime: Runtime) -> Specialisation:
    """The specialisation that also computes tangents; its launches leave records if all gradients have duals."""
    jvp = jvp_of(specialisation, runtime)
    if jvp.placed != PLACED[0] and has_second(specialisation, every=True):
        _look_for_gradients(jvp, runtime)
    return jvp


def _look_for_gradients(specialisation: Specialisation, runtime: Runtime, beside: Records | None = None) -> None:
    """Have records of its launches, if there are gradients; `beside` are those of launches by the same code."""
    specialisation.placed = PLACED[0]
    if specialisation.records is None:
        specialisation.records = Records.of(specialisation, runtime, beside)
