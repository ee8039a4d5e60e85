"""The table of derivatives: for each operation and each of its operands, how a change passes through.

A scalar operation is linear in the change of each operand: result' = sum of pull_k(operand_k'). The same maps, read the
other way, carry adjoints: the adjoint of operand k is pull_k(adjoint of the result). So one row serves forward and
reverse mode, and the tape oracle. A pull sees only the primals that it names in `needs`; what it does at kinks and at
the edge of a domain is what spec/gradients.md says. A literal 0 that a `where` gives is no contribution at all.

The maps are written with operators on numbers of any kind that has the methods of `Number`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

__all__ = ["NOT_DIFFERENTIABLE", "RULES", "Number", "Pull", "Saved"]


class Number(Protocol):
    """What a pull computes with: a value of IR being built, or an array of numbers."""

    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __rsub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __neg__(self) -> Any: ...
    def __lt__(self, other: Any) -> Any: ...
    def __gt__(self, other: Any) -> Any: ...
    def __or__(self, other: Any) -> Any: ...
    def eq(self, other: Any) -> Any: ...
    def ne(self, other: Any) -> Any: ...
    def where(self, yes: Any, no: Any) -> Any: ...
    def op(self, name: str, *others: Any) -> Any: ...


@dataclass(frozen=True)
class Saved:
    """The primals that a pull named: operands x, y, z and the result r; the others are None."""

    x: Any = None
    y: Any = None
    z: Any = None
    r: Any = None


@dataclass(frozen=True)
class Pull:
    """How a change of one operand reaches the result.

    Attributes:
        needs: letters of the primals it looks at: "x", "y", "z" (operands in order), "r" (the result).
        map: `map(change, saved) -> change`, linear in the change.
    """

    needs: str
    map: Callable[[Any, Saved], Any]


def _row(*pulls: tuple[str, Callable[[Any, Saved], Any]] | None) -> tuple[Pull | None, ...]:
    return tuple(None if p is None else Pull(*p) for p in pulls)


def _same(g: Any, s: Saved) -> Any:
    return g


def _nan_below(x: Any, limit: float, value: Any) -> Any:
    """NaN where the primal is NaN, left of its domain."""
    return (x < limit).where(math.nan, value)


def _size(x: Any) -> Any:
    """The magnitude: at an edge of a domain that is 0, the sign of that zero does not matter."""
    return x.op("abs")


def _angle(g: Any, x: Any, y: Any) -> Any:
    """g y / (x x + y y), without squares that overflow or vanish; NaN at (0, 0)."""
    return (_size(x) > _size(y)).where(g * (y / x) / (x + y * (y / x)), g / (y + x * (x / y)))


def _left_of_max(s: Saved) -> Any:
    return (s.x > s.y) | s.y.ne(s.y)


def _left_of_min(s: Saved) -> Any:
    return (s.x < s.y) | s.y.ne(s.y)


def _pow_base(g: Any, s: Saved) -> Any:
    """e b^(e - 1); b^0 is constant."""
    return s.y.eq(0.0).where(g * 0.0, g * s.y * s.x.op("pow", s.y - 1.0))


def _pow_exponent(g: Any, s: Saved) -> Any:
    """log(b) b^e; 0 at b = 0 < e."""
    return (s.x.eq(0.0)).where((s.y > 0.0).where(g * 0.0, g * (s.x.op("log") * s.r)), g * (s.x.op("log") * s.r))


RULES: Final[dict[str, tuple[Pull | None, ...]]] = {
    "add": _row(("", _same), ("", _same)),
    "sub": _row(("", _same), ("", lambda g, s: -g)),
    "mul": _row(("y", lambda g, s: g * s.y), ("x", lambda g, s: g * s.x)),
    "div": _row(("y", lambda g, s: g / s.y), ("yr", lambda g, s: -(g * s.r) / s.y)),
    "fma": _row(("y", lambda g, s: g * s.y), ("x", lambda g, s: g * s.x), ("", _same)),
    "neg": _row(("", lambda g, s: -g)),
    "abs": _row(("x", lambda g, s: (s.x > 0.0).where(g, (s.x < 0.0).where(-g, s.x.ne(s.x).where(s.x, 0.0))))),
    "max": _row(("xy", lambda g, s: _left_of_max(s).where(g, 0.0)), ("xy", lambda g, s: _left_of_max(s).where(0.0, g))),
    "min": _row(("xy", lambda g, s: _left_of_min(s).where(g, 0.0)), ("xy", lambda g, s: _left_of_min(s).where(0.0, g))),
    "select": _row(None, ("x", lambda g, s: s.x.where(g, 0.0)), ("x", lambda g, s: s.x.where(0.0, g))),
    "cast": _row(("", _same)),
    "sqrt": _row(("r", lambda g, s: g / _size(s.r * 2.0))),
    "rsqrt": _row(("r", lambda g, s: g * _size(s.r * (s.r * s.r)) * -0.5)),
    "cbrt": _row(("r", lambda g, s: g / (s.r * s.r * 3.0))),
    "hypot": _row(("xr", lambda g, s: g * (s.x / s.r)), ("yr", lambda g, s: g * (s.y / s.r))),
    "sin": _row(("x", lambda g, s: g * s.x.op("cos"))),
    "cos": _row(("x", lambda g, s: -(g * s.x.op("sin")))),
    "tan": _row(("r", lambda g, s: g * (s.r * s.r + 1.0))),
    "asin": _row(("x", lambda g, s: g / ((1.0 - s.x) * (s.x + 1.0)).op("sqrt"))),
    "acos": _row(("x", lambda g, s: -(g / ((1.0 - s.x) * (s.x + 1.0)).op("sqrt")))),
    "atan": _row(("x", lambda g, s: g / (s.x * s.x + 1.0))),
    "atan2": _row(
        ("xy", lambda g, s: _angle(g, s.x, s.y)),
        ("xy", lambda g, s: -_angle(g, s.y, s.x)),
    ),
    "sinh": _row(("x", lambda g, s: g * s.x.op("cosh"))),
    "cosh": _row(("x", lambda g, s: g * s.x.op("sinh"))),
    "tanh": _row(("r", lambda g, s: g * (1.0 - s.r * s.r))),
    "exp": _row(("r", lambda g, s: g * s.r)),
    "exp2": _row(("r", lambda g, s: g * s.r * math.log(2))),
    "expm1": _row(("r", lambda g, s: g * (s.r + 1.0))),
    "log": _row(("x", lambda g, s: _nan_below(s.x, 0.0, g / _size(s.x)))),
    "log2": _row(("x", lambda g, s: _nan_below(s.x, 0.0, g / (_size(s.x) * math.log(2))))),
    "log10": _row(("x", lambda g, s: _nan_below(s.x, 0.0, g / (_size(s.x) * math.log(10))))),
    "log1p": _row(("x", lambda g, s: _nan_below(s.x, -1.0, g / (s.x + 1.0)))),
    "pow": _row(("xy", _pow_base), ("xyr", _pow_exponent)),
}
"""Per operation, one entry per operand: its pull, or None where no change passes (a condition)."""

_STEPS = ("floor", "ceil", "trunc", "round", "rint")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BITS = ("and", "or", "xor", "not", "shl", "shr", "popcnt", "clz", "bitcast")
_INTEGERS = ("floordiv", "mod", "raw_div", "raw_mod", "ipow")

NOT_DIFFERENTIABLE: Final = frozenset((*_STEPS, *_COMPARISONS, *_BITS, *_INTEGERS))
"""Scalar operations through which nothing passes; each one is either here or has a rule."""
