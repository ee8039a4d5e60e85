"""What the emitter of a function remembers about its adstacks: where their parts are, as names of LLVM values."""

from __future__ import annotations

from dataclasses import dataclass, field

from adstack.ir.location import Loc
from adstack.ir.structure import Value
from adstack.ir.types import DType
from adstack.runtime.adstacks.layout import Placement, TaskHeap

from .heap_table import Words

__all__ = ["CountedStack", "MachineStack", "Rows", "StackGroup"]


@dataclass(frozen=True)
class MachineStack:
    """An adstack that keeps its own count, with adjoints: see `adstack.interpreter.stacks`.

    Attributes:
        site: its number, for the overflow record.
        dtype: of its values.
        primal, adjoint: slots that hold the pointers to its values.
        count, capacity: slots that hold numbers (i64).
    """

    site: int
    dtype: DType
    primal: str
    adjoint: str
    count: str
    capacity: str


@dataclass
class StackGroup:
    """Counted adstacks of one capacity, whose pushes are checked together.

    Attributes:
        capacity: the greatest of any lane (i64).
        last: the last slot that may be touched (i64).
        each: the capacity of every lane (a vector), if they differ.
        places: per checked (region, index, mask), the slot to write to.
        rows: per slot, a stride that is not known when compiling, and that slot times the stride.
    """

    capacity: str
    last: str
    each: str = ""
    places: dict[tuple[int, Value, str | None], str] = field(default_factory=dict)
    rows: dict[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class CountedStack:
    """A counted adstack.

    The first lane's value of a slot is at base + slot * stride + offset, in bytes; those of other lanes follow.

    Attributes:
        group: the stacks that it is checked with.
        dtype: of its values.
        origin: where in the source it was made, and for which variable.
        base: an LLVM pointer.
        stride, offset: bytes (i64).
    """

    group: StackGroup
    dtype: DType
    origin: tuple[Loc, str]
    base: str
    stride: str
    offset: str


@dataclass(frozen=True)
class Rows:
    """Where the adstacks of a task that are in the adstack heap begin.

    Attributes:
        heap: their layout.
        block: a pointer to the memory.
        words: where the rest is told when the task runs; None if it is known when compiling.
        placement: what is known when compiling.
    """

    heap: TaskHeap
    block: str
    words: Words | None = None
    placement: Placement | None = None
