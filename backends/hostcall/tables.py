"""The tables of a builtin's record: its arguments, the conditions of its calls, what depths of adstacks depend on."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from adstack.runtime.protocol.shortcuts import (
    Argument,
    ArrayArgument,
    Before,
    DeviceArgument,
    HostArgument,
    MatrixArgument,
    NumberArgument,
    SameArgument,
    Shortcut,
    Still,
    StructArgument,
    TensorArgument,
    leaves,
)
from adstack.runtime.protocol.words import EXTENTS, MARK, UNCHANGED, UNWATCHED, VERSION

from .entry import Entry
from .record import ARGUMENT, CONDITION, KINDS, MEMO, RESULTS

if TYPE_CHECKING:
    Words = ctypes.Array[ctypes.c_int64]
    """A table: rows of words, one after another."""

_ARRAYS: Final = (ArrayArgument, HostArgument, DeviceArgument)

__all__ = [
    "Tables",
    "address_of",
    "argument_tables",
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
    arrays = [a for a in leaves(shortcut.arguments) if isinstance(a, _ARRAYS)]
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


class Tables(NamedTuple):
    """What stands for the arguments of a call.

    Attributes:
        arguments: their words.
        held: the addresses of the words that hold members of structs while a call is served.
        keep: the tables that these point to.
    """

    arguments: Words
    held: Words
    keep: list[Words]


class _Tables:
    """Makes tables: each scalar, of an argument or in one, has the next of the slots of scalar parameters."""

    def __init__(self, entry: Entry, shortcut: Shortcut) -> None:
        self.entry, self.shortcut = entry, shortcut
        self.scalars = iter(entry.context.params)
        self.keep: list[Words] = []
        self.held: list[int] = []

    def words(self, argument: Argument) -> dict[str, int] | None:
        """The words of an argument; None if machine code does not convert it."""
        if isinstance(argument, NumberArgument):
            return _number(argument, self.entry.slots + 8 * next(self.scalars))
        if isinstance(argument, MatrixArgument):
            return self._matrix(argument)
        if isinstance(argument, StructArgument):
            return self._struct(argument)
        if isinstance(argument, SameArgument):
            return {"kind": KINDS["same"], "low": argument.address}
        return self._array(argument)

    def rows(self, arguments: Iterable[Argument]) -> list[dict[str, int]] | None:
        """The words of several; None if machine code does not convert one of them."""
        rows = [self.words(one) for one in arguments]
        complete = [words for words in rows if words is not None]
        return complete if len(complete) == len(rows) else None

    def _table(self, rows: Sequence[Mapping[str, int]]) -> int:
        """The address of a table of arguments, which is kept."""
        table = _arguments(rows)
        self.keep.append(table)
        return address_of(table)

    def _matrix(self, argument: MatrixArgument) -> dict[str, int] | None:
        rows = self.rows([argument.number] * math.prod(argument.shape))
        if rows is None:
            return None
        words = {"kind": KINDS["matrix"], "low": id(argument.kind), "high": len(rows), "entries": self._table(rows)}
        return words | {"shape": id(argument.shape) if len(argument.shape) > 1 else 0}

    def _struct(self, argument: StructArgument) -> dict[str, int] | None:
        rows = self.rows(member for _, member in argument.members)
        if rows is None:
            return None
        for (name, member), words in zip(argument.members, rows, strict=True):
            words |= {"name": id(name), "holds": int(isinstance(member, _ARRAYS))}
        at = self._table(rows)
        width = 8 * len(ARGUMENT)
        self.held += [at + k * width + 8 * ARGUMENT["held"] for k, words in enumerate(rows) if words["holds"]]
        return {"kind": KINDS["struct"], "low": id(argument.kind), "high": len(rows), "entries": at}

    def _array(self, argument: ArrayArgument | HostArgument | DeviceArgument) -> dict[str, int]:
        kind, low, high = _kind_of_array(argument)
        words = {"kind": kind, "low": low, "high": high, "tensor": id(argument.kind)}
        words |= _memory(self.entry, self.shortcut, argument.place, self.keep)
        if isinstance(argument, DeviceArgument):
            objects = {"device": argument.device, "stream": argument.stream, "number": argument.number}
            words |= {name: id(one) for name, one in objects.items()}
        beside = argument.beside if isinstance(argument, ArrayArgument) else ""
        if beside in self.entry.program.places:
            words["beside"] = self._table([words | _memory(self.entry, self.shortcut, beside, self.keep)])
        return words


def argument_tables(entry: Entry, shortcut: Shortcut) -> Tables | None:
    """The tables of the arguments; None if machine code does not convert one of them."""
    tables = _Tables(entry, shortcut)
    rows = tables.rows(shortcut.arguments)
    return None if rows is None else Tables(_arguments(rows), words_of([[at] for at in tables.held]), tables.keep)


def _arguments(rows: Sequence[Mapping[str, int]]) -> Words:
    return words_of([[words.get(name, 0) for name in ARGUMENT] for words in rows])


def _memory(entry: Entry, shortcut: Shortcut, place: str, keep: list[Words]) -> dict[str, int]:
    """The words that say where the memory of a place is passed."""
    context, slot = entry.context, entry.context.pointers.get(place)
    axes = [(axis, slot) for (name, axis), slot in context.extents.items() if name == place]
    if place in entry.marks:
        axes.append((MARK - EXTENTS, entry.marks[place]))  # the word of marks is in front of those of the extents
    extents, unused = words_of([[axis, entry.slots + 8 * slot] for axis, slot in axes]), words_of([])
    keep += [extents, unused]
    return {
        "slot": address_of(unused) if slot is None else entry.slots + 8 * slot,
        "extents": address_of(extents),
        "extent_count": len(axes),
        "written": int(place in shortcut.written),
        "earliest": UNCHANGED if place in shortcut.needed else UNWATCHED,
        "latest": _latest(place, shortcut),
    }


def _latest(place: str, shortcut: Shortcut) -> int:
    """When a buffer may have changed last, if Python need not know of the call: see `words.CHANGED`."""
    if place in shortcut.written and not shortcut.announced:
        return UNWATCHED
    return UNCHANGED if place in shortcut.needed else 2**63 - 1


def _number(argument: NumberArgument, slot: int) -> dict[str, int] | None:
    """The words of a number, which goes into a slot; None if machine code does not convert it."""
    dtype = argument.dtype
    if dtype.is_bool:
        return {"kind": KINDS["bool"], "low": id(False), "high": id(True), "slot": slot}
    if not dtype.is_float:
        most = min(int(argument.most), 2**63 - 1)
        return {"kind": KINDS["int"], "low": int(argument.least), "high": most, "slot": slot}
    if dtype.name not in KINDS:
        return None
    return {"kind": KINDS[dtype.name], "low": _double(argument.least), "high": _double(argument.most), "slot": slot}


def _kind_of_array(argument: ArrayArgument | HostArgument | DeviceArgument) -> tuple[int, int, int]:
    """(kind, low, high) of an array."""
    if isinstance(argument, DeviceArgument):
        return KINDS["device"], id(argument.dtype), argument.rank
    if isinstance(argument, ArrayArgument):
        return KINDS["array"], id(argument.kind), argument.tag
    kind = KINDS["tensor" if isinstance(argument, TensorArgument) else "host"]
    return kind, id(np.ndarray), ord(argument.format) | argument.rank << 16


def _double(value: float) -> int:
    """The bits of a double."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits)


def words_of(rows: Sequence[Sequence[int]]) -> Words:
    """Rows of words, one after another."""
    flat = [word for row in rows for word in row]
    return (ctypes.c_int64 * max(1, len(flat)))(*flat)


def address_of(words: Words) -> int:
    """Where words stand."""
    return ctypes.addressof(words)
