"""`@data_oriented`: classes whose methods are kernels and funcs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from ..errors import AdstackRuntimeTypeError
from ..values.calling import takes

__all__ = ["data_oriented"]

C = TypeVar("C")


@overload
def data_oriented(cls: C) -> C: ...
@overload
def data_oriented(*, stable_members: bool = ..., template_primitives: bool = ...) -> Callable[[C], C]: ...
@takes("data_oriented")
def data_oriented(cls: Any = None, *, stable_members: bool = False, template_primitives: bool = True) -> Any:
    """Class decorator: says that methods of this class are kernels and funcs over the data of its objects.

    Attributes are read while compiling; a later change of a number compiles again.

    Args:
        cls: what is decorated; without it, the result is the decorator.
        stable_members: a promise of existing programs, by which nothing changes here.
        template_primitives: whether numbers count as compile-time values, which they do in either case.
    """
    if cls is None:
        return data_oriented
    if not isinstance(cls, type):
        raise AdstackRuntimeTypeError("data_oriented decorates a class", do="write @qd.data_oriented above the class")
    return cls
