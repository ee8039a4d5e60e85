"""A second interpreter, as simple as can be: one iteration after another, one number at a time.

It shares with the reference interpreter the table of operations and nothing else, and is compared with it bit for bit
on programs without races. It never checks more than bounds, and it is slow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from adstack.ir.ops import ATOMICS
from adstack.ir.structure import Kernel, Op, Program, Region, Task, Value
from adstack.ir.types import Array, DType

Slot: TypeAlias = Any
"""A value at run time: an array of one number, a list for a local array, or a `NaiveStack` for an adstack."""

__all__ = ["run_naively"]

MASK = 0xFFFFFFFF


def run_naively(
    program: Kernel | Program, buffers: dict[str, Array], scalars: Sequence[Slot] = (), seed: int = 0, launch: int = 0
) -> tuple[tuple[Slot, ...], str]:
    """Run a launch: buffers change in place; gives what is returned, and what was printed."""
    memory = dict(buffers)
    for place in program.places.values():
        if place.kind in ("temp", "result"):
            memory[place.name] = np.zeros([n or 0 for n in place.shape], place.dtype.numpy)
    machine = Machine(memory, (seed, launch))
    tasks = program.tasks if isinstance(program, Program) else [Task(program.name, program.body)]
    returned: list[Slot] = []
    with np.errstate(all="ignore"):
        for task in tasks:
            numbers = [number(scalar, param.dtype) for param, scalar in zip(task.body.args, scalars, strict=True)]
            returned = [value.item() for value in machine.region(task.body, *numbers)]
    if isinstance(program, Program):
        returned = [memory[name].item() for name in program.results]
    return tuple(returned), "".join(machine.printed)


def number(value: Slot, to: DType) -> Array:
    """A scalar as an array of one element, for which numpy wraps and rounds without warnings."""
    return np.array([to(value)], to.numpy)


class NaiveStack:
    """An adstack: a list of [primal, adjoint], and a count that may run past it."""

    def __init__(self, dtype: DType, capacity: int) -> None:
        self.zero = number(0, dtype)
        self.slots = [[self.zero, self.zero] for _ in range(capacity)]
        self.count = 0

    @property
    def top(self) -> list[Array]:
        """The slot at the top, [primal, adjoint]: the last slot if the stack has run over, slot 0 if it is empty."""
        depth = max(min(self.count, len(self.slots)), 1)
        return self.slots[depth - 1] if self.slots else [self.zero, self.zero]

    def push(self, value: Array) -> None:
        """Put a primal on the stack, with the adjoint 0; beyond the capacity only the count rises."""
        if self.count < len(self.slots):
            self.slots[self.count] = [value, self.zero]
        self.count += 1


class Machine:
    """Runs one thread at a time: `values` of the ops that it has run, and the counter of its random stream.

    The method `do_NAME` runs the op NAME, with dots replaced by underscores: it takes the op and its operands' values,
    and gives the values of its results. An op without one is computed by the `meaning` of its row.
    """

    def __init__(self, memory: dict[str, Array], key: tuple[int, int]) -> None:
        self.memory, self.key = memory, key
        self.values: dict[Value, Slot] = {}
        self.printed: list[str] = []
        self.section, self.iteration, self.draws = 0, 0, 0

    def region(self, region: Region, *args: Slot) -> list[Slot]:
        """Run a region on arguments; what it yields."""
        self.values.update(zip(region.args, args, strict=True))
        for op in region.ops[:-1]:
            operands = [self.values[v] for v in op.operands]
            name = op.name.replace(".", "_")
            rule: Callable[..., Slot] = getattr(self, f"do_{name}", self.meaning)
            self.values.update(zip(op.results, rule(op, *operands) or (), strict=True))
        return [self.values[v] for v in region.terminator.operands]

    def meaning(self, op: Op, *operands: Array) -> list[Array]:
        """The value of the result, by the op's row."""
        assert op.opdef.meaning is not None
        return [np.asarray(op.opdef.meaning(op.result.dtype, *operands)).reshape(1)]

    def do_const(self, op: Op) -> list[Array]:
        return [number(op.attrs["value"], op.attrs["to"])]

    def do_shape(self, op: Op) -> list[Array]:
        return [number(self.memory[op.attrs["place"].name].shape[op.attrs["axis"]], op.attrs["to"])]

    def do_random(self, op: Op) -> list[Array]:
        to: DType = op.attrs["to"]
        w0, w1 = philox([self.draws, self.iteration & MASK, self.iteration >> 32, self.section], self.key)[:2]
        self.draws += 1
        word, width = (w0 + (w1 << 32), 64) if to.bits == 64 else (w0, 32)
        digits = {16: 11, 32: 24, 64: 53}.get(to.bits, 0)
        return [number((word >> (width - digits)) / 2**digits if to.is_float else word, to)]

    # ---- control

    def do_if(self, op: Op, condition: Array) -> list[Slot]:
        return self.region(op.regions[0 if condition.item() else 1])

    def do_for(self, op: Op, lo: Array, hi: Array, *carried: Slot) -> list[Slot]:
        values = list(carried)
        for index in range(lo.item(), hi.item()):
            values = self.region(op.regions[0], np.array([index], lo.dtype), *values)
        return values

    def do_while(self, op: Op, *carried: Slot) -> list[Slot]:
        values = list(carried)
        while True:
            condition, *values = self.region(op.regions[0], *values)
            if not condition.item():
                return values
            values = self.region(op.regions[1], *values)

    def do_call(self, op: Op, *operands: Slot) -> list[Slot]:
        return self.region(op.attrs["function"].body, *operands)

    def do_parallel_for(self, op: Op, *bounds: Array) -> None:
        self.section += 1
        box = [range(lo.item(), hi.item()) for lo, hi in zip(bounds[::2], bounds[1::2], strict=True)]
        for self.iteration, point in enumerate(itertools.product(*box)):
            self.draws = 0
            self.region(op.regions[0], *(np.array([i], b.dtype) for i, b in zip(point, bounds[::2], strict=True)))
        self.section, self.iteration, self.draws = self.section + 1, 0, 0

    # ---- memory

    def element(self, op: Op, operands: Sequence[Array]) -> tuple[Array, tuple[int, ...]]:
        memory = self.memory[op.attrs["place"].name]
        index = tuple(i.item() for i in operands[: memory.ndim])
        assert all(0 <= i < n for i, n in zip(index, memory.shape, strict=True))
        return memory, index

    def do_load(self, op: Op, *operands: Array) -> list[Array]:
        memory, index = self.element(op, operands)
        return [np.array([memory[index]], memory.dtype)]

    def do_store(self, op: Op, *operands: Array) -> None:
        memory, index = self.element(op, operands)
        memory[index] = operands[-1][0]

    def do_atomic(self, op: Op, *operands: Array) -> list[Array]:
        memory, index = self.element(op, operands)
        old = np.array([memory[index]], memory.dtype)
        memory[index] = ATOMICS[op.attrs["kind"]].meaning(op.result.dtype, old, *operands[memory.ndim :])[0]
        return [old]

    def do_array_alloc(self, op: Op) -> list[Array]:
        return [np.zeros(op.attrs["length"], op.attrs["dtype"].numpy)]

    def do_array_load(self, op: Op, array: Array, index: Array) -> list[Array]:
        return [array[index.item() : index.item() + 1].copy()]

    def do_array_store(self, op: Op, array: Array, index: Array, value: Array) -> None:
        array[index.item()] = value[0]

    # ---- adstacks

    def do_stack_alloca(self, op: Op, capacity: Array) -> list[NaiveStack]:
        return [NaiveStack(op.attrs["dtype"], max(capacity.item(), 0))]

    def do_stack_push(self, op: Op, stack: NaiveStack, value: Array) -> None:
        stack.push(value)

    def do_stack_pop(self, op: Op, stack: NaiveStack) -> None:
        stack.count = max(stack.count - 1, 0)

    def do_stack_load_top(self, op: Op, stack: NaiveStack) -> list[Array]:
        return [stack.top[0]]

    def do_stack_load_top_adj(self, op: Op, stack: NaiveStack) -> list[Array]:
        return [stack.top[1]]

    def do_stack_acc_adjoint(self, op: Op, stack: NaiveStack, value: Array) -> None:
        stack.top[1] = stack.top[1] + value

    # ---- effects

    def do_assert(self, op: Op, *operands: Array) -> None:
        """Nothing: asserts act in debug mode only."""

    def do_print(self, op: Op, *operands: Array) -> None:
        shortest = [str(value[0]) for value in operands]
        floats = [value.dtype.kind == "f" for value in operands]
        numbers = iter(
            [repr(float(text)) if is_float else text for text, is_float in zip(shortest, floats, strict=True)]
        )
        self.printed += [next(numbers) if part is None else part for part in op.attrs["parts"]]


def philox(counter: list[int], key: tuple[int, int]) -> list[int]:
    """Philox4x32-10 of Salmon et al., on Python's integers."""
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [p1 >> 32 ^ counter[1] ^ k0, p1 & MASK, p0 >> 32 ^ counter[3] ^ k1, p0 & MASK]
        k0, k1 = k0 + 0x9E3779B9 & MASK, k1 + 0xBB67AE85 & MASK
    return counter
