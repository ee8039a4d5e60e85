"""Warnings: what is allowed, and hardly ever what was meant; each names the line and what to write."""

from __future__ import annotations

import ast
import linecache
import warnings
from typing import Final

from ...ir.location import Loc
from ...ir.scalar_ops import CEIL, FLOOR, ROUND, TRUNC
from ...ir.types import DType
from ...values.kinds import KernelObject
from ..emission.arrays import ArrayArgument, is_field
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import is_number
from ..emission.references import CellRef, ScalarRef
from ..emission.type_promotion import alone
from ..syntax.walking import nodes_of

__all__ = [
    "check_compared",
    "check_fractions",
    "check_hidden",
    "check_power",
    "check_unused",
    "check_values",
    "warn",
    "warn_at",
    "warn_here",
]

_WHOLE: Final = frozenset(row.name for row in (FLOOR, CEIL, ROUND, TRUNC))
_BITS: Final = (ast.BitAnd, ast.BitOr)


def warn(context: Context, node: ast.AST, message: str, do: str) -> None:
    """Warn of a line of the user's program, with a caret and with what to write."""
    loc = context.loc(node)
    text = linecache.getline(loc.file, loc.line).rstrip("\n")
    indent = len(text) - len(text.lstrip())
    marks = " " * (loc.col - 1 - indent) + "^" * len(ast.unparse(node).split("\n")[0])
    warn_at(context, loc, f"{loc}: {message}\n    {text.strip()}\n    {marks}\n  do: {do}")


def warn_here(context: Context, message: str, do: str) -> None:
    """`warn`, of what is being lowered."""
    loc = context.builder.loc
    text = linecache.getline(loc.file, loc.line).rstrip("\n")
    indent = len(text) - len(text.lstrip())
    end = loc.end_col if loc.end_line == loc.line else len(text) + 1
    marks = " " * (loc.col - 1 - indent) + "^" * (end - loc.col)
    warn_at(context, loc, f"{loc}: {message}\n    {text.strip()}\n    {marks}\n  do: {do}")


def warn_at(context: Context, loc: Loc, message: str) -> None:
    """Warn as if the line of the user's program did it: filters by module see that one, and it is shown once."""
    names = getattr(context.frame.function, "__globals__", {})
    registry = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, UserWarning, loc.file, loc.line, names.get("__name__", loc.file), registry)


def check_fractions(
    context: Context, node: ast.Assign | ast.AugAssign, target: ast.expr, reference: object, value: object
) -> None:
    """Warn where an element that holds integers is given a float, or a local whose type nobody chose.

    Args:
        context: where it stands.
        node: the assignment or update.
        target: what is assigned to.
        reference: what that stands for.
        value: what is assigned.
    """
    if isinstance(reference, CellRef):
        if reference.cell.of_literal and _loses_fraction(node, value, reference.dtype):
            name = ast.unparse(target)
            message = f"'{name}' began as an integer ({reference.dtype}) and loses the fraction of what updates it"
            warn(context, node, message, f"begin with {name} = 0.0, for example")
    elif isinstance(reference, ScalarRef) and _loses_fraction(node, value, reference.dtype):
        message = f"'{ast.unparse(target)}' holds integers ({reference.dtype}) and loses the fraction of what is stored"
        warn(
            context,
            node,
            message,
            f"write qd.cast(..., qd.{reference.dtype}) if that is meant, or give it a float type",
        )


def _loses_fraction(node: ast.Assign | ast.AugAssign, value: object, dtype: DType) -> bool:
    """Whether a value that an integer is given may have a fraction: a float that was not made whole."""
    if dtype.is_float or dtype.is_bool or not (isinstance(value, Expr) or is_number(value)):
        return False
    return alone(value).is_float and not _is_whole(node.value) and not (isinstance(value, float) and value.is_integer())


def _is_whole(node: ast.expr) -> bool:
    """Whether a value is rounded by its own text."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in _WHOLE
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)


def check_hidden(context: Context, node: ast.Name, value: object) -> None:
    """Warn where a new local has the name of a field of one number, which a program without [None] means to set."""
    field: KernelObject = context.scopes.outer.get(node.id)
    if is_field(field) and field.shape == () and (isinstance(value, Expr) or is_number(value)):
        message = f"'{node.id}' is a new local here, and the field of this name stays as it is"
        warn(context, node, message, f"write {node.id}[None] = ... to set the field, or rename the local")


def check_compared(context: Context, node: ast.Compare) -> None:
    """Warn of `a > 0 & b > 0`, in which & comes before both comparisons."""
    middle = node.comparators[:-1]
    if any(isinstance(one, ast.BinOp) and isinstance(one.op, _BITS) for one in middle):
        do = "write `and` and `or`, or parentheses around each comparison"
        warn(context, node, "& and | bind more tightly than comparisons: this compares what they give", do)


def check_power(context: Context, node: ast.BinOp) -> None:
    """Warn of `2 ^ n` and `10 ^ n`, which are meant as powers."""
    if isinstance(node.op, ast.BitXor) and isinstance(node.left, ast.Constant) and node.left.value in (2, 10):
        do = f"write {ast.unparse(node.left)} ** {ast.unparse(node.right)} for the power"
        warn(context, node, "^ compares bits (exclusive or), and is no power", do)


def check_unused(context: Context, node: ast.Expr) -> None:
    """Warn of a statement such as `x[i] == 1.0` or `++i`, which does nothing."""
    if isinstance(node.value, (ast.Compare, ast.BinOp, ast.UnaryOp)):
        is_comparison = isinstance(node.value, ast.Compare)
        do = "write = to assign" if is_comparison else "assign the result, as in i += 1"
        warn(context, node.value, "this statement does nothing with its value", do)


def check_values(context: Context, node: ast.For, iterable: KernelObject) -> None:
    """Warn of `for a in x: total += a` over an array of floats, where `a` is an index and no element.

    The variable of such a loop is meant to be an index if the body indexes, compares, or calls something with it.
    """
    array = iterable.place if isinstance(iterable, ArrayArgument) else iterable if is_field(iterable) else None
    if array is None or not array.dtype.is_float or not isinstance(node.target, ast.Name):
        return
    name, inside = node.target.id, (ast.Subscript, ast.Call, ast.Compare)
    is_used = False
    for statement in node.body:
        nodes = nodes_of(statement)
        uses = [part for part in nodes if isinstance(part, ast.Name) and part.id == name]
        apart = {id(one) for part in nodes if isinstance(part, inside) for one in nodes_of(part)} if uses else set()
        if any(id(use) in apart for use in uses):
            return
        is_used |= bool(uses)
    if is_used:
        what = getattr(array, "label", "") or "the array"
        do = f"write {ast.unparse(node.iter)}[{name}] for the element"
        warn(context, node.target, f"'{name}' runs over the indices of {what}, not over its elements", do)
