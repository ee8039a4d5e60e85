"""Specialisations whose launches leave records, so that they can be differentiated later."""

from __future__ import annotations

from ..data.placement import PLACED
from ..gradients.launches.records import Records
from ..gradients.modes.jvp import has_second, jvp_of
from ..launch.specialisation import Specialisation
from ..runtime.state import Runtime

__all__ = ["look_for_gradients", "with_tangents"]


def look_for_gradients(specialisation: Specialisation, runtime: Runtime) -> None:
    """Have records of its launches from now on, if something that it works on has a gradient by now."""
    specialisation.placed = PLACED[0]
    if specialisation.records is None:
        specialisation.records = Records.of(specialisation, runtime)


def with_tangents(specialisation: Specialisation, runtime: Runtime) -> Specialisation:
    """The specialisation that also computes tangents; its launches leave records if all gradients have duals."""
    jvp = jvp_of(specialisation, runtime)
    if jvp.placed != PLACED[0] and has_second(specialisation, every=True):
        look_for_gradients(jvp, runtime)
    return jvp
