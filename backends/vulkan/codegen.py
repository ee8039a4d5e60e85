"""Tasks for a Vulkan device: its traits, how many threads a workgroup has, and how many workgroups a launch gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adstack.backends.spirv.context import Context
from adstack.backends.spirv.tasks import Emitted, emit_program
from adstack.backends.spirv.traits import Traits
from adstack.ir.structure import Op, Program, Task, Value

__all__ = ["LOCAL_SIZE", "Extent", "emit_module", "most_groups"]

LOCAL_SIZE: Final = 64
"""Threads of a workgroup in a parallel task."""
_GROUPS_ON_CPU: Final = 64
_GROUPS: Final = 2048


def emit_module(program: Program, traits: Traits, *, debug: bool) -> Emitted:
    """Every task's shader."""
    return emit_program(program, traits, debug=debug, local_size=LOCAL_SIZE)


def most_groups(is_cpu: bool, limit: int) -> int:
    """How many workgroups keep a device busy: threads take several iterations where there are more."""
    return min(_GROUPS_ON_CPU if is_cpu else _GROUPS, limit)


Number = Callable[[Sequence[Any], Mapping[str, tuple[int, ...]]], "int | None"]


@dataclass(frozen=True)
class Extent:
    """How many iterations a task has, as far as the host can tell.

    Attributes:
        fixed: the number, if it is the same in every launch.
        bounds: else functions of scalars and shapes, two per axis, if the host can tell at all.
        reads: what these functions look at: positions of scalars, names and axes of places.
    """

    fixed: int | None = None
    bounds: tuple[Number, ...] = ()
    reads: frozenset[int | tuple[str, int]] = frozenset()

    @classmethod
    def of(cls, task: Task) -> Extent:
        """Of a serial task, 1."""
        if task.kind != "parallel":
            return cls(1)
        *header, loop, _ = task.body.ops
        numbers = _Numbers(task, header)
        bounds = tuple(numbers.of(v) for v in loop.operands)
        known = [bound for bound in bounds if bound is not None]
        if len(known) != len(bounds):
            return cls()
        if not numbers.reads:
            return cls(_product([bound((), {}) for bound in known]))
        return cls(None, tuple(known), frozenset(numbers.reads))

    def slots(self, context: Context) -> list[int]:
        """The words of a launch that decide about it."""
        return [context.params[r] if isinstance(r, int) else context.extents[r] for r in self.reads]

    def count(self, scalars: Sequence[Any], shapes: Mapping[str, tuple[int, ...]]) -> int | None:
        """The number in a launch, or None if only the device can know it."""
        if self.fixed is not None or not self.bounds:
            return self.fixed
        return _product([bound(scalars, shapes) for bound in self.bounds])


def _product(bounds: Sequence[int | None]) -> int | None:
    total = 1
    for low, high in zip(bounds[::2], bounds[1::2], strict=True):
        if low is None or high is None:
            return None
        total *= max(high - low, 0)
    return total


_RULES: Final[dict[str, Callable[..., int]]] = {
    "cast": lambda a: a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "max": max,
    "min": min,
    "floordiv": lambda a, b: a // b if b else 0,
}
"""Integers only; a number that wraps is wrong here, which costs time at most: any number of threads is right."""


class _Numbers:
    """Functions that give what integer values of a task's header are.

    Attributes:
        reads: arguments and extents that those asked for depend on.
    """

    def __init__(self, task: Task, header: Sequence[Op]) -> None:
        self.params = {arg: k for k, arg in enumerate(task.body.args)}
        self.made = {result: op for op in header for result in op.results}
        self.reads: set[int | tuple[str, int]] = set()

    def of(self, value: Value) -> Number | None:
        if not value.dtype.is_integer:
            return None
        if value in self.params:
            position = self.params[value]
            self.reads.add(position)
            return lambda scalars, shapes: int(scalars[position])
        op = self.made.get(value)
        return None if op is None else self._of_op(op)

    def _of_op(self, op: Op) -> Number | None:
        if op.name == "const":
            number = int(op.attrs["value"])
            return lambda scalars, shapes: number
        if op.name == "shape":
            return self._shape(op)
        rule = _RULES.get(op.name)
        operands = [self.of(v) for v in op.operands] if rule is not None else [None]
        known = [operand for operand in operands if operand is not None]
        if rule is None or len(known) != len(operands):
            return None
        return lambda scalars, shapes: rule(*(operand(scalars, shapes) for operand in known))

    def _shape(self, op: Op) -> Number | None:
        place, axis = op.attrs["place"], op.attrs["axis"]
        extent = place.shape[axis]
        if extent is not None:
            return lambda scalars, shapes: extent
        self.reads.add((place.name, axis))
        return lambda scalars, shapes: shapes[place.name][axis]
