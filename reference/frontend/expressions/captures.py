"""What a kernel reads of the program while it is compiled: attributes, and variables from outside of the kernel.

All of it is compared at each call: where something has changed, the kernel is compiled for what it is then.
"""

from __future__ import annotations

import enum
import sys
import types
from functools import partial
from inspect import getattr_static
from typing import Final

import numpy as np
import numpy.typing as npt

from ...values.elements import Elements
from ...values.kinds import PythonFunction
from ...values.names import MISSING, Names, Outline, variable_of
from ..emission.arrays import ArrayArgument, is_field
from ..emission.context import Context
from ..emission.expr import Expr

__all__ = ["capture", "capture_defaults", "capture_name", "capture_outline", "is_class_of_program", "is_of_program"]

_NUMBERS: Final = (bool, int, float)
_LIBRARIES: Final = sys.stdlib_module_names - {"__main__"} | {"adstack", "jax", "numpy", "torch"}
"""The modules that keep what they have, and whose classes keep what they are."""


def capture(context: Context, base: object, name: str, value: object, *, may_be_missing: bool = False) -> None:
    """Remember what was read from an object - numbers, and whatever it stores - so that its change is noticed."""
    if isinstance(base, types.ModuleType):
        if is_of_program(base.__name__) and name in vars(base):
            _capture_variable(context, vars(base), name, value)
        elif is_of_program(base.__name__):
            _note(context, base, name, value)  # its `__getattr__` made it
        return
    if isinstance(base, (Elements, Expr, ArrayArgument)) or is_field(base):
        return
    if isinstance(base, type) and not is_class_of_program(base):
        return
    if may_be_missing or isinstance(value, _NUMBERS) or _is_stored(base, name, value):
        _note(context, base, name, value)


def capture_name(context: Context, function: PythonFunction, name: str, value: object) -> None:
    """Remember what a name in a function stood for, if it is that of a variable from outside."""
    variable = variable_of(function, name)
    if variable is not None:
        _capture_variable(context, *variable, value)


def capture_defaults(context: Context, function: PythonFunction) -> None:
    """Remember what the parameters of a function are where nothing is passed, unless these are numbers."""
    for attribute in ("__defaults__", "__kwdefaults__"):
        defaults = getattr(function, attribute) or ()
        values = defaults.values() if isinstance(defaults, dict) else defaults
        if not all(value is None or isinstance(value, (*_NUMBERS, str)) for value in values):
            _note(context, function, attribute, defaults)


def capture_outline(context: Context, before: int, array: npt.NDArray[np.generic]) -> None:
    """Remember nothing but shape and type of an array that was looked up for these: its elements may change.

    Args:
        context: where it stands.
        before: how many variables and attributes were remembered before it was looked up.
        array: what came of it.
    """
    if len(context.captured) == before:
        return  # it was looked up before, for more than that
    key, (read, value) = context.captured.popitem()
    if value is not array:
        context.captured[key] = read, value
        return
    outline = Outline(*read.args[:2])
    context.captured[key[0], f"outline of {key[1]}"] = partial(getattr, outline, "outline", MISSING), outline.outline


def is_class_of_program(kind: type) -> bool:
    """Whether a class is the program's own, and no enumeration."""
    return is_of_program(kind.__module__) and not issubclass(kind, enum.Enum)


def is_of_program(module: object) -> bool:
    """Whether something that is said to be of that module is the program's own."""
    return str(module).partition(".")[0] not in _LIBRARIES


def _is_stored(base: object, name: str, value: object) -> bool:
    """Whether an object or its class stores the very value: what methods and properties make differs each time."""
    stored = getattr_static(base, name, MISSING)
    return stored is value or isinstance(stored, types.MemberDescriptorType)


def _capture_variable(context: Context, holder: types.CellType | dict[str, object], name: str, value: object) -> None:
    """Remember a variable of a module, or of an enclosing function; libraries stand for themselves."""
    if isinstance(value, types.ModuleType) and not is_of_program(value.__name__):
        return
    held = context.namespaces.setdefault(id(holder), Names(holder)) if isinstance(holder, dict) else holder
    _note(context, held, name, value)


def _note(context: Context, owner: object, name: str, value: object) -> None:
    """Of what is read again, the last value counts: a function that was called meanwhile may have changed it."""
    context.captured[id(owner), name] = partial(getattr, owner, name, MISSING), value
