"""Straight-line code and the dispatch over operations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Protocol

from adstack.backends.shared.handlers import Handlers
from adstack.backends.shared.thread_code import Machine
from adstack.ir.ops import TABLE
from adstack.ir.structure import Op, Place, Region, Value
from adstack.ir.types import DType, i64

from .frame import TaskFrame
from .library import Library
from .rows import Rows
from .scalars import emit
from .spelling import literal
from .teams import TeamCode
from .writer import Writer

__all__ = ["HANDLERS", "Partial", "RegionEmitter", "handles"]

_SHORT: Final = 40
_FOLDED: Final = frozenset({"u1", "i32", "u32", "i64", "u64"})
"""Types whose values mean the same in the middle of an expression: narrower ones would be widened."""
_CALL: Final = re.compile(r"\w+(?:<\w+>)?\([^()]*\)")


class Partial(Protocol):
    """What a thread combines of its own values before an atomic update reaches memory (see `gathering`)."""

    def add(self, e: RegionEmitter, value: Value) -> None:
        """Take one more value in."""


HANDLERS: Handlers[RegionEmitter] = Handlers()
handles = HANDLERS.handles


class RegionEmitter:
    """Emits ops into one function.

    Attributes:
        w: its text.
        library: the functions in front of it.
        task: what the code needs to know of the task around it; None in a library function, which touches no memory.
        arrays: local arrays: value -> name.
        gathered: atomics whose values a thread combines before they reach memory.
        own: atomics whose element no other iteration touches.
        machines: adstacks that count for themselves.
        team: of a task whose iterations are blocks of threads that run side by side.
        sites: the site of each adstack in the heap, for the overflow record.
    """

    def __init__(self, w: Writer, library: Library, task: TaskFrame | None = None) -> None:
        self.w, self.library, self.task = w, library, task
        self.arrays: dict[Value, str] = {}
        self.gathered: dict[Op, Partial] = {}
        self.own: set[Op] = set()
        self.machines: dict[Value, Machine[str, str]] = {}
        self.team: TeamCode | None = None
        self.sites: dict[Value, int] = {}
        self._texts: dict[Value, str] = {}
        self._numbers: dict[Value, int] = {}
        self._here: set[Op] = set()

    @property
    def frame(self) -> TaskFrame:
        """The task around the code."""
        assert self.task is not None, "memory is out of reach in a library function"
        return self.task

    @property
    def rows(self) -> Rows:
        """The thread's part of the adstack heap."""
        assert self.frame.rows is not None, "the task has no adstacks in the heap"
        return self.frame.rows

    # ---- operands

    def bind(self, value: Value, text: str) -> None:
        """Let a name, or a constant, stand for an IR value."""
        self._texts[value] = text

    def place(self, value: Value, text: str) -> None:
        """Name a pure value; or let its text stand where it is used, if that is short and used once, in this region.

        Only integers and truth values: of floats each operation is a statement of its own, which compilers may not
        contract. What a loop carries does not change before the end of the region.
        """
        folds = len(text) <= _SHORT and value.dtype.name in _FOLDED and list(value.uses.values()) == [1]
        if folds and self._here.issuperset(value.uses):
            self.bind(value, text if _CALL.fullmatch(text) else f"({text})")
        else:
            self.let(value, text)

    def let(self, value: Value, text: str) -> None:
        """Name an IR value."""
        self.bind(value, self.w.let(value.dtype, text, value.name))

    def get(self, value: Value) -> str:
        """The expression that stands for a value."""
        return self._texts[value]

    def all(self, values: Sequence[Value]) -> list[str]:
        """The expressions that stand for values, in order."""
        return [self._texts[v] for v in values]

    def number(self, value: Value) -> int | None:
        """An integer that is known when compiling."""
        return self._numbers.get(value)

    def know(self, value: Value, number: int) -> None:
        """Note which integer a value is, for those who ask `number`."""
        self._numbers[value] = number

    def index(self, value: Value) -> str:
        """An integer value as i64; an unsigned one is not made negative."""
        constant = self.number(value)
        if constant is not None:
            return literal(i64(constant), i64)
        text = self.get(value)
        return text if value.dtype is i64 else f"long({text})"

    def extent(self, place: Place, axis: int) -> str:
        """An extent as i64."""
        length = place.shape[axis]
        return literal(length, i64) if length is not None else self.frame.extents[place.name, axis]

    # ---- ops

    def region(self, region: Region) -> Sequence[Value]:
        """Emit the ops; gives what the terminator hands on."""
        outer, self._here = self._here, set(region.ops)
        for op in region.ops[:-1]:
            self.op(op)
        self._here = outer
        return region.terminator.operands

    def run(self, region: Region) -> list[str]:
        """Emit the ops; gives the values that the terminator hands on."""
        return self.all(self.region(region))

    def op(self, op: Op) -> None:
        """Emit an op: its emitter is registered with `handles`."""
        if self.team is None or not self.team.is_part(op):
            HANDLERS[op.opdef](self, op)

    def combine(self, kind: str, dtype: DType, a: str, b: str) -> str:
        """Two values combined as an atomic of that kind combines them, by the row of its name."""
        return emit(TABLE[kind], dtype, (a, b), (dtype, dtype))
