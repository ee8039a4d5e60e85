"""What a reverse program keeps on adstacks: `stacks_of(program)`, read off its IR.

Requires: a program made from a reverse kernel. Ensures: nothing is changed; one row per adstack, in order of the tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...ir.location import Loc
from ...ir.structure import Op, Program, Task, Value
from ...ir.types import DType, StackType

__all__ = ["StackRow", "stacks_of"]


@dataclass(frozen=True)
class StackRow:
    """One adstack.

    Attributes:
        task: the name of its task.
        variable: what the user calls the value that is kept, if anything.
        loc: where the value is computed.
        dtype: of its slots.
        capacity: the depth for one thread, as a formula over what is known at launch.
        why: what the reverse pass computes from it: (operation, where).
    """

    task: str
    variable: str
    loc: Loc
    dtype: DType
    capacity: str
    why: tuple[tuple[str, Loc], ...]

    @property
    def slot_bytes(self) -> int:
        """Bytes of one slot of one thread: the primal and nothing else."""
        return self.dtype.size

    def __str__(self) -> str:
        reasons = ", ".join(f"{name} (line {loc.line})" for name, loc in self.why) or "the iterations of a loop"
        what = f"{self.variable or 'a value'} (line {self.loc.line}), {self.dtype}"
        return f"{self.task}: {what}, {self.slot_bytes} bytes x {self.capacity} per thread; needed by {reasons}"


def stacks_of(program: Program) -> tuple[StackRow, ...]:
    """The adstacks of all tasks."""
    return tuple(row for task in program.tasks for row in _Rows(task).rows())


class _Rows:
    """The adstacks of one task."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.makers: dict[Value, Op] = {}
        self.users: dict[Value, list[Op]] = {}
        self.names: dict[Value, str] = {p: p.name or "argument" for p in task.body.args}
        for op in task.body.walk():
            self.makers.update((v, op) for v in op.results)
            for v in op.operands:
                self.users.setdefault(v, []).append(op)
            for region in op.regions:
                self.names.update((a, a.name or "index") for a in region.args)

    def rows(self) -> list[StackRow]:
        return [self._row(op) for op in self.task.body.walk() if op.name == "stack.alloca"]

    def _row(self, op: Op) -> StackRow:
        users = self.users.get(op.result, [])
        puts = [u for u in users if u.name == "stack.put"]
        gets = [u.result for u in users if u.name == "stack.get"]
        value = puts[0].operands[2] if puts else None
        name = "" if value is None else value.name.rstrip("_0123456789") or value.name
        why = {(_called(u), u.loc): None for got in gets for u in self.users.get(got, [])}
        stack = op.result.type
        assert isinstance(stack, StackType)
        loc = puts[0].loc if puts else op.loc
        return StackRow(self.task.name, name, loc, stack.dtype, self._formula(op.operands[0]), tuple(why))

    # ---- the capacity as a formula

    def _formula(self, value: Value, depth: int = 0) -> str:
        maker = self.makers.get(value)
        if maker is None:
            return self.names.get(value, "?")
        rule = _FORMULAS.get(maker.name)
        if rule is None or depth > _DEEPEST:
            return "(counted)"
        return rule(self, maker, depth + 1)

    def _infix(self, word: str) -> Callable[[Op, int], str]:
        return lambda op, depth: f"({f' {word} '.join(self._formula(v, depth) for v in op.operands)})"

    def _element(self, op: Op, depth: int) -> str:
        place = op.attrs["place"]
        indices = ", ".join(self._formula(v, depth) for v in op.operands) or "None"
        return f"{place.label or place.name}[{indices}]"


_DEEPEST = 6


def _called(op: Op) -> str:
    """The name of an operation; of a call, that of the function."""
    return str(op.attrs["function"].name).partition(".")[0] if op.name == "call" else op.name


def _shape(rows: _Rows, op: Op, depth: int) -> str:
    place = op.attrs["place"]
    return f"{place.label or place.name}.shape[{op.attrs['axis']}]"


def _if_positive(rows: _Rows, op: Op, depth: int) -> str:
    """`select(lo < hi, hi - lo, 0)` is a trip count."""
    other = rows.makers.get(op.operands[2])
    zero = other is not None and other.name == "const" and other.attrs["value"] == 0
    shown = rows._formula(op.operands[1], depth)
    return f"max({shown}, 0)" if zero else "(counted)"


_FORMULAS: dict[str, Callable[[_Rows, Op, int], str]] = {
    "const": lambda rows, op, depth: str(op.attrs["value"]),
    "cast": lambda rows, op, depth: rows._formula(op.operands[0], depth),
    "load": lambda rows, op, depth: rows._element(op, depth),
    "shape": _shape,
    "select": _if_positive,
    "add": lambda rows, op, depth: rows._infix("+")(op, depth),
    "sub": lambda rows, op, depth: rows._infix("-")(op, depth),
    "mul": lambda rows, op, depth: rows._infix("*")(op, depth),
    "floordiv": lambda rows, op, depth: rows._infix("//")(op, depth),
    "max": lambda rows, op, depth: f"max({', '.join(rows._formula(v, depth) for v in op.operands)})",
    "min": lambda rows, op, depth: f"min({', '.join(rows._formula(v, depth) for v in op.operands)})",
}
