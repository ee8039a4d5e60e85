"""Expressions made of operators: literals, arithmetic, comparisons, and, or, not, the ternary."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Final

from ...errors import AdstackSyntaxError, AdstackTypeError, AdstackValueError
from ...ir.scalar_ops import AND, OR
from ...ir.structure import Region
from ...ir.types import u1
from ...values.elements import Elements, zip_elements
from ...values.functions import select
from ...values.kinds import KernelObject
from ...values.matrices.operators import matmul
from ...values.operations import LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR
from ..emission.arrays import ArrayArgument, is_field
from ..emission.context import Context
from ..emission.expr import Expr, emit
from ..emission.literals import describe, is_number, plain
from ..emission.type_promotion import common, materialise, to_bool, typed
from ..variables import cells
from .dispatch import evaluate, expression
from .foreign import guarded
from .indexing import indexable
from .lints import check_compared, check_power
from .percent import by_percent, has_runtime
from .struct_operators import binary_on_structs, declares, is_struct, unary_on_struct

__all__ = ["binary", "cheap", "condition"]


def _product(left: KernelObject, right: KernelObject) -> KernelObject:
    """`left @ right`: of what a kernel computes by its rules, of other things by Python's."""
    return matmul(left, right) if _numeric(left) and _numeric(right) else left @ right


_BINARY: Final[dict[type[ast.operator], tuple[str, Callable[[KernelObject, KernelObject], KernelObject]]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.MatMult: ("@", _product),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
}
MOST_BITS: Final = 4096
"""Bits of an integer that is computed while compiling: a power of small numbers may need more than all memory."""
_UNARY: Final[dict[type[ast.unaryop], tuple[str, Callable[[KernelObject], KernelObject]]]] = {
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
}
_COMPARE: Final[dict[type[ast.cmpop], tuple[str, Callable[[KernelObject, KernelObject], KernelObject]]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_STATIC_COMPARE: Final[dict[type[ast.cmpop], Callable[[KernelObject, KernelObject], KernelObject]]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


@expression(ast.Constant)
def _constant(context: Context, node: ast.Constant) -> KernelObject:
    if isinstance(node.value, (bytes, complex)) or node.value is Ellipsis:
        do = "keep the real and the imaginary part in a 2-vector; qd.math.cmul multiplies two"
        message = f"{type(node.value).__name__} literals are not supported in kernels"
        context.fail(AdstackSyntaxError, message, do=do if isinstance(node.value, complex) else "")
    return node.value


def _is_scalar(value: object) -> bool:
    return isinstance(value, Expr) or is_number(value)


def _numeric(value: object) -> bool:
    return isinstance(value, (Expr, Elements)) or is_number(value)


def binary(context: Context, op: ast.operator, left: object, right: object) -> KernelObject:
    """`left op right` on values."""
    symbol, function = _BINARY[type(op)]
    _refuse_arrays(context, symbol, left, right)
    left, right = plain(left), plain(right)
    if _numeric(left) and _numeric(right):
        if is_number(left) and is_number(right):
            return _folded(context, symbol, function, left, right)
        return function(left, right)
    if isinstance(op, ast.Mod) and isinstance(left, str) and has_runtime(right):
        return by_percent(context, left, right)
    operands = (left, right)
    if is_struct(*operands):
        return binary_on_structs(context, symbol, left, right)
    if any(isinstance(o, Expr) for o in operands) and not any(isinstance(o, (list, tuple)) for o in operands):
        _bad_operands(context, symbol, left, right)
    return guarded(context, lambda: function(left, right))


def _bad_operands(context: Context, symbol: str, left: object, right: object) -> KernelObject:
    note = f"got {describe(left)} and {describe(right)}"
    context.fail(
        AdstackTypeError,
        f"operands of {symbol} must be numbers, vectors or matrices",
        note=note,
        do="calculate with numbers; texts and None are for code that runs while compiling",
    )


def _refuse_arrays(context: Context, symbol: str, *operands: object) -> None:
    for operand in operands:
        if isinstance(operand, ArrayArgument) or is_field(operand):
            context.fail(
                AdstackTypeError,
                f"operands of {symbol} must be numbers, vectors or matrices",
                note=f"{getattr(operand, 'name', '') or 'this'} is a whole array",
                do="index it: x[i], or x[None] for rank 0",
            )


def _folded(
    context: Context,
    symbol: str,
    function: Callable[[KernelObject, KernelObject], KernelObject],
    left: KernelObject,
    right: KernelObject,
) -> KernelObject:
    """The result of an operator on numbers that are known while compiling."""
    integral = isinstance(left, int) and isinstance(right, int)
    if symbol == "**" and integral and right < 0 and not context.static_depth:
        context.fail(
            AdstackValueError,
            "Negative exponent in a power of integers is not allowed",
            note=f"the exponent is {right}",
            do="make the base a float",
        )
    if integral and _bits(symbol, left, right) > MOST_BITS:
        context.fail(
            AdstackValueError,
            f"the constant {left} {symbol} {right} has more than {MOST_BITS} bits",
            do="make it a float, or a value of the kernel such as i64(...)",
        )
    if symbol in ("<<", ">>") and integral and right < 0:
        opposite = {"<<": ">>", ">>": "<<"}[symbol]
        context.fail(AdstackValueError, "Negative shift count", do=f"shift the other way: {left} {opposite} {-right}")
    if symbol in ("/", "//", "%") and right == 0 and not context.static_depth:
        return function(materialise(left), right)
    return guarded(context, lambda: function(left, right))


def _bits(symbol: str, left: int, right: int) -> int:
    """A lower bound of the bits of a power or a shift of integers, before it is computed; 0 for other operators."""
    if symbol == "**" and abs(left) > 1:
        return (left.bit_length() - 1) * right
    return left.bit_length() + right if symbol == "<<" and left else 0


@expression(ast.BinOp)
def _binop(context: Context, node: ast.BinOp) -> KernelObject:
    """A chain such as a + b + c + ... is walked, not descended into: generated code has long ones."""
    chain = [node]
    while isinstance(chain[-1].left, ast.BinOp):
        chain.append(chain[-1].left)
    value = evaluate(context, chain[-1].left)
    for link in reversed(chain):
        with context.at(link):
            check_power(context, link)
            value = binary(context, link.op, value, evaluate(context, link.right))
    return value


@expression(ast.UnaryOp)
def _unary(context: Context, node: ast.UnaryOp) -> KernelObject:
    value = plain(evaluate(context, node.operand))
    if isinstance(node.op, ast.Not):
        return _not(context, value)
    symbol, function = _UNARY[type(node.op)]
    _refuse_arrays(context, symbol, value)
    if isinstance(value, bool) and symbol == "~":
        return not value
    if is_struct(value):
        return unary_on_struct(context, symbol, value)
    return guarded(context, lambda: function(value))


def _not(context: Context, value: object) -> KernelObject:
    if isinstance(value, Expr):
        return emit(LOGICAL_NOT, (value,), {})
    if isinstance(value, Elements):
        return zip_elements("not", lambda v: _not(context, v), value)
    return guarded(context, lambda: not value)


@expression(ast.Compare)
def _compare(context: Context, node: ast.Compare) -> KernelObject:
    check_compared(context, node)
    links = list(zip(node.ops, node.comparators, strict=True))
    return _chain(context, evaluate(context, node.left), links)


def _chain(context: Context, left: KernelObject, links: Sequence[tuple[ast.cmpop, ast.expr]]) -> KernelObject:
    """`left op a op b ...`: like Python's, each operand is evaluated once, and only if all links before it hold.

    So what follows an operand that is evaluated under a condition stands under that condition with it.
    """
    (op, node), *rest = links
    right = evaluate(context, node)
    result = _comparison(context, op, left, right)
    return _and_or(context, True, result, lambda: _chain(context, right, rest)) if rest else result


def _comparison(context: Context, op: ast.cmpop, left: object, right: object) -> KernelObject:
    if type(op) in _STATIC_COMPARE:
        return _static_comparison(context, op, left, right)
    symbol, function = _COMPARE[type(op)]
    left, right = plain(left), plain(right)
    if is_struct(left, right):
        return _of_structs(context, symbol, left, right)
    if isinstance(left, Expr) or isinstance(right, Expr):
        _refuse_arrays(context, symbol, left, right)
        if not (_numeric(left) and _numeric(right)):
            _bad_operands(context, symbol, left, right)
    return guarded(context, lambda: function(left, right))


def _of_structs(context: Context, symbol: str, left: object, right: object) -> KernelObject:
    """A comparison of structs; `!=` is what `==` is not where their types declare `==` alone, as in Python."""
    if symbol == "!=" and not declares("!=", left, right) and declares("==", left, right):
        return _not(context, binary_on_structs(context, "==", left, right))
    return binary_on_structs(context, symbol, left, right)


def _static_comparison(context: Context, op: ast.cmpop, left: object, right: object) -> KernelObject:
    symbol = {ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}[type(op)]
    parts = list(right) if isinstance(right, (tuple, list)) else [right]
    runtime = isinstance(left, Expr) or any(isinstance(p, Expr) for p in parts)
    if runtime and not (symbol in ("is", "is not") and (left is None or right is None)):
        context.fail(
            AdstackTypeError,
            f"operands of `{symbol}` must be compile-time constants",
            do=_comparison_instead(symbol, right),
        )
    return guarded(context, lambda: _STATIC_COMPARE[type(op)](left, right))


def _comparison_instead(symbol: str, right: object) -> str:
    """What to write for `is` or `in` of values of a kernel."""
    if symbol in ("is", "is not"):
        return "compare with == or !="
    if isinstance(right, range):
        return f"compare with its ends: {right.start} <= a < {right.stop}"
    if isinstance(right, (list, tuple, set, frozenset)):
        return "compare with each: a == b or a == c"
    return "write a loop that compares with =="


# ---- and, or


@expression(ast.BoolOp)
def _boolop(context: Context, node: ast.BoolOp) -> KernelObject:
    return _combined(context, node, lambda operand: plain(evaluate(context, operand)))


def _combined(context: Context, node: ast.BoolOp, value_of: Callable[[ast.expr], KernelObject]) -> KernelObject:
    is_and = isinstance(node.op, ast.And)
    result = value_of(node.values[0])
    for operand in node.values[1:]:
        result = _and_or(context, is_and, result, lambda operand=operand: value_of(operand))  # type: ignore[misc]
    return result


def _truth(context: Context, node: ast.expr) -> KernelObject:
    """An operand of `and` or `or` in a condition, of which nothing but its truth is asked."""
    value = plain(evaluate(context, node))
    if isinstance(value, Expr):
        with context.at(node):
            return Expr(to_bool(value))
    return bool(value) if isinstance(value, int) else value


def _and_or(context: Context, is_and: bool, left: object, right: Callable[[], KernelObject]) -> KernelObject:
    """`left and right()`, or `left or right()`: as in Python the operand that decides, and the right one only then."""
    if isinstance(left, Elements):
        row = LOGICAL_AND if is_and else LOGICAL_OR
        return zip_elements(row.name, lambda a, b: emit(row, (a, b), {}), left, right())
    if not isinstance(left, Expr):
        return right() if guarded(context, lambda: bool(left)) == is_and else left
    return _decided(context, is_and, left, right)


def _decided(context: Context, is_and: bool, left: Expr, right: Callable[[], KernelObject]) -> KernelObject:
    test = to_bool(left)
    region = Region()
    with context.region(region):
        value = right()
        if isinstance(value, Elements):
            context.fail(
                AdstackTypeError, "a scalar and a vector can't be combined by and/or", do="use &, |, or select"
            )
        if not _is_scalar(value):
            to_bool(value)  # raises the error
    to = common(left, value)
    if cheap(region) or not context.option("short_circuit_operators", True):
        context.builder.region.ops.extend(region.ops)
        if to is u1:
            return Expr(context.builder.emit(AND if is_and else OR, test, typed(value, u1)))
        a, b = typed(left, to), typed(value, to)
        return Expr(context.builder.select(test, b, a) if is_and else context.builder.select(test, a, b))
    with context.builder.into(region):
        context.builder.yield_(typed(value, to))
    other = Region()
    with context.builder.into(other):
        context.builder.yield_(typed(left, to))
    return Expr(context.builder.if_(test, *((region, other) if is_and else (other, region)))[0])


def cheap(region: Region) -> bool:
    """Whether running these ops always costs little and can't go wrong."""
    return all(
        (op.opdef.pure and not op.opdef.transcendental and op.opdef.trap is None) or op.opdef is cells.READ
        for op in region.ops
    )


def condition(context: Context, node: ast.expr) -> KernelObject:
    """The test of an if, while, ternary or assert: a Python bool if known while compiling, else a u1 Expr."""
    if isinstance(node, ast.BoolOp):
        with context.at(node):
            return _as_condition(context, node, _combined(context, node, lambda operand: _truth(context, operand)))
    return _as_condition(context, node, plain(evaluate(context, node)))


def _as_condition(context: Context, node: ast.expr, value: object) -> KernelObject:
    with context.at(node):
        if isinstance(value, Expr):
            return Expr(to_bool(value))
        if isinstance(value, Elements):
            context.fail(AdstackTypeError, "a vector is no condition", do="use .any() or .all()")
        if not isinstance(node, ast.Call) and indexable(value):  # static(x.grad) asks whether it is there
            context.fail(AdstackTypeError, "a field or array is no condition", do="index it")
        if is_struct(value):
            context.fail(AdstackTypeError, "a struct is no condition", do="ask for one of its members")
        if isinstance(value, float):
            context.fail(
                AdstackTypeError,
                "a condition must be an integer or a bool",
                note=f"got {value}",
                do="compare it: x != 0",
            )
        return guarded(context, lambda: bool(value))


# ---- a if c else b


@expression(ast.IfExp)
def _ternary(context: Context, node: ast.IfExp) -> KernelObject:
    value = evaluate(context, node.test)
    if isinstance(value, Elements):
        return _select(value, evaluate(context, node.body), evaluate(context, node.orelse))
    test = _as_condition(context, node.test, plain(value))
    if not isinstance(test, Expr):
        return evaluate(context, node.body if test else node.orelse)
    then, orelse = Region(), Region()
    with context.region(then):
        a = plain(evaluate(context, node.body))
    with context.region(orelse):
        b = plain(evaluate(context, node.orelse))
    if _is_scalar(a) and _is_scalar(b) and not (cheap(then) and cheap(orelse)):
        return _lazy(context, test, (then, a), (orelse, b))
    context.builder.region.ops.extend([*then.ops, *orelse.ops])
    return _select(test, a, b)


def _select(test: object, a: object, b: object) -> KernelObject:
    return select(test, a, b)


def _lazy(context: Context, test: Expr, then: tuple[Region, KernelObject], orelse: tuple[Region, KernelObject]) -> Expr:
    to = common(then[1], orelse[1])
    for region, value in (then, orelse):
        with context.builder.into(region):
            context.builder.yield_(typed(value, to))
    return Expr(context.builder.if_(test.value, then[0], orelse[0])[0])
