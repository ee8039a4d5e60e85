"""Lists whose elements are variables: a kernel stores to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import SupportsIndex

from ...values.kinds import KernelObject
from .dispatch import dereferenced

__all__ = ["VariableList", "references_in"]

_READING = ("__add__", "__contains__", "__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__mul__", "__ne__")
_LOOKING = ("__reversed__", "__rmul__", "copy", "count", "index")


class VariableList(list[KernelObject]):
    """A list of a function that is being lowered: it holds references, and reading an element gives its value now.

    Args:
        references: the elements: references, lists like this one, or objects that can't be stored to.
        make: what an element that is added becomes.
        owner: the frame of the function whose name it has.
    """

    def __init__(
        self, references: Iterable[KernelObject], make: Callable[[KernelObject], KernelObject], owner: object
    ) -> None:
        super().__init__(references)
        self.make = make
        self.owner = owner

    def reference(self, index: SupportsIndex) -> KernelObject:
        """What stands at a position, as it can be stored to."""
        return super().__getitem__(index)

    def references(self) -> list[KernelObject]:
        """What it holds, as it can be stored to."""
        return list(super().__iter__())

    def __iter__(self) -> Iterator[KernelObject]:
        return map(dereferenced, super().__iter__())

    def __getitem__(self, index: KernelObject) -> KernelObject:
        found = super().__getitem__(index)
        return [dereferenced(item) for item in found] if isinstance(index, slice) else dereferenced(found)

    def __radd__(self, other: list[KernelObject]) -> list[KernelObject]:
        return other + list(self)

    def append(self, value: KernelObject, /) -> None:
        """See `list.append`."""
        super().append(self.make(value))

    def extend(self, values: Iterable[KernelObject], /) -> None:
        """See `list.extend`."""
        super().extend([self.make(value) for value in values])

    def insert(self, index: SupportsIndex, value: KernelObject, /) -> None:
        """See `list.insert`."""
        super().insert(index, self.make(value))

    def pop(self, index: SupportsIndex = -1, /) -> KernelObject:
        """See `list.pop`."""
        return dereferenced(super().pop(index))

    def __adstack_described__(self) -> str:
        return "a list"


def _of_values(name: str) -> Callable[..., KernelObject]:
    """A method of `list` that reads elements, of the values that a list has now."""

    def method(self: VariableList, *args: KernelObject) -> KernelObject:
        return getattr(list(self), name)(*args)

    return method


for _name in (*_READING, *_LOOKING):
    setattr(VariableList, _name, _of_values(_name))


def references_in(values: KernelObject) -> KernelObject:
    """What a loop runs over: the elements of such a list as they can be stored to, and read when their turn comes."""
    return values.references() if isinstance(values, VariableList) else values
