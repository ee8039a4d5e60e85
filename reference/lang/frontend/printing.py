"""print, f-strings, and messages of assert."""

from __future__ import annotations

import ast
from typing import Any

from ...errors import AdstackSyntaxError, AdstackTypeError
from ...ir.structure import Value
from ..matrices.base import Elements
from ..struct import Struct
from .context import Context
from .dispatch import evaluate, expression
from .expr import Expr
from .promotion import plain

__all__ = ["Text", "message_of", "print_"]


class Text:
    """A string with runtime values in it: parts are text or scalars."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts


def _parts(value: Any) -> list[Any]:
    """The text and scalars that `value` is printed as."""
    if isinstance(value, Text):
        return value.parts
    if isinstance(value, Expr):
        return [value]
    if isinstance(value, Elements):
        return _listed(value.to_list())
    if isinstance(value, Struct):
        return _named(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, (Expr, Elements)) for v in value):
        return _listed(list(value))
    return [str(plain(value))]


def _listed(items: list[Any]) -> list[Any]:
    parts: list[Any] = ["["]
    for k, item in enumerate(items):
        parts += [", "] if k else []
        parts += _listed(item) if isinstance(item, list) else _parts(item)
    return [*parts, "]"]


def _named(value: Struct) -> list[Any]:
    parts: list[Any] = ["{"]
    for name, member in value.items():
        parts += [", "] if len(parts) > 1 else []
        parts += [f"'{name}': ", *_parts(member)]
    return [*parts, "}"]


def _merged(parts: list[Any]) -> tuple[list[str | None], list[Value]]:
    """Neighbouring text joined; None where a value stands."""
    shape: list[str | None] = []
    values: list[Value] = []
    for part in parts:
        if isinstance(part, Expr):
            shape.append(None)
            values.append(part.value)
        elif shape and shape[-1] is not None:
            shape[-1] += part
        else:
            shape.append(part)
    return shape, values


def print_(context: Context, *args: Any, sep: Any = " ", end: Any = "\n") -> None:
    """`print` in a kernel."""
    parts: list[Any] = []
    for k, arg in enumerate(args):
        parts += [str(sep)] if k and sep != "" else []
        parts += _parts(arg)
    shape, values = _merged([*parts, str(end)])
    context.builder.print_(shape, *values)


@expression(ast.JoinedStr)
def _fstring(context: Context, node: ast.JoinedStr) -> Any:
    parts: list[Any] = []
    for value in node.values:
        parts += _parts(evaluate(context, value))
    return Text(parts) if any(isinstance(p, Expr) for p in parts) else "".join(parts)


@expression(ast.FormattedValue)
def _formatted(context: Context, node: ast.FormattedValue) -> Any:
    value = plain(evaluate(context, node.value))
    runtime = isinstance(value, (Expr, Elements, Text))
    if node.format_spec is None:
        return repr(value) if node.conversion == ord("r") and not runtime else value
    if runtime:
        context.fail(AdstackSyntaxError, "format specifications of runtime values are not supported", do="write {x}")
    return format(value, evaluate(context, node.format_spec))


def message_of(context: Context, node: ast.Assert) -> tuple[str, list[Value]]:
    """The message of an assert with `{}` where its values stand; by default the condition's source."""
    if node.msg is None:
        return _escaped(ast.unparse(node.test)), []
    message = evaluate(context, node.msg)
    if not isinstance(message, (str, Text)):
        context.fail(AdstackTypeError, "the message of an assert must be text", at=node.msg, do="write an f-string")
    shape, values = _merged(_parts(message))
    return "".join("{}" if part is None else _escaped(part) for part in shape), values


def _escaped(text: str) -> str:
    """Text that holds no place for a value."""
    return text.replace("{}", "{ }")
