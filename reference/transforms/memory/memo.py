"""What is known per element of memory, kept up to date in constant time per access."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

from ...analysis.facts import MAY_ALIAS, Memory, alias_class, constant
from ...ir.scalar_ops import ADD
from ...ir.structure import Value

__all__ = ["Element", "Memo", "element"]

T = TypeVar("T")
K = TypeVar("K")
L = TypeVar("L")
V = TypeVar("V")

Log = list[tuple[dict[Any, Any], Any, Any]]
"""Changes to undo: a dict, a key, and what stood there before (`MISSING` for nothing)."""

Bases = tuple["Value | None", ...]
Offsets = tuple[int, ...]
Element = tuple[Bases, Offsets]
"""An element by its indices, each a value (None: zero) plus a number.

Elements of the same bases are the same exactly if their offsets are; of different bases nothing is known."""

MISSING: Final = object()


def element(indices: Sequence[Value]) -> Element:
    """The element at `indices`."""
    parts = [_part(index) for index in indices]
    return tuple(base for base, _ in parts), tuple(offset for _, offset in parts)


def _part(index: Value) -> tuple[Value | None, int]:
    number = constant(index)
    if number is not None:
        return None, int(number)
    op = index.op
    if op is not None and op.opdef is ADD:
        number = constant(op.operands[1])
        if number is not None:
            return op.operands[0], int(number)
    return index, 0


class Memo(Generic[T]):
    """Alias class -> memory -> bases -> offsets -> T. Changes inside `scope` are undone at its end."""

    def __init__(self) -> None:
        self.classes: dict[str, dict[Memory, dict[Bases, dict[Offsets, T]]]] = {name: {} for name in MAY_ALIAS}
        self.log: Log = []

    def get(self, memory: Memory, at: Element) -> T | None:
        """What is known of an element."""
        return self.classes[alias_class(memory)].get(memory, {}).get(at[0], {}).get(at[1])

    def put(self, memory: Memory, at: Element, what: T) -> None:
        """Note what is known of an element now."""
        members = self.classes[alias_class(memory)]
        groups = self._inner(members, memory)
        self._set(self._inner(groups, at[0]), at[1], what)

    def drop(self, memory: Memory, at: Element) -> None:
        """Forget the element, and all that may be the same."""
        kind = alias_class(memory)
        own = self.classes[kind].get(memory, {})
        group = own.get(at[0])
        if group is not None and at[1] in group:
            self._delete(group, at[1])
        self._drop_others(memory, {} if group is None else {at[0]: group}, len(own) > (group is not None))

    def drop_all(self, memory: Memory) -> None:
        """Forget all elements of `memory`, and all that may be the same."""
        self._drop_others(memory, {}, memory in self.classes[alias_class(memory)])

    def _drop_others(self, memory: Memory, stays: dict[Bases, dict[Offsets, T]], changed: bool) -> None:
        kind = alias_class(memory)
        for other in MAY_ALIAS[kind]:
            if self.classes[other] and other != kind:
                self._set(self.classes, other, {})
        members = self.classes[kind]
        if kind in MAY_ALIAS[kind] and any(member is not memory and member != memory for member in members):
            self._set(self.classes, kind, {memory: stays})
        elif changed:
            self._set(members, memory, stays)

    def forget(self) -> None:
        """Forget everything."""
        for kind, members in self.classes.items():
            if members:
                self._set(self.classes, kind, {})

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undo, at the end of the `with` block, every change made in it."""
        mark = len(self.log)
        yield
        while len(self.log) > mark:
            container, key, was = self.log.pop()
            if was is MISSING:
                del container[key]
            else:
                container[key] = was

    def _inner(self, outer: dict[K, dict[L, V]], key: K) -> dict[L, V]:
        inner = outer.get(key)
        if inner is None:
            inner = {}
            self._set(outer, key, inner)
        return inner

    def _set(self, container: dict[K, V], key: K, what: V) -> None:
        self.log.append((container, key, container.get(key, MISSING)))
        container[key] = what

    def _delete(self, container: dict[K, V], key: K) -> None:
        self.log.append((container, key, container.pop(key)))
