"""Warnings: what is allowed, and hardly ever what was meant; each names the line and what to write."""

from __future__ import annotations

import ast
import linecache
import warnings
from collections.abc import Iterator, Sequence
from typing import Final

from ...ir.scalar_ops import CEIL, FLOOR, ROUND, TRUNC
from ...ir.types import DType
from ...values.kinds import KernelObject
from ..emission.arrays import ArrayArgument, is_field
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import is_number
from ..emission.type_promotion import alone

__all__ = [
    "check_compared",
    "check_fractions",
    "check_hidden",
    "check_power",
    "check_races",
    "check_unused",
    "check_values",
]

_WHOLE: Final = frozenset(row.name for row in (FLOOR, CEIL, ROUND, TRUNC))
_BITS: Final = (ast.BitAnd, ast.BitOr)


def _warn(context: Context, node: ast.AST, message: str, do: str) -> None:
    loc = context.loc(node)
    text = linecache.getline(loc.file, loc.line).rstrip("\n")
    indent = len(text) - len(text.lstrip())
    marks = " " * (loc.col - 1 - indent) + "^" * len(ast.unparse(node).split("\n")[0])
    warnings.warn(f"{loc}: {message}\n    {text.strip()}\n    {marks}\n  do: {do}", stacklevel=2)


def check_fractions(
    context: Context, node: ast.Assign | ast.AugAssign, target: ast.expr, value: object, dtype: DType, local: bool
) -> None:
    """Warn where a float is put into an integer: of a local that began as a plain integer Python would make a float.

    Args:
        context: where it stands.
        node: the assignment or update.
        target: what is assigned to.
        value: what is assigned.
        dtype: of the target.
        local: whether the target is a local that began as a plain integer; else it is an element of memory.
    """
    if dtype.is_float or dtype.is_bool or not (isinstance(value, Expr) or is_number(value)):
        return
    if not alone(value).is_float or _is_whole(node.value) or (isinstance(value, float) and value.is_integer()):
        return
    name = ast.unparse(target)
    if local:
        message = f"'{name}' began as an integer ({dtype}) and loses the fraction of what updates it"
        _warn(context, node, message, f"begin with {name} = 0.0, for example")
    else:
        message = f"'{name}' holds integers ({dtype}) and loses the fraction of what is stored"
        _warn(context, node, message, f"write qd.cast(..., qd.{dtype}) if that is meant, or give it a float type")


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
        _warn(context, node, message, f"write {node.id}[None] = ... to set the field, or rename the local")


def check_compared(context: Context, node: ast.Compare) -> None:
    """Warn of `a > 0 & b > 0`, in which & comes before both comparisons."""
    middle = node.comparators[:-1]
    if any(isinstance(one, ast.BinOp) and isinstance(one.op, _BITS) for one in middle):
        do = "write `and` and `or`, or parentheses around each comparison"
        _warn(context, node, "& and | bind more tightly than comparisons: this compares what they give", do)


def check_power(context: Context, node: ast.BinOp) -> None:
    """Warn of `2 ^ n` and `10 ^ n`, which are meant as powers."""
    if isinstance(node.op, ast.BitXor) and isinstance(node.left, ast.Constant) and node.left.value in (2, 10):
        do = f"write {ast.unparse(node.left)} ** {ast.unparse(node.right)} for the power"
        _warn(context, node, "^ compares bits (exclusive or), and is no power", do)


def check_unused(context: Context, node: ast.Expr) -> None:
    """Warn of a statement such as `x[i] == 1.0` or `++i`, which does nothing."""
    if isinstance(node.value, (ast.Compare, ast.BinOp, ast.UnaryOp)):
        is_comparison = isinstance(node.value, ast.Compare)
        do = "write = to assign" if is_comparison else "assign the result, as in i += 1"
        _warn(context, node.value, "this statement does nothing with its value", do)


def check_races(context: Context, node: ast.For) -> None:
    """Warn of `s[None] = s[None] + x[i]` in a parallel loop: iterations read before others have written.

    So they do of `y = f(y)`, and of `if x[i] > best: best = x[i]`, where the local is one from outside of the loop.
    """
    if _runs_once(node.iter):
        return
    for statement, local in _shared_locals(context, node):
        message = f"iterations run in parallel, and all of them read and write the local '{local}'"
        do = f"write {local} += ... or qd.atomic_max({local}, ...), or begin with it inside of the loop, "
        _warn(context, statement, message, f"{do}or write qd.loop_config(serialize=True) before the loop")
    own = {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    for statement in _always(node.body):
        target, value = statement.targets[0], statement.value
        if _is_same_for_all(context, target, own) and _reads(value, ast.unparse(target)):
            name = ast.unparse(target)
            message = f"iterations run in parallel, and all of them read and write {name}"
            _warn(context, statement, message, f"write {name} += ..., qd.atomic_max({name}, ...), or a serial loop")


def _shared_locals(context: Context, node: ast.For) -> Iterator[tuple[ast.Assign, str]]:
    """The assignments to locals from outside of a loop that its iterations read as well; one for each local."""
    outside = context.scopes.locals()
    if not outside:
        return
    names = [part for part in _within(node.body) if isinstance(part, ast.Name)]
    unnamed = outside.intersection(name.id for name in names if isinstance(name.ctx, ast.Load))
    for statement in (*_always(node.body), *_compared(node.body)):
        for target in sorted(unnamed.intersection(_names(statement.targets[0]))):
            unnamed.discard(target)
            yield statement, target


def _names(target: ast.expr) -> list[str]:
    """The names that a target sets."""
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _compared(body: Sequence[ast.stmt]) -> Iterator[ast.Assign]:
    """Assignments to names with which a branch around them compares something."""
    for part in _within(body):
        if isinstance(part, ast.If):
            compared = {n.id for n in ast.walk(part.test) if isinstance(n, ast.Name)}
            for one in part.body:
                if isinstance(one, ast.Assign) and not compared.isdisjoint(_names(one.targets[0])):
                    yield one


def check_values(context: Context, node: ast.For, iterable: KernelObject) -> None:
    """Warn of `for a in x: total += a` over an array of floats, where `a` is an index and no element.

    The variable of such a loop is meant to be an index if the body indexes, compares, or calls something with it.
    """
    array = iterable.place if isinstance(iterable, ArrayArgument) else iterable if is_field(iterable) else None
    if array is None or not array.dtype.is_float or not isinstance(node.target, ast.Name):
        return
    name, inside = node.target.id, (ast.Subscript, ast.Call, ast.Compare)
    apart = {id(one) for part in _within(node.body) if isinstance(part, inside) for one in ast.walk(part)}
    uses = [part for part in _within(node.body) if isinstance(part, ast.Name) and part.id == name]
    if uses and not any(id(use) in apart for use in uses):
        what = getattr(array, "label", "") or "the array"
        do = f"write {ast.unparse(node.iter)}[{name}] for the element"
        _warn(context, node.target, f"'{name}' runs over the indices of {what}, not over its elements", do)


def _within(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)


def _runs_once(iterable: ast.expr) -> bool:
    return isinstance(iterable, ast.Call) and [ast.unparse(a) for a in iterable.args] == ["1"]


def _always(body: Sequence[ast.stmt]) -> Iterator[ast.Assign]:
    """Assignments of a body, also of loops in it, that every iteration makes."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            yield statement
        elif isinstance(statement, ast.For):
            yield from _always(statement.body)


def _is_same_for_all(context: Context, target: ast.expr, own: set[str]) -> bool:
    """Whether it is an element of memory that is chosen by numbers alone; `own` has the names that the loop sets."""
    if not isinstance(target, ast.Subscript) or any(isinstance(n, ast.Name) for n in ast.walk(target.slice)):
        return False
    root: ast.expr = target.value
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id in own:
        return False
    binding = context.scopes.find(root.id)
    return binding is None or binding.kind == "argument"


def _reads(value: ast.expr, place: str) -> bool:
    return any(isinstance(n, ast.Subscript) and ast.unparse(n) == place for n in ast.walk(value))
