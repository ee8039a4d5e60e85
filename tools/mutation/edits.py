"""Changes to source text. Those of one kind stand in a text file, each as it would stand in a diff:

    === autodiff/saving/choice.py

    @ Choice._cut: values count, not bytes
    - costs[value] = value.dtype.size
    + costs[value] = 1

The lines behind `-` stand exactly once in the function, at whatever indentation; those behind `+` take their place.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from textwrap import dedent, indent

__all__ = ["BESIDE", "Edit", "StaleEditError", "applied", "defined", "located", "read_edits", "span"]

BESIDE = "backends/"
"""Files of edits that begin so stand beside the folder reference."""


class StaleEditError(Exception):
    """What an edit replaces is not there any more: the edits have to follow the code."""


@dataclass(frozen=True)
class Edit:
    """One wrong thing.

    Attributes:
        file: below reference/, or from backends/ on.
        where: a function, `Class.method`, or a table of the module.
        change: what goes wrong.
        old: whole lines, without their indentation.
        new: the lines that take their place.
        row: what results are filed under.
    """

    file: str
    where: str
    change: str
    old: str
    new: str
    row: str


def located(file: str, reference: Path) -> Path:
    """The file that an edit names."""
    return (reference.parent if file.startswith(BESIDE) else reference) / file


def read_edits(path: Path) -> list[Edit]:
    """The edits in a text file."""
    edits: list[Edit] = []
    file, title = "", ""
    lines: dict[str, list[str]] = {"-": [], "+": []}
    for line in [*path.read_text().splitlines(), "@ end: end"]:
        mark, _, text = line.partition(" ")
        if mark in ("===", "@") and lines["-"]:
            where, _, change = title.partition(": ")
            old, new = ("".join(f"{text}\n" for text in lines[sign]) for sign in "-+")
            edits.append(Edit(file, where, change, old, new, f"{file} {where}"))
            lines = {"-": [], "+": []}
        if mark == "===":
            file = text
        elif mark == "@":
            title = text
        elif mark in lines:
            lines[mark].append(text)
        elif mark not in ("", "#"):
            raise StaleEditError(f"{path.name}: {line!r} is no line of an edit")
    return edits


def applied(source: str, edit: Edit) -> str:
    """The source with the edit made; StaleEditError if it can't be."""
    lines = source.splitlines(keepends=True)
    first, last = span(source, edit.where)
    places = _places(lines[first:last], edit.old.splitlines(keepends=True))
    if len(places) != 1:
        raise StaleEditError(f"{_name(edit)}: stands there {len(places)} times:\n{edit.old}")
    start = first + places[0]
    end = start + edit.old.count("\n")
    margin = min(len(line) - len(line.lstrip()) for line in lines[start:end] if line.strip())
    # the least indented line of the edit may be one of the new ones
    inset = min(len(line) - len(line.lstrip()) for line in edit.old.splitlines() if line.strip())
    edited = "".join([*lines[:start], indent(edit.new, " " * (margin - inset)), *lines[end:]])
    _check(edit, edited)
    return edited


def _places(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where lines stand among others, whatever their indentation."""
    text = dedent("".join(wanted))
    count = len(wanted)
    return [k for k in range(len(lines) - count + 1) if dedent("".join(lines[k : k + count])) == text]


def _check(edit: Edit, edited: str) -> None:
    if edit.old.split() == edit.new.split():
        raise StaleEditError(f"{_name(edit)}: nothing changes:\n{edit.old}")
    try:
        ast.parse(edited)
    except SyntaxError as error:
        raise StaleEditError(f"{_name(edit)}: what it makes is no program: {error.msg}") from None


def _name(edit: Edit) -> str:
    return f"{edit.row}: {edit.change}"


@lru_cache(maxsize=64)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def span(source: str, where: str) -> tuple[int, int]:
    """The lines of the definition of a name, from 0, the last one excluded."""
    body: Sequence[ast.stmt] = _parsed(source).body
    statement: ast.stmt | None = None
    for name in where.split("."):
        statement = next((node for node in body if name in defined(node)), None)
        if statement is None:
            raise StaleEditError(f"there is no {where}")
        body = getattr(statement, "body", ())
    assert statement is not None
    assert statement.end_lineno is not None
    return statement.lineno - 1, statement.end_lineno


def defined(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
