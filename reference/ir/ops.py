"""The table of operations: one row each. Adding an op means adding a row here and one line per code generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from . import arithmetic as m
from .functions import by_library
from .opdef import OpDef, Signature, Trap, ulp

TABLE: Final[dict[str, OpDef]] = {}


def _row(name: str, line: str | None = None, classes: dict[str, Any] | None = None, **rest: Any) -> OpDef:
    row = OpDef(name, Signature(line, **(classes or {})), **rest)
    TABLE[name] = row
    return row


def _binary(name: str, over: str, meaning: m.Meaning, doc: str, **rest: Any) -> OpDef:
    return _row(name, "T T -> T", {"T": over}, meaning=meaning, doc=doc, **rest)


def _unary(name: str, over: str, meaning: m.Meaning, doc: str, **rest: Any) -> OpDef:
    return _row(name, "T -> T", {"T": over}, meaning=meaning, doc=doc, **rest)


def _compare(name: str, ufunc: Callable[..., Any], doc: str, **rest: Any) -> OpDef:
    return _row(name, "T T -> u1", {"T": "any"}, meaning=m.plain(ufunc), doc=doc, **rest)


_DIVISOR = Trap(m.is_zero, "integer division by zero")
_WIDTH = Trap(m.out_of_width, "shift by a negative amount or by the width or more")
_EXPONENT = Trap(m.negative_exponent, "Negative exponent in an integer power")

CONST = _row("const", "-> $to", attrs=("to", "value"), doc="a constant")

ADD = _binary("add", "numeric", m.plain(np.add), "sum; integers wrap", commutative=True)
SUB = _binary("sub", "numeric", m.plain(np.subtract), "difference; integers wrap")
MUL = _binary("mul", "numeric", m.plain(np.multiply), "product; integers wrap", commutative=True)
DIV = _binary("div", "real", m.plain(np.divide), "quotient of floats")
FLOORDIV = _binary("floordiv", "int", m.floor_div, "quotient rounded down; 0 by zero", trap=_DIVISOR)
MOD = _binary("mod", "int", m.floor_mod, "remainder with the divisor's sign; 0 by zero", trap=_DIVISOR)
RAW_DIV = _binary("raw_div", "int", m.trunc_div, "quotient rounded toward zero; 0 by zero", trap=_DIVISOR)
RAW_MOD = _binary("raw_mod", "int", m.trunc_mod, "remainder with the dividend's sign; 0 by zero", trap=_DIVISOR)
IPOW = _binary("ipow", "int", m.integer_power, "integer power, wrapping", trap=_EXPONENT)
MAX = _binary("max", "numeric", m.larger, "the larger; the right one at a tie; a NaN loses")
MIN = _binary("min", "numeric", m.smaller, "the smaller; the right one at a tie; a NaN loses")

NEG = _unary("neg", "numeric", m.plain(np.negative), "negation; integers wrap, a float's sign bit flips")
ABS = _unary("abs", "numeric", m.plain(np.abs), "magnitude; integers wrap, a float's sign bit clears")
FMA = _row("fma", "T T T -> T", {"T": "real"}, meaning=m.fma, commutative=True, doc="a * b + c, rounded once")
SQRT = _unary("sqrt", "real", m.plain(np.sqrt), "square root, correctly rounded")
FLOOR = _unary("floor", "real", m.plain(np.floor), "the largest integral value not above", reals_only=True)
CEIL = _unary("ceil", "real", m.plain(np.ceil), "the least integral value not below", reals_only=True)
TRUNC = _unary("trunc", "real", m.plain(np.trunc), "integral part", reals_only=True)
ROUND = _unary("round", "real", m.round_half_away, "nearest integral value, halves away from zero", reals_only=True)
RINT = _unary("rint", "real", m.plain(np.rint), "nearest integral value, halves to even")

AND = _binary("and", "bits", m.plain(np.bitwise_and), "bitwise and; on u1 logical", commutative=True)
OR = _binary("or", "bits", m.plain(np.bitwise_or), "bitwise or; on u1 logical", commutative=True)
XOR = _binary("xor", "bits", m.plain(np.bitwise_xor), "bitwise exclusive or; on u1 logical", commutative=True)
NOT = _unary("not", "bits", m.invert, "every bit flipped; on u1 logical")
SHL = _binary("shl", "int", m.shift(np.left_shift), "shift left; 0 past the width", trap=_WIDTH)
SHR = _binary(
    "shr", "int", m.shift(np.right_shift), "shift right, keeping a signed sign; 0 past the width", trap=_WIDTH
)
POPCNT = _row("popcnt", "T -> i32", {"T": "int"}, meaning=m.count_ones, doc="number of set bits")
CLZ = _row("clz", "T -> i32", {"T": "int"}, meaning=m.count_leading_zeros, doc="number of leading zero bits")

EQ = _compare("eq", np.equal, "equal", commutative=True)
NE = _compare("ne", np.not_equal, "not equal; true where an operand is NaN", commutative=True)
LT = _compare("lt", np.less, "less")
LE = _compare("le", np.less_equal, "less or equal")
GT = _compare("gt", np.greater, "greater")
GE = _compare("ge", np.greater_equal, "greater or equal")

SELECT = _row(
    "select", "u1 T T -> T", {"T": "any"}, meaning=m.select, doc="the second operand if the first, else the third"
)
CAST = _row(
    "cast",
    "S -> $to",
    {"S": "any"},
    meaning=m.cast,
    attrs=("to",),
    doc="conversion; to integers truncates, saturates, NaN is 0",
)
BITCAST = _row(
    "bitcast",
    "S -> $to",
    {"S": "any"},
    meaning=m.bitcast,
    attrs=("to",),
    doc="the same bits as another type of the same width",
)


def _transcendental(name: str, f32: float = 1, f64: float = 1, arity: int = 1, **rest: Any) -> OpDef:
    return _row(
        name,
        " ".join("T" * arity) + " -> T",
        {"T": "real"},
        meaning=by_library(name),
        transcendental=True,
        budget=ulp(f32, f64),
        doc=f"{name}, within its budget",
        **rest,
    )


SIN = _transcendental("sin", reals_only=True)
COS = _transcendental("cos", reals_only=True)
TAN = _transcendental("tan", reals_only=True)
ASIN = _transcendental("asin", reals_only=True)
ACOS = _transcendental("acos", reals_only=True)
ATAN = _transcendental("atan")
SINH = _transcendental("sinh", reals_only=True)
COSH = _transcendental("cosh", reals_only=True)
TANH = _transcendental("tanh", reals_only=True)
EXP = _transcendental("exp")
EXP2 = _transcendental("exp2")
EXPM1 = _transcendental("expm1")
LOG = _transcendental("log")
LOG2 = _transcendental("log2")
LOG10 = _transcendental("log10")
LOG1P = _transcendental("log1p")
RSQRT = _transcendental("rsqrt")
CBRT = _transcendental("cbrt")
POW = _transcendental("pow", arity=2)
ATAN2 = _transcendental("atan2", arity=2)
HYPOT = _transcendental("hypot", arity=2, commutative=True)

CALL = _row("call", attrs=("function",), doc="apply a function of the library, or of the text: pure, not inlined")

RANDOM = _row(
    "random",
    "-> $to",
    {"to": "numeric"},
    pure=False,
    reads=True,
    writes=True,
    attrs=("to",),
    doc="the next number of this thread's stream",
)

SHAPE = _row("shape", pure=True, attrs=("place", "axis", "to"), doc="an extent of a place")
LOAD = _row("load", pure=False, reads=True, attrs=("place",), guards=True, doc="read an element: one index per axis")
STORE = _row(
    "store", pure=False, writes=True, attrs=("place",), guards=True, doc="write an element: indices, then the value"
)
ATOMIC = _row(
    "atomic",
    pure=False,
    reads=True,
    writes=True,
    attrs=("place", "kind"),
    guards=True,
    doc="read, combine, write as one; the result is the old value",
)

ARRAY_ALLOC = _row("array.alloc", pure=False, attrs=("dtype", "length"), doc="a zeroed array inside the thread")
ARRAY_LOAD = _row("array.load", pure=False, reads=True, guards=True, doc="read an element: handle, index")
ARRAY_STORE = _row("array.store", pure=False, writes=True, guards=True, doc="write an element: handle, index, value")

STACK_ALLOCA = _row(
    "stack.alloca",
    pure=False,
    attrs=("dtype", "around", "inside"),
    doc="an empty adstack; the operand is its capacity; branches that can't both be taken are told apart by the sides "
    "(2 n + side of the nth `if`) around its loop, and by those inside it",
)
STACK_CLAIM = _row(
    "stack.claim",
    pure=False,
    reads=True,
    writes=True,
    doc="whether this iteration touches slots of the adstacks made after it; the second operand: at most so many do",
)
STACK_PUSH = _row("stack.push", pure=False, reads=True, writes=True, doc="push a primal; its adjoint becomes 0")
STACK_POP = _row("stack.pop", pure=False, reads=True, writes=True, doc="drop the top; an empty stack stays empty")
STACK_LOAD_TOP = _row(
    "stack.load_top", pure=False, reads=True, doc="the primal of the top; of an empty stack, of slot 0"
)
STACK_LOAD_TOP_ADJ = _row("stack.load_top_adj", pure=False, reads=True, doc="the adjoint of the top")
STACK_PUT = _row(
    "stack.put",
    pure=False,
    reads=True,
    writes=True,
    doc="write the primal of the slot at an index: a push whose count the program keeps",
)
STACK_GET = _row("stack.get", pure=False, reads=True, doc="the primal of the slot at an index")
STACK_ACC_ADJOINT = _row("stack.acc_adjoint", pure=False, reads=True, writes=True, doc="add to the adjoint of the top")

IF = _row(
    "if", pure=False, regions=2, doc="take the first region if the operand, else the second; results are what it yields"
)
FOR = _row(
    "for", pure=False, regions=1, doc="operands lo, hi, initial carried values; region arguments: index, carried values"
)
WHILE = _row(
    "while", pure=False, regions=2, doc="condition region yields (u1, carried...); body takes and yields carried values"
)
PARALLEL_FOR = _row(
    "parallel_for", pure=False, regions=1, doc="operands lo, hi per axis; one unordered iteration per point"
)
YIELD = _row("yield", pure=False, terminator=True, doc="what a region gives to its op")
RETURN = _row("return", pure=False, terminator=True, doc="the end of a kernel or task, with its results")

ASSERT = _row(
    "assert", pure=False, writes=True, attrs=("message",), doc="in debug mode, an error unless the operand holds"
)
PRINT = _row("print", pure=False, writes=True, attrs=("parts",), doc="write text and operands")


class AtomicKind:
    """How an atomic combines the old value with its operand: `meaning(to, old, value) -> new`."""

    def __init__(self, name: str, over: str, meaning: m.Meaning, operands: int = 1) -> None:
        self.name, self.over, self.meaning, self.operands = name, over, meaning, operands


ATOMICS: Final[dict[str, AtomicKind]] = {
    kind.name: kind
    for kind in (
        AtomicKind("add", "numeric", m.plain(np.add)),
        AtomicKind("mul", "numeric", m.plain(np.multiply)),
        AtomicKind("min", "numeric", m.smaller),
        AtomicKind("max", "numeric", m.larger),
        AtomicKind("and", "bits", m.plain(np.bitwise_and)),
        AtomicKind("or", "bits", m.plain(np.bitwise_or)),
        AtomicKind("xor", "bits", m.plain(np.bitwise_xor)),
        AtomicKind("xchg", "any", lambda to, old, value: value),
        AtomicKind("cas", "any", m.swap_if_equal, operands=2),
    )
}
