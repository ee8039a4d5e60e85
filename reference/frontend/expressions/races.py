"""Warnings of loops whose iterations run in parallel, though each reads what others write."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final, TypeAlias

from ...values.elements import Elements
from ...values.matrices.struct import Struct
from ..emission.context import Context
from ..syntax.stores import ATOMIC
from ..syntax.walking import nodes_of
from .dicts import VariableDict
from .lints import warn
from .lists import VariableList

__all__ = ["check_races"]

Statement: TypeAlias = ast.Assign | ast.AugAssign
_BY_NAME: Final[dict[type[ast.operator], str]] = {ast.Mult: "qd.atomic_mul"}
"""Updates that are atomic where they are written as functions."""


def check_races(context: Context, node: ast.For) -> None:
    """Warn of `s[None] = s[None] + x[i]` in a parallel loop: iterations read before others have written.

    So they do of `y = f(y)`, of `p *= i`, which no atomic does, of `v[i + 1] += v[i]`, and of
    `if x[i] > best: best = x[i]`, where the local is one from outside of the loop.
    """
    if _runs_once(node.iter):
        return
    for statement, local in (*_shared_locals(context, node), *_shared_vectors(context, node)):
        message = f"iterations run in parallel, and all of them read and write the local '{local}'"
        do = f"{_atomics(statement, local)}begin with it inside of the loop, "
        warn(context, statement, message, f"{do}or write qd.loop_config(serialize=True) before the loop")
    own = cache(lambda: _set_by(node))  # which most loops are not asked for
    for statement in _always(node.body):
        target = _target(statement)
        if _is_same_for_all(context, target, own) and _reads(statement, ast.unparse(target)):
            name = ast.unparse(target)
            message = f"iterations run in parallel, and all of them read and write {name}"
            warn(context, statement, message, f"{_atomics(statement, name)}write qd.loop_config(serialize=True)")


def _atomics(statement: Statement, local: str) -> str:
    """What does it as one step, if anything does."""
    name = ast.unparse(_target(statement)) if isinstance(_target(statement), ast.Subscript) else local
    if isinstance(statement, ast.Assign):
        return f"write {name} += ..., or qd.atomic_max({name}, ...), or "
    by_name = _BY_NAME.get(type(statement.op))
    return "" if by_name is None else f"write {by_name}({name}, ...), or "


def _target(statement: Statement) -> ast.expr:
    return statement.targets[0] if isinstance(statement, ast.Assign) else statement.target


def _is_atomic(statement: Statement) -> bool:
    """Whether it is an update that iterations may make of one variable side by side."""
    return isinstance(statement, ast.AugAssign) and type(statement.op) in ATOMIC


# ---- locals


def _shared_locals(context: Context, node: ast.For) -> Iterator[tuple[Statement, str]]:
    """The assignments to locals from outside of a loop that its iterations read as well; one for each local."""
    outside = context.scopes.locals()
    if not outside:
        return
    names = [part for part in nodes_of(*node.body) if isinstance(part, ast.Name)]
    read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    unnamed = set(outside)
    for statement in (*_always(node.body), *_compared(node.body)):
        if _is_atomic(statement):
            continue
        for target in sorted(unnamed.intersection(_names(_target(statement)))):
            if target in read or isinstance(statement, ast.AugAssign):
                unnamed.discard(target)
                yield statement, target


def _names(target: ast.expr) -> list[str]:
    """The names that a target sets."""
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _compared(body: Sequence[ast.stmt]) -> Iterator[Statement]:
    """Assignments to names with which a branch around them compares something."""
    for part in nodes_of(*body):
        if isinstance(part, ast.If):
            compared = {n.id for n in nodes_of(part.test) if isinstance(n, ast.Name)}
            for one in part.body:
                if isinstance(one, ast.Assign) and not compared.isdisjoint(_names(one.targets[0])):
                    yield one


def _shared_vectors(context: Context, node: ast.For) -> Iterator[tuple[Statement, str]]:
    """The stores to parts of vectors, lists and structs from outside of a loop where iterations read other parts.

    Iterations have an element to themselves if its index is a variable of the loop, with a constant added at most.
    """
    own = {n.id for n in nodes_of(node.target) if isinstance(n, ast.Name)}
    for name in sorted(context.scopes.locals()):
        binding = context.scopes.find(name)
        if binding is None or not isinstance(binding.value, (Elements, Struct, VariableList, VariableDict)):
            continue
        stores = [s for s in _always(node.body) if _vector(_target(s)) == name]
        reads = {ast.unparse(part) for part in nodes_of(*node.body) if _reads_vector(part, name)}
        reads |= {ast.unparse(_target(s)) for s in stores if isinstance(s, ast.AugAssign) and not _is_atomic(s)}
        statement = next((s for s in stores if _meet(_target(s), reads, own)), None)
        if statement is not None:
            yield statement, name


def _meet(target: ast.expr, reads: set[str], own: set[str]) -> bool:
    """Whether iterations may store to a part that others read; members with different names are different parts."""
    text = ast.unparse(target)
    others = reads - {text}
    if isinstance(target, ast.Attribute):
        others = {read for read in others if read.endswith("]")}
    return bool(others) or (text in reads and not _is_apart(target, own))


def _vector(target: ast.expr) -> str:
    """The name of the vector, list or struct of which a target is a part, or nothing."""
    if isinstance(target, (ast.Subscript, ast.Attribute)) and isinstance(target.value, ast.Name):
        return target.value.id
    return ""


def _reads_vector(part: ast.AST, name: str) -> bool:
    is_part = isinstance(part, (ast.Subscript, ast.Attribute)) and isinstance(part.ctx, ast.Load)
    return is_part and isinstance(part, ast.expr) and _vector(part) == name


def _is_apart(target: ast.expr, own: set[str]) -> bool:
    """Whether an index is a loop's variable, with constants added to it or taken off."""
    index = target.slice if isinstance(target, ast.Subscript) else target
    names = {n.id for n in nodes_of(index) if isinstance(n, ast.Name)}
    plain = (ast.Name, ast.Constant, ast.Tuple, ast.BinOp, ast.Add, ast.Sub, ast.expr_context)
    return own <= names and all(isinstance(n, plain) for n in nodes_of(index))


# ---- memory


def _runs_once(iterable: ast.expr) -> bool:
    return isinstance(iterable, ast.Call) and [ast.unparse(a) for a in iterable.args] == ["1"]


def _always(body: Sequence[ast.stmt]) -> Iterator[Statement]:
    """Assignments of a body, also of loops in it, that every iteration makes."""
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            yield statement
        elif isinstance(statement, ast.For):
            yield from _always(statement.body)


def _set_by(node: ast.For) -> set[str]:
    """The names that a loop sets."""
    return {name.id for name in nodes_of(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}


def _is_same_for_all(context: Context, target: ast.expr, own: Callable[[], set[str]]) -> bool:
    """Whether it is an element of memory that is chosen by numbers alone; `own` gives the names that the loop sets."""
    if not isinstance(target, ast.Subscript) or any(isinstance(n, ast.Name) for n in nodes_of(target.slice)):
        return False
    root: ast.expr = target.value
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id in own():
        return False
    binding = context.scopes.find(root.id)
    return binding is None or binding.kind == "argument"


def _reads(statement: Statement, place: str) -> bool:
    """Whether it reads the place that it writes, other than as an atomic does."""
    if isinstance(statement, ast.AugAssign):
        return not _is_atomic(statement)
    return any(isinstance(n, ast.Subscript) and ast.unparse(n) == place for n in nodes_of(statement.value))
