"""Funcs, inlined where they are called."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Final

from ...errors import AdstackCompilationError, AdstackSyntaxError, AdstackTypeError
from ...values.elements import Elements
from ...values.func import Func
from ...values.kinds import KernelObject
from ...values.matrices.struct import Struct
from ..emission.context import Context, Frame
from ..emission.expr import Expr
from ..emission.literals import is_number
from ..syntax.scope import Scopes, outer_names
from ..syntax.source import source_of
from .annotations import annotations_of, check_reference, converted, is_template
from .assignment import declare, is_reference
from .control import function_body
from .dispatch import dereferenced
from .returns import result_of

__all__ = ["inline"]

DEEPEST_RECURSION: Final = 32
"""Calls of a func inside of each other: each takes a part of Python's own stack."""


def inline(
    context: Context,
    func: Func,
    args: list[KernelObject],
    kwargs: dict[str, KernelObject],
    statement: bool,
    owned: bool = False,
) -> KernelObject:
    """Lower the body of `func` here; its result. A method's object (`owned`) is passed by reference."""
    function = func.function
    bound = _bound(context, func, args, kwargs)
    annotations = annotations_of(function)
    source = source_of(function)
    values = _values(context, func, bound, annotations, owned)
    known = tuple(v for v, by_reference in values.values() if by_reference and (is_number(v) or isinstance(v, str)))
    _refuse_recursion(context, func, known)
    frame = Frame(
        source,
        Scopes(outer_names(function)),
        context.builder.region,
        is_kernel=False,
        may_parallelise=statement and context.frame.may_parallelise,
        caller=context.builder.loc,
        known=known,
        function=function,
        convert=partial(_converted, annotation=annotations.get("return")),
    )
    context.frames.append(frame)
    try:
        for name, (value, by_reference) in values.items():
            _enter(context, name, value, by_reference)
        function_body(context)
        return result_of(context)
    finally:
        context.frames.pop()


def _refuse_recursion(context: Context, func: Func, known: tuple[object, ...]) -> None:
    """An error where nothing that is known while compiling tells a call from one that it stands in."""
    chain = [frame.function for frame in context.frames]
    around = [k for k, function in enumerate(chain) if function is func.function]
    if any(context.frames[k].known == known for k in around):
        cycle = [f.__name__ for f in chain[around[-1] :]] + [func.function.__name__]
        context.fail(
            AdstackSyntaxError,
            f"recursion is not supported: {' -> '.join(cycle)}",
            note="no template() argument, a number, tells this call from the one that it stands in",
            do="write a loop with a stack of its own, or let a template() number and `if static(...)` end it",
        )
    if len(around) >= DEEPEST_RECURSION:
        raise AdstackSyntaxError(
            f"the recursion of {func.function.__name__} does not end within {DEEPEST_RECURSION} calls",
            loc=context.frames[around[0]].caller,
            do="end it by `if static(...)` on a template() argument",
        )


def _bound(
    context: Context, func: Func, args: list[KernelObject], kwargs: dict[str, KernelObject]
) -> inspect.BoundArguments:
    signature = inspect.signature(func.function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise AdstackTypeError(
            f"{_phrase(str(error))} in the call of {func.function.__name__}{signature}: {error}",
            loc=context.builder.loc,
        ) from None
    bound.apply_defaults()
    return bound


def _phrase(text: str) -> str:
    if "missing" in text:
        return "Missing argument"
    return "Too many arguments" if "too many" in text else "Unexpected argument"


def _values(
    context: Context, func: Func, bound: inspect.BoundArguments, annotations: dict[str, KernelObject], owned: bool
) -> dict[str, tuple[KernelObject, bool]]:
    """Arguments as they enter: name -> (value, whether by reference)."""
    entered: dict[str, tuple[KernelObject, bool]] = {}
    for k, (name, value) in enumerate(bound.arguments.items()):
        annotation = annotations.get(name)
        check_reference(context, value, annotation)
        if is_template(annotation) or isinstance(value, (tuple, dict)) or (owned and k == 0):
            entered[name] = (value, True)
            continue
        value = dereferenced(value)
        try:
            entered[name] = (converted(context, value, annotation), False)
        except AdstackCompilationError as error:
            raise type(error)(
                f"argument '{name}' of {func.function.__name__}: {error.message}",
                loc=context.builder.loc,
                note=error.note,
                do=error.do,
            ) from error
    return entered


def _enter(context: Context, name: str, value: object, by_reference: bool) -> None:
    if by_reference or not (isinstance(value, (Expr, Elements)) or is_number(value) or isinstance(value, Struct)):
        kind = "local" if is_reference(value) else "static"
        context.scopes.bind(name, value, kind, context.builder.loc, context.builder.region)
    else:
        declare(context, name, value)


def _converted(context: Context, value: KernelObject, annotation: object) -> KernelObject:
    """A returned value as the return annotation says."""
    if annotation is None or value is None:
        return value
    if isinstance(value, tuple) and isinstance(annotation, tuple):
        return tuple(converted(context, v, a) for v, a in zip(value, annotation, strict=False))
    return converted(context, value, annotation)
