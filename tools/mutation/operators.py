"""Changes by operators: what is got wrong in any program, made at every place of a source file where it fits.

A comparison is turned round or includes its end, a sum becomes a difference, a condition is negated, a number is one
more, a statement is left out, two arguments change places. What only words or checks types is left alone: texts of
errors, assertions, annotations, docstrings.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from textwrap import dedent
from typing import TypeAlias

from .edits import Edit, defined

__all__ = ["Operated", "drawn", "operated"]

_COMPARED: dict[type[ast.AST], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COMBINED: dict[type[ast.AST], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_FUNCTIONS = {"max": "min", "min": "max", "any": "all", "all": "any"}
_LEFT_ALONE = (ast.Raise, ast.Assert, ast.FunctionDef, ast.ClassDef, ast.AnnAssign, ast.Lambda, ast.JoinedStr)
_LONGEST = 70
_WORDS = ("__repr__", "__str__")
Path: TypeAlias = "tuple[tuple[str, int | None], ...]"
"""The way from a node down to another: names of attributes, and positions in those that are lists."""


@dataclass(frozen=True)
class Operated:
    """What an operator does at one place.

    Attributes:
        file: as edits name it.
        where: the function, as edits name it.
        change: what goes wrong.
        old: the text of the function, without what decorates it.
        function: the same, parsed.
        path: the way from the function to what is changed.
        wrong: what takes the place of that.
    """

    file: str
    where: str
    change: str
    old: str
    function: ast.FunctionDef
    path: Path
    wrong: ast.AST

    def edit(self) -> Edit:
        """The edit that puts the wrong function in the place of the right one."""
        copy = deepcopy(self.function)
        _put(copy, self.path, self.wrong)
        new = ast.unparse(ast.fix_missing_locations(copy)) + "\n"
        return Edit(self.file, self.where, self.change, self.old, new, f"{self.file} {self.where}")


def operated(source: str, file: str) -> list[Operated]:
    """Every change that an operator makes to a function of a module's text; `file` is its path, as edits name it."""
    changes: list[Operated] = []
    for where, function in _functions(ast.parse(source).body):
        old = dedent("".join(source.splitlines(keepends=True)[function.lineno - 1 : function.end_lineno]))
        function.decorator_list = []
        names: dict[str, int] = {}
        for path, change, wrong in _of_function(function):
            names[change] = names.get(change, 0) + 1
            title = change if names[change] == 1 else f"{change} ({names[change]})"
            changes.append(Operated(file, where, title, old, function, path, wrong))
    return changes


def drawn(changes: Sequence[Operated], count: int) -> list[Edit]:
    """So many of the changes as edits, the same ones for the same sources, in the order of the sources.

    A larger count draws those of a smaller one, and more.
    """
    names = [f"{one.file} {one.where} {one.change}".encode() for one in changes]
    ranks = sorted(range(len(changes)), key=lambda k: hashlib.sha256(names[k]).digest())
    return [changes[k].edit() for k in sorted(ranks[:count])]


def _functions(body: Sequence[ast.stmt], inside: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods, with their names; those of functions belong to these."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef) and node.name not in _WORDS:
            names = [name for other in body for name in defined(other)]
            if names.count(node.name) == 1:
                yield inside + node.name, node


def _of_function(function: ast.FunctionDef) -> Iterator[tuple[Path, str, ast.AST]]:
    """(where, what goes wrong, what stands there then)."""
    for path in _places(function):
        for change, wrong in _of_node(_at(function, path)):
            yield path, change + _around(function, path), wrong


def _places(function: ast.FunctionDef) -> Iterator[Path]:
    """The way to each node that may be changed."""
    first = 1 if ast.get_docstring(function) is not None else 0
    for k, statement in enumerate(function.body):
        if k >= first:
            yield from _below(statement, (("body", k),))


def _below(node: ast.AST, path: Path) -> Iterator[Path]:
    yield path
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for k, child in enumerate(children):
            if isinstance(child, ast.AST) and name not in ("annotation", "ctx") and not _is_left_alone(child):
                yield from _below(child, (*path, (name, k if isinstance(value, list) else None)))


def _is_left_alone(node: ast.AST) -> bool:
    return isinstance(node, _LEFT_ALONE) or (isinstance(node, ast.keyword) and node.arg == "strict")


def _at(node: ast.AST, path: Path) -> ast.AST:
    for name, k in path:
        value = getattr(node, name)
        node = value if k is None else value[k]
    return node


def _put(node: ast.AST, path: Path, wrong: ast.AST) -> None:
    *way, (name, k) = path
    parent = _at(node, tuple(way))
    if k is None:
        setattr(parent, name, wrong)
    else:
        getattr(parent, name)[k] = wrong


def _of_node(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if not isinstance(node, _LEFT_ALONE):
        for wrong in _wrong(node):
            yield f"{_text(node)} to {_text(wrong)}", wrong


def _text(node: ast.AST) -> str:
    """The code of a node on one line, of an `if` the condition."""
    code = f"if {ast.unparse(node.test)}" if isinstance(node, ast.If) else " ".join(ast.unparse(node).split())
    return f"`{code}`" if len(code) <= _LONGEST else f"`{code[: _LONGEST - 3]}...`"


def _around(function: ast.FunctionDef, path: Path) -> str:
    """What a number stands in: alone it says nothing."""
    node = _at(function, path)
    if not isinstance(node, ast.Constant):
        return ""
    above = (_at(function, path[:k]) for k in range(len(path) - 1, 0, -1))
    return next((f" in {_text(other)}" for other in above if isinstance(other, (ast.stmt, ast.Call, ast.Compare))), "")


def _wrong(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        yield ast.Compare(node.left, [_COMPARED[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _COMBINED and not _is_text(node):
        yield ast.BinOp(node.left, _COMBINED[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        yield from (_without(node, value) for value in node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield _negated(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int)):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.Call):
        yield from _wrong_call(node)
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield ast.Pass()


def _wrong_call(node: ast.Call) -> Iterator[ast.AST]:
    if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        yield ast.Call(ast.Name(_FUNCTIONS[node.func.id], ast.Load()), node.args, node.keywords)
    elif len(node.args) in (2, 3) and not any(isinstance(arg, ast.Starred) for arg in node.args):
        *others, a, b = node.args
        if not isinstance(node.func, ast.Name) or node.func.id not in ("isinstance", "getattr", "range", "cast"):
            yield ast.Call(node.func, [*others, b, a], node.keywords)


def _without(node: ast.BoolOp, value: ast.expr) -> ast.expr:
    rest = [other for other in node.values if other is not value]
    return rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _negated(node: ast.If | ast.IfExp) -> ast.AST:
    test = node.test.operand if isinstance(node.test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.IfExp):
        return ast.IfExp(test, node.body, node.orelse)
    return ast.If(test, node.body, node.orelse)


def _is_text(node: ast.BinOp) -> bool:
    """Whether a sum joins texts, as far as one can see."""
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in (node.left, node.right)
    )
