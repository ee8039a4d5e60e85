"""Annotations of funcs, returns and locals: what they evaluate to, and values converted to them."""

from __future__ import annotations

from ...errors import AdstackSyntaxError, AdstackTypeError
from ...ir.scalar_ops import CAST
from ...ir.types import DType
from ...values.elements import Elements
from ...values.kinds import KernelObject, PythonFunction
from ...values.matrices.struct import Struct
from ...values.matrices.types import MatrixType, convert
from ...values.scalars import scalar_type, uint
from ...values.templates import Reference, Template, template
from ..emission.context import Context
from ..emission.expr import Expr, emit
from ..emission.literals import describe, is_number
from ..emission.references import ScalarRef, is_live
from ..emission.structs import is_live_struct
from ..syntax.scope import outer_names

__all__ = ["annotations_of", "check_reference", "converted", "is_template"]

_OPEN = (None, KernelObject)


def annotations_of(function: PythonFunction) -> dict[str, KernelObject]:
    """The annotations of a function; text (postponed evaluation) is evaluated where the function was defined."""
    annotations = dict(getattr(function, "__annotations__", {}))
    texts = {name: text for name, text in annotations.items() if isinstance(text, str)}
    if texts:
        names = outer_names(function)
        annotations.update({name: _evaluated(name, text, names) for name, text in texts.items()})
    return annotations


def _evaluated(name: str, text: str, names: dict[str, KernelObject]) -> KernelObject:
    try:
        return eval(text, names)  # the user's own annotation, postponed
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise AdstackSyntaxError(f"the annotation {text!r} of {name} can't be evaluated: {error}") from error


def is_template(annotation: object) -> bool:
    """Whether a parameter is passed by reference."""
    return annotation is template or annotation is Template or isinstance(annotation, (Template, Reference))


def check_reference(context: Context, value: KernelObject, annotation: object) -> None:
    """AdstackTypeError if a parameter annotated `ref(type)` is given anything but a variable of this type."""
    if not isinstance(annotation, Reference):
        return
    wanted = annotation.type
    if is_live_struct(value):
        fits = value.__adstack_type__() == wanted
    elif isinstance(value, ScalarRef):
        fits = value.dtype is scalar_type(wanted)
    else:
        fits = is_live(value) and (value.shape, value.dtype) == _of_matrix_type(wanted)
    if not fits:
        context.fail(
            AdstackTypeError,
            f"ref({wanted}) takes a variable of this type",
            note=f"got {describe(value)}",
            do="pass a local, or an element of a field or ndarray, of this type",
        )


def _of_matrix_type(wanted: object) -> tuple[object, object]:
    return (wanted.shape, scalar_type(wanted.dtype)) if isinstance(wanted, MatrixType) else (None, None)


def converted(context: Context, value: object, annotation: object) -> KernelObject:
    """A value cast to a scalar, vector, matrix or struct type; other annotations leave it as it is."""
    if isinstance(annotation, DType) or annotation in (int, float, bool, uint):
        if not (isinstance(value, Expr) or is_number(value)):
            name = annotation.name if isinstance(annotation, DType) else annotation.__name__
            context.fail(
                AdstackTypeError, f"a scalar ({name}) is needed here", note=f"got {describe(value)}", do="pass a number"
            )
        return emit(CAST, (value,), {"to": annotation})
    if hasattr(type(annotation), "cast") and isinstance(value, (Elements, list, tuple, Struct)):
        return convert(value, annotation)
    return value
