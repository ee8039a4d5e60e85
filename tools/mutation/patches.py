"""Makes an edit in a running process: the edited text is compiled, and its code put in the place of what is there."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from adstack.ir.opdef import OpDef
from adstack.ir.ops import TABLE

from .edits import Edit, StaleEditError, applied, located, span

__all__ = ["patch"]


def patch(edit: Edit, reference: Path) -> Callable[[], None]:
    """What makes the edit in the process that calls it, for good; StaleEditError if it can't be made."""
    path = located(edit.file, reference)
    source = path.read_text()
    edited = applied(source, edit)
    name = ".".join(("adstack", *Path(edit.file).with_suffix("").parts))
    first, _ = span(edited, edit.where)
    statement = next(node for node in ast.parse(edited).body if node.lineno <= first + 1 <= (node.end_lineno or 0))
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        code = _code(compile(edited, str(path), "exec"), edit.where.split("."))
        return lambda: setattr(_function(importlib.import_module(name), edit), "__code__", code)
    return lambda: _define(importlib.import_module(name), edit.where, statement)


def _code(code: CodeType, names: list[str]) -> CodeType:
    """The code of a function in that of a module."""
    for name in names:
        code = next(part for part in code.co_consts if isinstance(part, CodeType) and part.co_name == name)
    return code


def _function(module: Any, edit: Edit) -> FunctionType:
    """The function itself, behind what decorates it."""
    function: Any = module
    for name in edit.where.split("."):
        function = inspect.getattr_static(function, name)
    if isinstance(function, (classmethod, staticmethod)):
        function = function.__func__
    function = inspect.unwrap(
        function.fget if isinstance(function, property) and function.fget is not None else function
    )
    if not isinstance(function, FunctionType):
        raise StaleEditError(f"{edit.row} is no function")
    return function


def _define(module: Any, name: str, statement: ast.stmt) -> None:
    """Define a name of a module again, wherever it was imported."""
    old = getattr(module, name)
    exec(compile(ast.Module([statement], []), module.__file__, "exec"), vars(module))
    new = getattr(module, name)
    if isinstance(old, OpDef):
        _redefine(module, name, old, new)
        return
    for other in list(sys.modules.values()):
        for key in [key for key, value in getattr(other, "__dict__", {}).items() if value is old]:
            setattr(other, key, new)


def _redefine(module: object, name: str, old: OpDef, new: OpDef) -> None:
    """A row stays the object that others hold, and says what the new one says."""
    for attribute in fields(OpDef):
        object.__setattr__(old, attribute.name, getattr(new, attribute.name))
    setattr(module, name, old)
    TABLE[old.name] = old
