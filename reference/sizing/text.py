"""Size formulas for people, in the words of the kernel: names of fields, arguments and loop indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..analysis.facts import integer
from ..ir.opdef import OpDef
from ..ir.ops import LOAD, SHAPE
from ..ir.scalar_ops import (
    ABS,
    ADD,
    AND,
    CAST,
    CONST,
    DIV,
    EQ,
    FLOORDIV,
    GE,
    GT,
    LE,
    LT,
    MAX,
    MIN,
    MOD,
    MUL,
    NE,
    OR,
    SELECT,
    SQRT,
    SUB,
)
from ..ir.structure import Op, Task, Value
from .expr import Branch, Const, Number, Plus, SizeExpr, SumOverRange, Times, Triangle, Trips

__all__ = ["Speller"]

_DEEPEST: Final = 6
"""Levels of a formula that are shown; what is deeper is only named."""


class Speller:
    """Spells values and formulas of a task."""

    def __init__(self, task: Task) -> None:
        self._params = set(task.body.args)

    def formula(self, expr: SizeExpr) -> str:
        """A formula in the syntax of Python."""
        match expr:
            case Const(value):
                return str(value)
            case Number(value):
                return self.value(value)
            case Trips(lo, hi):
                return f"max({self._difference(lo, hi)}, 0)"
            case Plus(terms):
                return f"({' + '.join(map(self.formula, terms))})"
            case Times(count, each):
                shown = self.formula(count)
                return shown if each == Const(1) else f"{shown} * {self.formula(each)}"
            case Branch(condition, yes, no):
                return f"({self.formula(yes)} if {self.value(condition)} else {self.formula(no)})"
            case SumOverRange(index, lo, hi, body):
                around = f"{self.value(lo)}, {self.value(hi)}"
                return f"sum({self.formula(body)} for {self.value(index)} in range({around}))"
            case Triangle(lo, hi, shift):
                term = f"k + {shift}" if shift else "k"
                return f"sum(max({term}, 0) for k in range({self.value(lo)}, {self.value(hi)}))"
        raise TypeError(f"no formula: {expr!r}")

    def _difference(self, lo: Value, hi: Value) -> str:
        low = self.value(lo)
        return self.value(hi) if low == "0" else f"{self.value(hi)} - {low}"

    def value(self, value: Value, depth: int = 0) -> str:
        """A value by what computes it; `depth` levels are shown around it already."""
        op = value.op
        if op is None:
            return value.name or ("argument" if value in self._params else "index")
        rule = _RULES.get(op.opdef)
        if rule is None or depth > _DEEPEST:
            return value.name.rstrip("_0123456789") or "(computed)"
        return rule(self, op, depth + 1)


def _infix(speller: Speller, op: Op, depth: int) -> str:
    return f"({f' {_WORDS[op.opdef]} '.join(speller.value(v, depth) for v in op.operands)})"


def _element(speller: Speller, op: Op, depth: int) -> str:
    place = op.attrs["place"]
    indices = ", ".join(speller.value(v, depth) for v in op.operands) or "None"
    return f"{place.label or place.name}[{indices}]"


def _shape(speller: Speller, op: Op, depth: int) -> str:
    place = op.attrs["place"]
    return f"{place.label or place.name}.shape[{op.attrs['axis']}]"


def _choice(speller: Speller, op: Op, depth: int) -> str:
    """`select(lo < hi, hi - lo, 0)` is a trip count."""
    shown = speller.value(op.operands[1], depth)
    if integer(op.operands[2]) == 0:
        return f"max({shown}, 0)"
    return f"({shown} or {speller.value(op.operands[2], depth)})"


def _listed(speller: Speller, op: Op, depth: int) -> str:
    return f"{op.name}({', '.join(speller.value(v, depth) for v in op.operands)})"


_WORDS: Final = {ADD: "+", SUB: "-", MUL: "*", FLOORDIV: "//", MOD: "%", DIV: "/"} | {
    EQ: "==",
    NE: "!=",
    LT: "<",
    LE: "<=",
    GT: ">",
    GE: ">=",
    AND: "and",
    OR: "or",
}

_RULES: Final[dict[OpDef, Callable[[Speller, Op, int], str]]] = {
    CONST: lambda speller, op, depth: str(op.attrs["value"]),
    CAST: lambda speller, op, depth: speller.value(op.operands[0], depth),
    LOAD: _element,
    SHAPE: _shape,
    SELECT: _choice,
    MAX: _listed,
    MIN: _listed,
    SQRT: _listed,
    ABS: _listed,
    **dict.fromkeys(_WORDS, _infix),
}
