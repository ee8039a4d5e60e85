"""What `copy` and `pickle` do with objects of the language.

Kernels and functions are what their definitions are, so they are copied and kept as functions are: by their name. A
field is a part of a layout, and other objects that hold memory or compiled code belong to the runtime: they can't be
copied.
"""

from __future__ import annotations

from typing import NoReturn, TypeVar

from ...errors import AdstackRuntimeTypeError

__all__ = ["ByName", "Uncopied"]

Self = TypeVar("Self")


class ByName:
    """What a definition in a module made: a copy is the object itself, and pickle keeps its qualified name."""

    __slots__ = ()

    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self: Self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> str | tuple[object, ...]:
        name: str = self.__qualname__  # type: ignore[attr-defined]
        return name


class Uncopied:
    """An object that belongs to the runtime: a shallow copy is the object itself, any other an error with a remedy.

    Attributes:
        COPY_WHAT: what it is called in messages.
        COPY_DO: how to get the values that a copy would have.
    """

    __slots__ = ()
    COPY_WHAT = "this object"
    COPY_DO = "make another one"

    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> NoReturn:
        raise AdstackRuntimeTypeError(f"{self.COPY_WHAT} can't be deep-copied", do=self.COPY_DO)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise AdstackRuntimeTypeError(f"{self.COPY_WHAT} can't be pickled", do=self.COPY_DO)
