"""Where the numbers of a task come from: which indices they depend on, and what they look like to a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..analysis.def_use import live_in
from ..analysis.facts import integer
from ..ir.structure import Op, Task, Value

__all__ = ["Numbers"]

_DEEPEST: Final = 6
"""Levels of a formula that are shown; what is deeper is only named."""


class Numbers:
    """The values of one task.

    Attributes:
        indices: those of the parallel loop.
        carried: arguments of loops that change from trip to trip, but for the indices of `for`s.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.indices: tuple[Value, ...] = ()
        self.carried: set[Value] = set()
        self._names: dict[Value, str] = {p: p.name or "argument" for p in task.body.args}
        self._free: dict[Value, frozenset[Value]] = {}
        for op in task.body.walk():
            for region in op.regions:
                self._names.update((a, a.name or "index") for a in region.args)
            if op.name == "parallel_for":
                self.indices = tuple(op.regions[0].args)
            elif op.name == "for":
                self.carried.update(op.regions[0].args[1:])
            elif op.name == "while":
                self.carried.update(a for region in op.regions for a in region.args)

    # ---- what a value depends on

    def free(self, value: Value) -> frozenset[Value]:
        """The arguments of loops around that a value depends on, arguments of the task left out."""
        work = [value]
        while work:
            top = work[-1]
            if top in self._free:
                work.pop()
                continue
            maker = top.op
            used = [] if maker is None else live_in(maker)
            missing = [v for v in used if v not in self._free]
            if missing:
                work += missing
                continue
            self._free[top] = self._own(top, maker).union(*(self._free[v] for v in used))
        return self._free[value]

    def _own(self, value: Value, maker: Op | None) -> frozenset[Value]:
        return frozenset() if maker is not None or value in self.task.body.args else frozenset((value,))

    # ---- for people

    def text(self, value: Value, depth: int = 0) -> str:
        """A value as a formula."""
        maker = value.op
        if maker is None:
            return self._names.get(value, "?")
        rule = _FORMULAS.get(maker.name)
        if rule is None or depth > _DEEPEST:
            return value.name.rstrip("_0123456789") or "(computed)"
        return rule(self, maker, depth + 1)

    def infix(self, word: str, op: Op, depth: int) -> str:
        """Operands with a word between."""
        return f"({f' {word} '.join(self.text(v, depth) for v in op.operands)})"

    def element(self, op: Op, depth: int) -> str:
        """An access to memory."""
        place = op.attrs["place"]
        indices = ", ".join(self.text(v, depth) for v in op.operands) or "None"
        return f"{place.label or place.name}[{indices}]"


def _shape(numbers: Numbers, op: Op, depth: int) -> str:
    place = op.attrs["place"]
    return f"{place.label or place.name}.shape[{op.attrs['axis']}]"


def _choice(numbers: Numbers, op: Op, depth: int) -> str:
    """`select(lo < hi, hi - lo, 0)` is a trip count."""
    shown = numbers.text(op.operands[1], depth)
    if integer(op.operands[2]) == 0:
        return f"max({shown}, 0)"
    return f"({shown} or {numbers.text(op.operands[2], depth)})"


def _listed(numbers: Numbers, op: Op, depth: int) -> str:
    return f"{op.name}({', '.join(numbers.text(v, depth) for v in op.operands)})"


_WORDS: Final = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "div": "/"} | {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "and",
    "or": "or",
}

_FORMULAS: Final[dict[str, Callable[[Numbers, Op, int], str]]] = {
    "const": lambda numbers, op, depth: str(op.attrs["value"]),
    "cast": lambda numbers, op, depth: numbers.text(op.operands[0], depth),
    "load": lambda numbers, op, depth: numbers.element(op, depth),
    "shape": _shape,
    "select": _choice,
    "max": _listed,
    "min": _listed,
    "sqrt": _listed,
    "abs": _listed,
    **{name: lambda numbers, op, depth: numbers.infix(_WORDS[op.name], op, depth) for name in _WORDS},
}
