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
from adstack.ir.structure import Op
from adstack.ir.types import DType, StackType, i64

from .checks import refuse
from .region import RegionEmitter, handles
from .spelling import literal, type_name

__all__: list[str] = []


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
        refuse(e, Site("claims", message, op.loc), rows.claim(e.w, e.get(op.operands[0])), ())


def _make(e: RegionEmitter, op: Op, dtype: DType, site: int) -> None:
    w, constant = e.w, e.number(op.operands[0])
    slots = slots_of(constant)
    capacity = (
        literal(max(constant, 0), i64)
        if constant is not None
        else w.typed("long", f"max({e.index(op.operands[0])}, 0l)", "capacity")
    )
    if constant is None or constant > slots:
        refuse(e, Site("slots", str(slots), op.loc, (i64,)), f"{capacity} > {slots}l", [(capacity, i64)])
    primal, adjoint = (w.name(f"{op.result.name or 'stack'}_{what}") for what in ("primal", "adjoint"))
    for name in (primal, adjoint):
        w.line(f"{type_name(dtype)} {name}[{slots}] = {{}};")
    e.machines[op.result] = Machine(site, dtype, slots, capacity, primal, adjoint, w.variable("long", "0l", "count"))


# ---- the machine


def _top(stack: Machine[str, str]) -> str:
    """The number of slot max(min(count, capacity), 1) - 1."""
    return f"max(min({stack.count}, {stack.capacity}), 1l) - 1"


def _overflow(e: RegionEmitter, site: int, capacity: str, depth: str) -> None:
    e.w.line(f"report_overflow(launch.overflow, {site}u, {capacity}, {depth});")


@handles(STACK_PUSH)
def _push(e: RegionEmitter, op: Op) -> None:
    w, stack = e.w, e.machines[op.operands[0]]
    with w.block(f"if ({stack.count} < {stack.capacity})"):
        w.line(f"{stack.primal}[{stack.count}] = {e.get(op.operands[1])};")
        w.line(f"{stack.adjoint}[{stack.count}] = {literal(0, stack.dtype)};")
        w.instead()
        _overflow(e, stack.site, stack.capacity, f"{stack.count} + 1")
    w.line(f"++{stack.count};")


@handles(STACK_POP)
def _pop(e: RegionEmitter, op: Op) -> None:
    stack = e.machines[op.operands[0]]
    if e.frame.debug:
        site = Site("trap", "Adstack underflow: pop of an empty stack", op.loc)
        refuse(e, site, f"{stack.count} == 0", ())
    e.w.line(f"{stack.count} = max({stack.count} - 1, 0l);")


@handles(STACK_LOAD_TOP)
def _load_top(e: RegionEmitter, op: Op) -> None:
    stack = e.machines[op.operands[0]]
    e.let(op.result, f"{stack.primal}[{_top(stack)}]")


@handles(STACK_LOAD_TOP_ADJ)
def _load_top_adj(e: RegionEmitter, op: Op) -> None:
    stack = e.machines[op.operands[0]]
    e.let(op.result, f"{stack.adjoint}[{_top(stack)}]")


@handles(STACK_ACC_ADJOINT)
def _acc_adjoint(e: RegionEmitter, op: Op) -> None:
    stack = e.machines[op.operands[0]]
    with e.w.block(f"if ({stack.capacity} > 0)"):
        at = f"{stack.adjoint}[{_top(stack)}]"
        e.w.line(f"{at} = {e.combine('add', stack.dtype, at, e.get(op.operands[1]))};")


# ---- stacks whose count the program keeps


@handles(STACK_PUT)
def _put(e: RegionEmitter, op: Op) -> None:
    stack, index, value = op.operands
    if stack in e.machines:
        _put_in_machine(e, op)
        return
    w, rows, number = e.w, e.rows, e.index(index)
    group = rows.heap.group_of(stack)
    capacity, dtype = rows.capacity(group), rows.heap.slots[stack].dtype
    with w.block(f"if (ulong({number}) >= ulong({capacity}))"):
        _overflow(e, e.sites[stack], capacity, f"{number} + 1")
    text = f"uchar({e.get(value)})" if dtype.is_bool else e.get(value)
    w.line(f"{rows.element(stack, _slot(e, group, number))} = {text};")


def _slot(e: RegionEmitter, group: int, number: str) -> str:
    """The number of a slot, which is kept inside the memory there is."""
    return e.w.typed("ulong", e.rows.inside(group, number), "slot")


@handles(STACK_GET)
def _get(e: RegionEmitter, op: Op) -> None:
    stack, index = op.operands
    if stack in e.machines:
        machine = e.machines[stack]
        e.let(op.result, f"{machine.primal}[{_clamped(machine, e.index(index))}]")
        return
    rows = e.rows
    text = rows.element(stack, _slot(e, rows.heap.group_of(stack), e.index(index)))
    e.let(op.result, f"{text} != 0" if rows.heap.slots[stack].dtype.is_bool else text)


def _put_in_machine(e: RegionEmitter, op: Op) -> None:
    """`stack.put` to a stack whose slots are an array of the thread."""
    w, machine, index = e.w, e.machines[op.operands[0]], e.index(op.operands[1])
    w.line(f"{machine.count} = max({machine.count}, {index} + 1);")
    with w.block(f"if (ulong({index}) < ulong({machine.capacity}))"):
        w.line(f"{machine.primal}[{index}] = {e.get(op.operands[2])};")
        w.instead()
        _overflow(e, machine.site, machine.capacity, f"{index} + 1")


def _clamped(machine: Machine[str, str], index: str) -> str:
    return f"min(ulong({index}), ulong(max({machine.capacity}, 1l) - 1))"
