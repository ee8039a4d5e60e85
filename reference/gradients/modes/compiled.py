"""The modes of a specialisation, compiled for the gradients or duals that exist, when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from ...autodiff.overwrite.parts import parts
from ...ir.structure import Kernel, Place
from ...launch.specialisation import Specialisation
from ...runtime.compiler import compile_kernel
from ...runtime.modes import Derived, checked_mode, forward_mode, journal_mode, reverse_mode, seen_mode
from ...runtime.plans import Plan
from ...runtime.state import Runtime
from .checkpointed import Checkpointed
from .companions import accompanied, check_storage, companions, field_beside, names_of
from .differentiated import Differentiated
from .races import Races
from .state import CompiledKey, DerivedKey, Journaled, Latest, LatestKey, Mode, Role, state_of

__all__ = ["MODES", "derived", "differentiated", "journaled", "parted"]


def differentiated(
    made: Specialisation, mode: Mode, runtime: Runtime, *, strict: bool = True, marked: frozenset[str] = frozenset()
) -> Differentiated:
    """The specialisation in a mode. With `strict`, nothing to differentiate is an error.

    Reads of the places `marked` leave marks.
    """
    role, state = _role(mode), state_of(made)
    latest_key = LatestKey(mode, marked)
    latest = state.latest.get(latest_key)
    places = accompanied(made, role)
    if latest is not None and latest.places is places and (latest.checked or not strict):
        return latest.mode
    names = tuple(sorted(place.name for place in places))
    if strict and names not in state.checked:
        check_storage(made, role)
        state.checked.add(names)
    key = CompiledKey(mode, names, marked)
    compiled = state.compiled.get(key)
    if compiled is None:
        kernel = seen_mode(derived(made, mode, runtime), marked)
        compiled = state.compiled[key] = _compiled(made, kernel, role, companions(made, role), runtime)
    state.latest[latest_key] = Latest(places, compiled, names in state.checked)
    return compiled


def _role(mode: Mode) -> Role:
    return "dual" if mode == "forward" else "grad"


def derived(made: Specialisation, mode: Mode, runtime: Runtime) -> Derived:
    """The specialisation's kernel in a mode."""
    places, state = companions(made, _role(mode)), state_of(made)
    key = DerivedKey(mode, names_of(places))
    kernel = state.derived.get(key)
    if kernel is None:
        kernel = state.derived[key] = MODES[mode](made, places, runtime)
    return kernel


MODES: Final[dict[Mode, Callable[[Specialisation, dict[str, Place], Runtime], Derived]]] = {
    "forward": lambda made, places, runtime: forward_mode(made.kernel, places, runtime.options),
    "reverse": lambda made, places, runtime: reverse_mode(made.kernel, places, runtime.options, rewinds=False),
    "rewinding": lambda made, places, runtime: reverse_mode(made.kernel, places, runtime.options, rewinds=True),
    "checked": lambda made, places, runtime: checked_mode(made.kernel, places.keys(), runtime.options),
}
"""How a kernel is made in each mode, for places that have gradients or duals."""


def parted(made: Specialisation, runtime: Runtime) -> list[Specialisation]:
    """The specialisation as several that do the same one after the other; none if it can't be parted."""
    state = state_of(made)
    if state.parts is None:
        state.parts = [_part(made, kernel, runtime) for kernel in parts(made.kernel)]
    return state.parts


def journaled(made: Specialisation, runtime: Runtime) -> Journaled:
    """The specialisation for launches that log."""
    places, state = companions(made, "grad"), state_of(made)
    names = names_of(places)
    known = state.journals.get(names)
    if known is None:
        mode = journal_mode(made.kernel, places, runtime.options)
        forward = _part(made, mode.forward, runtime)
        sizing = forward if mode.silent is None else _part(made, mode.silent, runtime)
        backward = _compiled(made, mode.backward, "grad", places, runtime)
        known = state.journals[names] = Journaled(forward, sizing, backward, mode)
    return known


def _part(made: Specialisation, kernel: Kernel, runtime: Runtime) -> Specialisation:
    compiled = compile_kernel(kernel, runtime.options, runtime.backend)
    plan = Plan(runtime.backend, compiled, {name: data.buffer for name, data in made.fields.items()})
    return replace(made, kernel=kernel, plan=plan, gradients=None)


def _compiled(
    made: Specialisation, derived: Derived, role: Role, places: dict[str, Place], runtime: Runtime
) -> Differentiated:
    def plan_of(derived: Derived) -> Plan:
        compiled = compile_kernel(derived.kernel, runtime.options, runtime.backend, adstacks=True)
        used = compiled.program.places
        buffers = {n: data.buffer for n, data in made.fields.items() if n in used}
        for name, place in places.items():
            if place.kind == "field" and place.name in used:
                buffers[place.name] = field_beside(made, name, role).buffer
        return Plan(runtime.backend, compiled, buffers)

    lean = None if derived.recipe is None else Checkpointed(derived.recipe, plan_of)
    return Differentiated(made, plan_of(derived), places, derived, _races(made, places), lean)


def _races(made: Specialisation, places: dict[str, Place]) -> Races:
    state, names = state_of(made), names_of(places)
    races = state.races.get(names)
    if races is None:
        races = state.races[names] = Races(made.kernel, places.keys())
    return races
