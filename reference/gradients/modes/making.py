"""How the modes of a specialisation are derived and compiled.

All of differentiation is loaded for it, so that `compiled.py` imports it when a mode is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from ...autodiff.overwrite.parts import parts
from ...ir.structure import Kernel, Place
from ...launch.specialisation import Specialisation
from ...runtime.compiled import Compiled
from ...runtime.compiler import compile_kernel
from ...runtime.derived import Derived
from ...runtime.modes import checked_mode, forward_mode, journal_mode, lanes_mode, reverse_mode, seen_mode, written_mode
from ...runtime.plans import Plan
from ...runtime.state import Runtime
from .checkpointed import Checkpointed
from .companions import field_beside, names_of
from .differentiated import Differentiated
from .races import Races
from .state import Journaled, Mode, Role, Written, state_of

__all__ = [
    "MODES",
    "compile_derived",
    "compile_lanes",
    "compile_mode",
    "compile_parts",
    "compile_reversed",
    "compile_with_journal",
    "compile_written",
    "races_of",
    "seen_mode",
]

MODES: Final[dict[Mode, Callable[[Specialisation, dict[str, Place], Runtime], Derived]]] = {
    "forward": lambda specialisation, places, runtime: forward_mode(specialisation.kernel, places, runtime.options),
    "reverse": lambda specialisation, places, runtime: reverse_mode(
        specialisation.kernel, places, runtime.options, rewinds=False
    ),
    "rewinding": lambda specialisation, places, runtime: reverse_mode(
        specialisation.kernel, places, runtime.options, rewinds=True
    ),
    "checked": lambda specialisation, places, runtime: checked_mode(
        specialisation.kernel, places.keys(), runtime.options
    ),
}
"""How a kernel is made in each mode, for places that have gradients or duals."""


def compile_parts(specialisation: Specialisation, runtime: Runtime) -> list[Specialisation]:
    """The specialisation as several that do the same one after the other; none if it can't be parted."""
    return [_part(specialisation, kernel, runtime) for kernel in parts(specialisation.kernel)]


def compile_with_journal(specialisation: Specialisation, places: dict[str, Place], runtime: Runtime) -> Journaled:
    """The specialisation for launches that log what their reverse mode needs."""
    mode = journal_mode(specialisation.kernel, places, runtime.options)
    forward = _part(specialisation, mode.forward, runtime)
    sizing = forward if mode.silent is None else _part(specialisation, mode.silent, runtime)
    backward = compile_mode(specialisation, mode.backward, "grad", places, runtime)
    return Journaled(forward, sizing, backward, mode)


def compile_written(specialisation: Specialisation, places: Collection[str], runtime: Runtime) -> Written:
    """The specialisation for launches that mark what they write of `places`."""
    mode = written_mode(specialisation.kernel, places)
    return Written(_part(specialisation, mode.kernel, runtime), mode.marks)


def compile_lanes(
    specialisation: Specialisation, places: dict[str, Place], lanes: int, part: int | None, runtime: Runtime
) -> tuple[Derived, Compiled]:
    """The specialisation with several tangents beside each value; `places` are those of the duals.

    With `part` only that one of its parts, of which there are as many as with one tangent beside each value.
    """
    derived = forward_mode(specialisation.kernel, places, runtime.options, lanes)
    if part is not None:
        derived = Derived(parts(derived.kernel)[part])
    return derived, compile_derived(derived, runtime)


def compile_reversed(derived: Derived, lanes: int, own: Collection[str], runtime: Runtime) -> tuple[Derived, Compiled]:
    """A reverse mode for several directions, each of which has the places `own` of the user's memory for itself."""
    several = lanes_mode(derived, lanes, own)
    return several, compile_derived(several, runtime)


def compile_derived(derived: Derived, runtime: Runtime) -> Compiled:
    """A kernel in another mode, with its adstacks sized."""
    return compile_kernel(derived.kernel, runtime.options, runtime.backend, adstacks=True)


def _part(specialisation: Specialisation, kernel: Kernel, runtime: Runtime) -> Specialisation:
    compiled = compile_kernel(kernel, runtime.options, runtime.backend)
    plan = Plan(runtime.backend, compiled, {name: data.buffer for name, data in specialisation.fields.items()})
    return replace(specialisation, kernel=kernel, plan=plan, gradients=None)


def compile_mode(
    specialisation: Specialisation, derived: Derived, role: Role, places: dict[str, Place], runtime: Runtime
) -> Differentiated:
    """The specialisation in a mode whose kernel is `derived`.

    Args:
        specialisation: the specialisation.
        derived: its kernel in that mode.
        role: what stands beside memory: gradients or duals.
        places: primal place name -> the place of its gradient or dual.
        runtime: what it is compiled for.
    """

    def plan_of(derived: Derived) -> Plan:
        compiled = compile_derived(derived, runtime)
        used = compiled.program.places
        buffers = {n: data.buffer for n, data in specialisation.fields.items() if n in used}
        for name, place in places.items():
            if place.kind == "field" and place.name in used:
                buffers[place.name] = field_beside(specialisation, name, role).buffer
        return Plan(runtime.backend, compiled, buffers)

    lean = None if derived.recipe is None else Checkpointed(derived.recipe, plan_of)
    return Differentiated(specialisation, plan_of(derived), places, derived, races_of(specialisation, places), lean)


def races_of(specialisation: Specialisation, places: dict[str, Place]) -> Races:
    """What is known of its races, where `places` have gradients or duals."""
    state, names = state_of(specialisation), names_of(places)
    races = state.races.get(names)
    if races is None:
        races = state.races[names] = Races(specialisation.kernel, places.keys())
    return races
