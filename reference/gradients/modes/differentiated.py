"""A specialisation in another mode: launched with a call's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from ...ir.structure import Place
from ...ir.types import DType
from ...launch.arguments import Call
from ...launch.results import result_value
from ...launch.specialisation import Specialisation, run_plan
from ...runtime.adstacks.heap import HeapLimit
from ...runtime.derived import Derived
from ...runtime.memory.buffers import Buffer
from ...runtime.plans import Plan
from ...runtime.racing import Racing
from .aliases import Aliases
from .checkpointed import Checkpointed
from .races import Races

if TYPE_CHECKING:
    from ...runtime.adstack_report import AdstackReport

__all__ = ["Differentiated", "with_arrays"]


@dataclass(frozen=True)
class Differentiated:
    """A specialisation in forward or reverse mode.

    Attributes:
        specialisation: the specialisation.
        plan: how it is launched.
        companions: primal place name -> the place of its gradient or dual.
        derived: the kernel in that mode.
        races: what is known of its races.
        lean: the same with less memory, if there is such a thing.
    """

    specialisation: Specialisation
    plan: Plan
    companions: Mapping[str, Place]
    derived: Derived
    races: Races
    lean: Checkpointed | None = None

    @property
    def racing(self) -> Racing:
        """Its races where all array arguments are different arrays."""
        return self.races.apart

    @property
    def beside(self) -> Mapping[str, str]:
        """See `Derived`."""
        return self.derived.beside

    def launch(self, call: Call, beside: Mapping[str, Buffer] | None = None) -> object:
        """Run it, with memory for the places `beside`; the value that the kernel returns, but none in reverse mode.

        Reverse mode takes the adjoints of what the kernel returned from the call; where there are none they are 0.
        """
        scalars = self.run(call, beside)
        returns = self.specialisation.returns if self.plan.compiled.program.returns else None
        return None if returns is None else result_value(returns, scalars)

    def run(self, call: Call, beside: Mapping[str, Buffer] | None = None) -> Sequence[float]:
        """As `launch`; gives the scalars that come back. In forward mode the tangents of the real ones come last."""
        self.check(call)
        if beside:
            call = with_arrays(call, beside)
        try:
            return run_plan(self.plan, self._seeded(call) if self.seeds else call)
        except HeapLimit as short:
            return self.go_on(call, short)

    def check(self, call: Call) -> None:
        """AdstackDataAccessError if the launch has a race; and see `Aliases.check`."""
        self.refuse_races(call)
        self.aliases.check(call)

    def refuse_races(self, call: Call) -> None:
        """AdstackDataAccessError if the launch certainly has a race that a derivative flows through."""
        aliases: dict[str, str] = {}
        first: dict[int, str] = {}
        for name in dict.fromkeys(chain.from_iterable(self.apart)):
            one = first.setdefault(id(call.arrays[name].storage), name)
            if one != name:
                aliases[name] = one
        racing = self.races.under(aliases) if aliases else self.races.apart
        if racing:
            racing.refuse(call.scalars, {name: buffer.shape for name, buffer in call.arrays.items()})

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The places of the kernel's fields and ndarrays that it reads, but for gradients."""
        places = self.specialisation.kernel.places
        read = [(name, places[name]) for name in self.plan.compiled.read if name in places]
        return frozenset(name for name, place in read if place.role == "primal" and place.kind in ("field", "ndarray"))

    @cached_property
    def apart(self) -> list[tuple[str, str]]:
        """Pairs of array arguments by which iterations may race if they are one array."""
        alike: dict[tuple[DType, int], list[str]] = {}
        for name in sorted(self.companions):
            place = self.specialisation.kernel.places[name]
            if place.kind == "ndarray":
                alike.setdefault((place.dtype, place.rank), []).append(name)
        aliases = {name: names[0] for names in alike.values() for name in names[1:]}
        if not aliases:
            return []
        places = self.races.under(aliases).places
        return sorted({(min(pair), max(pair)) for pair in places if pair[0] != pair[1]})

    def go_on(self, call: Call, short: HeapLimit) -> Sequence[float]:
        """Repeat, with less memory, a launch that found no room for its adstacks."""
        if self.lean is None:
            raise short
        return self.lean.run(self._seeded(call), short)

    def scalars(self, call: Call) -> Sequence[float]:
        """The scalar arguments for a call: in reverse mode adjoints of what the kernel returned come last."""
        return [*call.scalars, *(call.seeds or [0.0] * self.seeds)] if self.seeds else call.scalars

    @cached_property
    def seeds(self) -> int:
        """How many adjoints of returned numbers it takes; none in forward mode."""
        return len(self.derived.kernel.params) - len(self.specialisation.kernel.params)

    def _seeded(self, call: Call) -> Call:
        return with_arrays(call, {}, self.scalars(call)) if self.seeds else call

    def adstack_report(self) -> AdstackReport:
        """What is kept on adstacks; of the last launch, how they were laid out and what was done to make them fit."""
        from ...runtime.adstack_report import report

        tasks = self.plan.backend.adstacks(self.plan.compiled.executable)
        latest = None if self.lean is None else self.lean.latest
        if latest is None or self.lean is None or latest.number < self.plan.number:
            return report(self.plan.compiled, tasks)
        tasks = latest.backend.adstacks(latest.compiled.executable)
        return replace(report(self.plan.compiled, tasks), checkpoints=self.lean.told)

    @cached_property
    def aliases(self) -> Aliases:
        """The memory that a call must not pass twice."""
        return Aliases(self.specialisation, self.plan, self.companions)


def with_arrays(call: Call, more: Mapping[str, Buffer], scalars: Sequence[float] | None = None) -> Call:
    """The same call with arrays for more places, and with other scalar arguments if there are any."""
    copy = Call()
    copy.key, copy.loans, copy.owners, copy.seeds = call.key, call.loans, call.owners, call.seeds
    copy.scalars = call.scalars if scalars is None else [*scalars]
    copy.arrays = {**call.arrays, **more}
    return copy
