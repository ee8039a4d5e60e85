"""A specialisation with several tangents beside each value: one launch follows several directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...autodiff.places import in_lane
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ...runtime.plans import Plan
from ...runtime.state import Runtime
from .companions import companions, field_beside, names_of
from .differentiated import Differentiated
from .state import LanesKey, state_of

__all__ = ["with_lanes"]


def with_lanes(
    specialisation: Specialisation, lanes: int, runtime: Runtime, beside: Callable[[Buffer], Sequence[Buffer]]
) -> Differentiated:
    """The specialisation in forward mode along several directions.

    A call passes the places `in_lane` of the dual of each array argument. What comes back are the scalars that the
    specialisation returns, and behind them the tangents of each real one, one for each direction.

    Args:
        specialisation: the specialisation; something that it touches has a dual.
        lanes: how many directions there are.
        runtime: what it is compiled for.
        beside: gives the memory of all tangents of what has a dual, from the memory of that, which comes first.

    Raises:
        AdstackMemoryError, BackendUnavailableError: the device has no memory for so many, or can't run the program.
    """
    places, state = companions(specialisation, "dual"), state_of(specialisation)
    key = LanesKey(names_of(places), lanes)
    entry = state.lanes.get(key)
    if entry is None:
        from . import making

        entry = state.lanes[key] = making.compile_lanes(specialisation, places, lanes, runtime)
    derived, compiled = entry
    buffers = {name: data.buffer for name, data in specialisation.fields.items()}
    for name, place in places.items():
        if place.kind == "field":
            every = beside(field_beside(specialisation, name, "dual").buffer)
            buffers.update((in_lane(place, lane).name, buffer) for lane, buffer in enumerate(every))
    from .making import races_of

    plan = Plan(runtime.backend, compiled, buffers)
    return Differentiated(specialisation, plan, places, derived, races_of(specialisation, places))
