"""Dicts whose entries are variables: a kernel stores to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping

from ...values.kinds import KernelObject
from .dispatch import dereferenced
from .lists import VariableList

__all__ = ["VariableDict"]

_READING = ("__eq__", "__ne__", "__or__", "__ror__", "copy")


class VariableDict(dict[Hashable, KernelObject]):
    """A dict of a function that is being lowered: it holds references, and reading an entry gives its value now.

    Args:
        references: the entries: references, lists or dicts of variables, or objects that can't be stored to.
        make: what an entry that is added becomes.
        owner: the frame of the function whose name it has.
    """

    def __init__(
        self, references: Mapping[Hashable, KernelObject], make: Callable[[KernelObject], KernelObject], owner: object
    ) -> None:
        super().__init__(references)
        self.make = make
        self.owner = owner

    def reference(self, key: Hashable) -> KernelObject:
        """What stands at a key, as it can be stored to."""
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[Hashable]:
        # A dict whose class has a method of this name is read by __getitem__ where it is copied.
        return super().__iter__()

    def __getitem__(self, key: Hashable) -> KernelObject:
        return dereferenced(super().__getitem__(key))

    def __setitem__(self, key: Hashable, value: KernelObject) -> None:
        super().__setitem__(key, self.make(value))

    def get(self, key: Hashable, default: KernelObject = None, /) -> KernelObject:
        """See `dict.get`."""
        return dereferenced(super().get(key, default))

    def values(self) -> VariableList:  # type: ignore[override]
        """See `dict.values`: the values when their turn comes."""
        return VariableList(super().values(), self.make, self.owner)

    def items(self) -> _Items:  # type: ignore[override]
        """See `dict.items`: the values when their turn comes."""
        return _Items(super().items(), self.make, self.owner)

    def update(self, *others: KernelObject, **named: KernelObject) -> None:
        """See `dict.update`."""
        for key, value in dict(*others, **named).items():
            self[key] = value

    def setdefault(self, key: Hashable, default: KernelObject = None, /) -> KernelObject:
        """See `dict.setdefault`."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Hashable, *default: KernelObject) -> KernelObject:
        """See `dict.pop`."""
        return dereferenced(super().pop(key, *default))

    def popitem(self) -> tuple[Hashable, KernelObject]:
        """See `dict.popitem`."""
        key, value = super().popitem()
        return key, dereferenced(value)

    def __adstack_described__(self) -> str:
        return "a dict"


class _Items(VariableList):
    """Pairs of a key and a reference: reading one gives the key and the value now."""

    def __iter__(self) -> Iterator[KernelObject]:
        return ((key, dereferenced(value)) for key, value in self.references())

    def __getitem__(self, index: KernelObject) -> KernelObject:
        return list(self)[index]


def _of_values(name: str) -> Callable[..., KernelObject]:
    """A method of `dict` that reads entries, of the values that a dict has now."""

    def method(self: VariableDict, *args: KernelObject) -> KernelObject:
        return getattr(dict(self), name)(*args)

    return method


for _name in _READING:
    setattr(VariableDict, _name, _of_values(_name))
