"""Real functions: typed parameters and returns, by value, and calls of themselves that run as deep as the values say.

One that does not call itself is emitted where it is called, with its loops serial. One that does becomes a loop over
frames: see `variables/recursion.py`.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import get_args, get_origin

from ...errors import AdstackSyntaxError, AdstackTypeError
from ...ir.structure import Region, Value
from ...ir.types import DType
from ...values.elements import Elements
from ...values.func import RealFunc
from ...values.kinds import KernelObject
from ...values.matrices.struct import Struct
from ...values.scalars import uint
from ..emission.context import Context, Frame
from ..emission.expr import Expr
from ..emission.literals import describe, is_number
from ..emission.references import CellRef, references_of
from ..emission.structs import is_live_struct, member_reference
from ..syntax.scope import Scopes, outer_names
from ..syntax.source import source_of
from ..variables.activations import Activation, Leaf, call_again
from ..variables.recursion import unfold
from .annotations import check_reference, converted, is_template
from .assignment import local
from .control import function_body
from .entering import DEEPEST_RECURSION, Entered, by_value, enter, returned_as
from .returns import in_a_tuple, now, put, result_of

__all__ = ["call_real"]


def call_real(
    context: Context, func: RealFunc, bound: inspect.BoundArguments, annotations: dict[str, KernelObject], owned: bool
) -> KernelObject:
    """Emit a call; its result."""
    values = _entered(context, func, bound, annotations, owned)
    constants = tuple(value for value, by_reference in values.values() if by_reference)
    for frame in reversed(context.frames):
        if frame.function is func.function and frame.activation is not None and _same(frame.known, constants):
            return _again(context, frame.activation, values, annotations.get("return"))
    if sum(frame.function is func.function for frame in context.frames) >= DEEPEST_RECURSION:
        context.fail(
            AdstackSyntaxError,
            f"{func.function.__name__} calls itself with ever new objects, and {DEEPEST_RECURSION} calls do not end it",
            note="by value there may be any number",
            do="pass the template() and ref arguments on as they came, or end the recursion by `if static(...)`",
        )
    return _outermost(context, func, values, constants, annotations.get("return"))


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether two calls are passed the same objects."""
    return all(a is b or ((is_number(a) or isinstance(a, str)) and a == b) for a, b in zip(one, other, strict=True))


# ---- arguments


def _is_typed(annotation: object) -> bool:
    return isinstance(annotation, DType) or annotation in (int, float, bool, uint) or hasattr(type(annotation), "cast")


def _entered(
    context: Context, func: RealFunc, bound: inspect.BoundArguments, annotations: dict[str, KernelObject], owned: bool
) -> Entered:
    values: Entered = {}
    for k, (name, value) in enumerate(bound.arguments.items()):
        annotation = annotations.get(name)
        check_reference(context, value, annotation)
        if _is_typed(annotation):
            values[name] = (_typed(context, func, name, value, annotation), False)
        elif is_template(annotation) or (owned and k == 0) or annotation is not None:
            values[name] = (value, True)
        else:
            context.fail(
                AdstackSyntaxError,
                f"parameter '{name}' of the real_func {func.function.__name__} has no type",
                do=f"annotate it, as in {name}: qd.f32; a func, which is inlined, needs no types",
            )
    return values


def _typed(context: Context, func: RealFunc, name: str, value: KernelObject, annotation: KernelObject) -> KernelObject:
    """An argument that is passed by value."""
    value = by_value(context, func, name, value, annotation)
    if hasattr(type(annotation), "cast") and not isinstance(value, (Elements, Struct)):
        message = f"argument '{name}' of {func.function.__name__}: {annotation!r} is needed here"
        context.fail(AdstackTypeError, message, note=f"got {describe(value)}", do="pass such a value")
    return value


# ---- the outermost call


def _outermost(
    context: Context, func: RealFunc, values: Entered, constants: tuple[object, ...], annotation: KernelObject
) -> KernelObject:
    """A call from outside: the body is emitted here, in a loop if it calls itself."""
    builder, body = context.builder, Region()
    function = func.function
    frame = Frame(
        source_of(function),
        Scopes(outer_names(function)),
        body,
        is_kernel=False,
        may_parallelise=False,
        caller=builder.loc,
        known=constants,
        function=function,
        convert=partial(_returned, annotation=annotation),
    )
    result = None if annotation is None else _blank(context, annotation)
    context.frames.append(frame)
    try:
        for name, (value, by_reference) in values.items():
            enter(context, name, value, by_reference)
        frame.activation = Activation(function.__name__, func.max_depth, _parameters(frame, values), _leaves(result))
        with builder.into(body):
            function_body(context)
            value = _result(context, annotation)
            if frame.activation.calls:
                put(context, result, value)
    finally:
        context.frames.pop()
    if not frame.activation.calls:
        builder.region.ops.extend(body.ops)
        return value
    unfold(builder, frame.activation, body)
    return now(result)


def _result(context: Context, annotation: object) -> KernelObject:
    """What the function returns, its body being lowered."""
    value = result_of(context)
    if value is None and annotation is not None:
        message = f"{context.frame.source.name} is annotated to return a value but does not"
        context.fail(AdstackSyntaxError, message, at=context.frame.source.node, do="end it with return")
    return value


def _returned(context: Context, value: KernelObject, annotation: object) -> KernelObject:
    """A returned value in the type that the function declares."""
    if annotation is None and value is not None:
        context.fail(
            AdstackSyntaxError,
            "a real_func that returns a value needs a return annotation",
            do="write -> f32, for example",
        )
    members = _members(annotation)
    if members is not None and value is not None and (not isinstance(value, tuple) or len(value) != len(members)):
        note = f"got {in_a_tuple(len(value)) if isinstance(value, tuple) else describe(value)}"
        wanted = in_a_tuple(len(members))
        context.fail(AdstackTypeError, f"the function is annotated to return {wanted}", note=note)
    return returned_as(context, value, annotation if members is None else members)


def _members(annotation: object) -> tuple[KernelObject, ...] | None:
    """The types of a tuple that is returned; None if it is no tuple."""
    if isinstance(annotation, tuple):
        return annotation
    return get_args(annotation) if get_origin(annotation) is tuple else None


def _blank(context: Context, annotation: KernelObject) -> KernelObject:
    """New locals for what the function returns."""
    members = _members(annotation)
    if members is not None:
        return tuple(_blank(context, member) for member in members)
    if not _is_typed(annotation):
        context.fail(AdstackSyntaxError, f"a real_func can't return {annotation!r}", do="return numbers or vectors")
    return local(
        context, "returned", annotation(0) if hasattr(type(annotation), "cast") else converted(context, 0, annotation)
    )


def _parameters(frame: Frame, values: Entered) -> list[Leaf]:
    """The scalars of the parameters that are passed by value."""
    bindings = (frame.scopes.find(name) for name, (_, by_reference) in values.items() if not by_reference)
    return [leaf for binding in bindings if binding is not None for leaf in _leaves(binding.value)]


def _leaves(target: KernelObject) -> list[Leaf]:
    """The scalars of a local, in order."""
    if isinstance(target, CellRef):
        assert isinstance(target.at, int)
        return [(target.cell, target.at)]
    if isinstance(target, Elements):
        return [leaf for reference in references_of(target).entries for leaf in _leaves(reference)]
    if is_live_struct(target):
        return [leaf for name in target.keys() for leaf in _leaves(member_reference(target, name))]  # noqa: SIM118
    return [] if target is None else [leaf for part in target for leaf in _leaves(part)]


# ---- a call from inside


def _again(context: Context, activation: Activation, values: Entered, annotation: KernelObject) -> KernelObject:
    """A call of a function whose call is being emitted: the arguments are passed to another frame."""
    arguments: list[Value] = []
    for name, (value, by_reference) in values.items():
        if not by_reference:
            arguments += _scalars(local(context, name, value))
    results = call_again(context.builder, activation, arguments)
    if annotation is None:
        return None
    result = _blank(context, annotation)
    for (cell, k), value in zip(_leaves(result), results, strict=True):
        CellRef(cell, k).set(Expr(value))
    return now(result)


def _scalars(target: KernelObject) -> list[Value]:
    return [CellRef(cell, k).get().value for cell, k in _leaves(target)]
