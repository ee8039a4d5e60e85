"""How many iterations a task has, as far as the host can tell: by Python, and as tables for machine code.

The integers of a task's header that arguments, extents and constants decide are steps, each a rule on earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adstack.ir.opdef import OpDef
from adstack.ir.ops import SHAPE
from adstack.ir.scalar_ops import ADD, CAST, CONST, FLOORDIV, MAX, MIN, MUL, SUB
from adstack.ir.structure import Op, Task, Value
from adstack.ir.types import DType, u64

__all__ = ["READ", "RULES", "Extent", "Read", "Step"]

Read = int | tuple[str, int]
"""A scalar's position, or a place and an axis."""


def _quotient(a: int, b: int) -> int:
    return a // b if b else 0


READ: Final = OpDef("read", reads=True, doc="a scalar argument of the launch, or an extent of a place")
"""The rule of a step that no op of the header computes; it is no row of the table."""

RULES: Final[dict[OpDef, Callable[..., int]]] = {
    CAST: lambda a: a,
    ADD: lambda a, b: a + b,
    SUB: lambda a, b: a - b,
    MUL: lambda a, b: a * b,
    MAX: max,
    MIN: min,
    FLOORDIV: _quotient,
}
"""On integers; what comes out wraps to the step's type."""


@dataclass(frozen=True)
class Step:
    """An integer.

    Attributes:
        rule: a row of `RULES`; CONST; or READ, of an argument or an extent.
        dtype: its type.
        operands: numbers of earlier steps.
        what: the constant, or what is read.
    """

    rule: OpDef
    dtype: DType
    operands: tuple[int, ...] = ()
    what: Any = None

    def of(self, outputs: Sequence[int], scalars: Sequence[Any], shapes: Mapping[str, tuple[int, ...]]) -> int:
        """Its number.

        Args:
            outputs: the numbers of earlier steps, in order.
            scalars: the scalar arguments of the launch.
            shapes: place name -> extents, in the launch.
        """
        if self.rule is CONST:
            return int(self.what)
        if self.rule is READ:
            value = scalars[self.what] if isinstance(self.what, int) else shapes[self.what[0]][self.what[1]]
            return self._wrapped(int(value))
        return self._wrapped(RULES[self.rule](*(outputs[k] for k in self.operands)))

    def _wrapped(self, value: int) -> int:
        least, most = self.dtype.min, self.dtype.max
        return value if least <= value <= most else (value - least) % (most - least + 1) + least


@dataclass(frozen=True)
class Extent:
    """How many iterations a task has.

    Attributes:
        fixed: the number, if it is the same in every launch.
        steps, bounds: else the integers that decide about it, and which of them are the bounds of the axes, if the host
            can tell at all.
    """

    fixed: int | None = None
    steps: tuple[Step, ...] = ()
    bounds: tuple[int, ...] = ()

    @classmethod
    def of(cls, task: Task) -> Extent:
        """The extent of a task; 1 for a serial one."""
        if task.kind != "parallel":
            return cls(1)
        *header, loop, _ = task.body.ops
        numbers = _Numbers(task, header)
        bounds = [number for v in loop.operands if (number := numbers.of(v)) is not None]
        if len(bounds) != len(loop.operands):
            return cls()
        extent = cls(None, tuple(numbers.steps), tuple(bounds))
        return extent if any(step.rule is READ for step in numbers.steps) else cls(extent.count((), {}))

    def count(self, scalars: Sequence[object], shapes: Mapping[str, tuple[int, ...]]) -> int | None:
        """The number of iterations with such scalar arguments and shapes; None if only the device can know it."""
        if self.fixed is not None or not self.bounds:
            return self.fixed
        numbers: list[int] = []
        for step in self.steps:
            numbers.append(step.of(numbers, scalars, shapes))
        total = 1
        for low, high in zip(self.bounds[::2], self.bounds[1::2], strict=True):
            total *= max(numbers[high] - numbers[low], 0)
        return total


class _Numbers:
    """The steps that give integers of a task's header."""

    def __init__(self, task: Task, header: Sequence[Op]) -> None:
        self.params = {arg: k for k, arg in enumerate(task.body.args)}
        self.definitions = {result: op for op in header for result in op.results}
        self.steps: list[Step] = []
        self._known: dict[Value, int | None] = {}

    def of(self, value: Value) -> int | None:
        """The step of a value; None if the host can't tell it."""
        if value not in self._known:
            step = self._step(value)
            self._known[value] = None if step is None else len(self.steps)
            self.steps += [] if step is None else [step]
        return self._known[value]

    def _step(self, value: Value) -> Step | None:
        dtype = value.dtype
        if not dtype.is_integer or dtype is u64:  # machine code counts in 64 bits with a sign
            return None
        if value in self.params:
            return Step(READ, dtype, (), self.params[value])
        op = self.definitions.get(value)
        if op is None:
            return None
        if op.opdef is CONST:
            return Step(CONST, dtype, (), int(op.attrs["value"]))
        if op.opdef is SHAPE:
            place, axis = op.attrs["place"], op.attrs["axis"]
            extent = place.shape[axis]
            return Step(READ, dtype, (), (place.name, axis)) if extent is None else Step(CONST, dtype, (), extent)
        return self._by_rule(op, dtype)

    def _by_rule(self, op: Op, dtype: DType) -> Step | None:
        if op.opdef not in RULES or dtype.is_bool:
            return None
        operands = [number for v in op.operands if (number := self.of(v)) is not None]
        return Step(op.opdef, dtype, tuple(operands)) if len(operands) == len(op.operands) else None
