"""print, f-strings, and messages of assert."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Final, NoReturn

from ...data.hostarrays import HostArray
from ...data.struct_fields import StructField
from ...errors import AdstackSyntaxError, AdstackTypeError, AdstackValueError
from ...ir.structure import Value
from ...ir.texts import Format, Part, as_message, escaped
from ...values.elements import Elements
from ...values.kinds import KernelObject
from ...values.matrices.struct import Struct, members_of
from ..emission.arrays import ArrayArgument, is_field
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import plain
from .dispatch import evaluate, expression
from .foreign import guarded

__all__ = [
    "Text",
    "format_of",
    "formatted",
    "is_runtime",
    "message_of",
    "parts_of_value",
    "print_",
    "repr_of",
    "text_of",
    "with_spec",
]


_CONSTANT: Final = "write the width and the number of digits as constants"
_FORMATS: Final = "write one that Python takes for such a number, as {i:5d} or {x:.3f}"


class Text:
    """A string with runtime values in it: parts are text, scalars or formatted scalars."""

    def __init__(self, parts: list[KernelObject]) -> None:
        self.parts = parts

    def __add__(self, other: object) -> KernelObject:
        return Text([*self.parts, *parts_of_value(other)]) if isinstance(other, (str, Text)) else NotImplemented

    def __radd__(self, other: object) -> KernelObject:
        return Text([other, *self.parts]) if isinstance(other, str) else NotImplemented

    def _not_static(self, *_: object) -> NoReturn:
        raise AdstackTypeError(
            "a text with values of the kernel in it can only be added to another one, printed, or told by assert",
            do="compare or compute with the values themselves",
        )

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(str, name):
            self._not_static()
        raise AttributeError(name)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _not_static
    __hash__ = __len__ = __iter__ = __getitem__ = __contains__ = __bool__ = __mul__ = __rmul__ = _not_static


@dataclass(frozen=True)
class _Formatted:
    """A scalar that is written in a given format."""

    expr: Expr
    how: Format


def parts_of_value(value: object) -> list[KernelObject]:
    """The text and scalars that `value` is printed as."""
    if isinstance(value, Text):
        return value.parts
    if isinstance(value, (Expr, _Formatted)):
        return [value]
    if isinstance(value, Elements):
        return _listed(value.to_list())
    if isinstance(value, Struct):
        return _named(value)
    _check_no_array(value)
    if isinstance(value, (list, tuple, dict)) and is_runtime(value):
        return _entries(value) if isinstance(value, dict) else _listed(list(value))
    return [str(plain(value))]


def _is_array(value: object) -> bool:
    return is_field(value) or isinstance(value, (ArrayArgument, HostArray, StructField))


def _check_no_array(value: object) -> None:
    """An array that is printed as a whole would be so as it is while compiling."""
    if _is_array(value):
        name = getattr(value, "label", "") or "this"
        raise AdstackTypeError(
            f"{name} is a whole array, whose numbers are known only when the kernel runs",
            do="print its elements, x[i], in a loop, or the array outside of the kernel",
        )


def _listed(items: list[KernelObject]) -> list[KernelObject]:
    parts: list[KernelObject] = ["["]
    for k, item in enumerate(items):
        parts += [", "] if k else []
        parts += _listed(item) if isinstance(item, list) else parts_of_value(item)
    return [*parts, "]"]


def _named(value: Struct) -> list[KernelObject]:
    return _entries(members_of(value))


def _entries(value: Mapping[KernelObject, KernelObject]) -> list[KernelObject]:
    parts: list[KernelObject] = ["{"]
    for key, entry in value.items():
        parts += [", "] if len(parts) > 1 else []
        parts += [f"{key!r}: ", *parts_of_value(entry)]
    return [*parts, "}"]


def _merged(parts: list[KernelObject]) -> tuple[list[Part], list[Value]]:
    """Neighbouring text joined; None or a format where a value stands."""
    shape: list[Part] = []
    values: list[Value] = []
    for part in parts:
        if isinstance(part, (Expr, _Formatted)):
            shape.append(part.how if isinstance(part, _Formatted) else None)
            values.append(part.expr.value if isinstance(part, _Formatted) else part.value)
        elif shape and isinstance(shape[-1], str):
            shape[-1] += part
        else:
            shape.append(part)
    return shape, values


def print_(context: Context, *args: object, sep: object = " ", end: object = "\n", **others: object) -> None:
    """`print` in a kernel."""
    if others:
        message = f"print() in a kernel has no argument {next(iter(others))!r}: it takes sep and end"
        context.fail(AdstackTypeError, message, do="leave it out: what kernels print goes to standard output")
    parts: list[KernelObject] = []
    for k, arg in enumerate(args):
        parts += [str(sep)] if k and sep != "" else []
        parts += parts_of_value(arg)
    shape, values = _merged([*parts, str(end)])
    _check_characters(context, shape)
    context.builder.print_(shape, *values)


def _check_characters(context: Context, parts: list[Part]) -> None:
    """An error if a text can't be written: half of a surrogate pair is no character."""
    for part in parts:
        if isinstance(part, str) and not part.isascii() and any("\ud800" <= c <= "\udfff" for c in part):
            context.fail(
                AdstackValueError,
                f"{part!a} has half of a surrogate pair, which is no character",
                do="write the character itself, or \\U and its eight hexadecimal digits",
            )


@expression(ast.JoinedStr)
def _fstring(context: Context, node: ast.JoinedStr) -> KernelObject:
    parts: list[KernelObject] = []
    for value in node.values:
        parts += parts_of_value(evaluate(context, value))
    return "".join(parts) if all(isinstance(p, str) for p in parts) else Text(parts)


@expression(ast.FormattedValue)
def _formatted(context: Context, node: ast.FormattedValue) -> KernelObject:
    value = plain(evaluate(context, node.value))
    runtime = isinstance(value, (Expr, Elements, Text))
    if node.format_spec is None:
        return repr(value) if node.conversion == ord("r") and not runtime else value
    spec = evaluate(context, node.format_spec)
    if not runtime:
        _check_no_array(value)
        return guarded(context, lambda: format(value, spec), do=_FORMATS)
    if not isinstance(spec, str):
        context.fail(AdstackTypeError, "a format that depends on runtime values can't be compiled", do=_CONSTANT)
    if not spec:
        return value
    if isinstance(value, Text):
        context.fail(AdstackTypeError, "text with runtime values in it can't be formatted again", do=_CONSTANT)
    return Text(with_spec(context, value, spec))


def _with_format(context: Context, value: object, spec: str) -> KernelObject:
    """A number, or nested lists of numbers, with the format in which each is written."""
    if isinstance(value, list):
        return [_with_format(context, item, spec) for item in value]
    if not isinstance(value, Expr):
        return guarded(context, lambda: format(plain(value), spec), do=_FORMATS)
    dtype = value.value.dtype
    sample: KernelObject = True if dtype.is_bool else 1.0 if dtype.is_float else 1
    try:
        format(sample, spec)
    except ValueError as error:
        context.fail(AdstackSyntaxError, f"{spec!r} is no format of {dtype}: {error}", do=_FORMATS)
    if spec.endswith("c"):  # not every integer is a character
        context.fail(AdstackSyntaxError, f"{spec!r} is no format of {dtype}: characters can't be printed", do=_FORMATS)
    return _Formatted(value, Format(spec))


def is_runtime(value: object) -> bool:
    """Whether the text of a value, or of one of its parts, is known only when the kernel runs."""
    if isinstance(value, (list, tuple, dict)):
        return any(map(is_runtime, value.values() if isinstance(value, dict) else value))
    return isinstance(value, (Expr, Elements, Struct, Text)) or _is_array(value)


def text_of(context: Context, value: KernelObject = "") -> KernelObject:
    """`str(value)`."""
    return Text(parts_of_value(value)) if is_runtime(value) else str(value)


def repr_of(context: Context, value: KernelObject) -> KernelObject:
    """`repr(value)`, which of a runtime number is what it is printed as."""
    return text_of(context, value) if is_runtime(value) else repr(value)


def format_of(context: Context, value: KernelObject, spec: str = "") -> KernelObject:
    """`format(value, spec)`."""
    return Text(with_spec(context, value, spec)) if is_runtime(value) else format(value, spec)


def formatted(context: Context, template: str, args: Sequence[KernelObject], kwargs: dict[str, KernelObject]) -> Text:
    """`template.format(...)` of runtime values."""
    parts: list[KernelObject] = []
    fields = guarded(context, lambda: list(Formatter().parse(template)))
    for number, (text, name, spec, _) in enumerate(fields):
        parts.append(text)
        if name is None:
            continue
        key = name or str(sum(1 for earlier in fields[:number] if earlier[1] == ""))
        value = guarded(context, lambda key=key: args[int(key)] if key.isdecimal() else kwargs[key])  # type: ignore[misc]
        parts += with_spec(context, value, spec) if spec or isinstance(value, str) else parts_of_value(value)
    return Text(parts)


def with_spec(context: Context, value: KernelObject, spec: str | None) -> list[KernelObject]:
    """What a value, each component of a vector or matrix, is written as in a format of Python's."""
    if isinstance(value, str):
        return [format(value, spec or "")]
    items = _with_format(context, value.to_list() if isinstance(value, Elements) else value, spec or "")
    return _listed(items) if isinstance(items, list) else [items]


def message_of(context: Context, node: ast.Assert) -> tuple[str, list[Value]]:
    """The message of an assert with `{}` where its values stand; by default the condition's source."""
    if node.msg is None:
        return escaped(ast.unparse(node.test)), []
    message = evaluate(context, node.msg)
    if not isinstance(message, (str, Text)):
        context.fail(AdstackTypeError, "the message of an assert must be text", at=node.msg, do="write an f-string")
    shape, values = _merged(parts_of_value(message))
    _check_characters(context, shape)
    return as_message(shape), values
