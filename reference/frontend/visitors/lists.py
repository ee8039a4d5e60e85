"""Lists that a name is given to: where the function stores to elements of the list, they become variables.

A list has one name here. In Python a second one would be the same list; that is refused where it could be seen.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import NoReturn

from ...errors import AdstackTypeError
from ...values.elements import Elements
from ...values.func import BoundFunc, Func
from ...values.kinds import KernelObject
from ...values.matrices.struct import Struct
from ..emission.context import Context
from ..expressions.lists import VariableList
from ..syntax.source import source_of
from .annotations import annotations_of, is_template

__all__ = ["copied_list", "named_list", "refuse_dict"]

Local = Callable[[str, KernelObject], KernelObject]
"""Makes a variable of a name and a value."""


def named_list(context: Context, name: str, value: KernelObject, local: Local) -> KernelObject:
    """What a name is bound to that a list or tuple is assigned to."""
    if any(isinstance(one, VariableList) for one in _lists(value)):
        _refuse_second_name(context, name)
    if not _is_stored_to(context, name):
        return value
    return _Making(context, local, is_copy=False).of(name, value)


def copied_list(context: Context, name: str, value: KernelObject, local: Local) -> KernelObject:
    """A list that a func is given by value, and whose elements it stores to: variables of its own."""
    return _Making(context, local, is_copy=True).of(name, value)


class _Making:
    """Makes variables of the elements of a list, and of lists in it."""

    def __init__(self, context: Context, local: Local, is_copy: bool) -> None:
        self.context = context
        self.local = local
        self.is_copy = is_copy
        self.seen: list[KernelObject] = []

    def of(self, name: str, value: KernelObject) -> KernelObject:
        """The variables for `value`; a tuple keeps its numbers, which nobody can store to."""
        if isinstance(value, list):
            if not self.is_copy:
                self._check_single(name, value)
            items = [self.of(f"{name}.{k}", item) for k, item in enumerate(value)]
            return VariableList(items, lambda item: self.of(name, item), self.context.frame)
        if isinstance(value, tuple):
            parts = (list, tuple, Elements, Struct)
            return tuple(self.of(f"{name}.{k}", v) if isinstance(v, parts) else v for k, v in enumerate(value))
        return self.local(name, value)

    def _check_single(self, name: str, value: KernelObject) -> None:
        """Refuse a list that can be reached another way: Python would change it there as well."""
        if any(value is one for one in self.seen):
            self.context.fail(
                AdstackTypeError,
                f"'{name.split('.')[0]}' holds one list in two places, and elements of it are stored to",
                do="make each of them anew: [[0.0] * m for _ in range(n)]",
            )
        self.seen.append(value)
        if isinstance(value, VariableList) or any(_holds(other, value) for other in _named(self.context)):
            _refuse_second_name(self.context, name.split(".")[0])


def _refuse_second_name(context: Context, name: str) -> NoReturn:
    context.fail(
        AdstackTypeError,
        f"'{name}' would be a second name of a list whose elements are stored to",
        note="in Python both names would be the same list",
        do=f"write {name} = [*...] for a list of its own, or store to the list by its first name",
    )


def refuse_dict(context: Context, target: ast.expr) -> None:
    """An error where an entry of a dict that a name stands for is assigned to."""
    if isinstance(target, ast.Subscript) and isinstance(_known(context, target.value), dict):
        name = ast.unparse(target.value)
        context.fail(
            AdstackTypeError,
            f"{ast.unparse(target)} can't be assigned to in a kernel: a dict is a constant while compiling",
            at=target,
            do=f"write all of it at once, {name} = {{...}}, or keep what changes in a list or vector",
        )


def _lists(value: KernelObject) -> Iterator[list[KernelObject]]:
    """The lists in a list or tuple, and itself."""
    if isinstance(value, list):
        yield value
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _lists(item)


def _holds(value: KernelObject, wanted: object) -> bool:
    return any(one is wanted for one in _lists(value))


def _named(context: Context) -> Iterator[KernelObject]:
    """What names of the functions that are being lowered stand for, and what was read of objects."""
    for frame in context.frames:
        for scope in frame.scopes.stack:
            yield from (binding.value for binding in scope.values())
        code = frame.function.__code__
        yield from (frame.scopes.outer.get(name) for name in (*code.co_names, *code.co_freevars))
    yield from (was for _, was in context.captured)


def _is_stored_to(context: Context, name: str) -> bool:
    """Whether the function stores to a part of what a name stands for, or a func does to which it is passed."""
    source = context.frame.source
    if name in source.stored_within:
        return True
    return any(_stores(context, function, which) for function, which in source.passed.get(name, ()))


def _stores(context: Context, function: ast.expr, which: int | str) -> bool:
    """Whether a func stores to a part of one of its arguments, which is passed by reference."""
    func = _known(context, function)
    func, first = (func.func, 1) if isinstance(func, BoundFunc) else (func, 0)
    if not isinstance(func, Func):
        return False
    parameters = list(inspect.signature(func.function).parameters)
    if isinstance(which, int):
        which = parameters[first + which] if first + which < len(parameters) else ""
    annotation = annotations_of(func.function).get(which)
    return is_template(annotation) and which in source_of(func.function).stored_within


def _known(context: Context, function: ast.expr) -> object:
    """What a name, or an attribute of one, stands for."""
    if isinstance(function, ast.Name):
        binding = context.scopes.find(function.id)
        return context.scopes.outer.get(function.id) if binding is None else binding.value
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        owner = _known(context, function.value)
        found = inspect.getattr_static(owner, function.attr, None)
        return BoundFunc(found, owner) if isinstance(found, Func) and not inspect.ismodule(owner) else found
    return None
