"""Which names of a function have elements, or components of elements, that it stores to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from .walking import nodes_of

__all__ = ["ATOMIC", "passed_in", "stored_within"]

ATOMIC: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
"""The updates that are one step where threads share what is updated, by the operator of `target op= value`."""


def stored_within(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names of which these statements store to a part: by an assignment, an atomic, or a loop over the parts."""
    nodes = nodes_of(*body)
    names = {name for node in nodes for target in _targets(node) for name in _roots(target)}
    loops = [node for node in nodes if isinstance(node, ast.For)]
    before = -1
    while len(names) > before:
        before = len(names)
        for loop in loops:
            if any(isinstance(n, ast.Name) and n.id in names for n in nodes_of(loop.target)):
                names.update(_loaded(loop.iter))
    return frozenset(names)


def _targets(node: ast.AST) -> list[ast.expr]:
    """What a statement or an atomic stores to."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, ast.AugAssign):
        return [node.target]
    if isinstance(node, ast.Call) and _name(node.func).startswith("atomic_"):
        return node.args[:1]
    return []


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _roots(target: ast.expr) -> Iterator[str]:
    """The names whose parts a target is."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _roots(part)
        return
    whole = target
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    if isinstance(target, ast.Name) and target is not whole:
        yield target.id


def _loaded(iterable: ast.expr) -> Iterator[str]:
    """The names of a loop's lists and dicts, within `static(...)`, `enumerate(...)`, `zip(...)`, `.items()`."""
    if isinstance(iterable, ast.Name):
        yield iterable.id
    elif isinstance(iterable, ast.Call) and _name(iterable.func) in ("static", "enumerate", "zip"):
        for argument in iterable.args:
            yield from _loaded(argument)
    elif isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Attribute) and not iterable.args:
        yield from _loaded(iterable.func.value)
    elif isinstance(iterable, ast.Subscript):
        yield from _loaded(iterable.value)


def passed_in(body: Sequence[ast.stmt]) -> dict[str, list[tuple[ast.expr, int | str]]]:
    """The calls that have a name as an argument, by that name: the function, and which of the arguments it is."""
    calls: dict[str, list[tuple[ast.expr, int | str]]] = {}
    for node in nodes_of(*body):
        if isinstance(node, ast.Call):
            given: list[tuple[int | str, ast.expr]] = [*enumerate(node.args)]
            given += [(keyword.arg, keyword.value) for keyword in node.keywords if keyword.arg]
            for which, argument in given:
                if isinstance(argument, ast.Name):
                    calls.setdefault(argument.id, []).append((node.func, which))
    return calls
