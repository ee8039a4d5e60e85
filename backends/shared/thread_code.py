"""What generators of code know of a task and of an adstack that counts for itself, in whatever words they write.

`Number` is what stands for a number in the code (a name in text, an id in SPIR-V), `Pointer` for an address, and
`Variable` for memory of the thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from adstack.backends.shared.sites import Site
from adstack.ir.structure import Value
from adstack.ir.types import DType

__all__ = ["Frame", "Machine", "slots_of"]

Number = TypeVar("Number")
Pointer = TypeVar("Pointer")
Variable = TypeVar("Variable")

_MOST_SLOTS: Final = 4096
_SLOTS: Final = 64
"""Slots of a machine whose capacity is not known when compiling: devices have little memory for each thread."""


@dataclass(kw_only=True)
class Frame(Generic[Number, Pointer]):
    """What the code of one task needs to know of it.

    Attributes:
        name: of the task.
        debug: whether checks are emitted.
        parallel: whether other iterations run at the same time.
        pointers: place name -> its address.
        extents: (place name, axis) -> an extent (i64), where it is not known when compiling.
        sites: what may be reported, of all tasks of the program; a site's number is its position.
        section: of the task's random streams.
        iteration: the linear index of the iteration, of the first lane's where there are several; 0 in serial code.
        indices: of the parallel loop around the code.
    """

    name: str
    debug: bool
    parallel: bool
    pointers: dict[str, Pointer]
    extents: dict[tuple[str, int], Number]
    sites: list[Site]
    section: int
    iteration: Number
    indices: tuple[Value, ...] = ()

    def site(self, site: Site) -> int:
        """The number of a site, which is entered as one of this task."""
        self.sites.append(replace(site, task=self.name))
        return len(self.sites) - 1


@dataclass(frozen=True)
class Machine(Generic[Number, Variable]):
    """An adstack that counts for itself: where its values, its adjoints and its count are.

    Attributes:
        site: its number, for the overflow record.
        dtype: of its values and adjoints.
        slots: how many there is memory for.
        capacity: how many it may use (i64).
        primal, adjoint: arrays of the thread that hold its values.
        count: a variable (i64).
    """

    site: int
    dtype: DType
    slots: int
    capacity: Number
    primal: Variable
    adjoint: Variable
    count: Variable


def slots_of(capacity: int | None) -> int:
    """How many slots a machine gets in the memory of its thread; None stands for a capacity that only the thread knows.

    A machine may be told to use more than that, which is an error of the launch.
    """
    return _SLOTS if capacity is None else min(max(capacity, 1), _MOST_SLOTS)
