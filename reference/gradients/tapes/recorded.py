"""How a launch is made so that it can be differentiated after memory went on: `recordable`.

The first way that works is taken, from the one that keeps least to the one that always works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ...errors import AdstackDataAccessError
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime.state import Runtime
from ..events import Launch
from ..journal import JournaledLaunch
from ..modes.companions import accompanied, companions, names_of
from ..modes.compiled import differentiated, journaled, parted
from ..modes.state import Recorded, Way, state_of

__all__ = ["recordable"]

Making = Callable[[Specialisation, Call, Runtime], "list[Launch]"]


def recordable(
    specialisation: Specialisation, call: Call, runtime: Runtime, *, first_only: bool = False
) -> list[Launch]:
    """Launches that do, one after the other, what the call asks for; with `first_only` only the first way is tried.

    AdstackDataAccessError if the launch would overwrite what its reverse pass needs.
    """
    state = state_of(specialisation)
    latest = state.recorded.get(first_only)
    if latest is not None and latest.places is accompanied(specialisation, "grad"):
        return _unraced(_WAYS[latest.way](specialisation, call, runtime))
    refusals = state.refusals.setdefault(names_of(companions(specialisation, "grad")), {})
    for way in _WAYS:
        launches = None if way in refusals else _tried(way, specialisation, call, runtime, refusals)
        if launches is not None:
            state.recorded[first_only] = Recorded(accompanied(specialisation, "grad"), way)
            return _unraced(launches)
        if first_only:
            break
    raise refusals["rewinding"]


def _unraced(launches: list[Launch]) -> list[Launch]:
    """The launches; AdstackDataAccessError if one of them certainly races."""
    for launch in launches:
        if launch.mode is not None:
            launch.mode.refuse_races(launch.call)
    return launches


def _tried(
    way: Way, specialisation: Specialisation, call: Call, runtime: Runtime, refusals: dict[Way, AdstackDataAccessError]
) -> list[Launch] | None:
    try:
        return _WAYS[way](specialisation, call, runtime)
    except AdstackDataAccessError as error:
        refusals[way] = error.with_traceback(None)
        return None


def _rewinding(specialisation: Specialisation, call: Call, runtime: Runtime) -> list[Launch]:
    """The launch as it is; its reverse pass reads memory from before and after it."""
    mode = (
        differentiated(specialisation, "rewinding", runtime, strict=False)
        if accompanied(specialisation, "grad")
        else None
    )
    return [Launch(specialisation, call, mode)]


def _parted(specialisation: Specialisation, call: Call, runtime: Runtime) -> list[Launch]:
    """The kernel's stretches one by one: each on its own may overwrite what an earlier one needs."""
    pieces = parted(specialisation, runtime)
    if not pieces:
        raise AdstackDataAccessError(f"{specialisation.kernel.name} can't be parted", loc=specialisation.kernel.loc)
    return [launch for piece in pieces for launch in _rewinding(piece, call, runtime)]


def _journaled(specialisation: Specialisation, call: Call, runtime: Runtime) -> list[Launch]:
    """The launch, writing down what it will have overwritten."""
    ways = journaled(specialisation, runtime)
    return [JournaledLaunch(specialisation, call, ways.backward, ways)]


_WAYS: Final[Mapping[Way, Making]] = {"rewinding": _rewinding, "parted": _parted, "journaled": _journaled}
"""From the one that keeps least to the one that always works."""
