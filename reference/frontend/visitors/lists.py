"""Lists and dicts that a name is given to: where the function stores to elements of one, they become variables.

A list has one name here. In Python a second one would be the same list; that is refused where it could be seen, as is a
func that stores to a list which its caller has, too. All of this holds for dicts.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from ...errors import AdstackTypeError
from ...values.elements import Elements
from ...values.func import BoundFunc, Func
from ...values.kinds import KernelObject
from ...values.matrices.struct import Struct
from ..emission.context import Context
from ..emission.expr import Expr
from ..expressions.dicts import VariableDict
from ..expressions.dispatch import evaluate
from ..expressions.foreign import guarded
from ..expressions.lists import VariableList
from ..syntax.source import source_of
from .annotations import annotations_of, is_template

__all__ = ["add_entry", "check_single_name", "check_unshared", "copied_collection", "named_collection"]

Local = Callable[[str, KernelObject], KernelObject]
"""Makes a variable of a name and a value."""


def named_collection(context: Context, name: str, value: KernelObject, local: Local) -> KernelObject:
    """What a name is bound to that a list, tuple or dict is assigned to."""
    for one in _collections(value):
        if isinstance(one, (VariableList, VariableDict)):
            _refuse_second_name(context, name, one)
    if not _is_stored_to(context, name):
        return value
    return _Making(context, local, is_copy=False).of(name, value)


def check_single_name(context: Context, names: Sequence[str], value: KernelObject) -> None:
    """Refuse `a = b = [...]` where a function stores to elements of it: it has two names."""
    shared = next(_collections(value), None)
    if shared is not None and len(names) > 1 and any(_is_stored_to(context, name) for name in names):
        _refuse_second_name(context, names[1], shared)


def check_unshared(context: Context, name: str, value: KernelObject) -> None:
    """Refuse `a += [...]` where the list has another name: in Python that would be longer, too."""
    bindings = [
        (other, one.value) for frame in context.frames for scope in frame.scopes.stack for other, one in scope.items()
    ]
    if isinstance(value, list) and any(other != name and _holds(one, value) for other, one in bindings):
        context.fail(
            AdstackTypeError,
            f"'{name}' is a list that has another name",
            note="in Python += changes the list, by whatever name",
            do=f"write {name} = {name} + [...] for a new list, or copy it before, as in b = [*{name}]",
        )


def copied_collection(context: Context, name: str, value: KernelObject, local: Local) -> KernelObject:
    """A list or dict that a func is given by value, and to whose elements it stores: variables of its own."""
    named = {id(one) for other in _named(context) for one in _collections(other)}
    known = next((one for one in _collections(value) if id(one) in named), None)
    if known is not None:
        kind, func = _kind(known), context.frame.function.__name__
        what = f"'{name}', a {kind}" if known is value else f"'{name}', in which is a {kind}"
        copy = "{**...}" if isinstance(known, dict) else "[*...]"
        context.fail(
            AdstackTypeError,
            f"{func} stores to {what} that its caller has a name for",
            note=f"in Python the caller's {kind} would change, in Taichi and Quadrants a copy of it",
            do=f"write {name}: qd.template() for the caller's {kind} to change, or pass a copy, {copy}",
        )
    return _Making(context, local, is_copy=True).of(name, value)


class _Making:
    """Makes variables of the elements of a list or dict, and of lists and dicts in it."""

    def __init__(self, context: Context, local: Local, is_copy: bool) -> None:
        self.context = context
        self.local = local
        self.is_copy = is_copy
        self.seen: list[KernelObject] = []

    def of(self, name: str, value: KernelObject) -> KernelObject:
        """The variables for `value`; a tuple keeps its numbers, which nobody can store to."""
        if isinstance(value, (list, dict)) and not self.is_copy:
            self._check_single(name, value)
        if isinstance(value, list):
            items = [self.of(f"{name}.{k}", item) for k, item in enumerate(value)]
            return VariableList(items, lambda item: self.of(name, item), self.context.frame)
        if isinstance(value, dict):
            entries = {key: self.of(f"{name}.{key}", entry) for key, entry in value.items()}
            return VariableDict(entries, lambda entry: self.of(name, entry), self.context.frame)
        if isinstance(value, tuple):
            parts = (list, tuple, dict, Elements, Struct)
            return tuple(self.of(f"{name}.{k}", v) if isinstance(v, parts) else v for k, v in enumerate(value))
        return self.local(name, value)

    def _check_single(self, name: str, value: KernelObject) -> None:
        """Refuse a list or dict that can be reached another way: Python would change it there as well."""
        if any(value is one for one in self.seen):
            is_dict = isinstance(value, dict)
            self.context.fail(
                AdstackTypeError,
                f"'{name.split('.')[0]}' holds one {_kind(value)} in two places, and elements of it are stored to",
                do="make each of them anew: " + ("{**a}" if is_dict else "[[0.0] * m for _ in range(n)]"),
            )
        self.seen.append(value)
        if isinstance(value, (VariableList, VariableDict)) or any(
            _holds(other, value) for other in _named(self.context)
        ):
            _refuse_second_name(self.context, name.split(".")[0], value)


def _kind(value: KernelObject) -> str:
    return "dict" if isinstance(value, dict) else "list"


def _refuse_second_name(context: Context, name: str, value: KernelObject) -> NoReturn:
    kind, copy = _kind(value), "{**...}" if isinstance(value, dict) else "[*...]"
    context.fail(
        AdstackTypeError,
        f"'{name}' would be a second name of a {kind} whose elements are stored to",
        note=f"in Python both names would be the same {kind}",
        do=f"write {name} = {copy} for a {kind} of its own, or store to the {kind} by its first name",
    )


def add_entry(context: Context, target: ast.expr, value: KernelObject) -> bool:
    """Add an entry to a dict of the function, whose key is new to it; False if `target` is something else.

    AdstackTypeError if the dict is a constant, or if it would have the entry at times only.
    """
    owner = _known(context, target.value) if isinstance(target, ast.Subscript) else None
    if not isinstance(target, ast.Subscript) or not isinstance(owner, dict):
        return False
    name = ast.unparse(target.value)
    if not isinstance(owner, VariableDict):
        context.fail(
            AdstackTypeError,
            f"{ast.unparse(target)} can't be assigned to in a kernel: this dict is a constant",
            at=target,
            do=f"copy it, new = {{**{name}}}, and store to that",
        )
    key = evaluate(context, target.slice)
    if isinstance(key, (Expr, Elements)) or guarded(context, lambda: key in owner):
        return False
    binding = context.scopes.find(name)
    if binding is None or context.builder.region not in (binding.region, context.body):
        context.fail(
            AdstackTypeError,
            f"'{name}' has no entry {key!r}, and can't get one under run-time control flow",
            at=target,
            do="give it the entry where the dict is made",
        )
    guarded(context, lambda: owner.__setitem__(key, value))
    return True


def _collections(value: KernelObject) -> Iterator[KernelObject]:
    """The lists and dicts in a list, tuple or dict, and itself, each once."""
    seen: set[int] = set()
    ahead = [value]
    while ahead:
        one = ahead.pop()
        if not isinstance(one, (list, tuple, dict)) or id(one) in seen:
            continue
        seen.add(id(one))
        if not isinstance(one, tuple):
            yield one
        # As the built-in types have them: the variables themselves, of which nothing is read.
        if isinstance(one, dict):
            ahead.extend(dict.values(one))
        else:
            ahead.extend(list.__iter__(one) if isinstance(one, list) else tuple.__iter__(one))


def _holds(value: KernelObject, wanted: object) -> bool:
    return any(one is wanted for one in _collections(value))


def _named(context: Context) -> Iterator[KernelObject]:
    """What names of the functions that are being lowered stand for, and what was read of objects."""
    for frame in context.frames:
        for scope in frame.scopes.stack:
            yield from (binding.value for binding in scope.values())
        code = frame.function.__code__
        yield from (frame.scopes.outer.get(name) for name in (*code.co_names, *code.co_freevars))
    yield from (was for _, was in context.captured.values())


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
