"""How a launch is made so that it can be differentiated after memory went on: `recordable(made, call, runtime)`.

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


def recordable(made: Specialisation, call: Call, runtime: Runtime, *, whole: bool = False) -> list[Launch]:
    """Launches that do, one after the other, what the call asks for; with `whole` only the first way is tried.

    AdstackDataAccessError if the launch would overwrite what its reverse pass needs.
    """
    state = state_of(made)
    latest = state.recorded.get(whole)
    if latest is not None and latest.places is accompanied(made, "grad"):
        return _unraced(_WAYS[latest.way](made, call, runtime))
    refusals = state.refusals.setdefault(names_of(companions(made, "grad")), {})
    for way in _WAYS:
        launches = None if way in refusals else _tried(way, made, call, runtime, refusals)
        if launches is not None:
            state.recorded[whole] = Recorded(accompanied(made, "grad"), way)
            return _unraced(launches)
        if whole:
            break
    raise refusals["rewinding"]


def _unraced(launches: list[Launch]) -> list[Launch]:
    """The launches; AdstackDataAccessError if one of them certainly races."""
    for launch in launches:
        if launch.mode is not None:
            launch.mode.refuse_races(launch.call)
    return launches


def _tried(
    way: Way, made: Specialisation, call: Call, runtime: Runtime, refusals: dict[Way, AdstackDataAccessError]
) -> list[Launch] | None:
    try:
        return _WAYS[way](made, call, runtime)
    except AdstackDataAccessError as error:
        refusals[way] = error.with_traceback(None)
        return None


def _rewinding(made: Specialisation, call: Call, runtime: Runtime) -> list[Launch]:
    """The launch as it is; its reverse pass reads memory from before and after it."""
    mode = differentiated(made, "rewinding", runtime, strict=False) if accompanied(made, "grad") else None
    return [Launch(made, call, mode)]


def _parted(made: Specialisation, call: Call, runtime: Runtime) -> list[Launch]:
    """The kernel's stretches one by one: each on its own may overwrite what an earlier one needs."""
    pieces = parted(made, runtime)
    if not pieces:
        raise AdstackDataAccessError(f"{made.kernel.name} can't be parted", loc=made.kernel.loc)
    return [launch for piece in pieces for launch in _rewinding(piece, call, runtime)]


def _journaled(made: Specialisation, call: Call, runtime: Runtime) -> list[Launch]:
    """The launch, writing down what it will have overwritten."""
    ways = journaled(made, runtime)
    return [JournaledLaunch(made, call, ways.backward, ways)]


_WAYS: Final[Mapping[Way, Making]] = {"rewinding": _rewinding, "parted": _parted, "journaled": _journaled}
"""From the one that keeps least to the one that always works."""
