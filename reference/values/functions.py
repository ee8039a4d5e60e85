"""The functions of the language: on numbers, runtime values, vectors and matrices, on the host and in kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Final

from ..errors import AdstackTypeError
from ..ir import scalar_ops as ops
from ..ir.opdef import OpDef
from ..ir.ops import RANDOM
from .calling import takes
from .elements import Elements, zip_elements
from .kinds import Operand
from .operations import BIT_SHR, LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR
from .protocol import current_emitter, is_expr
from .scalars import HOST, OPERATORS, check_number, dtype_of, plain

Value = Operand
"""A number, a runtime value, a vector or a matrix."""


def apply(row: OpDef, *args: Value, **attrs: object) -> Value:
    """The operation `row` of scalars `args`: recorded if a runtime value or an emitter is at hand, else computed.

    AdstackTypeError if an argument is no number, or the function is available in kernels only.
    """
    for a in args:
        check_number(row.name, a)
    args = tuple(plain(a) for a in args)
    emitter = next((a for a in args if is_expr(a)), current_emitter())
    if emitter is not None:
        return emitter.__adstack_emit__(row, args, **attrs)
    if row not in HOST:
        raise AdstackTypeError(f"{row.name} is available in kernels only", do="call it inside a @kernel or @func")
    return HOST[row](*args, **attrs)


def elementwise(row: OpDef, *args: Value, **attrs: object) -> Value:
    """The function of the language that is `row`, elementwise on vectors and matrices, scalars broadcast.

    AdstackTypeError if shapes differ, or as `apply` says.
    """
    return zip_elements(row.name, partial(apply, row, **attrs), *args)


def operate(row: OpDef, *args: Value) -> Value:
    """The operator of the language that is `row`, elementwise on vectors and matrices, scalars broadcast."""
    return zip_elements(row.name, OPERATORS[row], *args)


def _unary(row: OpDef, doc: str) -> Callable[[Value], Value]:
    @takes(row.name)
    def function(x: Value) -> Value:
        return elementwise(row, x)

    function.__name__ = function.__qualname__ = row.name
    function.__doc__ = doc
    return function


sin: Final = _unary(ops.SIN, "Sine of an angle in radians.")
cos: Final = _unary(ops.COS, "Cosine of an angle in radians.")
tan: Final = _unary(ops.TAN, "Tangent of an angle in radians.")
asin: Final = _unary(ops.ASIN, "The angle in [-pi/2, pi/2] whose sine is x.")
acos: Final = _unary(ops.ACOS, "The angle in [0, pi] whose cosine is x.")
atan: Final = _unary(ops.ATAN, "The angle in [-pi/2, pi/2] whose tangent is x.")
sinh: Final = _unary(ops.SINH, "Hyperbolic sine.")
cosh: Final = _unary(ops.COSH, "Hyperbolic cosine.")
tanh: Final = _unary(ops.TANH, "Hyperbolic tangent.")
exp: Final = _unary(ops.EXP, "e to the power x.")
exp2: Final = _unary(ops.EXP2, "2 to the power x.")
expm1: Final = _unary(ops.EXPM1, "e to the power x, minus 1, without cancellation near 0.")
log: Final = _unary(ops.LOG, "Natural logarithm: -inf at 0, NaN below.")
log2: Final = _unary(ops.LOG2, "Logarithm to base 2.")
log10: Final = _unary(ops.LOG10, "Logarithm to base 10.")
log1p: Final = _unary(ops.LOG1P, "Natural logarithm of 1 + x, without cancellation near 0.")
sqrt: Final = _unary(ops.SQRT, "Square root, correctly rounded: NaN below 0.")
rsqrt: Final = _unary(ops.RSQRT, "1 / sqrt(x).")
cbrt: Final = _unary(ops.CBRT, "Cube root.")
popcnt: Final = _unary(ops.POPCNT, "How many bits of an integer are set.")
clz: Final = _unary(ops.CLZ, "How many zero bits stand above the highest set bit of an integer.")
abs_: Final = _unary(ops.ABS, "Magnitude; its derivative at 0 is 0.")
logical_not: Final = _unary(LOGICAL_NOT, "Whether x is zero.")


def _rounding(row: OpDef, doc: str) -> Callable[..., Value]:
    @takes(row.name)
    def function(x: Value, dtype: object = None) -> Value:
        result = elementwise(row, x)
        return result if dtype is None else cast(result, dtype)

    function.__name__ = function.__qualname__ = row.name
    function.__doc__ = doc + "\n\nThe result has the type of x, or `dtype` if that is given."
    return function


floor: Final = _rounding(ops.FLOOR, "The largest integral value not above x.")
ceil: Final = _rounding(ops.CEIL, "The least integral value not below x.")
round_: Final = _rounding(ops.ROUND, "The nearest integral value, halves away from zero.")
trunc: Final = _rounding(ops.TRUNC, "The integral part of x.")


@takes("atan2")
def atan2(x1: Value, x2: Value) -> Value:
    """The angle of the point (x2, x1), in [-pi, pi]: as elsewhere the first argument is what the sine is of."""
    return elementwise(ops.ATAN2, x1, x2)


@takes("hypot")
def hypot(x: Value, y: Value) -> Value:
    """sqrt(x * x + y * y) without overflow on the way."""
    return elementwise(ops.HYPOT, x, y)


@takes("fma")
def fma(a: Value, b: Value, c: Value) -> Value:
    """a * b + c, rounded once."""
    return elementwise(ops.FMA, a, b, c)


@takes("pow")
def pow_(base: Value, exponent: Value) -> Value:
    """`base ** exponent`: an integer if both are."""
    return operate(ops.POW, base, exponent)


def _folded(row: OpDef, args: tuple[Value, ...]) -> Value:
    if not args:
        raise AdstackTypeError(f"{row.name} needs at least one argument", do=f"write {row.name}(a, b)")
    return reduce(lambda right, left: elementwise(row, left, right), reversed(args))


@takes("max")
def max_(*args: Value) -> Value:
    """The largest argument: a NaN loses, the right one wins a tie; `max(a, b, c)` is `max(a, max(b, c))`."""
    return _folded(ops.MAX, args)


@takes("min")
def min_(*args: Value) -> Value:
    """The smallest argument: a NaN loses, the right one wins a tie; `min(a, b, c)` is `min(a, min(b, c))`."""
    return _folded(ops.MIN, args)


@takes("select")
def select(cond: Value, x1: Value, x2: Value) -> Value:
    """`x1` where the condition holds, else `x2`; both are evaluated."""
    return elementwise(ops.SELECT, cond, x1, x2)


@takes("cast")
def cast(obj: Value, dtype: object) -> Value:
    """A number, vector or matrix in the type `dtype`.

    Floats round to nearest, to integers they truncate and saturate; integers wrap.
    """
    return elementwise(ops.CAST, obj, to=dtype_of(dtype))


@takes("bit_cast")
def bit_cast(obj: Value, dtype: object) -> Value:
    """The bits of a number read as a value of `dtype`, which has the same width."""
    return elementwise(ops.BITCAST, obj, to=dtype_of(dtype))


@takes("raw_div")
def raw_div(x1: Value, x2: Value) -> Value:
    """The quotient x1 / x2 as in C: integers truncate toward zero, floats divide."""
    return elementwise(ops.RAW_DIV, x1, x2)


@takes("raw_mod")
def raw_mod(x1: Value, x2: Value) -> Value:
    """The remainder of x1 / x2 as in C: it has the sign of x1."""
    return elementwise(ops.RAW_MOD, x1, x2)


@takes("bit_shr")
def bit_shr(x1: Value, x2: Value) -> Value:
    """x1 shifted right by x2 bits, zeros coming in at the top (`>>` keeps the sign)."""
    return elementwise(BIT_SHR, x1, x2)


@takes("logical_and")
def logical_and(a: Value, b: Value) -> Value:
    """Whether both a and b are nonzero; both are evaluated."""
    return elementwise(LOGICAL_AND, a, b)


@takes("logical_or")
def logical_or(a: Value, b: Value) -> Value:
    """Whether a or b is nonzero; both are evaluated."""
    return elementwise(LOGICAL_OR, a, b)


def like(x: Value, number: int) -> Value:
    """`number` in the type and shape of x."""
    x = plain(x)
    if isinstance(x, Elements):
        return x.map(partial(like, number=number))
    check_number("a constant", x)
    return x.__adstack_emit__(ops.CAST, (number,), to=x.dtype) if is_expr(x) else type(x)(number)


@takes("zero")
def zero(x: Value) -> Value:
    """0 in the type and shape of x."""
    return like(x, 0)


@takes("one")
def one(x: Value) -> Value:
    """1 in the type and shape of x."""
    return like(x, 1)


@takes("random")
def random(dtype: object = float) -> Value:
    """The next number, of the type `dtype`, of the thread's stream.

    Floats are uniform in [0, 1), integers over their whole range.
    """
    return apply(RANDOM, to=dtype_of(dtype))


@takes("randn")
def randn(dt: object = float) -> Value:
    """A normally distributed number of the type `dt`, of mean 0 and variance 1, by Box and Muller's method.

    1 - u keeps the logarithm's argument above 0.
    """
    radius = sqrt(-2.0 * log(1 - random(dt)))
    return radius * cos(6.283185307179586 * random(dt))


abs = abs_
max = max_
min = min_
pow = pow_
round = round_
