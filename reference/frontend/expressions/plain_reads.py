"""What plain Python functions read of objects while they are called at compile time, so that its change is noticed.

Such a call leaves no trace of what it read. So the variables count that its code names, or the code of a function or
method that it names, and the attributes that are named there, of whatever can be reached by these names: arguments, and
what variables, attributes and containers hold.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from inspect import getattr_static
from typing import Final

import numpy as np

from ...values.kinds import KernelObject, PythonFunction
from ...values.names import MISSING, variable_of
from ...values.protocol import own
from ..emission.context import Context
from .captures import capture, capture_defaults, capture_name, is_class_of_program, is_of_program

__all__ = ["capture_protocols", "capture_reads", "look_at"]

_BY_TEXT: Final = {"getattr", "hasattr", "vars", "globals", "attrgetter", "__dict__"}
"""Where code names one of these, the texts in it may be names, too."""
_FUNCTIONS: Final = (types.FunctionType, types.MethodType)
_METHODS: Final = (types.FunctionType, property, classmethod, staticmethod)
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
    """Note what a call has read, which is over: what it has written counts as it is now.

    Args:
        context: where it stands.
        function: what was called.
        args: with what.
        result: what it gave.
    """
    if (function is getattr or function is hasattr) and len(args) > 1 and isinstance(args[1], str):
        value = result if function is getattr else getattr(args[0], args[1], MISSING)
        capture(context, args[0], args[1], value, may_be_missing=True)
        return
    _Reads(context, [function, own(function, "__self__"), *args]).capture()


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
    """Note what these methods read of the objects: the kernel is lowered, nobody calls them now."""
    for value in context.looked_at.values():
        _Reads(context, [value]).capture()


class _Reads:
    """What functions may read: all that their code names, of all that can be reached so.

    Args:
        context: where the call stands.
        roots: functions, and the objects that they are given.
    """

    def __init__(self, context: Context, roots: Sequence[object]) -> None:
        self._context = context
        self._names = set[str]()
        self._functions: dict[int, PythonFunction] = {}
        self._things: dict[int, object] = {}
        self._looked_for: dict[int, set[str]] = {}
        for root in roots:
            self._reach(root)

    def capture(self) -> None:
        """Note all of it, as it is now."""
        if not self._functions:
            return
        ahead = True
        while ahead:
            ahead = False
            for key, thing in list(self._things.items()):
                seen = self._looked_for.setdefault(key, set())
                for name in sorted(self._names - seen):
                    ahead = True
                    seen.add(name)
                    self._look_for(thing, name)

    def _reach(self, value: object) -> None:
        """Something may be called, or asked for its attributes or items."""
        if isinstance(value, partial):
            for part in (value.func, *value.args, *value.keywords.values()):
                self._reach(part)
        elif isinstance(value, _FUNCTIONS):
            self._read(value)
        elif _has_parts(value) and id(value) not in self._things:
            self._things[id(value)] = value
            if isinstance(value, type):
                self._called(value, ("__init__", "__new__", "__post_init__"))
            elif is_class_of_program(type(value)):
                self._called(type(value), _PROTOCOL)
            for item in _items(value):
                self._reach(item)

    def _called(self, kind: type, names: Sequence[str]) -> None:
        """Methods of a class with these names may be called."""
        for name in names:
            for one in _in_classes(kind, name):
                self._read(one)

    def _read(self, function: PythonFunction) -> None:
        """What the code of a function names, if it is one of the program's."""
        code, plain = _code(function), own(function, "__func__", function)
        if code is None or id(plain) in self._functions:
            return
        self._functions[id(plain)] = plain
        named = {name for part in _parts(code) for name in part.co_names}
        if not named.isdisjoint(_BY_TEXT):
            named |= {one for part in _parts(code) for one in part.co_consts if isinstance(one, str)}
        self._names |= named
        capture_defaults(self._context, plain)
        self._reach(plain.__defaults__ or ())
        self._reach(plain.__kwdefaults__ or ())
        for name in sorted(_outer(code)):
            for value in _value_of(plain, name):
                capture_name(self._context, plain, name, value)
                self._reach(value)

    def _look_for(self, thing: object, name: str) -> None:
        """Code that reads a thing names this."""
        kind = thing if isinstance(thing, type) else type(thing)
        stored = getattr_static(thing, name, MISSING)
        if stored is MISSING or isinstance(stored, _METHODS):
            self._called(kind, (name,))
        elif hasattr(type(stored), "__get__") and not isinstance(stored, types.MemberDescriptorType):
            self._reach(stored)  # a descriptor of the program's own, which may fail where it is not read
            self._called(type(stored), ("__get__",))
        elif not isinstance(thing, dict) or not hasattr(dict, name):
            value = getattr(thing, name, MISSING)
            capture(self._context, thing, name, value)
            self._reach(value)


def _in_classes(kind: type, name: str) -> Iterator[PythonFunction]:
    """The methods and properties of that name in a class and those that it derives from."""
    for one in kind.__mro__:
        method = vars(one).get(name)
        reader = method.fget if isinstance(method, property) else own(method, "__func__", method)
        if isinstance(reader, types.FunctionType):
            yield reader


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
    """Whether it is something of the program's that holds, or stores, other things; numbers and texts do not."""
    if isinstance(value, (int, float, str)):
        return False
    if isinstance(value, types.ModuleType):
        return is_of_program(value.__name__)
    if isinstance(value, type):
        return is_class_of_program(value)
    if isinstance(value, (list, tuple, dict, np.ndarray)):
        return True
    is_ours = str(type(value).__module__).partition(".")[0] == "adstack"
    return not is_ours and (hasattr(value, "__dict__") or hasattr(type(value), "__slots__"))
