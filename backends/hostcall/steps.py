"""Launches and moves of memory that machine code does one after the other, and what Python does where it stops."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from adstack.runtime.protocol.words import VERSION, Recorded

from . import launching
from .entry import Entry
from .record import RECORD
from .run import STEP
from .tables import address_of, size_words, words_of

if TYPE_CHECKING:
    from .tables import Words

__all__ = ["Launch", "Mover", "Pairs", "Part", "Steps", "memo_of", "table"]

Pairs = npt.NDArray[np.int64]
"""(address, value) of words."""
_NEVER: Final = -1
"""No word that a memo begins with has this value."""


class Part(Protocol):
    """One step."""

    @property
    def row(self) -> dict[str, int]:
        """Its words, see `run.STEP`; those that are left out are 0."""

    def go_on(self, code: int) -> object:
        """Do what is left of it, where machine code stopped with a code."""


@dataclass(frozen=True, eq=False)
class Launch:
    """A launch.

    Attributes:
        entry: what is launched.
        record: what machine code is told of it, see `calls.launch_record`.
        words: of the context, written before.
        about: is called before anything is reported of the launch.
    """

    entry: Entry
    record: Words
    words: Pairs
    about: Callable[[], object]

    @property
    def row(self) -> dict[str, int]:
        """Its words in the table of a sequence, by their names."""
        return {
            "record": address_of(self.record),
            "words": self.words.ctypes.data,
            "word_count": len(self.words),
        }

    def go_on(self, code: int) -> None:
        """Run the rest, where machine code stopped with such a code; raise what was reported."""
        self.about()
        if code:
            self.entry.goes_on(code)
        self.entry.failed()
        if self.entry.depths:
            ctypes.c_int64.from_address(self.entry.depths).value = self.record[RECORD["memo"]]


@dataclass(frozen=True, eq=False)
class Mover:
    """Moves of memory.

    Attributes:
        run: the address of what does them: `i64 run(rows, count)` gives 0 if it has.
        rows, count: what it is told.
        otherwise: does them where that gave another code, or raises.
        keep: what the rows point to.
        words: written before.
    """

    run: int
    rows: Pairs
    count: int
    otherwise: Callable[[int], object]
    keep: object = field(default=None, repr=False)
    words: Pairs | None = None

    @property
    def row(self) -> dict[str, int]:
        """Its words in the table of a sequence, by their names."""
        words = {} if self.words is None else {"words": self.words.ctypes.data, "word_count": len(self.words)}
        return {"mover": self.run, "moves": self.rows.ctypes.data, "move_count": self.count, **words}

    def go_on(self, code: int) -> object:
        """Make the moves, which machine code left with such a code."""
        return self.otherwise(code)


class Steps:
    """Steps in a row."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self._table = table([part.row for part in parts], STEP)
        self._address = self._table.ctypes.data

    def run(self, position: ctypes.c_int64, end: int) -> None:
        """Do them from a position on, up to one. If something is raised, that is the position of where it was.

        The caller is the one thread that launches, see `launching.alone`.
        """
        while True:
            launching.repeat(self._address, position, end)
            at = position.value
            if at >= end:
                return
            self.parts[at].go_on(int(self._table[at, STEP["code"]]))
            position.value += 1


def table(rows: Sequence[dict[str, int]], names: dict[str, int]) -> npt.NDArray[np.int64]:
    """Rows of words, each name -> word, as an array of shape (rows, names); a word that a row has not is 0."""
    return np.array([[row.get(name, 0) for name in names] for row in rows], np.int64).reshape(-1, len(names))


def memo_of(entry: Entry, first: ctypes.c_int64, sizes: Sequence[Recorded] | None) -> Words:
    """What depths of adstacks depend on: memory, and scalar arguments; see `record.MEMO`.

    Args:
        entry: what is launched.
        first: a word, never negative, that must be what it was as well. The words are compared with what they were
            only where this one has been noted before.
        sizes: the memory; None if depths have to be computed in each launch.
    """
    addresses = [ctypes.addressof(first)]
    if sizes is None:
        addresses.append(entry.launches)  # which is never what it was
    records = [address_of(one.record()) for one in sizes or ()]
    addresses += [record + 8 * VERSION for record in records]
    return words_of([[address, _NEVER] for address in (*addresses, *size_words(entry))])
