"""`@data_oriented`: classes whose methods are kernels and funcs."""

from __future__ import annotations

from typing import TypeVar

from ..errors import AdstackRuntimeTypeError

__all__ = ["data_oriented"]

C = TypeVar("C")


def data_oriented(cls: C) -> C:
    """Class decorator: says that methods of this class are kernels and funcs over the data of its objects.

    Attributes are read while compiling; a later change of a number compiles again.
    """
    if not isinstance(cls, type):
        raise AdstackRuntimeTypeError("data_oriented decorates a class", do="write @qd.data_oriented above the class")
    return cls
