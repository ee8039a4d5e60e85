"""The modes of a specialisation, compiled for the gradients or duals that exist, when they are first asked for."""

from __future__ import annotations

from ...data.placement import PLACED
from ...launch.specialisation import Specialisation
from ...runtime.derived import Derived
from ...runtime.state import Runtime
from .companions import accompanied, check_demanded, check_storage, companions, names_of
from .differentiated import Differentiated
from .state import CompiledKey, DerivedKey, Journaled, Latest, Mode, Role, Written, state_of

__all__ = ["derived", "differentiated", "journaled", "marking_writes", "parted"]


def differentiated(
    specialisation: Specialisation,
    mode: Mode,
    runtime: Runtime,
    *,
    strict: bool = True,
    marked: frozenset[str] = frozenset(),
) -> Differentiated:
    """The specialisation in a mode. With `strict`, nothing to differentiate is an error.

    Reads of the places `marked` leave marks.
    """
    role: Role = "dual" if mode == "forward" else "grad"
    state, latest_key = state_of(specialisation), (mode, marked)
    latest, known = state.latest.get(latest_key), state.accompanied.get(role)
    is_known = known is not None and known.placed == PLACED[0]  # asked for each gradient: no further call
    places = known.places if known is not None and is_known else accompanied(specialisation, role)
    if latest is not None and latest.places is places and (latest.checked or not strict):
        return latest.mode
    if latest is None and role == "grad":
        check_demanded(specialisation)
    names = tuple(sorted(place.name for place in places))
    if strict and names not in state.checked:
        check_storage(specialisation, role)
        state.checked.add(names)
    key = CompiledKey(mode, names, marked)
    compiled = state.compiled.get(key)
    if compiled is None:
        from . import making

        kernel = making.seen_mode(derived(specialisation, mode, runtime), marked)
        compiled = state.compiled[key] = making.compile_mode(
            specialisation, kernel, role, companions(specialisation, role), runtime
        )
    state.latest[latest_key] = Latest(places, compiled, names in state.checked)
    return compiled


def derived(specialisation: Specialisation, mode: Mode, runtime: Runtime) -> Derived:
    """The specialisation's kernel in a mode."""
    places, state = companions(specialisation, "dual" if mode == "forward" else "grad"), state_of(specialisation)
    key = DerivedKey(mode, names_of(places))
    kernel = state.derived.get(key)
    if kernel is None:
        from . import making

        kernel = state.derived[key] = making.MODES[mode](specialisation, places, runtime)
    return kernel


def parted(specialisation: Specialisation, runtime: Runtime) -> list[Specialisation]:
    """The specialisation as several that do the same one after the other; none if it can't be parted."""
    state = state_of(specialisation)
    if state.parts is None:
        from . import making

        state.parts = making.compile_parts(specialisation, runtime)
    return state.parts


def journaled(specialisation: Specialisation, runtime: Runtime) -> Journaled:
    """The specialisation for launches that log."""
    places, state = companions(specialisation, "grad"), state_of(specialisation)
    names = names_of(places)
    journal = state.journals.get(names)
    if journal is None:
        from . import making

        journal = state.journals[names] = making.compile_with_journal(specialisation, places, runtime)
    return journal


def marking_writes(specialisation: Specialisation, role: Role, runtime: Runtime) -> Written:
    """The specialisation for launches that mark what they write of memory with gradients, or with duals."""
    places, state = companions(specialisation, role), state_of(specialisation)
    names = names_of(places)
    written = state.written.get(names)
    if written is None:
        from . import making

        written = state.written[names] = making.compile_written(specialisation, places, runtime)
    return written
