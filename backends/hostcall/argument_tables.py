"""The tables of a builtin's record that stand for the arguments of its calls."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adstack.runtime.protocol.shortcuts import (
    Argument,
    ArrayArgument,
    DeviceArgument,
    HostArgument,
    MatrixArgument,
    NumberArgument,
    SameArgument,
    Shortcut,
    StructArgument,
    TensorArgument,
)
from adstack.runtime.protocol.words import EXTENTS, MARK, UNCHANGED, UNWATCHED

from .entry import Entry
from .record import ARGUMENT, KINDS
from .tables import ARRAYS, address_of, words_of

if TYPE_CHECKING:
    from .tables import Words

__all__ = ["Tables", "argument_tables"]


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
            words |= {"name": id(name), "holds": int(isinstance(member, ARRAYS))}
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
