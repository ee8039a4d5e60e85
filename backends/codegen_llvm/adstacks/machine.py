"""The adstack machine (see `adstack.interpreter.stacks`): stacks with a counter and adjoints, for code of one lane.

A stack is a record {pointer to slots, capacity} with a counter per lane. Slots of primals and adjoints are taken from
the C heap when the stack is made, and given back when it is made anew or the function ends.
"""

from __future__ import annotations

from adstack.backends.shared.sites import Site
from adstack.ir.ops import (
    STACK_ACC_ADJOINT,
    STACK_ALLOCA,
    STACK_CLAIM,
    STACK_GET,
    STACK_LOAD_TOP,
    STACK_LOAD_TOP_ADJ,
    STACK_POP,
    STACK_PUSH,
    STACK_PUT,
)
from adstack.ir.structure import Op
from adstack.ir.types import DType, StackType

from ..function.adstack_state import MachineStack
from ..function.region import RegionEmitter, handles
from ..memory.access import from_memory, memory_type, to_memory
from ..memory.thread_heap import fixed, renewed
from ..safety.checks import refuse
from .counted import allocate, get, put
from .overflow import record_overflow

__all__: list[str] = []


@handles(STACK_ALLOCA)
def _alloca(e: RegionEmitter, op: Op) -> None:
    group = e.stack_groups.get(op.result)
    if group is not None:
        if op is group[0]:
            allocate(e, group)
        return
    assert e.lanes == 1
    assert isinstance(op.result.type, StackType)
    dtype = op.result.type.dtype
    site = e.frame.stack_site(op.loc, op.result.name)
    wanted = e.wide(op.operands[0], 1)
    negative = e.w.let(f"icmp slt i64 {wanted}, 0")
    capacity = e.w.let(f"select i1 {negative}, i64 0, i64 {wanted}")
    slots = e.w.let(f"add i64 {capacity}, 1")  # one more, so that there is one to read if the capacity is 0
    primal, adjoint = (_memory(e, op, slots, dtype) for _ in range(2))
    stack = MachineStack(site, dtype, primal, adjoint, e.frame.slot("i64", 8), e.frame.slot("i64", 8))
    e.w.do(f"store i64 {capacity}, ptr {stack.capacity}, align 8")
    e.w.do(f"store i64 0, ptr {stack.count}, align 8")
    e.stacks[op.result] = stack


@handles(STACK_CLAIM)
def _claim(e: RegionEmitter, op: Op) -> None:
    if e.rows is not None and e.rows.words is not None:
        e.target.claim(e, op, e.rows.words)


def _memory(e: RegionEmitter, op: Op, slots: str, dtype: DType) -> str:
    """The slot that holds the address of zeroed memory for so many values."""
    wanted = op.operands[0]
    if e.target.frames and e.is_constant(wanted):
        return fixed(e, max(int(e.scalar(wanted)), 0) + 1, dtype.size, op.loc)
    return renewed(e, slots, dtype.size, op.loc)


def _stack(e: RegionEmitter, op: Op) -> MachineStack:
    return e.stacks[op.operands[0]]


def _load(e: RegionEmitter, slot: str) -> str:
    return e.w.let(f"load i64, ptr {slot}, align 8")


def _top(e: RegionEmitter, stack: MachineStack, pointer: str) -> str:
    """The address of slot max(min(count, capacity), 1) - 1."""
    count, capacity = _load(e, stack.count), _load(e, stack.capacity)
    held = e.w.let(f"call i64 @llvm.smin.i64(i64 {count}, i64 {capacity})")
    some = e.w.let(f"call i64 @llvm.smax.i64(i64 {held}, i64 1)")
    for name in ("smin", "smax"):
        e.w.declare(f"llvm.{name}.i64", f"declare i64 @llvm.{name}.i64(i64, i64)")
    return _at(e, stack, pointer, e.w.let(f"sub i64 {some}, 1"))


def _at(e: RegionEmitter, stack: MachineStack, pointer: str, index: str) -> str:
    base = e.w.let(f"load ptr, ptr {pointer}, align 8")
    return e.w.let(f"getelementptr {memory_type(stack.dtype)}, ptr {base}, i64 {index}")


@handles(STACK_PUSH)
def _push(e: RegionEmitter, op: Op) -> None:
    stack, value = _stack(e, op), op.operands[1]
    ty, size = memory_type(stack.dtype), stack.dtype.size
    depth, capacity = _load(e, stack.count), _load(e, stack.capacity)
    deeper = e.w.let(f"add i64 {depth}, 1")
    e.w.do(f"store i64 {deeper}, ptr {stack.count}, align 8")
    fits, full, after = e.label("fits"), e.label("full"), e.label("pushed")
    e.split(e.w.let(f"icmp slt i64 {depth}, {capacity}"), fits, full)
    e.enter(fits)
    stored = to_memory(e, e.scalar(value), stack.dtype, 1)
    e.w.do(f"store {ty} {stored}, ptr {_at(e, stack, stack.primal, depth)}, align {size}")
    e.w.do(f"store {ty} {_zero(stack.dtype)}, ptr {_at(e, stack, stack.adjoint, depth)}, align {size}")
    e.jump(after)
    e.enter(full)
    record_overflow(e, e.target.scope, stack.site, capacity, deeper)
    e.jump(after)
    e.enter(after)


def _zero(dtype: DType) -> str:
    return "0.0" if dtype.is_float else "0"


@handles(STACK_POP)
def _pop(e: RegionEmitter, op: Op) -> None:
    stack = _stack(e, op)
    depth = _load(e, stack.count)
    empty = e.w.let(f"icmp eq i64 {depth}, 0")
    if e.frame.debug:
        refuse(e, Site("trap", "Adstack underflow: pop of an empty stack", op.loc), empty, 1, ())
    less = e.w.let(f"sub i64 {depth}, 1")
    e.w.do(f"store i64 {e.w.let(f'select i1 {empty}, i64 0, i64 {less}')}, ptr {stack.count}, align 8")


def _read(e: RegionEmitter, op: Op, pointer: str) -> None:
    stack = _stack(e, op)
    at = _top(e, stack, pointer)
    name = e.w.let(f"load {memory_type(stack.dtype)}, ptr {at}, align {stack.dtype.size}")
    e.bind(op.result, from_memory(e, name, stack.dtype, 1))


@handles(STACK_LOAD_TOP)
def _load_top(e: RegionEmitter, op: Op) -> None:
    _read(e, op, _stack(e, op).primal)


@handles(STACK_LOAD_TOP_ADJ)
def _load_top_adj(e: RegionEmitter, op: Op) -> None:
    _read(e, op, _stack(e, op).adjoint)


@handles(STACK_ACC_ADJOINT)
def _acc_adjoint(e: RegionEmitter, op: Op) -> None:
    stack = _stack(e, op)
    ty = memory_type(stack.dtype)
    some, after = e.label("some"), e.label("added")
    e.split(e.w.let(f"icmp sgt i64 {_load(e, stack.capacity)}, 0"), some, after)
    e.enter(some)
    at = _top(e, stack, stack.adjoint)
    old = e.w.let(f"load {ty}, ptr {at}, align {stack.dtype.size}")
    total = e.w.let(f"fadd {ty} {old}, {e.scalar(op.operands[1])}")
    e.w.do(f"store {ty} {total}, ptr {at}, align {stack.dtype.size}")
    e.jump(after)
    e.enter(after)


@handles(STACK_PUT)
def _put(e: RegionEmitter, op: Op) -> None:
    put(e, op, e.counted[op.operands[0]])


@handles(STACK_GET)
def _get(e: RegionEmitter, op: Op) -> None:
    get(e, op, e.counted[op.operands[0]])
