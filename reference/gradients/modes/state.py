"""All that is kept for the derivatives of one specialisation: `state_of(specialisation) -> GradientState`.

It is made when it is first asked for, and goes with the specialisation, which holds it without looking into it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from ...errors import AdstackDataAccessError
from ...ir.structure import Place, Value
from ...launch.specialisation import Specialisation
from ...runtime.compiled import Compiled
from ...runtime.derived import Derived, JournalMode
from ...runtime.memory.buffers import Array
from .differentiated import Differentiated
from .footprints import Footprint, FootprintKey
from .races import Races

__all__ = [
    "Accompanied",
    "ActiveKey",
    "Beside",
    "CompiledKey",
    "DerivedKey",
    "GradientState",
    "Journaled",
    "LanesKey",
    "Latest",
    "LatestKey",
    "Mode",
    "Names",
    "Recorded",
    "Role",
    "Way",
    "Written",
    "state_of",
]

Role = Literal["grad", "dual"]
"""What stands beside a place: its gradient, or its dual."""

Mode = Literal["forward", "reverse", "rewinding", "checked"]
"""Forward mode; reverse mode, and the same on memory that can be wound back; the kernel with checks of its reads."""

Way = Literal["rewinding", "parted", "journaled"]
"""How a launch is made whose reverse pass needs what it overwrites: as it is, with copies of memory from before it; as
several launches, one for each stretch of the kernel, each with such copies; or with a log of what it loads.
"""

LatestKey: TypeAlias = tuple[Mode, frozenset[str]]
"""The key of the compiled mode that was asked for last: the mode, and the places whose reads leave marks."""

Names = tuple[str, ...]
"""The names of the places that have memory beside them, in order."""


class DerivedKey(NamedTuple):
    """The key of a kernel's IR in a mode."""

    mode: Mode
    names: Names


class CompiledKey(NamedTuple):
    """The key of a compiled mode; `marked` are the places whose reads leave marks."""

    mode: Mode
    names: Names
    marked: frozenset[str]


class ActiveKey(NamedTuple):
    """The key of the scalar parameters on which something with such memory beside it depends."""

    role: Role
    names: Names


class LanesKey(NamedTuple):
    """The key of the kernel that computes so many tangents of each value, or of one of its parts, by number."""

    names: Names
    lanes: int
    part: int | None = None


class Accompanied(NamedTuple):
    """The places that had memory beside them when so many fields had been placed."""

    placed: int
    places: list[Place]


class Latest(NamedTuple):
    """The mode that was asked for last.

    Attributes:
        places: those with memory beside them, then: another list means that some came or went.
        mode: what serves it.
        checked: whether it was looked at that there is something to differentiate.
    """

    places: list[Place]
    mode: Differentiated
    checked: bool


class Recorded(NamedTuple):
    """The way in which a tape recorded a launch last; `places` are as in `Latest`."""

    places: list[Place]
    way: Way


class Beside(NamedTuple):
    """See `Derived.beside`, of the mode "rewinding"; `places` are as in `Latest`."""

    places: list[Place]
    names: Mapping[str, str]


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


@dataclass(frozen=True)
class Written:
    """A specialisation that marks what it writes.

    Attributes:
        forward: launches like the specialisation, with zeroed memory for the marks.
        marks: the name of the place of the marks -> the place that they stand beside.
    """

    forward: Specialisation
    marks: Mapping[str, str]


@dataclass(eq=False)
class GradientState:
    """What is known of the derivatives of one specialisation.

    Attributes:
        real: the primal places of real numbers that may have memory beside them.
        accompanied: those that have some.
        checked: the sets of names for which there is something to differentiate.
        derived: the kernel in a mode, as IR.
        compiled: the same, compiled.
        latest: the compiled modes that were asked for last.
        races: by the names of the places that are differentiated.
        parts: the specialisation as several; None if nobody asked.
        journals: the specialisation with logs.
        journal_sizes: how much room the logs of the last launch took; None if there was none.
        footprints: the elements that launches touch.
        active: the scalar parameters that what is differentiated depends on.
        recorded: how a tape records a launch; the key says whether that has to be in one piece.
        refusals: why a launch can't be recorded in some way, by the names of the places with gradients.
        beside: what launches copy of what they are about to overwrite.
        jvps: the kernel that computes tangents beside its values, by the names of the places that have duals.
        lanes: the same with several tangents beside each value.
        written: the specialisation that marks what it writes of the places that have gradients, or duals.
    """

    real: dict[Role, list[Place]] = field(default_factory=dict)
    accompanied: dict[Role, Accompanied] = field(default_factory=dict)
    checked: set[Names] = field(default_factory=set)
    derived: dict[DerivedKey, Derived] = field(default_factory=dict)
    compiled: dict[CompiledKey, Differentiated] = field(default_factory=dict)
    latest: dict[LatestKey, Latest] = field(default_factory=dict)
    races: dict[Names, Races] = field(default_factory=dict)
    parts: list[Specialisation] | None = None
    journals: dict[Names, Journaled] = field(default_factory=dict)
    journal_sizes: Array | None = None
    footprints: dict[FootprintKey, Footprint] = field(default_factory=dict)
    active: dict[ActiveKey, set[Value]] = field(default_factory=dict)
    recorded: dict[bool, Recorded] = field(default_factory=dict)
    refusals: dict[Names, dict[Way, AdstackDataAccessError]] = field(default_factory=dict)
    beside: Beside | None = None
    jvps: dict[Names, Specialisation] = field(default_factory=dict)
    lanes: dict[LanesKey, tuple[Derived, Compiled]] = field(default_factory=dict)
    written: dict[Names, Written] = field(default_factory=dict)


def state_of(specialisation: Specialisation) -> GradientState:
    """The state of a specialisation."""
    state = specialisation.gradients
    if not isinstance(state, GradientState):
        state = specialisation.gradients = GradientState()
    return state
