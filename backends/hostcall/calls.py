"""From a call in Python straight to machine code: builtins that check the arguments and run the kernel.

One function of machine code (`ir`) serves all kernels; what differs stands in a record that it reads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from adstack.runtime.adstacks.heap import HeapLimit
from adstack.runtime.adstacks.stats import SIZINGS
from adstack.runtime.protocol.shortcuts import (
    Shortcut,
)
from adstack.runtime.protocol.words import ADDRESS, MARK, VERSION
from adstack.runtime.threads.guards import EPOCH, GUARD

from . import interpreter
from .argument_tables import argument_tables
from .entry import Entry
from .launching import LAUNCH_LOCK, entries, machine_code, pause
from .objects import OBJECTS
from .record import MEMO, RECORD
from .tables import (
    address_of,
    condition_words,
    is_complete,
    memo_table,
    remember,
    result_words,
    words_of,
)

if TYPE_CHECKING:
    from .tables import Words

__all__ = ["Follower", "follower", "launch_record", "make"]


def make(entry: Entry, shortcut: Shortcut) -> Callable[..., object] | None:
    """Make a builtin that serves the calls which `shortcut` describes.

    Args:
        entry: the compiled program that it launches.
        shortcut: the arguments of the calls, what must hold for them, and what serves all other calls.

    Returns:
        the builtin; None if machine code can't check such arguments or return such a result.
    """
    record = _record(entry, shortcut)
    return None if record is None else _builtin("adstack_call", entry, shortcut, record, shortcut.otherwise)


class Follower:
    """Makes builtins that serve the calls which a shortcut describes while they are the next of a followed sequence.

    Attributes:
        address: of the record, by which a sequence knows it.
    """

    def __init__(self, entry: Entry, shortcut: Shortcut, record: Record) -> None:
        self._entry, self._shortcut, self._record = entry, shortcut, record
        self.address = address_of(record.words)

    def before(self, otherwise: Callable[..., object]) -> Callable[..., object]:
        """A builtin that leaves all other calls to `otherwise`."""
        return _builtin("adstack_follow", self._entry, self._shortcut, self._record, otherwise)

    def always(self, otherwise: Callable[..., object]) -> Callable[..., object]:
        """A builtin that serves such calls whichever comes next, and leaves all others to `otherwise`."""
        return _builtin("adstack_call", self._entry, self._shortcut, self._record, otherwise)

    def renew(self) -> None:
        """Serve calls in the present epoch; the caller has made sure that the memory is still there."""
        self._record.words[RECORD["epoch"]] = GUARD[EPOCH]


def follower(entry: Entry, shortcut: Shortcut) -> Follower | None:
    """The follower for the calls that `shortcut` describes; None where `make` gives None."""
    record = _record(entry, shortcut)
    return None if record is None else Follower(entry, shortcut, record)


def launch_record(entry: Entry, memo: Words | None = None, reductions: int = 0) -> Words:
    """The record of a launch, rather than of calls: arguments are written to the context before it.

    Args:
        entry: what is launched.
        memo: what depths of adstacks depend on, if it computes any; whoever has the record keeps it.
        reductions: parallel loops that compute them.
    """
    words = {**_program_words(entry), "sizings": ctypes.addressof(SIZINGS), "reductions": reductions}
    if memo is not None:
        words |= {"memo": address_of(memo), "memo_count": len(memo) // len(MEMO)}
    else:
        words["depths"] = 0
    return words_of([[words.get(name, 0) for name in RECORD]])


class Record(NamedTuple):
    """The words of a record (`record.py`), and the objects whose addresses they hold, which are kept alive."""

    words: Words
    keep: tuple[object, ...]


def _builtin(
    name: str, entry: Entry, shortcut: Shortcut, record: Record, otherwise: Callable[..., object]
) -> Callable[..., object]:
    """A function of Python's that serves calls by a function of the machine code, and leaves others to `otherwise`."""
    _, methods, new = machine_code()
    goes_on = entry.goes_on if shortcut.short is None else _or_short(entry.goes_on, shortcut.short, record.words)
    own = (address_of(record.words), otherwise, entry.failed, goes_on, (record, shortcut, entry))
    return new(ctypes.byref(methods[name]), own, None)


def _record(entry: Entry, shortcut: Shortcut) -> Record | None:
    """The record of the calls that `shortcut` describes; None if machine code can't check or return what it should, or
    does not know how this interpreter keeps objects.
    """
    if not interpreter.is_known(interpreter.running()):
        return None
    result = result_words(entry, shortcut)
    tables = argument_tables(entry, shortcut)
    if result is None or tables is None or not is_complete(entry, shortcut):
        return None
    if not entry.context.pointers.keys() >= {name for pair in shortcut.distinct for name in pair}:
        return None  # where they are is not passed on, so that nobody could compare
    _fixed(entry, shortcut)
    rows = {
        "arguments": tables.arguments,
        "held": tables.held,
        "memo": memo_table(entry, shortcut),
        **_condition_tables(entry, shortcut),
    }
    record = (ctypes.c_int64 * len(RECORD))()
    words = {
        **_program_words(entry),
        **OBJECTS,
        **{name: address_of(table) for name, table in rows.items()},
        **_counts(shortcut, rows["memo"]),
        "held_count": len(tables.held) if any(tables.held) else 0,
        "guard": ctypes.addressof(GUARD),
        "epoch": GUARD[EPOCH],
        "lock": LAUNCH_LOCK.address,
        "result_kind": result[0],
        "result": result[1],
        "sizings": ctypes.addressof(SIZINGS),
        "reductions": shortcut.reductions,
    }
    for name, value in words.items():
        record[RECORD[name]] = value
    if entry.depths and shortcut.sizes is not None:
        remember(entry.depths, rows["memo"])
    return Record(record, (rows, tables))


def _condition_tables(entry: Entry, shortcut: Shortcut) -> dict[str, Words]:
    """What must hold for a call, and the buffers whose words say that they are written to."""
    slots, pointers = entry.slots, entry.context.pointers
    written = [buffer for name, buffer in shortcut.buffers.items() if name in shortcut.written]
    return {
        "written": words_of([[address_of(buffer.record()) + 8 * VERSION] for buffer in written]),
        "attributes": words_of([[one.owner, id(one.name), one.value, one.is_key] for one in shortcut.attributes]),
        "conditions": words_of([condition_words(one) for one in shortcut.conditions]),
        "distinct": words_of([[slots + 8 * pointers[name] for name in pair] for pair in shortcut.distinct]),
    }


def _counts(shortcut: Shortcut, memo: Words) -> dict[str, int]:
    """How many rows each table has."""
    return {
        "count": len(shortcut.arguments),
        "attribute_count": len(shortcut.attributes),
        "written_count": sum(name in shortcut.written for name in shortcut.buffers),
        "condition_count": len(shortcut.conditions),
        "distinct_count": len(shortcut.distinct),
        "memo_count": len(memo) // len(MEMO),
    }


def _fixed(entry: Entry, shortcut: Shortcut) -> None:
    """Tell the context of memory that is the same in every call."""
    for name, buffer in shortcut.buffers.items():
        for slots, word in ((entry.context.pointers, ADDRESS), (entry.marks, MARK)):
            if name in slots:
                ctypes.c_int64.from_address(entry.slots + 8 * slots[name]).value = buffer.record()[word]


def _program_words(entry: Entry) -> dict[str, int]:
    """The words about a program."""
    own = entry.context.own
    return {
        "run": entry.run,
        "ctx": entry.slots,
        "errors": entry.errors,
        "overflow": entry.overflow,
        "launches": entry.launches,
        "launch_slot": entry.slots + 8 * own["launch"],
        "release": int(entry.long),
        "depths": entry.depths,
        "sized_slot": entry.sized,
    }


def _or_short(
    goes_on: Callable[[int], object], short: Callable[[HeapLimit, tuple[object, ...]], None], record: Words
) -> Callable[[int], object]:
    """What finishes a launch that stopped for its heap; without room for adstacks, `short` serves the call instead."""

    def either(code: int) -> None:
        try:
            goes_on(code)
        except HeapLimit as reason:
            at = record[RECORD["given"]]
            arguments = tuple(ctypes.py_object.from_address(at + 8 * k).value for k in range(record[RECORD["count"]]))
            acquire, release, *_ = entries()
            release(LAUNCH_LOCK.address)
            try:
                short(reason, arguments)
            finally:
                while acquire(LAUNCH_LOCK.address):  # the caller holds the lock until the call ends
                    pause()

    return either
