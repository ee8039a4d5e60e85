"""What is known of single values and ops: constants; whether an op may raise, is in bounds, which memory it accesses.

Arguments may share memory: two ndarrays may be views of one buffer, and a field can be lent out and passed as an
ndarray. Two fields never overlap; neither do temps, results and local arrays with anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ..ir.ops import ARRAY_LOAD, ARRAY_STORE, ATOMIC, LOAD, RANDOM, STORE
from ..ir.scalar_ops import CONST
from ..ir.structure import Constant, Op, Place, Region, Value

__all__ = [
    "Memory",
    "ModRef",
    "alias_class",
    "constant",
    "draws_random",
    "in_bounds",
    "integer",
    "may_raise",
    "memory_of",
    "mod_ref",
]

Memory = Place | Value
"""What holds elements: a place, or the handle of a local array."""


def constant(value: Value) -> Constant | None:
    """The number of a value that a `const` op defines; None for any other value."""
    op = value.owner
    if not isinstance(op, Op) or op.opdef is not CONST:
        return None
    number: Constant = op.attrs["value"]
    return number


def integer(value: Value) -> int | None:
    """The number of an integer (or u1) constant; None for any other value, a float constant included."""
    number = constant(value)
    return None if number is None or isinstance(number, float) else int(number)


def memory_of(op: Op) -> tuple[Memory, int] | None:
    """The memory that an access touches, and the position of its first index among the operands; None for other ops."""
    start = ACCESSES.get(op.opdef)
    if start is None:
        return None
    return (op.operands[0] if start else op.attrs["place"]), start


ACCESSES: Final = {LOAD: 0, STORE: 0, ATOMIC: 0, ARRAY_LOAD: 1, ARRAY_STORE: 1}


def extents(op: Op) -> tuple[int | None, ...]:
    """The extents that an access's indices must stay below."""
    if ACCESSES[op.opdef]:  # a local array, whose handle comes first
        return (op.operands[0].type.length,)  # type: ignore[union-attr]
    shape: tuple[int | None, ...] = op.attrs["place"].shape
    return shape


def in_bounds(op: Op) -> bool:
    """Whether an access provably stays inside its memory."""
    start = ACCESSES[op.opdef]
    return all(
        extent is not None and (index := constant(value)) is not None and 0 <= index < extent
        for value, extent in zip(op.operands[start:], extents(op), strict=False)
    )


def may_raise(op: Op) -> bool:
    """Whether an op without regions can be an error in debug mode: a trap of its row, or an index out of bounds."""
    trap = op.opdef.trap
    if trap is not None:
        return _may_trap(op, constant(op.operands[1]))
    return op.opdef in ACCESSES and not in_bounds(op)


def _may_trap(op: Op, second: Constant | None) -> bool:
    """Traps look at the number of the second operand, and at nothing but the type of the first."""
    if second is None:
        return True
    trap, to = op.opdef.trap, op.operands[0].dtype.numpy
    assert trap is not None
    return bool(np.any(trap.when(np.zeros(1, to), np.array([second], to))))


def alias_class(memory: Memory) -> str:
    """The alias class of memory: "field" and "ndarray" for what may be shared, "private" for what never is."""
    return memory.kind if isinstance(memory, Place) and memory.kind in ("field", "ndarray") else "private"


MAY_ALIAS: Final = {"private": (), "field": ("ndarray",), "ndarray": ("field", "ndarray")}
"""By alias class, the classes of which another member may share elements with a member of this one."""


@dataclass
class ModRef:
    """Mod/ref sets: which memory the ops of a region, at any depth, may read and may write.

    Attributes:
        read, written: the memory that is accessed.
        classes: the alias classes of what is written.
    """

    read: set[Memory] = field(default_factory=set)
    written: set[Memory] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)

    def note(self, op: Op) -> None:
        """Add an access."""
        access = memory_of(op)
        if access is not None:
            if op.opdef.reads:
                self.read.add(access[0])
            if op.opdef.writes:
                self.written.add(access[0])
                self.classes.add(alias_class(access[0]))

    def update(self, other: ModRef) -> None:
        """Add the accesses of `other`."""
        self.read |= other.read
        self.written |= other.written
        self.classes |= other.classes

    def may_write(self, memory: Memory) -> bool:
        """Whether one of the writes may have changed `memory`."""
        return memory in self.written or not self.classes.isdisjoint(MAY_ALIAS[alias_class(memory)])


def mod_ref(body: Region) -> dict[Op, ModRef]:
    """The mod/ref sets of every op with regions in a body, at any depth."""
    effects: dict[Op, ModRef] = {}
    _mod_ref(body, ModRef(), effects)
    return effects


def _mod_ref(region: Region, into: ModRef, effects: dict[Op, ModRef]) -> None:
    for op in region.ops:
        if op.regions:
            effects[op] = inside = ModRef()
            for inner in op.regions:
                _mod_ref(inner, inside, effects)
            into.update(inside)
        else:
            into.note(op)


def draws_random(body: Region) -> bool:
    """Whether anything draws random numbers. A stream depends on which parallel loop of the kernel draws from it."""
    return any(op.opdef is RANDOM for op in body.walk())
