"""Calls that act once, while a kernel is compiled, where its text reads as if they acted whenever it runs: refused."""

from __future__ import annotations

import datetime
import random
from collections import deque
from collections.abc import Iterator
from types import BuiltinFunctionType
from typing import Final

import numpy as np

from ...errors import AdstackTypeError
from ...ir.types import from_numpy
from ...values import functions
from ...values.elements import Elements
from ...values.kinds import KernelObject, PythonFunction
from ...values.protocol import own
from ..emission.arrays import ArrayArgument, is_field
from ..emission.context import Context
from ..emission.expr import Expr

__all__ = ["refuse_iterator", "refuse_once"]

_RANDOM: Final = (random.Random, np.random.RandomState, np.random.Generator)
_CHANGING: Final = frozenset(
    {"append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"}
    | {"add", "appendleft", "difference_update", "discard", "extendleft", "intersection_update", "popleft", "rotate"}
)
_CHANGING_ARRAYS: Final = frozenset({"fill", "itemset", "partition", "put", "resize", "setfield", "sort"})
_MAKING: Final = frozenset({"field", "ndarray", "tensor"})
_OVER: Final = (sum, min, max, sorted, list, tuple, enumerate, zip, reversed, any, all, map, filter)
_CLOCKS: Final = (datetime.datetime, datetime.date)
_EVER_NEW: Final = frozenset({"time", "secrets", "uuid", "posix"})


def refuse_once(context: Context, function: PythonFunction, args: list[KernelObject], home: object) -> None:
    """An error for a call of `function` that would be misunderstood.

    Args:
        context: where it stands.
        function: what is called.
        args: with what.
        home: the region in which the object of a method got its name; None if it is from outside of the kernel.
    """
    owner, name = own(function, "__self__"), own(function, "__name__", "")
    module = str(getattr(function, "__module__", None) or getattr(owner, "__name__", ""))
    if home is None and _changes_container(owner, name):
        _refuse(
            context,
            f"{name}() of a {type(owner).__name__} from outside of the kernel",
            "call it outside of the kernel; keep numbers that kernels change in a field or an ndarray",
        )
    elif isinstance(owner, (list, dict)) and name in _CHANGING:
        _check_changed(context, "dict" if isinstance(owner, dict) else "list", name, home)
    elif isinstance(owner, _RANDOM):
        _refuse(context, f"{name}() of Python or numpy", "write qd.random(), qd.random(qd.i32) or qd.randn()")
    elif module in _EVER_NEW or (name in ("now", "utcnow", "today") and owner in _CLOCKS):
        _refuse(context, f"{name}()", "call it outside of the kernel and pass the number as an argument")
    elif name in _MAKING and module.startswith("adstack."):
        message = f"{name}() would make memory while compiling, which a kernel can't"
        context.fail(AdstackTypeError, message, do="make it outside of the kernel; a local array is a qd.Vector")
    elif function in _OVER and any(is_field(a) or isinstance(a, ArrayArgument) for a in args):
        message = f"{name}() does not run over the elements of an array in a kernel"
        context.fail(AdstackTypeError, message, do="write a loop over its indices: for i in x: ... x[i] ...")
    elif _is_math(function, module) and any(isinstance(a, (Expr, Elements)) for a in args):
        _suggest(context, name)
    elif isinstance(function, type) and issubclass(function, np.generic) and any(isinstance(a, Expr) for a in args):
        message = f"numpy's {name} takes numbers that are known while compiling"
        context.fail(AdstackTypeError, message, do=f"write qd.{from_numpy(np.dtype(function))}(...)")


def refuse_iterator(context: Context, name: str, value: object) -> None:
    """An error for an iterator from outside of the kernel: compiling would use it up, and find nothing later."""
    if isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools"):
        context.fail(
            AdstackTypeError,
            f"'{name}' is an iterator ({type(value).__name__}), which compiling would use up",
            note="the kernel is compiled again where what it reads has changed",
            do=f"make a list of it before, {name} = [*{name}]",
        )


def _changes_container(owner: object, name: str) -> bool:
    """Whether the method `name` changes the container that it belongs to."""
    if isinstance(owner, np.ndarray):
        return name in _CHANGING_ARRAYS
    return isinstance(owner, (list, dict, set, deque, bytearray)) and name in _CHANGING


def _is_math(function: PythonFunction, module: str) -> bool:
    return isinstance(function, np.ufunc) or (module == "math" and isinstance(function, BuiltinFunctionType))


def _refuse(context: Context, what: str, do: str) -> None:
    if not context.static_depth:
        context.fail(
            AdstackTypeError, f"{what} would be called once, while compiling, not whenever the kernel runs", do=do
        )


def _check_changed(context: Context, kind: str, name: str, home: object) -> None:
    here = context.builder.region
    if here is not home and here is not context.body:
        context.fail(
            AdstackTypeError,
            f"a {kind} exists while compiling only: {name}() would act once, not whenever control comes here",
            note="it was made outside of the loop or branch around this call",
            do="keep numbers in a field, or in a vector: v = qd.Vector([0, 0]), v[i] = x; or make the loop static",
        )


def _suggest(context: Context, name: str) -> None:
    short = {"arcsin": "asin", "arccos": "acos", "arctan2": "atan2", "absolute": "abs", "power": "pow"}.get(name, name)
    do = f"use the language's own: qd.{short}(...)" if hasattr(functions, short) else "use the language's functions"
    context.fail(AdstackTypeError, f"arguments of {name}() of Python or numpy must be compile-time constants", do=do)
