"""What a kernel reads of the program while it is compiled: attributes, and variables from outside of the kernel.

All of it is compared at each call: where something has changed, the kernel is compiled for what it is then.
"""

from __future__ import annotations

import enum
import sys
import types
from functools import partial
from typing import Final

import numpy as np

from ...values.elements import Elements
from ...values.kinds import PythonFunction
from ...values.names import Names, variable_of
from ..emission.arrays import ArrayArgument, is_field
from ..emission.context import Context
from ..emission.expr import Expr

__all__ = ["capture", "capture_name", "is_class_of_program", "is_of_program"]

_NUMBERS: Final = (bool, int, float)
_OF_CLASSES: Final = (*_NUMBERS, str, list, tuple, dict, set, frozenset, np.ndarray, Elements)
"""Of these types are attributes of classes that are compared; others, such as methods, are made at each access."""
_LIBRARIES: Final = sys.stdlib_module_names - {"__main__"} | {"adstack", "jax", "numpy", "torch"}
"""The modules that keep what they have, and whose classes keep what they are."""


def capture(context: Context, base: object, name: str, value: object, *, may_be_missing: bool = False) -> None:
    """Remember what was read from an object - numbers, and whatever it stores - so that its change is noticed."""
    if isinstance(base, types.ModuleType):
        if is_of_program(base.__name__):
            _capture_variable(context, vars(base), name, value)
        return
    if isinstance(base, (Elements, Expr, ArrayArgument)) or is_field(base):
        return
    if isinstance(base, type):
        is_kept = is_class_of_program(base) and isinstance(value, _OF_CLASSES)
    else:
        is_kept = may_be_missing or isinstance(value, _NUMBERS) or name in getattr(base, "__dict__", {})
    if is_kept:
        _note(context, base, name, value)


def capture_name(context: Context, function: PythonFunction, name: str, value: object) -> None:
    """Remember what a name in a function stood for, if it is that of a variable from outside."""
    variable = variable_of(function, name)
    if variable is not None:
        _capture_variable(context, *variable, value)


def is_class_of_program(kind: type) -> bool:
    """Whether a class is the program's own, and no enumeration."""
    return is_of_program(kind.__module__) and not issubclass(kind, enum.Enum)


def is_of_program(module: object) -> bool:
    """Whether something that is said to be of that module is the program's own."""
    return str(module).partition(".")[0] not in _LIBRARIES


def _capture_variable(context: Context, holder: types.CellType | dict[str, object], name: str, value: object) -> None:
    """Remember a variable of a module, or of an enclosing function; modules stand for themselves."""
    if isinstance(value, types.ModuleType):
        return
    held = context.namespaces.setdefault(id(holder), Names(holder)) if isinstance(holder, dict) else holder
    _note(context, held, name, value)


def _note(context: Context, owner: object, name: str, value: object) -> None:
    """Of what is read again, the last value counts: a function that was called meanwhile may have changed it."""
    context.captured[id(owner), name] = partial(getattr, owner, name, None), value
