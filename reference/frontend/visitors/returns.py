"""Return statements of kernels and funcs."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from ...errors import AdstackSyntaxError, AdstackTypeError, InternalError
from ...ir.structure import Value
from ...ir.types import DType
from ...values.elements import Elements, as_elements
from ...values.specs import MatrixSpec, ScalarSpec, Spec, StructSpec, TupleSpec
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import describe, is_number
from ..emission.type_promotion import typed
from .dispatch import evaluate, statement

__all__ = ["flattened", "types_of"]


@statement(ast.Return)
def _return(context: Context, node: ast.Return) -> None:
    frame = context.frame
    if context.builder.region is not frame.region or any(loop.kind != "static" for loop in frame.loops):
        context.fail(
            AdstackSyntaxError,
            "Return inside non-static if/for is not supported",
            do="assign to a local, and return it at the end",
        )
    frame.result = None if node.value is None else evaluate(context, node.value)
    frame.result_node = node
    frame.jump = "return"


def types_of(spec: Spec | None) -> tuple[DType, ...]:
    """The scalar types that a return annotation flattens to."""
    if isinstance(spec, ScalarSpec):
        return (spec.dtype,)
    if isinstance(spec, MatrixSpec):
        count = 1
        for extent in spec.shape:
            count *= extent
        return (spec.dtype,) * count
    if isinstance(spec, TupleSpec):
        return tuple(t for member in spec.members for t in types_of(member))
    if isinstance(spec, StructSpec):
        return tuple(t for _, member in spec.members for t in types_of(member))
    return ()


def flattened(context: Context, spec: Spec, value: Any) -> list[Value]:
    """What a kernel returns, cast to its annotation, as scalars in order."""
    if isinstance(spec, ScalarSpec):
        if not (isinstance(value, Expr) or is_number(value)):
            _mismatch(context, f"a {spec.dtype}", value)
        return [typed(value, spec.dtype)]
    if isinstance(spec, MatrixSpec):
        return _matrix(context, spec, value)
    if isinstance(spec, TupleSpec):
        return _tuple(context, spec, value)
    if isinstance(spec, StructSpec):
        if not all(hasattr(value, name) for name, _ in spec.members):
            _mismatch(context, "a struct", value)
        return [v for name, member in spec.members for v in flattened(context, member, getattr(value, name))]
    raise InternalError(f"a kernel can't return the spec {spec!r}")


def _matrix(context: Context, spec: MatrixSpec, value: Any) -> list[Value]:
    value = as_elements(value)
    if not isinstance(value, Elements) or value.shape != spec.shape:
        _mismatch(context, f"{spec.dtype} elements of shape {spec.shape}", value)
    return [typed(e, spec.dtype) for e in value.entries]


def _tuple(context: Context, spec: TupleSpec, value: Any) -> list[Value]:
    if not isinstance(value, (tuple, list)) or len(value) != len(spec.members):
        _mismatch(context, f"{len(spec.members)} values", value)
    return [v for member, item in zip(spec.members, value, strict=False) for v in flattened(context, member, item)]


def _mismatch(context: Context, wanted: str, value: Any) -> NoReturn:
    shown = f"{len(value)} values" if isinstance(value, (tuple, list)) else describe(value)
    context.fail(
        AdstackTypeError, f"the kernel is annotated to return {wanted}", note=f"got {shown}", do="change one of them"
    )
