"""The tables of a builtin's record but for arguments: conditions of its calls, what depths of adstacks depend on."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from adstack.runtime.protocol.shortcuts import (
    ArrayArgument,
    Before,
    DeviceArgument,
    HostArgument,
    Shortcut,
    Still,
    leaves,
)
from adstack.runtime.protocol.words import VERSION

from .entry import Entry
from .record import CONDITION, MEMO, RESULTS

if TYPE_CHECKING:
    Words = ctypes.Array[ctypes.c_int64]
    """A table: rows of words, one after another."""

ARRAYS: Final = (ArrayArgument, HostArgument, DeviceArgument)
"""The kinds of arguments that have memory."""

__all__ = [
    "ARRAYS",
    "address_of",
    "condition_words",
    "is_complete",
    "memo_table",
    "remember",
    "result_words",
    "size_words",
    "words_of",
]


def memo_table(entry: Entry, shortcut: Shortcut) -> Words:
    """The table of words that the depths of adstacks depend on, with their values (`MEMO`)."""
    if shortcut.sizes is None:
        return words_of([[entry.launches, 0]])  # different in every call: depths are always computed
    words = [address_of(shortcut.buffers[name].record()) + 8 * VERSION for name in shortcut.sizes]
    return words_of([[address, 0] for address in (*words, *size_words(entry))])


def size_words(entry: Entry) -> list[int]:
    """The addresses of the arguments and the extents that depths of adstacks may depend on."""
    sizers = [task for task in entry.program.tasks if task.sizes]
    read = {(id(task), value) for task in sizers for op in task.body.walk() for value in op.operands}
    used = {k for task in sizers for k, value in enumerate(task.body.args) if (id(task), value) in read}
    params = [slot for k, slot in enumerate(entry.context.params) if k in used]
    return [entry.slots + 8 * slot for slot in (*params, *entry.context.extents.values())]


def remember(depths: int, memo: Words) -> None:
    """Note in the memo what the depths depend on that a launch by Python has just computed, if they are valid."""
    word = ctypes.c_int64.from_address(depths)
    if word.value == 1:
        for row in range(len(memo) // len(MEMO)):
            at = row * len(MEMO)
            memo[at + MEMO["value"]] = ctypes.c_int64.from_address(memo[at + MEMO["address"]]).value
        word.value = address_of(memo)


def condition_words(one: Still | Before) -> list[int]:
    """The words of a condition: that a word has a value, or is less than another."""
    words = {"address": one.address, "other": 0, "value": 0}
    if isinstance(one, Still):
        words["value"] = one.value
    else:
        words["other"] = one.other
    return [words[name] for name in CONDITION]


def is_complete(entry: Entry, shortcut: Shortcut) -> bool:
    """Whether every place has its memory."""
    arrays = [a for a in leaves(shortcut.arguments) if isinstance(a, ARRAYS)]
    bound = {a.place for a in arrays} | set(shortcut.buffers)
    bound |= {a.beside for a in arrays if isinstance(a, ArrayArgument)}
    places = entry.program.places.values()
    return all(place.name in bound for place in places if place.kind in ("field", "ndarray"))


def result_words(entry: Entry, shortcut: Shortcut) -> tuple[int, int] | None:
    """(kind, address) of what a call gives."""
    names = entry.program.results
    if not names and not shortcut.returns:
        return RESULTS["none"], 0
    if len(names) != 1 or not shortcut.returns:
        return None
    kind = RESULTS.get(entry.program.places[names[0]].dtype.name)
    return None if kind is None else (kind, entry.results[names[0]])


def words_of(rows: Sequence[Sequence[int]]) -> Words:
    """Rows of words, one after another."""
    flat = [word for row in rows for word in row]
    return (ctypes.c_int64 * max(1, len(flat)))(*flat)


def address_of(words: Words) -> int:
    """Where words stand."""
    return ctypes.addressof(words)
