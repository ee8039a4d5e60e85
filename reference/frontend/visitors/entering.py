"""Arguments of funcs: bound to parameters, converted, and entered into the scope of a call."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Final

from ...errors import AdstackCompilationError, AdstackTypeError
from ...values.elements import Elements
from ...values.func import Func
from ...values.kinds import KernelObject
from ...values.matrices.struct import Struct
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import is_number
from ..expressions.captures import capture_defaults
from ..expressions.dispatch import dereferenced
from .annotations import check_reference, converted, is_template
from .assignment import declare, is_variable, local
from .lists import copied_collection

__all__ = ["DEEPEST_RECURSION", "Entered", "bound_arguments", "by_value", "enter", "entered", "returned_as"]

DEEPEST_RECURSION: Final = 32
"""Calls of a func that are emitted inside of each other: each takes a part of Python's own stack."""

Entered = dict[str, tuple[KernelObject, bool]]
"""Arguments as they enter: name -> (value, whether by reference)."""


def bound_arguments(
    context: Context, func: Func, args: list[KernelObject], kwargs: dict[str, KernelObject]
) -> inspect.BoundArguments:
    """The arguments of a call, by parameter."""
    signature = inspect.signature(func.function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise AdstackTypeError(
            f"{_phrase(str(error))} in the call of {func.function.__name__}{signature}: {error}",
            loc=context.builder.loc,
            do=_instead(signature),
        ) from None
    bound.apply_defaults()
    capture_defaults(context, func.function)
    return bound


def _instead(signature: inspect.Signature) -> str:
    """How a func is called."""
    named = [name for name, p in signature.parameters.items() if p.kind is p.KEYWORD_ONLY]
    taken = [name for name in signature.parameters if name not in named]
    return "call it with " + ", ".join([*taken, *(f"{name}=..." for name in named)]) if taken or named else ""


def _phrase(text: str) -> str:
    if "missing" in text:
        return "Missing argument"
    return "Too many arguments" if "too many" in text else "Unexpected argument"


def entered(
    context: Context, func: Func, bound: inspect.BoundArguments, annotations: dict[str, KernelObject], owned: bool
) -> Entered:
    """The arguments of a func that is inlined."""
    values: Entered = {}
    for k, (name, value) in enumerate(bound.arguments.items()):
        annotation = annotations.get(name)
        check_reference(context, value, annotation)
        if is_template(annotation) or isinstance(value, tuple) or (owned and k == 0):
            values[name] = (value, True)
        elif isinstance(value, dict):
            values[name] = (value, False)
        else:
            values[name] = (by_value(context, func, name, value, annotation), False)
    return values


def by_value(context: Context, func: Func, name: str, value: KernelObject, annotation: KernelObject) -> KernelObject:
    """An argument's value now, as its annotation says."""
    try:
        return converted(context, dereferenced(value), annotation)
    except AdstackCompilationError as error:
        raise type(error)(
            f"argument '{name}' of {func.function.__name__}: {error.message}",
            loc=context.builder.loc,
            note=error.note,
            do=error.do,
        ) from error


def enter(context: Context, name: str, value: object, by_reference: bool) -> None:
    """Give a parameter its name."""
    if isinstance(value, (list, dict)) and not by_reference and name in context.frame.source.stored_within:
        value = copied_collection(context, name, value, partial(local, context))
    if by_reference or not (isinstance(value, (Expr, Elements)) or is_number(value) or isinstance(value, Struct)):
        kind = "local" if is_variable(value) else "static"
        context.scopes.bind(name, value, kind, context.builder.loc, context.builder.region)
    else:
        declare(context, name, value)


def returned_as(context: Context, value: KernelObject, annotation: object) -> KernelObject:
    """A returned value as the return annotation says."""
    if annotation is None or value is None:
        return value
    if isinstance(value, tuple) and isinstance(annotation, tuple):
        return tuple(converted(context, v, a) for v, a in zip(value, annotation, strict=False))
    return converted(context, value, annotation)
