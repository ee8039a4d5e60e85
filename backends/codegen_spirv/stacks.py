"""Adstacks: those of which the program keeps the count, in the heap, and the machine with a counter and adjoints.

A machine's slots are arrays of the thread; see `adstack.interpreter.stacks` for what its operations mean. So are those
of stacks whose capacity only the thread knows: there are so many, and a thread that wants more ends with an error.
"""

from __future__ import annotations

from adstack.backends.shared.sites import Site
from adstack.backends.shared.thread_code import Machine, slots_of
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
from adstack.ir.structure import Op, Value
from adstack.ir.types import DType, StackType, i64, u32, u64

from .assembly.code import Num
from .assembly.opcodes import Op as Spv
from .assembly.opcodes import Storage
from .checks import DEVICE, RELAXED, refuse
from .memory import Address
from .region import RegionEmitter, handles

__all__ = ["overflowed"]


@handles(STACK_ALLOCA)
def _alloca(e: RegionEmitter, op: Op) -> None:
    stack = op.result.type
    assert isinstance(stack, StackType)
    site = e.frame.site(Site("stack", op.result.name, op.loc, (stack.dtype,)))
    rows = e.frame.rows
    if rows is not None and op.result in rows.heap.slots:
        e.sites[op.result] = site
        return
    _make(e, op, stack.dtype, site)


@handles(STACK_CLAIM)
def _claim(e: RegionEmitter, op: Op) -> None:
    rows = e.rows
    if rows.heap.claims is not None:
        message = "more iterations push than were counted ahead: what decides which ones changed meanwhile"
        refuse(e, Site("claims", message, op.loc), rows.claim(e.get(op.operands[0])), ())


def _make(e: RegionEmitter, op: Op, dtype: DType, site: int) -> None:
    m, c, constant = e.m, e.c, e.number(op.operands[0])
    slots = slots_of(constant)
    wanted = e.index(op.operands[0])
    capacity = c.const(max(constant, 0), i64) if constant is not None else (wanted > 0).choose(wanted, 0)
    if constant is None or constant > slots:
        refuse(e, Site("slots", str(slots), op.loc, (i64,)), capacity > slots, [capacity])
    array, number = m.array(dtype, slots), m.type(i64)
    primal, adjoint, count = c.local(array), c.local(array), c.local(number)
    for variable, ty in ((primal, array), (adjoint, array), (count, number)):
        c.do(Spv.Store, variable, m.null(ty))
    e.machines[op.result] = Machine(site, dtype, slots, capacity, primal, adjoint, count)


# ---- the machine


def _count(e: RegionEmitter, stack: Machine[Num, int]) -> Num:
    return e.c.let(Spv.Load, i64, stack.count)


def _at(e: RegionEmitter, stack: Machine[Num, int], array: int, index: Num) -> int:
    pointer = e.m.pointer(Storage.Function, e.m.type(stack.dtype))
    return e.c.raw(Spv.AccessChain, pointer, array, index.id)


def _top(e: RegionEmitter, stack: Machine[Num, int], array: int) -> int:
    """A pointer to slot max(min(count, capacity), 1) - 1."""
    count = _count(e, stack)
    held = (count < stack.capacity).choose(count, stack.capacity)
    return _at(e, stack, array, (held > 1).choose(held - 1, 0))


def _zero(e: RegionEmitter, dtype: DType) -> Num:
    return e.c.const(0.0 if dtype.is_float else 0, dtype)


@handles(STACK_PUSH)
def _push(e: RegionEmitter, op: Op) -> None:
    c, stack, value = e.c, e.machines[op.operands[0]], e.get(op.operands[1])
    depth = _count(e, stack)
    deeper = depth + 1
    c.do(Spv.Store, stack.count, deeper.id)

    def write() -> None:
        c.do(Spv.Store, _at(e, stack, stack.primal, depth), value.id)
        c.do(Spv.Store, _at(e, stack, stack.adjoint, depth), _zero(e, stack.dtype).id)

    c.when(depth < stack.capacity, write)
    c.when(depth >= stack.capacity, lambda: overflowed(e, stack.site, stack.capacity, deeper))


@handles(STACK_POP)
def _pop(e: RegionEmitter, op: Op) -> None:
    c, stack = e.c, e.machines[op.operands[0]]
    depth = _count(e, stack)
    empty = depth.eq(0)
    if e.frame.debug:
        refuse(e, Site("trap", "Adstack underflow: pop of an empty stack", op.loc), empty, ())
    c.do(Spv.Store, stack.count, empty.choose(depth, depth - 1).id)


@handles(STACK_LOAD_TOP)
def _load_top(e: RegionEmitter, op: Op) -> None:
    stack = e.machines[op.operands[0]]
    e.bind(op.result, e.c.let(Spv.Load, stack.dtype, _top(e, stack, stack.primal)))


@handles(STACK_LOAD_TOP_ADJ)
def _load_top_adj(e: RegionEmitter, op: Op) -> None:
    stack = e.machines[op.operands[0]]
    e.bind(op.result, e.c.let(Spv.Load, stack.dtype, _top(e, stack, stack.adjoint)))


@handles(STACK_ACC_ADJOINT)
def _acc_adjoint(e: RegionEmitter, op: Op) -> None:
    stack = e.machines[op.operands[0]]

    def add() -> None:
        at = _top(e, stack, stack.adjoint)
        old = e.c.let(Spv.Load, stack.dtype, at)
        e.c.do(Spv.Store, at, e.combine("add", stack.dtype, old, e.get(op.operands[1])).id)

    e.c.when(stack.capacity > 0, add)


# ---- stacks in the heap


@handles(STACK_PUT)
def _put(e: RegionEmitter, op: Op) -> None:
    stack, index, value = op.operands
    if stack in e.machines:
        _put_in_machine(e, op)
        return
    rows = e.rows
    group, part = rows.heap.group_of(stack), rows.heap.slots[stack].part
    key = (id(e.current), group, index)
    if key not in e.checked:
        e.checked[key] = True
        number, capacity = e.index(index), rows.capacity(group)
        over = number.signed(u64) >= capacity.signed(u64)
        e.c.when(over, lambda: overflowed(e, e.sites[stack], capacity, number + 1))
    slot = _slot(e, group, part, index)
    rows.element(stack, slot).store(e.get(value), rows.heap.slots[stack].dtype)


def _slot(e: RegionEmitter, group: int, part: int, index: Value) -> Address:
    """The address of the slot at an index, which is kept inside the memory there is."""
    key = (id(e.current), part, index)
    if key in e.affine_slots and key not in e.slots:
        first, step = e.affine_slots[key]
        e.slots[key] = first + e.iterations[id(e.current)] * step
    elif key not in e.slots:
        number, last = e.index(index), e.rows.last(group)
        inside = (number.signed(u64) < last.signed(u64)).choose(number, last)
        e.slots[key] = e.rows.slot(part, inside)
    return e.slots[key]


@handles(STACK_GET)
def _get(e: RegionEmitter, op: Op) -> None:
    stack, index = op.operands
    if stack in e.machines:
        machine = e.machines[stack]
        at = _at(e, machine, machine.primal, _clamped(e, machine, e.index(index)))
        e.bind(op.result, e.c.let(Spv.Load, machine.dtype, at))
        return
    slot = e.rows.heap.slots[stack]
    address = _slot(e, e.rows.heap.group_of(stack), slot.part, index)
    e.bind(op.result, e.rows.element(stack, address).load(slot.dtype))


def _put_in_machine(e: RegionEmitter, op: Op) -> None:
    """`stack.put` to a stack whose slots are an array of the thread."""
    c, machine, index = e.c, e.machines[op.operands[0]], e.index(op.operands[1])
    value, count, wanted = e.get(op.operands[2]), _count(e, machine), index + 1
    c.do(Spv.Store, machine.count, (count < wanted).choose(wanted, count).id)
    inside = index.signed(u64) < machine.capacity.signed(u64)
    at = _at(e, machine, machine.primal, _clamped(e, machine, index))
    c.when(inside, lambda: c.do(Spv.Store, at, value.id))
    c.when(~inside, lambda: overflowed(e, machine.site, machine.capacity, wanted))


def _clamped(e: RegionEmitter, machine: Machine[Num, int], index: Num) -> Num:
    last = (machine.capacity > 1).choose(machine.capacity - 1, 0)
    return (index.signed(u64) < last.signed(u64)).choose(index, last)


def overflowed(e: RegionEmitter, site: int, capacity: Num, wanted: Num) -> None:
    """Emit the report of an overflow: the first stack to overflow owns the record, and keeps its largest depth.

    Args:
        e: emits it.
        site: the number of the stack; the record is {site + 1, capacity, depth}.
        capacity: in slots.
        wanted: the depth that did not fit, in slots.
    """
    c, m = e.c, e.m
    record = e.frame.own["overflow"]
    scope, order = m.word(DEVICE), m.word(RELAXED)
    mine = m.word(site + 1)
    owner = c.let(Spv.AtomicCompareExchange, u32, record.pointer(u32), scope, order, order, mine, m.word(0))

    def keep() -> None:
        for k, number in ((1, capacity), (2, wanted)):
            small = (number.signed(u64) < 0xFFFFFFFF).choose(number, 0xFFFFFFFF).resize(u32)
            c.let(Spv.AtomicUMax, u32, (record + 8 * k).pointer(u32), scope, order, small.id)

    c.when(owner.eq(0) | owner.eq(site + 1), keep)
