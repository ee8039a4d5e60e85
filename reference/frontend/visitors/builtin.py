"""Python's builtins in kernels: what each means for runtime values."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Final

from ...errors import AdstackSyntaxError, AdstackTypeError
from ...values import functions
from ...values.elements import Elements
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import is_number
from .domains import RuntimeRange
from .printing import print_

__all__ = ["TABLE"]


def _range(context: Context, *bounds: Any) -> Any:
    if not any(isinstance(b, Expr) for b in bounds) and not any(isinstance(b, float) for b in bounds):
        return range(*bounds)
    if len(bounds) == 3:
        context.fail(
            AdstackSyntaxError,
            "range with a step is not supported in a runtime loop",
            do="compute a + k * step in the loop",
        )
    lo, hi = bounds if len(bounds) == 2 else (0, bounds[0])
    return RuntimeRange(lo, hi)


def _cast(to: Any) -> Callable[..., Any]:
    def convert(context: Context, *args: Any) -> Any:
        (value,) = args or (0,)
        if isinstance(value, str) or (is_number(value) and context.static_depth):
            return to(value)
        return functions.cast(value, to)

    return convert


def _over_iterable(function: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """min and max also take one list."""

    def call(context: Context, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return original(*args, **kwargs)
        if len(args) == 1 and isinstance(args[0], (list, tuple, range)):
            args = tuple(args[0])
        if all(is_number(a) for a in args):
            return original(*args) if len(args) > 1 else args[0]
        return function(*args)

    return call


def _len(context: Context, value: Any) -> Any:
    if isinstance(value, Expr):
        raise AdstackTypeError("a scalar has no length")
    return len(value)


def _round(context: Context, value: Any, digits: Any = None) -> Any:
    if is_number(value):
        return round(value, digits)
    if digits is not None:
        raise AdstackTypeError("round of a runtime value takes one argument", do="scale the value yourself")
    return functions.round_(value)


def _pow(context: Context, base: Any, exponent: Any) -> Any:
    return functions.pow_(base, exponent)


def _abs(context: Context, value: Any) -> Any:
    return abs(value) if is_number(value) else functions.abs_(value)


def _any_all(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(context: Context, value: Any) -> Any:
        if isinstance(value, Elements):
            return getattr(value, name)()
        return original(value)

    return call


def _enumerate(context: Context, value: Any, start: int = 0) -> Any:
    return list(enumerate(value, start))


def _zip(context: Context, *values: Any, strict: bool = False) -> Any:
    return list(zip(*values, strict=strict))


def _refused(what: str) -> Callable[..., Any]:
    def call(context: Context, *args: Any, **kwargs: Any) -> Any:
        context.fail(AdstackSyntaxError, f"{what}() is not supported in kernels", do="call it around the kernel")

    return call


TABLE: Final[dict[Any, Callable[..., Any]]] = {
    builtins.range: _range,
    builtins.int: _cast(int),
    builtins.float: _cast(float),
    builtins.bool: _cast(bool),
    builtins.abs: _abs,
    builtins.min: _over_iterable(functions.min_, builtins.min),
    builtins.max: _over_iterable(functions.max_, builtins.max),
    builtins.round: _round,
    builtins.pow: _pow,
    builtins.len: _len,
    builtins.any: _any_all("any", builtins.any),
    builtins.all: _any_all("all", builtins.all),
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.print: print_,
    **{
        getattr(builtins, name): _refused(name)
        for name in ("open", "input", "eval", "exec", "compile", "globals", "locals")
    },
}
