"""Straight-line code and the dispatch over operations, for `lanes` iterations at once.

An operand is *uniform* (one scalar for all lanes) or *varying* (a vector with one element per lane). The mask says
which lanes are running: None means all of them. Code under a mask is reached only if some lane runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from adstack.analysis.strides import Strides
from adstack.ir.structure import Op, Place, Region, Value
from adstack.ir.types import DType, i64, u1

from .emitters import emit
from .module import Module
from .writer import Writer, literal, scalar_type, type_text

if TYPE_CHECKING:
    from .access import Address
    from .frame import TaskFrame
    from .kept import Kept
    from .rows import Rows
    from .stacks import Stack

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


class RegionEmitter:
    """Emits ops into one LLVM function.

    Attributes:
        module: what the function belongs to.
        w: the text.
        lanes: iterations side by side; with 1, everything is uniform.
        varying: the values that differ between lanes.
        mask: the running lanes, or None for all.
        block: label of the block being written.
        task: what the code needs to know of the task around it; None in a math function, which touches no memory.
        gathered: atomics that are combined per thread first.
        late: stores that come when all else of their region is done (see `late`).
        owned: atomics that need not be atomic (see `own`).
        held: where those of them are that stand in a register for as long as a loop runs (see `held`).
        stacks, kept: the adstacks made so far, of either kind.
        counted: the adstacks of which the program keeps the count, each with its group.
        rows: where those of them that are in the heap are.
        current: the region being emitted.
        used: the values that some op of the task takes.
        slots: allocas for the entry block of a math function; a task has its frame for them.
        strides: how values of a parallel loop grow from one iteration to the next; None in serial code.
        missing: what is loaded for lanes that do not run.
        hurry: what code that does without what hardly ever happens must note; None elsewhere.
    """

    def __init__(self, module: Module, w: Writer, lanes: int, varying: set[Value]) -> None:
        self.module = module
        self.w = w
        self.lanes = lanes
        self.varying = varying if lanes > 1 else set()
        self.mask: str | None = None
        self.missing = "poison"
        self.block = "entry"
        self.task: TaskFrame | None = None
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
        self.slots: list[str] = []
        self.hurry: Hurry | None = None
        self._names: dict[Value, str] = {}
        self._constants: dict[Value, str] = {}
        self._labels = 0

    # ---- operands

    def bind(self, value: Value, name: str) -> None:
        """Say which LLVM value stands for an IR value, in the form (scalar or vector) that it has."""
        self._names[value] = name

    def is_constant(self, value: Value) -> bool:
        return value in self._constants

    def known(self, value: Value) -> int | None:
        """An integer, if it is a constant."""
        text = self._constants.get(value)
        return int(text) if text is not None and value.dtype.kind in "iu" else None

    def give(self, value: Value, text: str) -> None:
        """Let a literal stand for a value."""
        self._constants[value] = text

    def is_varying(self, value: Value) -> bool:
        return value in self.varying

    def width(self, value: Value) -> int:
        """Lanes of the form that a value has."""
        return self.lanes if value in self.varying else 1

    def form(self, value: Value) -> str:
        """The LLVM type of the form that a value has."""
        return type_text(value.dtype, self.width(value))

    def scalar(self, value: Value) -> str:
        """A uniform value."""
        known = self._constants.get(value)
        return known if known is not None else self._names[value]

    def vector(self, value: Value) -> str:
        """A value with one element per lane."""
        known = self._constants.get(value)
        if known is not None:
            return self.repeated(known, value.dtype)
        name = self._names[value]
        return name if self.lanes == 1 or value in self.varying else self.splat(name, value.dtype)

    def at(self, value: Value, width: int) -> str:
        """A value in the form with so many lanes."""
        return self.scalar(value) if width == 1 else self.vector(value)

    def wide(self, index: Value, width: int) -> str:
        """An integer value as i64."""
        name, bits = self.at(index, width), index.dtype.bits
        if bits == 64:
            return name
        word = "sext" if index.dtype.is_signed else "zext"
        return self.w.let(f"{word} {type_text(index.dtype, width)} {name} to {type_text(i64, width)}")

    def handle(self, value: Value) -> str:
        """The pointer that stands for a local array or a stack."""
        return self._names[value]

    def splat(self, name: str, dtype: DType) -> str:
        """A scalar repeated over the lanes."""
        if self.lanes == 1:
            return name
        ty, element = type_text(dtype, self.lanes), scalar_type(dtype)
        one = self.w.let(f"insertelement {ty} poison, {element} {name}, i64 0")
        return self.w.let(f"shufflevector {ty} {one}, {ty} poison, <{self.lanes} x i32> zeroinitializer")

    def repeated(self, constant: str, dtype: DType) -> str:
        """A literal with one element per lane."""
        return constant if self.lanes == 1 else f"splat ({scalar_type(dtype)} {constant})"

    def slot(self, ty: str) -> str:
        """Memory in the frame of a math function; a pointer."""
        name = f"%slot{len(self.slots)}"
        self.slots.append(f"  {name} = alloca {ty}, align 64")
        return name

    @property
    def frame(self) -> TaskFrame:
        """The task around the code."""
        assert self.task is not None, "memory is out of reach in a math function"
        return self.task

    def extent(self, place: Place, axis: int, width: int) -> str:
        """An extent as i64."""
        known = place.shape[axis]
        if known is not None:
            return self.w.constant(known, i64, width)
        name = self.frame.extents[place.name, axis]
        return name if width == 1 else self.splat(name, i64)

    # ---- blocks and masks

    def label(self, hint: str) -> str:
        """A new block's name."""
        self._labels += 1
        return f"{hint}{self._labels}"

    def enter(self, label: str) -> None:
        """Go on writing in a new block."""
        self.w.label(label)
        self.block = label

    def jump(self, label: str) -> None:
        self.w.do(f"br label %{label}")

    def split(self, condition: str, yes: str, no: str, *, rare: bool = False) -> None:
        """Branch; `rare` says that the condition hardly ever holds."""
        self.w.do(f"br i1 {condition}, label %{yes}, label %{no}{', !prof !0' if rare else ''}")

    @property
    def mask_type(self) -> str:
        return type_text(u1, self.lanes)

    def any(self, mask: str) -> str:
        """Whether some lane of a mask is set."""
        if self.lanes == 1:
            return mask
        return self.w.intrinsic(f"llvm.vector.reduce.or.v{self.lanes}i1", "i1", [(self.mask_type, mask)])

    def within(self, condition: str) -> str:
        """The running lanes for which a vector condition holds; in the others it may be poison, which stays out."""
        if self.mask is None:
            return condition
        ty = self.mask_type
        return self.w.let(f"select {ty} {self.mask}, {ty} {condition}, {ty} zeroinitializer")

    def flip(self, mask: str) -> str:
        return self.w.let(f"xor {self.mask_type} {mask}, {self.w.constant(True, u1, self.lanes)}")

    @contextmanager
    def masked(self, mask: str | None) -> Iterator[None]:
        outer, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = outer

    def choose(self, mask: str, yes: str, no: str, dtype: DType) -> str:
        """Per lane, one of two vectors."""
        ty = type_text(dtype, self.lanes)
        return self.w.let(f"select {self.mask_type} {mask}, {ty} {yes}, {ty} {no}")

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
        if op.opdef.trap is not None:
            from .checks import check_trap

            check_trap(self, op)
        width = max((self.width(v) for v in op.operands), default=1)
        types = tuple(v.dtype for v in op.operands)
        args = tuple(self.at(v, width) for v in op.operands)
        self.bind(op.result, emit(self.w, width, op.name, op.result.dtype, types, args))

    def constant(self, value: Value, number: bool | int | float) -> None:
        self._constants[value] = literal(number, value.dtype)


@handles("const")
def _const(e: RegionEmitter, op: Op) -> None:
    e.constant(op.result, op.attrs["value"])


@handles("call")
def _call(e: RegionEmitter, op: Op) -> None:
    width = max((e.width(v) for v in op.operands), default=1)
    function, quick = op.attrs["function"], e.hurry is not None
    symbol, types = e.module.function(function, width, quick=quick)
    result_type = types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
    args = ", ".join(f"{type_text(v.dtype, width)} {e.at(v, width)}" for v in op.operands)
    value = e.w.let(f"call {result_type} @{symbol}({args})")
    names = [value]
    if len(types) > 1:
        names = [e.w.let(f"extractvalue {result_type} {value}, {k}") for k in range(len(types))]
    for result, name in zip(op.results, names, strict=False):
        e.bind(result, name)
    if e.hurry is not None:
        e.hurry.doubts += names[len(op.results) :]
