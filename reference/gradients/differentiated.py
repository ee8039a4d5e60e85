"""A specialisation in another mode: compiled for the gradients or duals that exist, launched with a call's memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..autodiff.parts import parts
from ..data.fields import PLACED
from ..errors import AdstackDataAccessError, AdstackRuntimeError
from ..ir.structure import Kernel, Place
from ..launch.arguments import Call
from ..launch.results import result_value
from ..launch.specialisation import Specialisation, run_plan
from ..runtime.adstacks.heap import HeapLimit
from ..runtime.compiler import compile_kernel
from ..runtime.memory.buffers import Buffer
from ..runtime.modes import (
    Derived,
    JournalMode,
    checked_mode,
    forward_mode,
    has_outputs,
    inputs,
    journal_mode,
    reverse_mode,
    seen_mode,
)
from ..runtime.plans import Plan
from ..runtime.racing import DISTINCT, Racing
from ..runtime.state import Runtime
from .checkpointed import Checkpointed

if TYPE_CHECKING:
    from ..runtime.adstack_report import AdstackReport

__all__ = [
    "MODES",
    "Differentiated",
    "Journaled",
    "accompanied",
    "check_storage",
    "companions",
    "derived",
    "differentiated",
    "journaled",
    "parted",
    "with_arrays",
]


@dataclass(frozen=True)
class Differentiated:
    """A specialisation in forward or reverse mode.

    Attributes:
        made: the specialisation.
        plan: how it is launched.
        companions: primal place name -> the place of its gradient or dual.
        derived: the kernel in that mode.
        racing: what is known of its races.
        lean: the same with less memory, if there is such a thing.
    """

    made: Specialisation
    plan: Plan
    companions: Mapping[str, Place]
    derived: Derived
    racing: Racing
    lean: Checkpointed | None = None

    @property
    def beside(self) -> Mapping[str, str]:
        """See `Derived`."""
        return self.derived.beside

    def launch(self, call: Call, beside: Mapping[str, Buffer] | None = None) -> Any:
        """Run it, with memory for the places `beside`; the value that the kernel returns, but none in reverse mode.

        Reverse mode takes the adjoints of what the kernel returned from the call; where there are none they are 0.
        """
        scalars = self.run(call, beside)
        returns = self.made.returns if self.plan.compiled.program.returns else None
        return None if returns is None else result_value(returns, scalars)

    def run(self, call: Call, beside: Mapping[str, Buffer] | None = None) -> Sequence[Any]:
        """The same; the scalars that come back. In forward mode the tangents of the real ones come last."""
        self.refuse_races(call)
        self._check_overlap(call)
        if beside:
            call = with_arrays(call, beside)
        try:
            return run_plan(self.plan, self._seeded(call))
        except HeapLimit as short:
            return self.go_on(call, short)

    def refuse_races(self, call: Call) -> None:
        """AdstackDataAccessError if the launch certainly has a race that a derivative flows through."""
        aliases: dict[str, str] = {}
        first: dict[int, str] = {}
        for name in dict.fromkeys(name for pair in self.apart for name in pair):
            one = first.setdefault(id(call.arrays[name].storage), name)
            if one != name:
                aliases[name] = one
        racing = _racing(self.made, self.companions, aliases) if aliases else self.racing
        if racing:
            racing.refuse(call.scalars, {name: buffer.shape for name, buffer in call.arrays.items()})

    @cached_property
    def apart(self) -> list[tuple[str, str]]:
        """Pairs of array arguments by which iterations may race if they are one array."""
        alike: dict[Any, list[str]] = {}
        for name in sorted(self.companions):
            place = self.made.kernel.places[name]
            if place.kind == "ndarray":
                alike.setdefault((place.dtype, place.rank), []).append(name)
        aliases = {name: names[0] for names in alike.values() for name in names[1:]}
        if not aliases:
            return []
        found = _racing(self.made, self.companions, aliases).places
        return sorted({(min(pair), max(pair)) for pair in found if pair[0] != pair[1]})

    def go_on(self, call: Call, short: HeapLimit) -> Sequence[Any]:
        """Do a launch that found no room for its adstacks."""
        if self.lean is None:
            raise short
        return self.lean.run(self._seeded(call), short)

    def scalars(self, call: Call) -> Sequence[Any]:
        """The scalar arguments for a call: in reverse mode adjoints of what the kernel returned come last."""
        return [*call.scalars, *(call.seeds or [0.0] * self.seeds)] if self.seeds else call.scalars

    @cached_property
    def seeds(self) -> int:
        """How many adjoints of returned numbers it takes; none in forward mode."""
        return len(self.derived.kernel.params) - len(self.made.kernel.params)

    def _seeded(self, call: Call) -> Call:
        return with_arrays(call, {}, self.scalars(call)) if self.seeds else call

    def adstack_report(self) -> AdstackReport:
        """What is kept on adstacks; of the last launch, how they were laid out and what was done to make them fit."""
        from ..runtime.adstack_report import report

        tasks = self.plan.backend.adstacks(self.plan.compiled.executable)
        latest = None if self.lean is None else self.lean.latest
        if latest is None or self.lean is None or latest.number < self.plan.number:
            return report(self.plan.compiled, tasks)
        tasks = latest.backend.adstacks(latest.compiled.executable)
        return replace(report(self.plan.compiled, tasks), checkpoints=self.lean.told)

    @cached_property
    def distinct(self) -> list[tuple[str, str]]:
        """(written, read) array arguments: through one the launch writes, through the other the reverse pass reads."""
        written, read = self.made.plan.compiled.written, self.plan.compiled.read
        arrays = {place.name for place in self.made.kernel.places.values() if place.kind == "ndarray"}
        return [(name, other) for other in sorted(read & arrays) for name in sorted(written & arrays - {other})]

    def _check_overlap(self, call: Call) -> None:
        """An error if the launch wrote memory through one argument that the reverse pass reads through another."""
        for name, other in self.distinct:
            if _overlap(call.arrays[name], call.arrays[other]):
                raise AdstackDataAccessError(
                    f"arguments {name} and {other} of {self.made.kernel.name} share memory, and it writes {name}: "
                    f"what it read of {other} can't be told",
                    loc=self.made.kernel.loc,
                    do="pass arrays that do not overlap",
                )


def _overlap(one: Buffer, other: Buffer) -> bool:
    if one.storage is other.storage:
        return True
    if one.owned and other.owned:
        return False  # and nobody waits for the device, as views would
    views = one.view(), other.view()
    return views[0] is not None and views[1] is not None and np.shares_memory(views[0], views[1])


def with_arrays(call: Call, more: Mapping[str, Buffer], scalars: Sequence[Any] | None = None) -> Call:
    """The same call with arrays for more places, and with other scalar arguments if they are given."""
    made = Call()
    made.key, made.loans, made.owners, made.seeds = call.key, call.loans, call.owners, call.seeds
    made.scalars = call.scalars if scalars is None else [*scalars]
    made.arrays = {**call.arrays, **more}
    return made


def companions(made: Specialisation, role: str) -> dict[str, Place]:
    """Primal place name -> the place of its gradient ("grad") or dual ("dual"), where there is memory for it."""
    return {place.name: _beside(made, place, role) for place in accompanied(made, role)}


def _beside(made: Specialisation, place: Place, role: str) -> Place:
    found: Place = (
        made.kernel.places[f"{place.name}.{role}"]
        if place.kind == "ndarray"
        else getattr(made.fields[place.name], role).place
    )
    return found


def accompanied(made: Specialisation, role: str) -> list[Place]:
    """The primal places with such memory beside them: the same list until some field gets or loses its memory."""
    known = made.modes.get(("accompanied", role))
    if known is not None and known[0] == PLACED[0]:
        found: list[Place] = known[1]
        return found
    real = made.modes.get(("real", role))
    if real is None:
        real = made.modes["real", role] = _real(made.kernel, role)
    placed = PLACED[0]
    found = [place for place in real if place.kind == "ndarray" or _has(made.fields[place.name], role)]
    made.modes["accompanied", role] = placed, found
    return found


def isaccompanied(made: Specialisation, role: str) -> bool:
    """Whether there are any `companions`."""
    return bool(accompanied(made, role))


def _real(kernel: Kernel, role: str) -> list[Place]:
    """The primal places of real numbers; of array arguments those that come with more."""
    real = [place for place in kernel.places.values() if place.role == "primal" and place.dtype.is_float]
    return [p for p in real if p.kind == "field" or (p.kind == "ndarray" and f"{p.name}.{role}" in kernel.places)]


def _has(data: Any, role: str) -> bool:
    beside = getattr(data, role)
    return beside is not None and beside.is_placed


def differentiated(
    made: Specialisation, mode: str, runtime: Runtime, *, strict: bool = True, marked: frozenset[str] = frozenset()
) -> Differentiated:
    """The specialisation in one of `MODES`. With `strict`, nothing to differentiate is an error.

    Reads of the places `marked` leave marks.
    """
    role = "dual" if mode == "forward" else "grad"
    latest = made.modes.get(("latest", mode, marked))
    found = accompanied(made, role)
    if latest is not None and latest[0] is found and (latest[2] or not strict):
        ready: Differentiated = latest[1]
        return ready
    names = tuple(sorted(place.name for place in found))
    if strict and not made.modes.get(("enough", names)):
        check_storage(made, role)
        made.modes["enough", names] = True
    key = (mode, names, marked)
    known = made.modes.get(key)
    if known is None:
        made_so = seen_mode(derived(made, mode, runtime), marked)
        known = made.modes[key] = _compiled(made, made_so, role, companions(made, role), runtime)
    made.modes["latest", mode, marked] = found, known, ("enough", names) in made.modes
    result: Differentiated = known
    return result


def derived(made: Specialisation, mode: str, runtime: Runtime) -> Derived:
    """The specialisation's kernel in one of `MODES`."""
    found = companions(made, "dual" if mode == "forward" else "grad")
    key = (mode, tuple(sorted(found)))
    known = made.modes.get(key)
    if known is None:
        known = made.modes[key] = MODES[mode](made, found, runtime)
    result: Derived = known
    return result


MODES: Final[dict[str, Callable[[Specialisation, dict[str, Place], Runtime], Derived]]] = {
    "forward": lambda made, found, runtime: forward_mode(made.kernel, found, runtime.options),
    "reverse": lambda made, found, runtime: reverse_mode(made.kernel, found, runtime.options, rewinds=False),
    "rewinding": lambda made, found, runtime: reverse_mode(made.kernel, found, runtime.options, rewinds=True),
    "checked": lambda made, found, runtime: checked_mode(made.kernel, found.keys(), runtime.options),
}
"""Forward mode; reverse mode, and the same on memory that can be wound back; the kernel with checks of its reads."""


def parted(made: Specialisation, runtime: Runtime) -> list[Specialisation]:
    """The specialisation as several that do the same one after the other; none if it can't be parted."""
    known = made.modes.get("parts")
    if known is None:
        known = made.modes["parts"] = [_part(made, kernel, runtime) for kernel in parts(made.kernel)]
    result: list[Specialisation] = known
    return result


@dataclass(frozen=True)
class Journaled:
    """A specialisation that logs what its reverse mode needs.

    Attributes:
        forward: launches like the specialisation, with memory for the logs; `sizing`: the same without being heard.
        backward: its reverse mode.
        mode: the logs.
    """

    forward: Specialisation
    sizing: Specialisation
    backward: Differentiated
    mode: JournalMode


def journaled(made: Specialisation, runtime: Runtime) -> Journaled:
    """The specialisation for launches that log."""
    found = companions(made, "grad")
    key = ("journal", tuple(sorted(found)))
    known = made.modes.get(key)
    if known is None:
        mode = journal_mode(made.kernel, found, runtime.options)
        forward = _part(made, mode.forward, runtime)
        sizing = forward if mode.silent is None else _part(made, mode.silent, runtime)
        backward = _compiled(made, mode.backward, "grad", found, runtime)
        known = made.modes[key] = Journaled(forward, sizing, backward, mode)
    result: Journaled = known
    return result


def _part(made: Specialisation, kernel: Kernel, runtime: Runtime) -> Specialisation:
    compiled = compile_kernel(kernel, runtime.options, runtime.backend)
    plan = Plan(runtime.backend, compiled, {name: data.buffer for name, data in made.fields.items()})
    return replace(made, kernel=kernel, plan=plan, modes={})


def _compiled(
    made: Specialisation, derived: Derived, role: str, found: dict[str, Place], runtime: Runtime
) -> Differentiated:
    def plan_of(derived: Derived) -> Plan:
        compiled = compile_kernel(derived.kernel, runtime.options, runtime.backend, adstacks=True)
        used = compiled.program.places
        buffers = {n: data.buffer for n, data in made.fields.items() if n in used}
        for name, place in found.items():
            if place.kind == "field" and place.name in used:
                buffers[place.name] = getattr(made.fields[name], role).buffer
        return Plan(runtime.backend, compiled, buffers)

    lean = None if derived.recipe is None else Checkpointed(derived.recipe, plan_of)
    return Differentiated(made, plan_of(derived), found, derived, _racing(made, found), lean)


def _racing(made: Specialisation, found: Mapping[str, Place], aliases: Mapping[str, str] = DISTINCT) -> Racing:
    key = ("racing", tuple(sorted(found)), tuple(aliases.items()))
    if key not in made.modes:
        made.modes[key] = Racing(made.kernel, found.keys(), aliases)
    known: Racing = made.modes[key]
    return known


def check_storage(made: Specialisation, role: str = "grad") -> None:
    """An error if the kernel makes real numbers of real numbers, and all that it reads counts as constant.

    A kernel that reads no real numbers, or writes none, is no mistake: its derivative is zero everywhere.
    """
    reads, found = inputs(made.kernel), companions(made, role)
    if reads and reads.isdisjoint(found) and has_outputs(made.kernel):
        labels = ", ".join(sorted(made.kernel.places[name].label or name for name in reads))
        raise AdstackRuntimeError(
            f"{made.kernel.name}.grad(): nothing that the kernel reads has a gradient ({labels})",
            loc=made.kernel.loc,
            do="make what is to be differentiated with needs_grad=True, or place its .grad",
        )
