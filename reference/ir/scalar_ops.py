"""The rows of scalar operations. Adding one means adding a row here and one line per code generator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from . import arithmetic as m
from .functions import by_library
from .opdef import OpDef, Trap, ulp
from .pulls import Change, Pulls, Saved, through
from .table import row
from .types import Array, cast

NOTHING: Final[Pulls] = ()
"""No change passes through the operation."""


def _binary(name: str, over: str, meaning: m.Meaning, doc: str, **rest: object) -> OpDef:
    return row(name, "T T -> T", {"T": over}, meaning=meaning, doc=doc, **rest)


def _unary(name: str, over: str, meaning: m.Meaning, doc: str, **rest: object) -> OpDef:
    return row(name, "T -> T", {"T": over}, meaning=meaning, doc=doc, **rest)


def _whole(name: str, meaning: m.Meaning, doc: str, **rest: object) -> OpDef:
    """A function to integral values: exact, and constant between jumps."""
    return _unary(name, "real", meaning, doc, pulls=NOTHING, rounds=False, step=True, **rest)


def _compare(name: str, ufunc: Callable[..., Array], doc: str, **rest: object) -> OpDef:
    return row(name, "T T -> u1", {"T": "any"}, meaning=m.plain(ufunc), pulls=NOTHING, doc=doc, **rest)


_DIVISOR = Trap(m.is_zero, "integer division by zero")
_WIDTH = Trap(m.out_of_width, "shift by a negative amount or by the width or more")
_EXPONENT = Trap(m.negative_exponent, "Negative exponent in an integer power")

# ---- derivatives: what rows share


def _same(g: Change, s: Saved) -> Change:
    return g


def _nan_below(x: Change, limit: float, value: Change) -> Change:
    """NaN where the primal is NaN, left of its domain."""
    return (x < limit).where(math.nan, value)


def _size(x: Change) -> Change:
    """The magnitude: at an edge of a domain that is 0, the sign of that zero does not matter."""
    return x.op(ABS)


def _angle(g: Change, x: Change, y: Change) -> Change:
    """g y / (x x + y y), without squares that overflow or vanish; NaN at (0, 0)."""
    return (_size(x) > _size(y)).where(g * (y / x) / (x + y * (y / x)), g / (y + x * (x / y)))


def _left_of_max(s: Saved) -> Change:
    return (s.x > s.y) | s.y.ne(s.y)


def _left_of_min(s: Saved) -> Change:
    return (s.x < s.y) | s.y.ne(s.y)


def _pow_base(g: Change, s: Saved) -> Change:
    """e b^(e - 1); b^0 is constant."""
    return s.y.eq(0.0).where(g * 0.0, g * s.y * s.x.op(POW, s.y - 1.0))


def _pow_exponent(g: Change, s: Saved) -> Change:
    """log(b) b^e; 0 at b = 0 < e."""
    return (s.x.eq(0.0)).where((s.y > 0.0).where(g * 0.0, g * (s.x.op(LOG) * s.r)), g * (s.x.op(LOG) * s.r))


# ---- rows

CONST = row("const", "-> $to", attrs=("to", "value"), doc="a constant")

ADD = _binary(
    "add", "numeric", m.plain(np.add), "sum; integers wrap", commutative=True, pulls=through(("", _same), ("", _same))
)
SUB = _binary(
    "sub",
    "numeric",
    m.plain(np.subtract),
    "difference; integers wrap",
    pulls=through(("", _same), ("", lambda g, s: -g)),
)
MUL = _binary(
    "mul",
    "numeric",
    m.plain(np.multiply),
    "product; integers wrap",
    commutative=True,
    pulls=through(("y", lambda g, s: g * s.y), ("x", lambda g, s: g * s.x)),
)
DIV = _binary(
    "div",
    "real",
    m.plain(np.divide),
    "quotient of floats",
    pulls=through(("y", lambda g, s: g / s.y), ("yr", lambda g, s: -(g / s.y) * s.r)),
)
FLOORDIV = _binary("floordiv", "int", m.floor_div, "quotient rounded down; 0 by zero", trap=_DIVISOR, pulls=NOTHING)
MOD = _binary("mod", "int", m.floor_mod, "remainder with the divisor's sign; 0 by zero", trap=_DIVISOR, pulls=NOTHING)
RAW_DIV = _binary(
    "raw_div", "int", m.trunc_div, "quotient rounded toward zero; 0 by zero", trap=_DIVISOR, pulls=NOTHING
)
RAW_MOD = _binary(
    "raw_mod", "int", m.trunc_mod, "remainder with the dividend's sign; 0 by zero", trap=_DIVISOR, pulls=NOTHING
)
IPOW = _binary("ipow", "int", m.integer_power, "integer power, wrapping", trap=_EXPONENT, pulls=NOTHING)
MAX = _binary(
    "max",
    "numeric",
    m.larger,
    "the larger; the right one at a tie; a NaN loses",
    pulls=through(
        ("xy", lambda g, s: _left_of_max(s).where(g, 0.0)), ("xy", lambda g, s: _left_of_max(s).where(0.0, g))
    ),
    rounds=False,
)
MIN = _binary(
    "min",
    "numeric",
    m.smaller,
    "the smaller; the right one at a tie; a NaN loses",
    pulls=through(
        ("xy", lambda g, s: _left_of_min(s).where(g, 0.0)), ("xy", lambda g, s: _left_of_min(s).where(0.0, g))
    ),
    rounds=False,
)

NEG = _unary(
    "neg",
    "numeric",
    m.plain(np.negative),
    "negation; integers wrap, a float's sign bit flips",
    pulls=through(("", lambda g, s: -g)),
    rounds=False,
)
ABS = _unary(
    "abs",
    "numeric",
    m.plain(np.abs),
    "magnitude; integers wrap, a float's sign bit clears",
    pulls=through(("x", lambda g, s: (s.x > 0.0).where(g, (s.x < 0.0).where(-g, s.x.ne(s.x).where(s.x, 0.0))))),
    rounds=False,
)
FMA = row(
    "fma",
    "T T T -> T",
    {"T": "real"},
    meaning=m.fma,
    commutative=True,
    doc="a * b + c, rounded once",
    pulls=through(("y", lambda g, s: g * s.y), ("x", lambda g, s: g * s.x), ("", _same)),
)
SQRT = _unary(
    "sqrt",
    "real",
    m.plain(np.sqrt),
    "square root, correctly rounded",
    pulls=through(("r", lambda g, s: g / _size(s.r * 2.0))),
)
FLOOR = _whole("floor", m.plain(np.floor), "the largest integral value not above", reals_only=True)
CEIL = _whole("ceil", m.plain(np.ceil), "the least integral value not below", reals_only=True)
TRUNC = _whole("trunc", m.plain(np.trunc), "integral part", reals_only=True)
ROUND = _whole("round", m.round_half_away, "nearest integral value, halves away from zero", reals_only=True)
RINT = _whole("rint", m.plain(np.rint), "nearest integral value, halves to even")

AND = _binary("and", "bits", m.plain(np.bitwise_and), "bitwise and; on u1 logical", commutative=True, pulls=NOTHING)
OR = _binary("or", "bits", m.plain(np.bitwise_or), "bitwise or; on u1 logical", commutative=True, pulls=NOTHING)
XOR = _binary(
    "xor", "bits", m.plain(np.bitwise_xor), "bitwise exclusive or; on u1 logical", commutative=True, pulls=NOTHING
)
NOT = _unary("not", "bits", m.invert, "every bit flipped; on u1 logical", pulls=NOTHING)
SHL = _binary("shl", "int", m.shift(np.left_shift), "shift left; 0 past the width", trap=_WIDTH, pulls=NOTHING)
SHR = _binary(
    "shr",
    "int",
    m.shift(np.right_shift),
    "shift right, keeping a signed sign; 0 past the width",
    trap=_WIDTH,
    pulls=NOTHING,
)
POPCNT = row("popcnt", "T -> i32", {"T": "int"}, meaning=m.count_ones, doc="number of set bits", pulls=NOTHING)
CLZ = row(
    "clz", "T -> i32", {"T": "int"}, meaning=m.count_leading_zeros, doc="number of leading zero bits", pulls=NOTHING
)

EQ = _compare("eq", np.equal, "equal", commutative=True)
NE = _compare("ne", np.not_equal, "not equal; true where an operand is NaN", commutative=True)
LT = _compare("lt", np.less, "less")
LE = _compare("le", np.less_equal, "less or equal")
GT = _compare("gt", np.greater, "greater")
GE = _compare("ge", np.greater_equal, "greater or equal")

SELECT = row(
    "select",
    "u1 T T -> T",
    {"T": "any"},
    meaning=m.select,
    doc="the second operand if the first, else the third",
    pulls=through(None, ("x", lambda g, s: s.x.where(g, 0.0)), ("x", lambda g, s: s.x.where(0.0, g))),
    rounds=False,
)
CAST = row(
    "cast",
    "S -> $to",
    {"S": "any"},
    meaning=cast,
    attrs=("to",),
    doc="conversion; to integers truncates, saturates, NaN is 0",
    pulls=through(("", _same)),
)
BITCAST = row(
    "bitcast",
    "S -> $to",
    {"S": "any"},
    meaning=m.bitcast,
    attrs=("to",),
    doc="the same bits as another type of the same width",
    pulls=NOTHING,
    rounds=False,
)


def _transcendental(name: str, f32: float = 1, f64: float = 1, arity: int = 1, **rest: object) -> OpDef:
    return row(
        name,
        " ".join("T" * arity) + " -> T",
        {"T": "real"},
        meaning=by_library(name),
        transcendental=True,
        budget=ulp(f32, f64),
        doc=f"{name}, within its budget",
        **rest,
    )


SIN = _transcendental(
    "sin", reals_only=True, pulls=through(("x", lambda g, s: g * s.x.op(COS))), ordinary=(2.0**-28, 2.0**17)
)
COS: OpDef = _transcendental(
    "cos", reals_only=True, pulls=through(("x", lambda g, s: -(g * s.x.op(SIN)))), ordinary=(2.0**-28, 2.0**17)
)
TAN = _transcendental(
    "tan", reals_only=True, pulls=through(("r", lambda g, s: g * (s.r * s.r + 1.0))), ordinary=(2.0**-24, 2.0**17)
)
ASIN = _transcendental(
    "asin",
    reals_only=True,
    pulls=through(("x", lambda g, s: g / ((1.0 - s.x) * (s.x + 1.0)).op(SQRT))),
    ordinary=(2.0**-60, math.inf),
)
ACOS: OpDef = _transcendental(
    "acos",
    reals_only=True,
    pulls=through(("x", lambda g, s: -(g / ((1.0 - s.x) * (s.x + 1.0)).op(SQRT)))),
    ordinary=(2.0**-60, math.inf),
)
ATAN = _transcendental("atan", pulls=through(("x", lambda g, s: g / (s.x * s.x + 1.0))), ordinary=(2.0**-40, 2.0**40))
SINH = _transcendental(
    "sinh", reals_only=True, pulls=through(("x", lambda g, s: g * s.x.op(COSH))), ordinary=(2.0**-40, math.inf)
)
COSH: OpDef = _transcendental(
    "cosh", reals_only=True, pulls=through(("x", lambda g, s: g * s.x.op(SINH))), ordinary=(2.0**-60, math.inf)
)
TANH = _transcendental(
    "tanh", reals_only=True, pulls=through(("r", lambda g, s: g * (1.0 - s.r * s.r))), ordinary=(2.0**-40, math.inf)
)
EXP = _transcendental("exp", pulls=through(("r", lambda g, s: g * s.r)), ordinary=(2.0**-60, math.inf))
EXP2 = _transcendental("exp2", pulls=through(("r", lambda g, s: g * s.r * math.log(2))), ordinary=(2.0**-126, math.inf))
EXPM1 = _transcendental("expm1", pulls=through(("r", lambda g, s: g * (s.r + 1.0))), ordinary=(2.0**-60, math.inf))
LOG = _transcendental(
    "log", pulls=through(("x", lambda g, s: _nan_below(s.x, 0.0, g / _size(s.x)))), ordinary=(2.0**-126, math.inf)
)
LOG2 = _transcendental(
    "log2",
    pulls=through(("x", lambda g, s: _nan_below(s.x, 0.0, g / (_size(s.x) * math.log(2))))),
    ordinary=(2.0**-126, math.inf),
)
LOG10 = _transcendental(
    "log10",
    pulls=through(("x", lambda g, s: _nan_below(s.x, 0.0, g / (_size(s.x) * math.log(10))))),
    ordinary=(2.0**-126, math.inf),
)
LOG1P = _transcendental(
    "log1p", pulls=through(("x", lambda g, s: _nan_below(s.x, -1.0, g / (s.x + 1.0)))), ordinary=(2.0**-40, 2.0**126)
)
RSQRT = _transcendental(
    "rsqrt", pulls=through(("r", lambda g, s: g * _size(s.r * (s.r * s.r)) * -0.5)), ordinary=(2.0**-126, math.inf)
)
CBRT = _transcendental("cbrt", pulls=through(("r", lambda g, s: g / (s.r * s.r * 3.0))), ordinary=(2.0**-80, math.inf))
POW = _transcendental("pow", arity=2, pulls=through(("xy", _pow_base), ("xyr", _pow_exponent)))
ATAN2 = _transcendental(
    "atan2", arity=2, pulls=through(("xy", lambda g, s: _angle(g, s.x, s.y)), ("xy", lambda g, s: -_angle(g, s.y, s.x)))
)
HYPOT = _transcendental(
    "hypot",
    arity=2,
    commutative=True,
    pulls=through(("xr", lambda g, s: g * (s.x / s.r)), ("yr", lambda g, s: g * (s.y / s.r))),
)
