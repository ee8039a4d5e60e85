"""Emission of the ops of a region, for `lanes` iterations at once: the dispatch over operations.

Scalar operations are emitted here; ops with effects, memory or regions by what registers with `handles`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol

from adstack.analysis.strides import Strides
from adstack.backends.shared.handlers import Handlers
from adstack.ir.scalar_ops import CONST, DIV
from adstack.ir.structure import Op, Region, Value

from ..text.scalar_ops import emit
from ..text.writer import Writer, allocation
from .address import Address
from .adstack_state import CountedStack, MachineStack, Rows
from .module import Module
from .target import HOST, Target
from .teams import TeamCode
from .values import FunctionWriter

__all__ = ["HANDLERS", "FastPath", "RegionEmitter", "handles"]

HANDLERS: Handlers[RegionEmitter] = Handlers()
handles = HANDLERS.handles


class Reduction(Protocol):
    """An atomic whose values are combined before they reach memory."""

    def add(self, e: RegionEmitter, value: Value) -> None:
        """Take the running lanes' values."""

    def close(self, e: RegionEmitter) -> None:
        """Update memory."""


class Pending(Protocol):
    """Accesses whose indices are still to be looked at, as they are looked at together (see `safety.guards`)."""

    def settle(self, e: RegionEmitter) -> None:
        """Look at them."""

    def waits_for(self, op: Op) -> bool:
        """Whether they may still be looked at behind an op, which comes next in their region."""


@dataclass
class FastPath:
    """The state of code in the fast version of a loop (see `adstack.analysis.loop_versioning`).

    Attributes:
        misses: conditions (i1) under which a cold path should have been taken, or under which a load was out of bounds:
            then its results mean nothing.
        slots: per adstack and index, a pointer to the slot that the present iteration touches, which is in bounds.
        in_bounds: guarded accesses -> the axes on which they are in bounds.
        clamped: guarded loads that are a miss where they are out of bounds, and read the first element of their place.
    """

    misses: list[str] = field(default_factory=list)
    slots: dict[tuple[Value, Value], str] = field(default_factory=dict)
    in_bounds: Mapping[Op, Sequence[int]] = field(default_factory=dict)
    clamped: Set[Op] = frozenset()


class RegionEmitter(FunctionWriter):
    """Emits ops into one LLVM function.

    Attributes:
        module: what the function belongs to.
        target: the machine that the code is for.
        slots: lines for the entry block of a math function that allocate memory; those of a task are in its frame.
        reductions: atomics that each thread combines on its own first.
        joined: atomics that were emitted with one before them (see `memory.joined`).
        sunk: stores that move to the end of their region (see `adstack.analysis.store_sinking`).
        exclusive: atomics whose element no other iteration touches -> the i1 under which that is so; "" for always.
        promoted: atomics whose element is in memory of the thread while a loop runs -> where.
        given: scalar operations whose results the loop around them computes -> what stands for them.
        stacks: the adstacks made so far that count for themselves.
        counted: the adstacks made so far whose count the program holds.
        stack_groups: the allocations of counted adstacks -> those of their group.
        rows: where the counted adstacks of the heap begin; None if there are none.
        team: of a task whose iterations are blocks of threads that run side by side.
        current: the region being emitted.
        strides: how values of a parallel loop grow from one iteration to the next; None in serial code.
        missing: what is loaded for lanes that do not run.
        fast_path: the state of the fast version of a loop; None elsewhere.
        pending: accesses of the region that are still to be looked at; None if there are none.
        aside: where an access that is being written goes if it is not inside: the condition (with its type: i1 or a
            mask) that it is, and a pointer; None if it is.
        crowded: the last region of which it was asked, and the answer; see `safety.accesses.is_crowded`.
    """

    def __init__(self, module: Module, w: Writer, lanes: int, varying: set[Value]) -> None:
        super().__init__(w, lanes, varying)
        self.module = module
        self.target: Target = HOST
        self.slots: list[str] = []
        self.missing = "poison"
        self.strides: Strides | None = None
        self.reductions: dict[Op, Reduction] = {}
        self.joined: set[Op] = set()
        self.exclusive: dict[Op, str] = {}
        self.sunk: set[Op] = set()
        self.promoted: dict[Op, Address] = {}
        self.given: dict[Op, str] = {}
        self.stacks: dict[Value, MachineStack] = {}
        self.stack_groups: dict[Value, tuple[Op, ...]] = {}
        self.rows: Rows | None = None
        self.team: TeamCode | None = None
        self.current: Region | None = None
        self.counted: dict[Value, CountedStack] = {}
        self.fast_path: FastPath | None = None
        self.pending: Pending | None = None
        self.aside: tuple[str, str] | None = None
        self.crowded: tuple[Region | None, bool] | None = None

    def slot(self, ty: str) -> str:
        """Memory in the frame of a math function; a pointer."""
        name = f"%slot{len(self.slots)}"
        self.slots += allocation(name, ty, 64, self.module.space)
        return name

    # ---- ops

    def region(self, region: Region) -> Sequence[Value]:
        """Emit the ops; gives what the terminator hands on."""
        outer, self.current, self.pending = (self.current, self.pending), region, None
        for op in sorted(region.ops[:-1], key=self.sunk.__contains__) if self.sunk else region.ops[:-1]:
            self.op(op)
        self.settle()
        self.current, self.pending = outer
        return region.terminator.operands

    def settle(self) -> None:
        """Look at the accesses that are still to be looked at: what comes next may report others, or may end early."""
        if self.pending is not None:
            pending, self.pending = self.pending, None
            pending.settle(self)

    def op(self, op: Op) -> None:
        """Emit one op: by the handler of its row, or as a scalar operation if that has none."""
        if self.pending is not None and not self.pending.waits_for(op):
            self.settle()
        if self.team is not None and self.team.is_part(op):
            return
        handler = HANDLERS.get(op.opdef)
        if handler is not None:
            handler(self, op)
        else:
            self.pure(op)

    def pure(self, op: Op) -> None:
        """A scalar operation, on scalars if none of its operands varies."""
        if op in self.given:
            self.bind(op.result, self.given[op])
            return
        width = max((self.width(v) for v in op.operands), default=1)
        types = tuple(v.dtype for v in op.operands)
        args = tuple(self.at(v, width) for v in op.operands)
        if op.opdef is DIV and width == 1:
            quotient = self.target.divide(self, op.result.dtype, *args)
            if quotient is not None:
                self.bind(op.result, quotient)
                return
        self.bind(op.result, emit(self.w, width, op.opdef, op.result.dtype, types, args))


@handles(CONST)
def _const(e: RegionEmitter, op: Op) -> None:
    e.constant(op.result, op.attrs["value"])
