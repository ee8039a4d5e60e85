"""Size formulas for people."""

from __future__ import annotations

from .expr import Branch, Const, Number, Plus, SizeExpr, SumOverRange, Times, Triangle, Trips
from .numbers import Numbers

__all__ = ["formula"]


def formula(expr: SizeExpr, numbers: Numbers) -> str:
    """A formula in the words of the kernel: names of fields, arguments and loop indices."""
    match expr:
        case Const(value):
            return str(value)
        case Number(value):
            return numbers.text(value)
        case Trips(lo, hi):
            return f"max({_difference(lo, hi, numbers)}, 0)"
        case Plus(terms):
            return f"({' + '.join(formula(term, numbers) for term in terms)})"
        case Times(count, each):
            shown = formula(count, numbers)
            return shown if each == Const(1) else f"{shown} * {formula(each, numbers)}"
        case Branch(condition, yes, no):
            return f"({formula(yes, numbers)} if {numbers.text(condition)} else {formula(no, numbers)})"
        case SumOverRange(index, lo, hi, body):
            around = f"{numbers.text(lo)}, {numbers.text(hi)}"
            return f"sum({formula(body, numbers)} for {numbers.text(index)} in range({around}))"
        case Triangle(lo, hi, shift):
            term = f"k + {shift}" if shift else "k"
            return f"sum(max({term}, 0) for k in range({numbers.text(lo)}, {numbers.text(hi)}))"
    raise TypeError(f"no formula: {expr!r}")


def _difference(lo: object, hi: object, numbers: Numbers) -> str:
    low = numbers.text(lo)  # type: ignore[arg-type]
    return numbers.text(hi) if low == "0" else f"{numbers.text(hi)} - {low}"  # type: ignore[arg-type]
