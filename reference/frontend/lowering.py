"""The entry point: one kernel, under one specialisation, from Python source to verified IR."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from ..errors import AdstackError, AdstackSyntaxError, InternalError
from ..ir.location import Loc
from ..ir.structure import Kernel, Place, Region, Value
from ..ir.verify.verifier import verify
from ..values.elements import Elements
from ..values.kinds import KernelObject, TypeLike
from ..values.matrices.struct import Struct
from ..values.protocol import emitting, lowering
from ..values.specs import Lowered, MatrixSpec, NdarraySpec, Request, ScalarSpec, Spec, StructSpec, TemplateSpec
from .emission import rules
from .emission.arrays import ArrayArgument
from .emission.context import Context, Frame
from .emission.expr import Expr
from .emission.structs import argument
from .expressions import indexing, operators, printing
from .expressions.foreign import guarded
from .expressions.plain_reads import capture_protocols
from .recorder import Recorder
from .syntax.scope import Scopes, outer_names
from .syntax.source import source_of
from .syntax.stores import stored_within
from .variables.mem2reg import mem2reg
from .visitors import assignment, calls, collections, control, loops, returns
from .visitors.control import function_body
from .visitors.returns import flattened, result_of, types_of

__all__ = ["VISITORS", "lower"]

DEEPEST: Final = 64
"""Loops and branches inside of each other: Mesa's driver ends the process beyond 79, and reverse mode adds a few."""
VISITORS = (assignment, calls, collections, control, indexing, loops, operators, printing, returns)
"""The modules whose import registers the visitors."""
RULES = rules
"""The module whose import registers what operators and functions emit."""


def lower(request: Request) -> Lowered:
    """The IR of `request.function` specialised as `request` says; an AdstackCompilationError for what it can't be."""
    source = source_of(request.function)
    body = Region()
    context = Context(request.options, body)
    scopes = Scopes(outer_names(request.function))
    frame = Frame(source, scopes, body, is_kernel=True, may_parallelise=True, function=request.function)
    frame.convert = partial(_returned, spec=request.returns)
    context.frames.append(frame)
    context.builder.loc = source.loc(source.node)
    try:
        with lowering(context), emitting(Recorder(context)):
            _parameters(context, request)
            function_body(context)
            _finish(context, request)
            guarded(context, lambda: capture_protocols(context))
    except (AdstackError, Warning, MemoryError):
        raise  # a warning is raised where the user makes errors of warnings
    except RecursionError as error:
        raise _too_deep(context.builder.loc) from error
    except Exception as error:
        message = f"the frontend failed: {type(error).__name__}: {error}; please report it"
        raise InternalError(message, loc=context.failed_at or context.builder.loc) from error
    _check_depth(body)
    mem2reg(body, context.places)
    kernel = Kernel(source.name, body, context.places, types_of(request.returns), source.loc(source.node))
    verify(kernel)
    return Lowered(kernel, context.fields, tuple(context.captured.values()))


def _check_depth(body: Region) -> None:
    """Raise an error at the first op around which loops and branches are nested deeper than `DEEPEST`."""
    regions = [(body, 0)]
    while regions:
        region, depth = regions.pop()
        for op in region.ops:
            if op.regions and depth == DEEPEST:
                raise _too_deep(op.loc)
            regions.extend((inner, depth + 1) for inner in op.regions)


def _too_deep(loc: Loc) -> AdstackSyntaxError:
    return AdstackSyntaxError(
        f"the kernel is nested too deeply (loops and branches inside of each other: at most {DEEPEST})",
        loc=loc,
        do="make several kernels of it; split long chains of elif, and long expressions",
    )


def _finish(context: Context, request: Request) -> None:
    """Return what was promised."""
    frame = context.frame
    result: KernelObject = result_of(context)
    with context.at(frame.result_node or frame.source.node):
        if result is None and request.returns is not None:
            context.fail(
                AdstackSyntaxError,
                "the kernel is annotated to return a value but does not",
                do="end it with return",
            )
        context.builder.return_(*(expr.value for expr in result or ()))


def _returned(context: Context, value: KernelObject, spec: Spec | None) -> KernelObject:
    """What a `return` of the kernel returns, as runtime scalars in order."""
    if value is None:
        return None
    if spec is None:
        context.fail(
            AdstackSyntaxError,
            "a kernel that returns a value needs a return annotation",
            do="write -> f32, for example",
        )
    return tuple(Expr(v) for v in flattened(context, spec, value))


def _parameters(context: Context, request: Request) -> None:
    node = context.frame.source.node
    stored = stored_within(node.body)
    args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for arg, spec in zip(args, request.specs, strict=False):
        value = _parameter(context, arg.arg, spec)
        if isinstance(value, Struct) and arg.arg in stored:  # a launch changes a copy of the struct that it is passed
            assignment.declare(context, arg.arg, value)
        else:
            context.scopes.bind(arg.arg, value, "argument", context.loc(arg))


def _parameter(context: Context, name: str, spec: Spec) -> KernelObject:
    """What the name of a parameter stands for in the kernel's body."""
    if isinstance(spec, ScalarSpec):
        return _scalar(context, name, spec.dtype)
    if isinstance(spec, MatrixSpec):
        count = 1
        for extent in spec.shape:
            count *= extent
        entries = [_scalar(context, f"{name}.{k}", spec.dtype) for k in range(count)]
        return Elements.over(entries, spec.shape, spec.dtype)
    if isinstance(spec, NdarraySpec):
        return _array(context, name, spec)
    if isinstance(spec, TemplateSpec):
        return spec.value
    if isinstance(spec, StructSpec):
        return _struct(context, name, spec)
    raise InternalError(f"a parameter can't have the spec {spec!r}")


def _scalar(context: Context, name: str, dtype: TypeLike) -> Expr:
    value = Value(dtype, name)
    context.body.define((value,))
    return Expr(value)


def _array(context: Context, name: str, spec: NdarraySpec) -> ArrayArgument:
    shape = (None,) * spec.ndim + spec.element_shape
    place = Place(name, spec.dtype, shape, kind="ndarray", label=name)
    context.places[name] = place
    array = ArrayArgument(place, spec.element_shape, spec.clamped)
    for role, wanted in (("grad", spec.has_grad), ("dual", spec.has_dual)):
        if wanted:
            beside = replace(place, name=f"{name}.{role}", role=role, of=name, label=f"{name}.{role}")
            context.places[beside.name] = beside
            setattr(array, role, ArrayArgument(beside, spec.element_shape, spec.clamped))
    return array


def _struct(context: Context, name: str, spec: StructSpec) -> KernelObject:
    return argument(spec.type, {m: _parameter(context, f"{name}.{m}", s) for m, s in spec.members})
