"""What a `with` statement puts in force, for the thread that runs it, until the statement is over: whatever happens.

An interrupt may come between any two steps of `__enter__` and `__exit__`, and memory may run out there: what these do
can't be relied on to be done. So each entry of a stack names its holder, an object that only the `with` statement
keeps: the bound method that it calls at its end. CPython frees it when the statement is left in any way, and an entry
whose holder is gone is in force no longer. What `__exit__` does is to tidy up early.

A context that is entered by hand is its own holder. Its entry does not keep it either: one that is lost ends with it.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast
from weakref import ref

from .guards import ASKING, GUARD
from .runtime_lock import ForkSafeLock

__all__ = ["Entry", "Scoped", "Scopes", "Within", "settle"]

T = TypeVar("T")


Holder: TypeAlias = Callable[[], Any]
"""A weak reference to what keeps a value in force: it gives None once the `with` statement is over."""


class Entry(Generic[T]):
    """A value that is in force.

    Attributes:
        holder: gives None once the `with` statement is over.
        stack: all entries of its thread.
    """

    __slots__ = ("_kept", "holder", "stack")

    def __init__(self, value: T, holder: Holder, stack: list[Entry[T]]) -> None:
        self.holder, self.stack = holder, stack
        self._kept: tuple[T] | None = None if value is not None and holder() is value else (value,)

    @property
    def in_force(self) -> bool:
        """Whether the `with` statement goes on."""
        return self.holder() is not None

    def value(self, holder: object) -> T:
        """The value, while it is in force: `holder` is what the holder gives."""
        return cast(T, holder) if self._kept is None else self._kept[0]

    def lapse(self) -> None:
        """It is in force no longer, whatever happens to its holder."""
        self.holder = _nobody


def _nobody() -> None:
    """The holder of what is in force no longer."""


def _in_force(entries: Sequence[Entry[T]]) -> Iterator[T]:
    """The values in force among entries, which other threads may end meanwhile."""
    for entry in list(entries):
        holder = entry.holder()
        if holder is not None:
            yield entry.value(holder)


class _Stack(threading.local, Generic[T]):
    """The entries of this thread, the innermost last."""

    def __init__(self) -> None:
        self.entries: list[Entry[T]] = []


class Scopes(list[Entry[T]]):
    """The entries of all threads. Empty, and so false, while nothing is in force anywhere: that is fast to test.

    Args:
        asks: whether machine code has to ask Python about every call meanwhile.
    """

    def __init__(self, *, asks: bool = False) -> None:
        super().__init__()
        self._own: _Stack[T] = _Stack()
        self._asks = asks
        if asks:
            _ASKING.append(self)

    def innermost(self, otherwise: T | None = None) -> T | None:
        """What was put in force last by this thread."""
        for entry in reversed(self._own.entries):
            holder = entry.holder()
            if holder is not None:
                return entry.value(holder)
        return self._swept(otherwise)

    def _swept(self, otherwise: T | None) -> T | None:
        """Nothing is in force in this thread: drop what interrupts have left."""
        for entry in list(self._own.entries):
            self.end(entry)
        return otherwise

    def own(self) -> list[T]:
        """What is in force in this thread, the innermost last."""
        return list(_in_force(self._own.entries))

    def anywhere(self) -> bool:
        """Whether something is in force, in any thread."""
        return any(entry.in_force for entry in list(self))

    def others(self) -> list[T]:
        """What is in force in other threads."""
        mine = self._own.entries
        if len(mine) == len(self):
            return []  # an entry of this thread is among those of all as long as it is among its own
        return list(_in_force([entry for entry in list(self) if entry.stack is not mine]))

    def begin(self, value: T, holder: Holder) -> Entry[T]:
        """Put a value in force in this thread, until its holder is gone or `end`."""
        with _WRITING.lock:
            entry = Entry(value, holder, self._own.entries)
            for left in [one for one in entry.stack if one.holder() is None]:
                self.end(left)
            self.append(entry)
            entry.stack.append(entry)
            if self._asks:
                _tell()
        return entry

    def end(self, entry: Entry[T] | None) -> None:
        """An entry is not in force any more; it may not be there, or may never have been made."""
        if entry is None:
            return
        with _WRITING.lock:
            for entries in (entry.stack, self):
                if entry in entries:
                    entries.remove(entry)
            if self._asks:
                _tell()

    def end_all(self) -> None:
        """Nothing is in force any more, in no thread."""
        with _WRITING.lock:
            for entry in list(self):
                entry.lapse()
                self.end(entry)

    def forget_others(self) -> None:
        """In a forked child: there are no other threads."""
        self[:] = self._own.entries


_WRITING: Final = ForkSafeLock()
_ASKING: Final[list[Scopes[Any]]] = []


def _tell() -> None:
    """Let machine code know whether it has to ask: more often than needed does no harm."""
    GUARD[ASKING] = sum(map(len, _ASKING))


def settle() -> None:
    """Drop what interrupts have left, so that machine code need not ask for nothing."""
    with _WRITING.lock:
        for scopes in _ASKING:
            for entry in [one for one in scopes if not one.in_force]:
                scopes.end(entry)
        _tell()


class _Exit:
    """`__exit__`: an object of its own for each `with` statement, which is all that holds it."""

    def __get__(self, context: Scoped | None, kind: type[Scoped]) -> Callable[..., object]:
        if context is None:
            return kind.leave  # an ExitStack calls it with the context, which it keeps
        leave = context.leave
        context.way_out = ref(leave)
        return leave


class Scoped(ABC):
    """A context manager that puts things in force: `leave` in the place of `__exit__`."""

    way_out: Holder | None = None
    __exit__ = _Exit()

    @abstractmethod
    def __enter__(self) -> object:
        """Put things in force, as long as `holder` says."""

    @abstractmethod
    def leave(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object:
        """What is to be done at the end; it may be interrupted, or not called at all."""

    def holder(self) -> Holder:
        """For what is put in force by `__enter__`: gone once the statement is over."""
        way = self.way_out
        return ref(self) if way is None or way() is None else way


class Within(Scoped, Generic[T]):
    """A context in which a value is in force."""

    def __init__(self, scopes: Scopes[T], value: T) -> None:
        self._scopes, self._value = scopes, value
        self._entry: Entry[T] | None = None

    def __enter__(self) -> None:
        try:
            self._entry = self._scopes.begin(self._value, self.holder())
        except BaseException:
            self.leave(None, None, None)
            raise

    def leave(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """The value is in force no longer."""
        entry, self._entry = self._entry, None
        self._scopes.end(entry)


def _forked() -> None:
    _WRITING.forget()
    for scopes in _ASKING:
        scopes.forget_others()
    _tell()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
