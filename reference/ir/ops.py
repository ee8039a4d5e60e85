"""The table of operations: the rows of scalar operations, and those of memory, adstacks, control and effects.

A row is one object: code asks whether an op is of a row by identity, `op.opdef is FOR`, and never by its name, which is
for the text form and for people.
"""

from __future__ import annotations

from typing import Final

from . import scalar_ops as scalars
from .arithmetic import Meaning, swap_if_equal
from .opdef import OpDef
from .table import TABLE, row

__all__ = [
    "APART",
    "ATOMICS",
    "PLACE_ACCESSES",
    "PLACE_WRITES",
    "SERIAL_LOOPS",
    "STACK_OPS",
    "TABLE",
    "TEAM_ARRAYS",
    "WAYS",
    "AtomicKind",
]

WAYS: Final = ("own", "uniform", "gathered", "tiled", "private", "subgroup", "atomic", "ordered")
"""How the sum of an atomic update may be built, best first: see `analysis/accumulation.py`."""
TEAM_ARRAYS: Final = ("shared", "updated")
"""What an array of a block of threads is: in the second, threads update elements that others update, too."""
APART: Final = ("own", "uniform", "tiled", "private")
"""The ways of a target that keeps its threads apart, besides atomics."""

CALL = row("call", attrs=("function",), doc="apply a function of the library, or of the text: pure, not inlined")

RANDOM = row(
    "random",
    "-> $to",
    {"to": "numeric"},
    pure=False,
    reads=True,
    writes=True,
    attrs=("to",),
    doc="the next number of this thread's stream",
)

SHAPE = row("shape", pure=True, attrs=("place", "axis", "to"), doc="an extent of a place")
LOAD = row("load", pure=False, reads=True, attrs=("place",), guards=True, doc="read an element: one index per axis")
STORE = row(
    "store",
    pure=False,
    writes=True,
    attrs=("place",),
    guards=True,
    sums=True,
    doc="write an element: indices, then the value",
)
ATOMIC = row(
    "atomic",
    pure=False,
    reads=True,
    writes=True,
    attrs=("place", "kind"),
    guards=True,
    sums=True,
    doc="read, combine, write as one; the result is the old value",
)

ARRAY_ALLOC = row(
    "array.alloc", pure=False, attrs=("dtype", "length"), teams=True, doc="a zeroed array inside the thread"
)
ARRAY_LOAD = row("array.load", pure=False, reads=True, guards=True, doc="read an element: handle, index")
ARRAY_STORE = row("array.store", pure=False, writes=True, guards=True, doc="write an element: handle, index, value")

STACK_ALLOCA = row(
    "stack.alloca",
    pure=False,
    attrs=("dtype", "around", "inside"),
    doc="an empty adstack; the operand is its capacity; branches that can't both be taken are told apart by the sides "
    "(2 n + side of the nth `if`) around its loop, and by those inside it",
)
STACK_CLAIM = row(
    "stack.claim",
    pure=False,
    reads=True,
    writes=True,
    doc="whether this iteration touches slots of the adstacks made after it; the second operand: at most so many do",
)
STACK_PUSH = row("stack.push", pure=False, reads=True, writes=True, doc="push a primal; its adjoint becomes 0")
STACK_POP = row("stack.pop", pure=False, reads=True, writes=True, doc="drop the top; an empty stack stays empty")
STACK_LOAD_TOP = row(
    "stack.load_top", pure=False, reads=True, doc="the primal of the top; of an empty stack, of slot 0"
)
STACK_LOAD_TOP_ADJ = row("stack.load_top_adj", pure=False, reads=True, doc="the adjoint of the top")
STACK_PUT = row(
    "stack.put",
    pure=False,
    reads=True,
    writes=True,
    doc="write the primal of the slot at an index: a push whose count the program keeps",
)
STACK_GET = row("stack.get", pure=False, reads=True, doc="the primal of the slot at an index")
STACK_ACC_ADJOINT = row("stack.acc_adjoint", pure=False, reads=True, writes=True, doc="add to the adjoint of the top")

IF = row(
    "if", pure=False, regions=2, doc="take the first region if the operand, else the second; results are what it yields"
)
FOR = row(
    "for",
    pure=False,
    regions=1,
    teams=True,
    doc="operands lo, hi, initial carried values; region arguments: index, carried values",
)
WHILE = row(
    "while", pure=False, regions=2, doc="condition region yields (u1, carried...); body takes and yields carried values"
)
PARALLEL_FOR = row(
    "parallel_for", pure=False, regions=1, doc="operands lo, hi per axis; one unordered iteration per point"
)
YIELD = row("yield", pure=False, terminator=True, doc="what a region gives to its op")
RETURN = row("return", pure=False, terminator=True, doc="the end of a kernel or task, with its results")

ASSERT = row(
    "assert", pure=False, writes=True, attrs=("message",), doc="in debug mode, an error unless the operand holds"
)
PRINT = row("print", pure=False, writes=True, attrs=("parts",), doc="write text and operands")

SERIAL_LOOPS: Final = (FOR, WHILE)
"""The loops whose iterations run one after another, and carry values."""
STACK_OPS: Final = (
    STACK_ALLOCA,
    STACK_CLAIM,
    STACK_PUSH,
    STACK_POP,
    STACK_LOAD_TOP,
    STACK_LOAD_TOP_ADJ,
    STACK_PUT,
    STACK_GET,
    STACK_ACC_ADJOINT,
)
"""What makes, changes or reads an adstack."""
PLACE_WRITES: Final = (STORE, ATOMIC)
"""What changes an element of a place."""
PLACE_ACCESSES: Final = (LOAD, STORE, ATOMIC)
"""What reads or changes an element of a place."""


class AtomicKind:
    """How an atomic combines the old value with its operand: `meaning(to, old, value) -> new`."""

    def __init__(self, name: str, over: str, meaning: Meaning, operands: int = 1) -> None:
        self.name, self.over, self.meaning, self.operands = name, over, meaning, operands


def _of(scalar: OpDef, over: str) -> AtomicKind:
    """The kind that combines as a scalar operation does."""
    assert scalar.meaning is not None
    return AtomicKind(scalar.name, over, scalar.meaning)


ATOMICS: Final[dict[str, AtomicKind]] = {
    kind.name: kind
    for kind in (
        _of(scalars.ADD, "numeric"),
        _of(scalars.MUL, "numeric"),
        _of(scalars.MIN, "numeric"),
        _of(scalars.MAX, "numeric"),
        _of(scalars.AND, "bits"),
        _of(scalars.OR, "bits"),
        _of(scalars.XOR, "bits"),
        AtomicKind("xchg", "any", lambda to, old, value: value),
        AtomicKind("cas", "any", swap_if_equal, operands=2),
    )
}
