"""Calls that a graph has recorded: what each works on, and what they do to each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..analysis.boxes import Box, intersection
from ..errors import AdstackDataAccessError
from ..gradients.events import key_of
from ..gradients.launches.last_launch import has_changed, reverse_last_launch
from ..gradients.modes.compiled import differentiated
from ..gradients.modes.differentiated import Differentiated
from ..runtime import state
from ..runtime.adstacks.heap import HeapLimit
from ..runtime.graphs import Planned
from ..runtime.memory.buffers import Buffer
from ..runtime.plans import Plan

if TYPE_CHECKING:
    from ..launch.arguments import Call
    from ..launch.specialisation import Specialisation
    from .gradient import Gradient

__all__ = ["Step", "alone", "is_repeatable", "overwritten"]


@dataclass(frozen=True)
class Step:
    """A recorded call.

    Attributes:
        specialisation, call: what serves it, and what is passed.
        gradient: the kernel's reverse mode, if that is what was called.
        runtime: in which.
        keep: the arguments, whose memory must stay.
    """

    specialisation: Specialisation
    call: Call
    gradient: Gradient | None
    runtime: state.Runtime
    keep: tuple[object, ...]

    @property
    def title(self) -> str:
        """What was called, as it is written."""
        return self.specialisation.kernel.name + (".grad" if self.gradient is not None else "")

    @cached_property
    def plan(self) -> Plan:
        """How it is launched."""
        return self.specialisation.plan if self.gradient is None else self._reverse.plan

    @property
    def _reverse(self) -> Differentiated:
        return differentiated(self.specialisation, "reverse", self.runtime)

    @cached_property
    def planned(self) -> Planned:
        """The launch with its arguments, as the runtime repeats it."""
        scalars = self.call.scalars if self.gradient is None else self._reverse.scalars(self.call)
        return Planned(self.plan, tuple(scalars), self.call.arrays)

    @cached_property
    def needed(self) -> dict[int, list[Box]]:
        """The elements that its reverse mode may read, by memory."""
        records = self.specialisation.records
        names = () if records is None else (*records.fields, *records.arrays)
        return self._regions(self.specialisation.plan.compiled.reach(self.call.scalars, self._shapes).read, names)

    @cached_property
    def written(self) -> dict[int, list[Box]]:
        """The elements that its launch may write, by memory."""
        reach = self.plan.compiled.reach(self.planned.scalars, self._shapes).written
        return self._regions(reach, self.plan.compiled.written)

    def _regions(self, reach: Mapping[str, list[Box]], names: Collection[str]) -> dict[int, list[Box]]:
        regions: dict[int, list[Box]] = {}
        for name in names:
            buffer = (
                self.call.arrays.get(name) or self.plan.buffers.get(name) or self.specialisation.plan.buffers.get(name)
            )
            if buffer is not None and reach.get(name):
                regions.setdefault(_memory(buffer), []).extend(reach[name])
        return regions

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: buffer.shape for name, buffer in self.call.arrays.items()}

    def overwrites(self, other: Step) -> bool:
        """Whether it may write what the reverse mode of another call reads."""
        return any(_meet(boxes, other.needed.get(memory, ())) for memory, boxes in self.written.items())

    @property
    def buffers(self) -> list[Buffer]:
        """All memory that it works on."""
        return [*self.specialisation.plan.buffers.values(), *self.call.arrays.values()]

    def run(self) -> None:
        """Do what was called."""
        if self.gradient is not None:
            reverse_last_launch(self.specialisation, self.call, self.runtime)
        else:
            self.specialisation.launch(self.call)

    def go_on(self, short: HeapLimit) -> None:
        """Do a launch that found no room for its adstacks."""
        if self.gradient is None:
            raise short
        self._reverse.go_on(self.call, short)

    def changed(self) -> bool:
        """For a gradient of a call that is not in the graph: whether memory is not as that call found it."""
        return has_changed(self.specialisation, self.call, self.runtime)


def is_repeatable(steps: Sequence[Step], apart: Sequence[Step]) -> bool:
    """Whether later launches need no more checks than can be made ahead of all calls at once.

    Args:
        steps: the calls, in order.
        apart: those of them that `alone` gives.
    """
    reversed_ = {key_of(step.specialisation, step.call) for step in steps if step.gradient is not None}
    for number, step in enumerate(steps):
        if step.gradient is not None:
            if step.specialisation.keeps:
                return False  # a launch by itself keeps what it overwrites
            if step in apart and any(one.overwrites(step) for one in steps[:number]):
                return False
        elif key_of(step.specialisation, step.call) in reversed_ and _is_overwritten(steps, number):
            return False  # elements would have to be compared
    return True


def _is_overwritten(steps: Sequence[Step], number: int) -> bool:
    """Whether a later call may write what the gradient of one needs, before that gradient or another such call."""
    step = steps[number]
    key, last = key_of(step.specialisation, step.call), number
    for later, one in enumerate(steps[number + 1 :], number + 1):
        if key_of(one.specialisation, one.call) == key:
            if one.gradient is None:
                break
            last = later
    return any(one.overwrites(step) for one in steps[number + 1 : last])


def alone(steps: Sequence[Step]) -> list[Step]:
    """Gradients of calls that are not among the steps before them."""
    seen, apart = set(), []
    for step in steps:
        key = key_of(step.specialisation, step.call)
        if step.gradient is None:
            seen.add(key)
        elif key is None or key not in seen:
            apart.append(step)
    return apart


def overwritten(step: Step, later: Step) -> AdstackDataAccessError:
    """Why a launch that is part of a graph can't be differentiated outside of it."""
    return AdstackDataAccessError(
        f"{step.title}.grad() needs what {step.title} found, and {later.title} may have overwritten it, which was "
        "launched with it in a graph",
        loc=step.specialisation.kernel.loc,
        do=f"record {step.title}.grad() in the graph, before {later.title}, or call the kernels one by one",
    )


def _memory(buffer: Buffer) -> int:
    """Equal where memory may be the same: somebody else's arrays may overlap in any way."""
    return id(buffer) if buffer.owned else 0


def _meet(some: Collection[Box], others: Collection[Box]) -> bool:
    return any(intersection(one, other) is not None for one in some for other in others)
