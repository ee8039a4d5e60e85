"""Funcs, inlined where they are called."""

from __future__ import annotations

from functools import partial

from ...errors import AdstackSyntaxError
from ...values.func import Func, RealFunc
from ...values.kinds import KernelObject
from ..emission.context import Context, Frame
from ..emission.literals import is_number
from ..syntax.scope import Scopes, outer_names
from ..syntax.source import source_of
from .annotations import annotations_of
from .control import function_body
from .entering import DEEPEST_RECURSION, bound_arguments, enter, entered, returned_as
from .real import call_real
from .returns import result_of

__all__ = ["inline"]


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
    bound = bound_arguments(context, func, args, kwargs)
    annotations = annotations_of(function)
    if isinstance(func, RealFunc):
        return call_real(context, func, bound, annotations, owned)
    source = source_of(function)
    values = entered(context, func, bound, annotations, owned)
    constants = tuple(v for v, by_reference in values.values() if by_reference and (is_number(v) or isinstance(v, str)))
    _refuse_recursion(context, func, constants)
    frame = Frame(
        source,
        Scopes(outer_names(function)),
        context.builder.region,
        is_kernel=False,
        may_parallelise=statement and context.frame.may_parallelise,
        caller=context.builder.loc,
        known=constants,
        function=function,
        convert=partial(returned_as, annotation=annotations.get("return")),
    )
    context.frames.append(frame)
    try:
        for name, (value, by_reference) in values.items():
            enter(context, name, value, by_reference)
        function_body(context)
        return result_of(context)
    finally:
        context.frames.pop()


def _refuse_recursion(context: Context, func: Func, constants: tuple[object, ...]) -> None:
    """An error where nothing that is known while compiling tells a call from one that it stands in."""
    chain = [frame.function for frame in context.frames]
    around = [k for k, function in enumerate(chain) if function is func.function]
    if any(context.frames[k].known == constants for k in around):
        cycle = [f.__name__ for f in chain[around[-1] :]] + [func.function.__name__]
        context.fail(
            AdstackSyntaxError,
            f"recursion is not supported: {' -> '.join(cycle)}",
            note="no template() argument, a number, tells this call from the one that it stands in",
            do="write @qd.real_func in place of @qd.func, or let a template() number and `if static(...)` end it",
        )
    if len(around) >= DEEPEST_RECURSION:
        raise AdstackSyntaxError(
            f"the recursion of {func.function.__name__} does not end within {DEEPEST_RECURSION} calls",
            loc=context.frames[around[0]].caller,
            do="end it by `if static(...)` on a template() argument",
        )
