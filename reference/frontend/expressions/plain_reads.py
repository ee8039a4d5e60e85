"""What plain Python functions read of objects while they are called at compile time, so that its change is noticed.

Such a call leaves no trace of what it read. So the attributes count that its code names, or the code of a function or
method that it names, and that its arguments store, or an object which these store under such a name.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from ...values.kinds import KernelObject, PythonFunction
from ...values.names import variable_of
from ...values.protocol import own
from ..emission.context import Context
from .captures import capture, capture_name, is_class_of_program, is_of_program

__all__ = ["capture_protocols", "capture_reads", "look_at"]

_MOST: Final = 200
"""So many functions and objects are looked at for one call."""
_LOADS_GLOBAL: Final = ("LOAD_GLOBAL", "LOAD_NAME")
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
    if _code(function) is not None:
        reads, seen = _reads([function], objects), list[object]()
        for reader, name, value in reads.variables:
            capture_name(context, reader, name, value)
        for one in (*objects, *(value for _, _, value in reads.variables if _has_attributes(value))):
            _capture_of(context, one, reads.names, seen)


def look_at(context: Context, value: KernelObject) -> None:
    """Note an object whose class has methods for operators, subscripts, calls or loops."""
    kind = type(value)
    if kind not in context.protocols:
        context.protocols[kind] = is_class_of_program(kind) and any(
            _code(getattr(kind, name, None)) for name in _PROTOCOL
        )
    if context.protocols[kind]:
        context.looked_at[id(value)] = value


def capture_protocols(context: Context) -> None:
    """Note the attributes that these methods read of the objects: the kernel is lowered, nobody calls them now."""
    for value in context.looked_at.values():
        _capture_of(context, value, frozenset(), [])


def _capture_of(context: Context, one: object, names: frozenset[str], seen: list[object]) -> None:
    """Capture the attributes with some names, and those that the methods read which Python or these names call."""
    if len(seen) == _MOST or any(one is other for other in seen):
        return
    seen.append(one)
    for item in _items(one):
        if _has_parts(item):
            _capture_of(context, item, names, seen)
    if is_class_of_program(type(one)):
        methods = [method for name in (*_PROTOCOL, *names) for method in _methods(one, name)]
        reads = _reads([method for method in methods if _code(method) is not None], [one])
        for reader, name, value in reads.variables:
            capture_name(context, reader, name, value)
        names = names | reads.names
    for name in sorted(names):
        if _is_stored(one, name):
            value = getattr(one, name, None)
            capture(context, one, name, value)
            if _has_parts(value):
                _capture_of(context, value, names, seen)


class _Reads(NamedTuple):
    """What functions, and those that they name, read.

    Attributes:
        names: of attributes.
        variables: from outside of these functions: who reads them, their names and values.
    """

    names: frozenset[str]
    variables: tuple[tuple[PythonFunction, str, object], ...]


def _reads(functions: Sequence[PythonFunction], objects: Sequence[object]) -> _Reads:
    """What the code of functions names, and of those that these name: variables, and methods of objects."""
    waiting = [*functions]
    names, seen, variables = set[str](), set[types.CodeType](), list[tuple[PythonFunction, str, object]]()
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        code = _code(one)
        if code is None or code in seen:
            continue
        seen.add(code)
        around = [(one, name, value) for name in sorted(_outer(code)) for value in _value_of(one, name)]
        variables += around
        here = frozenset(name for part in _parts(code) for name in part.co_names)
        waiting += [value for _, _, value in around if isinstance(value, (types.FunctionType, types.MethodType))]
        waiting += [method for name in here - names for thing in objects for method in _methods(thing, name)]
        names |= here
    return _Reads(frozenset(names), tuple(variables))


@lru_cache(maxsize=4096)
def _outer(code: types.CodeType) -> frozenset[str]:
    """The names of the variables from outside that code reads."""
    names = {
        str(one.argval) for part in _parts(code) for one in dis.get_instructions(part) if one.opname in _LOADS_GLOBAL
    }
    return frozenset({*names, *code.co_freevars})


def _value_of(function: PythonFunction, name: str) -> Iterator[object]:
    """What such a variable is; nothing if it is a builtin, or has no value."""
    variable = variable_of(function, name)
    if variable is not None:
        holder, inner = variable
        if isinstance(holder, dict):
            yield holder[inner]
        elif holder != types.CellType():
            yield holder.cell_contents


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
    """The code of a plain function or method of the program's; None of anything else."""
    plain = own(function, "__func__", function)
    is_plain = isinstance(plain, types.FunctionType) and is_of_program(plain.__module__)
    return plain.__code__ if is_plain else None


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
