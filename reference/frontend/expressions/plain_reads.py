"""What plain Python functions read of objects while they are called at compile time, so that its change is noticed.

Such a call leaves no trace of what it read. So the attributes count that its code names, or the code of a function or
method that it names, and that its arguments store, or an object which these store under such a name.
"""

from __future__ import annotations

import enum
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np

from ...values.elements import Elements
from ...values.kinds import KernelObject, PythonFunction
from ...values.protocol import own
from ..emission.arrays import ArrayArgument, is_field
from ..emission.context import Context
from ..emission.expr import Expr

__all__ = ["capture", "capture_protocols", "capture_reads", "look_at"]

_NUMBERS: Final = (bool, int, float)
_OF_CLASSES: Final = (*_NUMBERS, str, list, tuple, dict, set, frozenset, np.ndarray, Elements)
"""Of these types are attributes of classes that are compared; others, such as methods, are made at each access."""
_LIBRARIES: Final = sys.stdlib_module_names - {"__main__"} | {"adstack", "jax", "numpy", "torch"}
"""The modules whose classes keep what they are."""
_MOST: Final = 200
"""So many functions and objects are looked at for one call."""
_BINARY: Final = "add and divmod floordiv lshift matmul mod mul or pow rshift sub truediv xor"
_PROTOCOL: Final = tuple(
    f"__{name}__"
    for name in (
        *("call", "getitem", "len", "iter", "next", "contains", "reversed", "bool", "float", "int", "index", "getattr"),
        *("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "round", "hash"),
        *(side + name for side in ("", "r") for name in _BINARY.split()),
    )
)
"""The methods of a class that Python calls for operators, subscripts, calls, loops and conversions."""


def capture(context: Context, base: object, name: str, value: object, *, may_be_missing: bool = False) -> None:
    """Remember what was read from an object - numbers, and whatever it stores - so that its change is noticed."""
    if isinstance(base, (types.ModuleType, Elements, Expr, ArrayArgument)) or is_field(base):
        return
    if isinstance(base, type):
        is_kept = _is_of_program(base) and isinstance(value, _OF_CLASSES)
    else:
        is_kept = may_be_missing or isinstance(value, _NUMBERS) or name in getattr(base, "__dict__", {})
    if is_kept:
        context.captured.append((partial(getattr, base, name, None), value))


def capture_reads(
    context: Context, function: PythonFunction, args: Sequence[KernelObject], result: KernelObject
) -> None:
    """Note the attributes that a call has read, which is over: what it has written counts as it is now.

    Args:
        context: where it stands.
        function: what was called.
        args: with what.
        result: what it gave.
    """
    if (function is getattr or function is hasattr) and len(args) > 1 and isinstance(args[1], str):
        value = result if function is getattr else getattr(args[0], args[1], None)
        capture(context, args[0], args[1], value, may_be_missing=True)
        return
    owner = own(function, "__self__")
    objects = [one for one in (owner, *args) if _has_attributes(one)]
    if objects and _code(function) is not None:
        names, seen = _names([function], objects), list[object]()
        for one in objects:
            _capture_of(context, one, names, seen)


def look_at(context: Context, value: KernelObject) -> None:
    """Note an object whose class has methods for operators, subscripts, calls or loops."""
    kind = type(value)
    if kind not in context.protocols:
        context.protocols[kind] = _is_of_program(kind) and any(_code(getattr(kind, name, None)) for name in _PROTOCOL)
    if context.protocols[kind]:
        context.looked_at[id(value)] = value


def capture_protocols(context: Context) -> None:
    """Note the attributes that these methods read of the objects: the kernel is lowered, nobody calls them now."""
    for value in context.looked_at.values():
        _capture_of(context, value, frozenset(), [])


def _is_of_program(kind: type) -> bool:
    """Whether a class is the program's own, and no enumeration."""
    return str(kind.__module__).partition(".")[0] not in _LIBRARIES and not issubclass(kind, enum.Enum)


def _capture_of(context: Context, one: object, names: frozenset[str], seen: list[object]) -> None:
    """Capture the attributes with some names, and those that the methods read which Python or these names call."""
    if len(seen) == _MOST or any(one is other for other in seen):
        return
    seen.append(one)
    for item in _items(one):
        if _has_parts(item):
            _capture_of(context, item, names, seen)
    if _is_of_program(type(one)):
        methods = [method for name in (*_PROTOCOL, *names) for method in _methods(one, name)]
        names = names | _names([method for method in methods if _code(method) is not None], [one])
    for name in sorted(names):
        if _is_stored(one, name):
            value = getattr(one, name, None)
            capture(context, one, name, value)
            if _has_parts(value):
                _capture_of(context, value, names, seen)


def _names(functions: Sequence[PythonFunction], objects: Sequence[object]) -> frozenset[str]:
    """The names of attributes and globals in the code of functions, and of those that these name."""
    waiting = [*functions]
    names, seen = set[str](), set[types.CodeType]()
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        code = _code(one)
        if code is None or code in seen:
            continue
        seen.add(code)
        here = {name for part in _parts(code) for name in part.co_names}
        around = getattr(own(one, "__func__", one), "__globals__", {})
        for name in here - names:
            waiting += [around[name]] if name in around else []
            waiting += [method for thing in objects for method in _methods(thing, name)]
        names |= here
    return frozenset(names)


def _parts(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function, and of the functions and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _parts(constant)


def _methods(thing: object, name: str) -> Iterator[PythonFunction]:
    """The method or property of that name, if the class of an object has one."""
    method = getattr(type(thing), name, None)
    if method is not None:
        reader = method.fget if isinstance(method, property) else method
        if reader is not None:
            yield reader


def _code(function: object) -> types.CodeType | None:
    """The code of a plain function or method; None of anything else."""
    plain = own(function, "__func__", function)
    return plain.__code__ if isinstance(plain, types.FunctionType) else None


def _items(value: object) -> Iterable[object]:
    """What a list, a dict, or an array of objects holds."""
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else ()
    return value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()


def _has_parts(value: object) -> bool:
    return isinstance(value, (list, tuple, dict, np.ndarray)) or _has_attributes(value)


def _has_attributes(value: object) -> bool:
    """Whether it is an object that a program stores things in; numbers, texts, modules and classes are none."""
    if isinstance(value, (types.ModuleType, type, types.FunctionType, types.MethodType)):
        return False
    return hasattr(value, "__dict__") or hasattr(type(value), "__slots__")


def _is_stored(thing: object, name: str) -> bool:
    slot = getattr(type(thing), name, None)
    return name in getattr(thing, "__dict__", {}) or isinstance(slot, types.MemberDescriptorType)
