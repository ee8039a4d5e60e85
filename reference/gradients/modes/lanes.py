"""A specialisation with several tangents beside each value: one launch follows several directions.

So does one launch of the reverse mode of what computes one tangent (`jvp.py`): it has, for each direction, gradients
and tangents of gradients of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ...autodiff.places import in_lane, lane_name
from ...ir.structure import Place
from ...launch.specialisation import Specialisation
from ...runtime.derived import Derived
from ...runtime.memory.buffers import Buffer
from ...runtime.plans import Plan
from ...runtime.state import Runtime
from .checkpointed import Checkpointed
from .companions import companions, field_beside, names_of
from .differentiated import Differentiated
from .state import LanesKey, state_of

__all__ = ["Beside", "own_places", "reversed_in_lanes", "with_lanes"]

Beside: TypeAlias = Callable[[Buffer], Sequence[Buffer]]
"""Gives the memory of all directions, from that of the first, which comes first."""


def with_lanes(
    specialisation: Specialisation, lanes: int, runtime: Runtime, beside: Beside, part: int | None = None
) -> Differentiated:
    """The specialisation in forward mode along several directions.

    A call passes the places `in_lane` of the dual of each array argument. What comes back are the scalars that the
    specialisation returns, and behind them the tangents of each real one, one for each direction.

    Args:
        specialisation: the specialisation; something that it touches has a dual.
        lanes: how many directions there are.
        runtime: what it is compiled for.
        beside: gives the memory of all tangents of what has a dual, from the memory of that.
        part: which part of it, if it is launched in parts.

    Raises:
        AdstackMemoryError, BackendUnavailableError: the device has no memory for so many, or can't run the program.
    """
    places, state = companions(specialisation, "dual"), state_of(specialisation)
    key = LanesKey(names_of(places), lanes, part)
    entry = state.lanes.get(key)
    if entry is None:
        from . import making

        entry = state.lanes[key] = making.compile_lanes(specialisation, places, lanes, part, runtime)
    derived, compiled = entry
    buffers = {name: data.buffer for name, data in specialisation.fields.items()}
    for name, place in places.items():
        if place.kind == "field":
            every = beside(field_beside(specialisation, name, "dual").buffer)
            buffers.update((in_lane(place, lane).name, buffer) for lane, buffer in enumerate(every))
    from .making import races_of

    plan = Plan(runtime.backend, compiled, buffers)
    return Differentiated(specialisation, plan, places, derived, races_of(specialisation, places))


def reversed_in_lanes(mode: Differentiated, lanes: int, runtime: Runtime, beside: Beside) -> Differentiated:
    """The reverse mode of a specialisation with tangents, for several directions.

    A call passes the places `in_lane` of each array argument among `own_places`.

    Args:
        mode: the reverse mode for one direction, of what `jvp_of` gives.
        lanes: how many directions there are.
        runtime: what it is compiled for.
        beside: gives the memory of all gradients and tangents, from that for the first direction.

    Raises:
        AdstackMemoryError, BackendUnavailableError: as for `with_lanes`.
    """
    from . import making

    own, specialisation = own_places(mode), mode.specialisation
    state, key = state_of(specialisation), LanesKey(names_of(dict(mode.companions)), lanes)
    entry = state.lanes.get(key)
    if entry is None:
        entry = state.lanes[key] = making.compile_reversed(mode.derived, lanes, own, runtime)
    derived, compiled = entry
    buffers = {name: data.buffer for name, data in specialisation.fields.items()}
    grads = {place.name: field_beside(specialisation, name, "grad") for name, place in _fields(mode.companions)}
    buffers |= {name: data.buffer for name, data in grads.items()}
    for name, _ in _fields(own):
        buffers.update((lane_name(name, lane), buffer) for lane, buffer in enumerate(beside(buffers[name])))

    def plan_of(derived: Derived) -> Plan:
        return Plan(runtime.backend, making.compile_derived(derived, runtime), buffers)

    lean = None if derived.recipe is None else Checkpointed(derived.recipe, plan_of)
    return replace(mode, plan=Plan(runtime.backend, compiled, buffers), derived=derived, lean=lean)


def _fields(places: Mapping[str, Place]) -> list[tuple[str, Place]]:
    return [(name, place) for name, place in places.items() if place.kind == "field"]


def own_places(mode: Differentiated) -> Mapping[str, Place]:
    """The places of a reverse mode of which each direction has one with the memory of something that the user made."""
    ours = {*mode.specialisation.tangents, *(place.name for place in mode.companions.values())}
    return {name: place for name, place in mode.derived.kernel.places.items() if name in ours}
