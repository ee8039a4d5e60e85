"""Python's builtins in kernels: what each means for runtime values."""

from __future__ import annotations

import builtins
from typing import Final

import numpy as np

from ...errors import AdstackSyntaxError, AdstackTypeError
from ...ir.types import DType, from_numpy
from ...values import functions
from ...values.elements import Elements
from ...values.kinds import KernelObject, PythonFunction, TypeLike
from ...values.matrices.matrix import Matrix
from ...values.protocol import emitting
from ..emission.arrays import ArrayArgument, is_field
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import is_number
from ..expressions.lints import warn_here
from ..expressions.lists import references_in
from ..expressions.printing import format_of, print_, repr_of, text_of
from .blocks import TABLE as OF_BLOCKS
from .domains import RuntimeRange
from .sparse import TABLE as OF_SPARSE_LEVELS

__all__ = ["TABLE"]


def _range(context: Context, *bounds: KernelObject) -> KernelObject:
    if not 1 <= len(bounds) <= 3:
        do = "write range(end), range(begin, end) or range(begin, end, step)"
        raise AdstackTypeError(f"range() takes 1 to 3 numbers, got {len(bounds)}", do=do)
    if not any(isinstance(b, Expr) for b in bounds) and not any(isinstance(b, float) for b in bounds):
        return range(*bounds)
    return RuntimeRange(*bounds) if len(bounds) > 1 else RuntimeRange(0, bounds[0])


def _cast(to: TypeLike) -> PythonFunction:
    def convert(context: Context, *args: KernelObject) -> KernelObject:
        (value,) = args or (0,)
        if isinstance(value, str) or (is_number(value) and context.static_depth):
            return to(value)
        return functions.cast(value, to)

    return convert


def _over_iterable(function: PythonFunction, original: PythonFunction) -> PythonFunction:
    """min and max also take one list or vector; of constants they are what they are of values known at run time."""

    def call(context: Context, *args: KernelObject, **kwargs: object) -> KernelObject:
        if kwargs:
            return original(*args, **kwargs)
        if len(args) == 1 and isinstance(args[0], Elements) and len(args[0].shape) == 1:
            args = tuple(args[0].entries)
        if len(args) == 1 and isinstance(args[0], (list, tuple, range)):
            args = tuple(args[0])
        if all(is_number(a) for a in args) and context.static_depth == 0:
            with emitting(None):
                chosen = function(*args) if len(args) > 1 else args[0]
            return float(chosen) if any(map(_is_float, args)) else chosen
        if all(is_number(a) for a in args):
            return original(*args) if len(args) > 1 else args[0]
        return function(*args)

    return call


def _is_float(number: object) -> bool:
    return isinstance(number, (float, np.floating))


def _len(context: Context, value: KernelObject) -> KernelObject:
    if isinstance(value, Expr):
        raise AdstackTypeError("a scalar has no length", do="ask a vector, a list or an array: len(v), x.shape[0]")
    if is_field(value) or isinstance(value, ArrayArgument):
        return value.shape[0]  # of an array a runtime value
    return len(value)


def _round(context: Context, value: KernelObject, digits: KernelObject = None) -> KernelObject:
    if digits is not None and is_number(value):
        return round(value, digits)
    if isinstance(value, int):
        return value
    if digits is not None:
        raise AdstackTypeError("round of a runtime value takes one argument", do="scale the value yourself")
    return functions.round_(value)


def _pow(context: Context, base: object, exponent: object, modulus: object = None) -> KernelObject:
    if modulus is not None and all(map(is_number, (base, exponent, modulus))):
        return pow(base, exponent, modulus)  # type: ignore[call-overload]
    if modulus is not None:
        raise AdstackTypeError("pow() of a kernel takes no modulus", do="write a loop that multiplies and takes %")
    return functions.pow_(base, exponent)


def _divmod(context: Context, a: KernelObject, b: KernelObject) -> KernelObject:
    return a // b, a % b


def _abs(context: Context, value: KernelObject) -> KernelObject:
    return abs(value) if is_number(value) else functions.abs_(value)


def _any_all(name: str, original: PythonFunction) -> PythonFunction:
    def call(context: Context, value: KernelObject) -> KernelObject:
        if isinstance(value, Elements):
            return getattr(value, name)()
        items = list(value)
        if any(isinstance(item, Expr) for item in items):
            return getattr(Elements.over(items, (len(items),)), name)()
        return original(items)

    return call


def _enumerate(context: Context, value: KernelObject, start: int = 0) -> KernelObject:
    return list(enumerate(references_in(value), start))


def _zip(context: Context, *values: object, strict: bool = False) -> KernelObject:
    return list(zip(*map(references_in, values), strict=strict))


def _array(original: PythonFunction) -> PythonFunction:
    """`np.array` makes a vector or matrix, which can be indexed by runtime values; inside `static` it is numpy's."""

    def call(context: Context, value: KernelObject, dtype: KernelObject = None) -> KernelObject:
        if context.static_depth:
            return original(value, dtype)
        if not isinstance(value, (list, tuple, np.ndarray, Elements)):
            raise AdstackTypeError("np.array takes a list of numbers here", note=f"got {type(value).__name__}")
        return Matrix(value, None if dtype is None else _type_of(dtype))

    return call


def _type_of(dtype: KernelObject) -> KernelObject:
    """A numpy type as one of the language."""
    return dtype if isinstance(dtype, DType) or dtype in (int, float, bool) else from_numpy(np.dtype(dtype))


def _reversed(context: Context, value: KernelObject) -> KernelObject:
    if isinstance(value, RuntimeRange):
        raise AdstackTypeError("a range of runtime bounds can't be reversed", do="write range(n - 1, -1, -1)")
    return value[::-1] if isinstance(value, range) else list(reversed(value))


def _sorted(context: Context, value: KernelObject, **kwargs: object) -> KernelObject:
    items = list(value)
    if any(isinstance(item, Expr) for item in items):
        do = "put two numbers in order with qd.min and qd.max, or sort on the host: np.sort(x.to_numpy())"
        raise AdstackTypeError("sorted() takes what is known while compiling", do=do)
    return sorted(items, **kwargs)  # type: ignore[call-overload]


def _refused(what: str) -> PythonFunction:
    def call(context: Context, *args: object, **kwargs: object) -> KernelObject:
        context.fail(AdstackSyntaxError, f"{what}() is not supported in kernels", do="call it around the kernel")

    return call


def _outside_static(function: PythonFunction) -> PythonFunction:
    """A builtin that shows or changes what exists while compiling only: refused, but inside of `static`."""
    refuse = _refused(function.__name__)

    def call(context: Context, *args: object, **kwargs: object) -> KernelObject:
        return function(*args, **kwargs) if context.static_depth else refuse(context, *args, **kwargs)

    return call


def _isinstance(context: Context, value: KernelObject, kinds: KernelObject) -> KernelObject:
    """`isinstance(value, kinds)`, decided while compiling: a value known at run time is no number of Python."""
    asked = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, Expr) and not context.static_depth and any(kind in (int, float, bool) for kind in asked):
        message = f"isinstance() of a value that is known at run time ({value.dtype}) is False for Python's numbers"
        warn_here(context, message, "ask its type: qd.types.is_real(x.dtype), qd.types.is_integral(x.dtype)")
    return isinstance(value, kinds)


def _type(context: Context, *args: KernelObject) -> KernelObject:
    """`type(value)`, which of a value known at run time is a class of the compiler's."""
    if len(args) == 1 and isinstance(args[0], Expr) and not context.static_depth:
        message = f"type() of a value that is known at run time ({args[0].dtype}) is none of Python's types"
        warn_here(context, message, "ask its type: x.dtype == qd.f32")
    return type(*args)


def _super(context: Context, *args: KernelObject) -> KernelObject:
    """`super()` in a method is `super(the class whose body it stands in, its first argument)`, as in Python."""
    if args:
        return super(*args)
    code = context.frame.function.__code__
    binding = context.scopes.find(code.co_varnames[0]) if code.co_argcount else None
    if binding is None or "__class__" not in context.scopes.outer:
        context.fail(AdstackTypeError, "super() is known in methods of classes alone")
    return super(context.scopes.outer["__class__"], binding.value)


TABLE: Final[dict[KernelObject, PythonFunction]] = {
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
    builtins.reversed: _reversed,
    builtins.sorted: _sorted,
    builtins.print: print_,
    builtins.super: _super,
    builtins.str: text_of,
    builtins.repr: repr_of,
    builtins.format: format_of,
    builtins.divmod: _divmod,
    builtins.isinstance: _isinstance,
    builtins.type: _type,
    np.array: _array(np.array),
    np.asarray: _array(np.asarray),
    **OF_SPARSE_LEVELS,
    **OF_BLOCKS,
    **{
        getattr(builtins, name): _refused(name)
        for name in ("open", "input", "eval", "exec", "compile", "globals", "locals", "dir", "vars", "breakpoint")
    },
    **{function: _outside_static(function) for function in (id, next, setattr, delattr)},
}
