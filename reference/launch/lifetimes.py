"""How long a specialisation lives: no longer than the objects that it was made for.

A specialisation knows the fields and other objects that came as template arguments, what it read from their attributes,
and from variables outside of the kernel, without keeping them alive. When the first of them goes, no call can ask for
the specialisation any more: it ends, and what was compiled for it, and memory that nothing else has, go with it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from types import CellType
from typing import Any
from weakref import ref

from ..runtime.protocol.shortcuts import Still
from ..values.elements import Elements
from ..values.names import Names
from ..values.specs import Spec, StructSpec, TemplateSpec

__all__ = ["Data", "Life", "Read", "Same", "objects_of", "valueless"]


class Same:
    """An object as a key: equal to itself only, and to nothing once it is gone. What has no weak references is kept.

    Attributes:
        refer: gives the object; None if it is gone.
        is_weak: whether the object is not kept.
    """

    __slots__ = ("_hash", "is_weak", "refer")

    def __init__(self, value: object) -> None:
        self._hash = id(value)
        self.refer: Callable[[], Any]
        try:
            self.refer, self.is_weak = ref(value), True
        except TypeError:  # there can't be one
            self.refer, self.is_weak = _kept(value), False

    @property
    def value(self) -> Any:
        """The object; None if it is gone."""
        return self.refer()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Same):
            return False
        return self is other or ((value := self.refer()) is not None and other.refer() is value)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return repr(self.value)


def _kept(value: object) -> Callable[[], object]:
    """A function that returns the value, and keeps it alive; no code of Python's, as it is called in each launch."""
    return repeat(value).__next__


class Life:
    """The life of one specialisation: it ends with the first of some objects.

    Attributes:
        word: 1; 0 once it has ended. Machine code looks at it, before it looks at any of the objects.
    """

    def __init__(self, objects: Iterable[object]) -> None:
        self.word = ctypes.c_int64(1)
        self._objects = {id(one): ref(one, self._end) for one in objects}
        self._then: Callable[[], None] | None = None

    def knows(self, value: object) -> bool:
        """Whether the object is one of them."""
        return id(value) in self._objects

    @property
    def conditions(self) -> tuple[Still, ...]:
        """The conditions that machine code checks: that the life has not ended."""
        return (Still(ctypes.addressof(self.word), 1),) if self._objects else ()

    def objects(self) -> tuple[object, ...]:
        """The objects: who has them keeps the specialisation in use."""
        return tuple(one for reference in list(self._objects.values()) if (one := reference()) is not None)

    def then(self, action: Callable[[], None]) -> None:
        """Call a function when the life ends."""
        self._then = action

    def _end(self, _: object) -> None:
        if self.word.value:
            self.word.value = 0
            if self._then is not None:
                self._then()

    def refer(self, value: object) -> Callable[[], object]:
        """A function that returns an object; it keeps the object alive unless that is one of those of this life."""
        return self._objects[id(value)] if self.knows(value) else _kept(value)


class Data(Mapping[str, Any]):
    """Place name -> the field or ndarray that it stands for."""

    def __init__(self, fields: Mapping[str, object], life: Life) -> None:
        self._fields = {name: life.refer(data) for name, data in fields.items()}

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


Read = tuple[partial[object], object]


def objects_of(specs: Iterable[Spec], captured: Sequence[Read]) -> list[object]:
    """What a specialisation depends on and need not keep: template arguments, variables, what their attributes hold."""
    objects = {id(value): value for spec in specs for value in _arguments(spec)}
    for read, was in captured:  # those of an object come after the object itself
        owner, name = read.args[:2]
        is_variable = isinstance(owner, (CellType, Names))
        is_held = is_variable or (id(owner) in objects and getattr(owner, "__dict__", {}).get(name) is was)
        if is_held and not isinstance(was, Elements) and Same(was).is_weak:
            objects[id(was)] = was
    return list(objects.values())


def _arguments(spec: Spec) -> Iterator[object]:
    if isinstance(spec, StructSpec):
        for _, member in spec.members:
            yield from _arguments(member)
    elif isinstance(spec, TemplateSpec):
        yield from _leaves(spec.key)


def _leaves(key: object) -> Iterator[object]:
    """The objects that are part of a key, at any depth."""
    if isinstance(key, tuple):
        for one in key:
            yield from _leaves(one)
    elif isinstance(key, Same) and key.is_weak:
        yield key.value


def valueless(spec: Spec) -> Spec:
    """A spec without the values of template arguments."""
    if isinstance(spec, StructSpec):
        return replace(spec, members=tuple((name, valueless(member)) for name, member in spec.members))
    return replace(spec, value=None) if isinstance(spec, TemplateSpec) else spec
