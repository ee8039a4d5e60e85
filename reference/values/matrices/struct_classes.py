"""Struct types made by a class statement: `@dataclass`."""

from __future__ import annotations

import inspect
from types import FunctionType

from ...errors import AdstackTypeError
from ..calling import takes
from ..func import Func
from ..kinds import Operand
from .struct import StructType
from .struct_operators import OPERATORS

__all__ = ["dataclass"]


@takes("dataclass")
def dataclass(cls: type[Operand]) -> StructType:
    """A class decorator: the annotations become members, the functions in the body functions of the struct.

    A value beside an annotation, as in `mass: qd.f32 = 1.0`, is what the member has where a constructor call leaves it
    out. In kernels functions are funcs, with or without `@func`; on the host they run as plain Python. Functions named
    as Python's operators are (`__add__`, `__neg__`, `__eq__`, ...) are what operators of the structs call.
    """
    if not isinstance(cls, type):
        raise AdstackTypeError(f"dataclass decorates a class, got {cls!r}", do="write a class statement below it")
    frame = inspect.currentframe()
    checked = None if frame is None else frame.f_back  # what @takes makes of this function
    caller = None if checked is None else checked.f_back
    hints = _annotations(cls, {} if caller is None else caller.f_locals)
    body = {k: v for k, v in vars(cls).items() if not k.startswith("__") or _is_function(v)}
    _refuse_special(cls, body)
    defaults = {k: body.pop(k) for k in hints if k in body}
    other = [k for k, v in body.items() if not (callable(v) or isinstance(v, staticmethod))]
    if other:
        raise AdstackTypeError(
            f"'{other[0]}' of {cls.__name__} is neither a member nor a function of it",
            do="annotate members with their type, and write functions with self or as @staticmethod",
        )
    struct_type = StructType(hints, body, cls.__name__, defaults)
    struct_type.__module__, struct_type.__qualname__ = cls.__module__, cls.__qualname__
    return struct_type


def _is_function(value: object) -> bool:
    return isinstance(value, (FunctionType, Func))


def _refuse_special(cls: type[Operand], body: dict[str, Operand]) -> None:
    """AdstackTypeError for a function such as `__init__`, which nothing would call."""
    special = [k for k in body if k.startswith("__") and k not in OPERATORS]
    if special:
        raise AdstackTypeError(
            f"'{special[0]}' of {cls.__name__} would never be called: structs are made of their members",
            do="write a function of another name; those of operators (__add__, __neg__, __eq__, ...) are called",
        )


def _annotations(cls: type[Operand], names: dict[str, Operand]) -> dict[str, Operand]:
    """Member name -> type; types in strings (`from __future__ import annotations`) are looked up where the class is."""
    try:
        return inspect.get_annotations(cls, locals={**names, **vars(cls)}, eval_str=True)
    except NameError as error:
        raise AdstackTypeError(f"an annotation of {cls.__name__} is not known: {error}", do="import it") from error
