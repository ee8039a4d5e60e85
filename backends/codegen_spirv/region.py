"""Straight-line code and the dispatch over operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adstack.ir.functions import builtin
from adstack.ir.structure import Function, Op, Place, Region, Value
from adstack.ir.types import DType, f64, i64

from .code import Code, Num
from .doubts import ORDINARY, Doubts
from .emitters import emit
from .memory import Address
from .module import Module, instruction
from .opcodes import Op as Spv

if TYPE_CHECKING:
    from .frame import TaskFrame
    from .gathering import Gathered
    from .rows import Rows
    from .stacks import Machine

__all__ = ["HANDLERS", "RegionEmitter", "handles"]

Handler = Callable[["RegionEmitter", Op], None]

HANDLERS: dict[str, Handler] = {}


def handles(name: str) -> Callable[[Handler], Handler]:
    """Decorator: this function emits the op of that name."""

    def register(handler: Handler) -> Handler:
        HANDLERS[name] = handler
        return handler

    return register


class RegionEmitter:
    """Emits ops into one function.

    Attributes:
        c: the function.
        task: what the code needs to know of the task around it; None in a library function, which touches no memory.
        arrays: local arrays: value -> variable.
        gathered: atomics whose values a thread combines before they reach memory.
        machines: adstacks that count for themselves, made so far.
        sites: the site of each adstack in the heap, for the overflow record.
        checked, slots: per (region, group or part, index), that it was compared with the capacity, and the address.
        evenly: per (region, part, index) for which a loop has looked ahead, the slot of its first turn, and how many
            bytes on that of the next one is.
        turns: per region, the number of the present turn (u64).
        few: integers of 64 bits that are certainly below 2^31, and not below -2^31.
        current: the region being emitted.
    """

    def __init__(self, code: Code, task: TaskFrame | None = None) -> None:
        self.c = code
        self.task = task
        self.arrays: dict[Value, int] = {}
        self.gathered: dict[Op, Gathered] = {}
        self.machines: dict[Value, Machine] = {}
        self.sites: dict[Value, int] = {}
        self.checked: dict[tuple[int, int, Value], bool] = {}
        self.slots: dict[tuple[int, int, Value], Address] = {}
        self.evenly: dict[tuple[int, int, Value], tuple[Address, Num]] = {}
        self.turns: dict[int, Num] = {}
        self.few: set[Value] = set()
        self.current: Region | None = None
        self._numbers: dict[Value, int] = {}
        self._ids: dict[Value, Num] = {}

    @property
    def m(self) -> Module:
        return self.c.m

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

    def bind(self, value: Value, number: Num) -> None:
        """Say what stands for an IR value."""
        self._ids[value] = Num(self.c, value.dtype, number.id)

    def get(self, value: Value) -> Num:
        return self._ids[value]

    def all(self, values: Sequence[Value]) -> list[Num]:
        return [self._ids[v] for v in values]

    def number(self, value: Value) -> int | None:
        """An integer that is known when compiling."""
        return self._numbers.get(value)

    def know(self, value: Value, number: int) -> None:
        self._numbers[value] = number

    def index(self, value: Value) -> Num:
        """An integer value as i64; an unsigned one is not made negative."""
        return self.get(value).resize(i64)

    def extent(self, place: Place, axis: int) -> Num:
        """An extent as i64."""
        known = place.shape[axis]
        return self.c.const(known, i64) if known is not None else self.frame.extents[place.name, axis]

    # ---- ops

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What was looked up in here is not known behind it: the code is written more than once."""
        checked, slots = dict(self.checked), dict(self.slots)
        yield
        self.checked, self.slots = checked, slots

    def region(self, region: Region) -> list[Value]:
        """Emit the ops; gives what the terminator hands on."""
        outer, self.current = self.current, region
        for op in region.ops[:-1]:
            self.op(op)
        self.current = outer
        return region.terminator.operands

    def run(self, region: Region) -> list[Num]:
        """Emit the ops; gives the values that the terminator hands on."""
        return self.all(self.region(region))

    def op(self, op: Op) -> None:
        handler = HANDLERS.get(op.name)
        if handler is not None:
            handler(self, op)
        else:
            self.pure(op)

    def pure(self, op: Op) -> None:
        """A scalar operation."""
        from .checks import check_trap

        check_trap(self, op)
        self.bind(op.result, emit(op.name, op.result.dtype, self.all(op.operands)))

    def combine(self, name: str, dtype: DType, a: Num, b: Num) -> Num:
        """Two numbers combined as the operation of that name does."""
        return emit(name, dtype, (a, b))


@handles("const")
def _const(e: RegionEmitter, op: Op) -> None:
    value = op.attrs["value"]
    e.bind(op.result, e.c.const(value, op.result.dtype))
    if isinstance(value, int):
        e.know(op.result, int(value))


@handles("call")
def _call(e: RegionEmitter, op: Op) -> None:
    function: Function = op.attrs["function"]
    callee = _function(e.m, function)
    for result, number in zip(op.results, _applied(e.c, function, callee, e.all(op.operands)), strict=True):
        e.bind(result, number)


def _applied(c: Code, function: Function, callee: int, args: Sequence[Num]) -> list[Num]:
    """What a call of a function gives."""
    operands, returns = [x.id for x in args], function.returns
    if len(returns) == 1:
        return [c.let(Spv.FunctionCall, returns[0], callee, *operands)]
    whole = c.raw(Spv.FunctionCall, _result_type(c.m, function), callee, *operands)
    return [c.let(Spv.CompositeExtract, dtype, whole, k) for k, dtype in enumerate(returns)]


def _result_type(m: Module, function: Function) -> int:
    types = [m.type(dtype) for dtype in function.returns]
    return types[0] if len(types) == 1 else m.struct(*types)


def _function(m: Module, function: Function) -> int:
    """A library function, emitted when it is first called."""
    if function.name not in m.functions:
        fuses = all(m.traits.fma64 if dtype is f64 else m.traits.fma32 for dtype in function.returns)
        m.functions[function.name] = _emitted(m, function, _body(m, function), quick=m.quick and not fuses)
    return m.functions[function.name]


def _body(m: Module, function: Function) -> Region:
    """What a function does: if the library has a variant for devices like this one, that."""
    if not function.builtin or m.traits.fma32 or m.traits.fma32_normal:
        return function.body
    name, _, dtype = function.name.partition(".")
    return (builtin(f"{name}.wide.{dtype}") or function).body


def _emitted(m: Module, function: Function, body: Region, quick: bool) -> int:
    """A function of the module, with such a body.

    If it is to be quick, rounding is done in ways that are right for nearly all numbers, and what is rare is left out;
    where that may be wrong is noted, and then all is done again, in ways that are always right.
    """
    code = Code(m)
    doubts = Doubts(code, function.builtin) if quick else None
    e = RegionEmitter(code)
    params: list[int] = []
    for arg in body.args:
        number = Num(code, arg.dtype, m.new())
        params += instruction(Spv.FunctionParameter, m.type(arg.dtype), number.id)
        e.bind(arg, number)
    if doubts is not None and function.builtin and function.name in ORDINARY:
        doubts.argument(e.get(body.args[0]), *ORDINARY[function.name])
    values = e.run(body)
    if doubts is not None and doubts.noted:
        # with the function's own body, for drivers keep at hand what a variant has in common with itself
        slow, args = _emitted(m, function, function.body, quick=False), e.all(body.args)
        values = code.either(doubts.any(), lambda: _applied(code, function, slow, args), lambda: values)
    result = _result_type(m, function)
    whole = values[0].id if len(values) == 1 else code.raw(Spv.CompositeConstruct, result, *(v.id for v in values))
    code.do(Spv.ReturnValue, whole)
    name = m.new()
    signature = m.signature(result, *(m.type(arg.dtype) for arg in function.body.args))
    m.add(code.function(name, result, signature, params))
    return name
