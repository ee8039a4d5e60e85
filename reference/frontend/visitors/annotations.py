"""Annotations of funcs, returns and locals: what they evaluate to, and values converted to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import AdstackSyntaxError, AdstackTypeError
from ...ir.types import DType
from ...values.elements import Elements
from ...values.matrices.struct import Struct
from ...values.matrices.types import convert
from ...values.scalars import uint
from ...values.templates import Template, template
from ..emission.context import Context
from ..emission.expr import Expr, emit
from ..emission.literals import describe, is_number
from ..syntax.scope import outer_names

__all__ = ["annotations_of", "converted", "is_template"]

_OPEN = (None, Any)


def annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function; text (postponed evaluation) is evaluated where the function was defined."""
    found = dict(getattr(function, "__annotations__", {}))
    texts = {name: text for name, text in found.items() if isinstance(text, str)}
    if texts:
        names = outer_names(function)
        found.update({name: _evaluated(name, text, names) for name, text in texts.items()})
    return found


def _evaluated(name: str, text: str, names: dict[str, Any]) -> Any:
    try:
        return eval(text, names)  # the user's own annotation, postponed
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        raise AdstackSyntaxError(f"the annotation {text!r} of {name} can't be evaluated: {error}") from error


def is_template(annotation: Any) -> bool:
    """Whether a parameter is passed by reference."""
    return annotation is template or annotation is Template or isinstance(annotation, Template)


def converted(context: Context, value: Any, annotation: Any) -> Any:
    """A value cast to a scalar, vector, matrix or struct type; other annotations leave it as it is."""
    if isinstance(annotation, DType) or annotation in (int, float, bool, uint):
        if not (isinstance(value, Expr) or is_number(value)):
            name = annotation.name if isinstance(annotation, DType) else annotation.__name__
            context.fail(AdstackTypeError, f"a scalar ({name}) is needed here", note=f"got {describe(value)}")
        return emit("cast", (value,), {"to": annotation})
    if hasattr(annotation, "cast") and isinstance(value, (Elements, list, tuple, Struct)):
        return convert(value, annotation)
    return value
