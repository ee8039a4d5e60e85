"""Emission of the ops of a region, for `lanes` iterations at once: the dispatch over operations.

Scalar operations are emitted here; ops with effects, memory or regions by what registers with `handles`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from adstack.analysis.strides import Strides
from adstack.ir.structure import Op, Region, Value

from ..text.scalar_ops import emit
from ..text.writer import Writer
from .address import Address
from .adstack_state import Kept, Rows, Stack
from .module import Module
from .target import HOST, Target
from .values import FunctionWriter

__all__ = ["HANDLERS", "Hurry", "RegionEmitter", "handles"]

Handler = Callable[["RegionEmitter", Op], None]

HANDLERS: dict[str, Handler] = {}


def handles(name: str) -> Callable[[Handler], Handler]:
    """Decorator: this function emits the op of that name."""

    def register(handler: Handler) -> Handler:
        HANDLERS[name] = handler
        return handler

    return register


class Gathered(Protocol):
    """An atomic whose values are combined before they reach memory."""

    def add(self, e: RegionEmitter, value: Value) -> None:
        """Take the running lanes' values."""

    def close(self, e: RegionEmitter) -> None:
        """Update memory."""


@dataclass
class Hurry:
    """What code notes that does without what hardly ever happens (see `quick`).

    Attributes:
        doubts: conditions (i1) under which it was wrong to.
        slots: per adstack and index, a pointer to the slot that the present turn touches: it is there.
    """

    doubts: list[str] = field(default_factory=list)
    slots: dict[tuple[Value, Value], str] = field(default_factory=dict)


class RegionEmitter(FunctionWriter):
    """Emits ops into one LLVM function.

    Attributes:
        module: what the function belongs to.
        target: the machine that the code is for.
        gathered: atomics that are combined per thread first.
        late: stores that come when all else of their region is done (see `late`).
        owned: atomics that need not be atomic (see `own`).
        held: where those of them are that stand in a register for as long as a loop runs (see `held`).
        stacks, kept: the adstacks made so far, of either kind.
        counted: the adstacks of which the program keeps the count, each with its group.
        rows: where those of them that are in the heap are.
        current: the region being emitted.
        used: the values that some op of the task takes.
        strides: how values of a parallel loop grow from one iteration to the next; None in serial code.
        missing: what is loaded for lanes that do not run.
        hurry: what code that does without what hardly ever happens must note; None elsewhere.
    """

    def __init__(self, module: Module, w: Writer, lanes: int, varying: set[Value]) -> None:
        super().__init__(w, lanes, varying)
        self.module = module
        self.target: Target = HOST
        self.missing = "poison"
        self.strides: Strides | None = None
        self.gathered: dict[Op, Gathered] = {}
        self.owned: dict[Op, str] = {}
        self.late: set[Op] = set()
        self.held: dict[Op, Address] = {}
        self.used: set[Value] = set()
        self.stacks: dict[Value, Stack] = {}
        self.counted: dict[Value, tuple[Op, ...]] = {}
        self.rows: Rows | None = None
        self.current: Region | None = None
        self.kept: dict[Value, Kept] = {}
        self.hurry: Hurry | None = None

    # ---- ops

    def region(self, region: Region) -> list[Value]:
        """Emit the ops; gives what the terminator hands on."""
        outer, self.current = self.current, region
        for op in sorted(region.ops[:-1], key=self.late.__contains__) if self.late else region.ops[:-1]:
            self.op(op)
        self.current = outer
        return region.terminator.operands

    def op(self, op: Op) -> None:
        handler = HANDLERS.get(op.name)
        if handler is not None:
            handler(self, op)
        else:
            self.pure(op)

    def pure(self, op: Op) -> None:
        """A scalar operation, on scalars if none of its operands varies."""
        width = max((self.width(v) for v in op.operands), default=1)
        types = tuple(v.dtype for v in op.operands)
        args = tuple(self.at(v, width) for v in op.operands)
        self.bind(op.result, emit(self.w, width, op.name, op.result.dtype, types, args))


@handles("const")
def _const(e: RegionEmitter, op: Op) -> None:
    e.constant(op.result, op.attrs["value"])
