"""What plain Python functions read of objects while they are called at compile time, so that its change is noticed.

Such a call leaves no trace of what it read. So the attributes count that its code names, or the code of a function or
method that it names, and that its arguments store, or an object which these store under such a name.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from typing import Final

from ...values.kinds import KernelObject, PythonFunction
from ...values.protocol import own
from ..emission.context import Context
from .collections import capture

__all__ = ["capture_reads"]

_MOST: Final = 200
"""So many functions and objects are looked at for one call."""


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
    if function is getattr and len(args) > 1 and isinstance(args[1], str):
        capture(context, args[0], args[1], result)
        return
    owner = own(function, "__self__")
    objects = [one for one in (owner, *args) if _has_attributes(one)]
    if objects and _code(function) is not None:
        names = _names(function, objects)
        seen = list[object]()
        for one in objects:
            _capture_of(context, one, names, seen)


def _capture_of(context: Context, one: object, names: frozenset[str], seen: list[object]) -> None:
    if len(seen) == _MOST or any(one is other for other in seen):
        return
    seen.append(one)
    for name in sorted(names):
        if _is_stored(one, name):
            value = getattr(one, name, None)
            capture(context, one, name, value)
            if _has_attributes(value):
                _capture_of(context, value, names, seen)


def _names(function: PythonFunction, objects: Sequence[object]) -> frozenset[str]:
    """The names of attributes and globals in the code of a function, and of those that it names."""
    waiting: list[PythonFunction] = [function]
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


def _code(function: PythonFunction) -> types.CodeType | None:
    """The code of a plain function or method; None of anything else."""
    plain = own(function, "__func__", function)
    return plain.__code__ if isinstance(plain, types.FunctionType) else None


def _has_attributes(value: object) -> bool:
    """Whether it is an object that a program stores things in; numbers, texts, modules and classes are none."""
    if isinstance(value, (types.ModuleType, type, types.FunctionType, types.MethodType)):
        return False
    return hasattr(value, "__dict__") or hasattr(type(value), "__slots__")


def _is_stored(thing: object, name: str) -> bool:
    slot = getattr(type(thing), name, None)
    return name in getattr(thing, "__dict__", {}) or isinstance(slot, types.MemberDescriptorType)
