"""`"%d of %.3f" % (i, x)`: texts in C's format, with runtime values in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...errors import AdstackSyntaxError, AdstackTypeError
from ...values.elements import Elements
from ...values.kinds import KernelObject
from ..emission.context import Context
from ..emission.expr import Expr
from .foreign import guarded
from .printing import Text, is_runtime, parts_of_value, with_spec

__all__ = ["by_percent", "has_runtime"]

_CONVERSION: Final = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<digits>\.\d+)?(?P<kind>.)"
)
_WHOLE: Final = "diuxXo"
_REAL: Final = "eEfFgG"
_WRITE: Final = "write %d, %5.2f, %e, %x or %s, or an f-string"


def has_runtime(values: object) -> bool:
    """Whether one of the values on the right of `%` is known only when the kernel runs."""
    items = values.values() if isinstance(values, dict) else values if isinstance(values, tuple) else (values,)
    return any(is_runtime(item) for item in items)


def by_percent(context: Context, template: str, values: KernelObject) -> Text:
    """The text that C's format makes of the values: one, a tuple of them, or a dict."""
    positional = iter(values if isinstance(values, tuple) else (values,))
    parts: list[KernelObject] = []
    at = taken = 0
    for match in _CONVERSION.finditer(template):
        parts.append(template[at : match.start()])
        at = match.end()
        if match["kind"] == "%":
            parts.append("%")
            continue
        taken += match["key"] is None
        parts += _converted(context, match, _value(context, match["key"], values, positional))
    if isinstance(values, tuple) and taken != len(values):
        context.fail(AdstackTypeError, f"the format takes {taken} values, got {len(values)}", do=_WRITE)
    return Text([*parts, template[at:]])


def _value(context: Context, key: str | None, values: KernelObject, positional: Iterator[KernelObject]) -> KernelObject:
    if key is not None:
        return guarded(context, lambda: values[key])
    missing = object()
    value = next(positional, missing)
    if value is missing:
        context.fail(AdstackTypeError, "the format takes more values than there are", do=_WRITE)
    return value


def _converted(context: Context, match: re.Match[str], value: KernelObject) -> list[KernelObject]:
    """One value as its conversion writes it."""
    kind = match["kind"]
    if not is_runtime(value):
        template = f"%{match['flags']}{match['width']}{match['digits'] or ''}{kind}"
        return [guarded(context, lambda: template % (value,))]
    if kind in "sr":
        spec = f"{'<' if '-' in match['flags'] else '>'}{match['width']}" if match["width"] else ""
    elif kind in _WHOLE or kind in _REAL:
        _check_kind(context, kind, value)
        spec = _numeric(match, "d" if kind in "iu" else kind)
    else:
        context.fail(AdstackSyntaxError, f"'%{kind}' is no format of a runtime value", do=_WRITE)
    return with_spec(context, value, spec) if spec else parts_of_value(value)


def _check_kind(context: Context, kind: str, value: KernelObject) -> None:
    """A whole number's format is given whole numbers."""
    items = value.entries if isinstance(value, Elements) else [value]
    if kind in _WHOLE and any(isinstance(item, Expr) and item.dtype.is_float for item in items):
        do = "write %.0f, or int(...) around the value"
        context.fail(AdstackTypeError, f"'%{kind}' writes an integer, and this is a float", do=do)


def _numeric(match: re.Match[str], kind: str) -> str:
    """A conversion of numbers as a format specification of Python."""
    flags = match["flags"]
    side = "<" if "-" in flags and match["width"] else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    alternate = "#" if "#" in flags else ""
    zeros = "0" if "0" in flags and not side else ""
    return f"{side}{sign}{alternate}{zeros}{match['width']}{(match['digits'] or '') if kind in _REAL else ''}{kind}"
