"""Records of guarded accesses that were outside, of a device that runs while the host goes on.

The record of a program stands in memory that both see. The device writes it at most once until the host has read it:
the first access that is outside wins. To look costs the host a load for each program.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.errors import AdstackError

from .reports import failure
from .sites import Site

__all__ = ["GUARDS", "Outside", "only_guards"]

Array = npt.NDArray[np.int64]
_FIRST: Final = itemgetter(0)
GUARDS = frozenset({"bounds", "local"})
"""The kinds of sites that guards have, where debug mode does not check."""


def only_guards(sites: Sequence[Site], *, debug: bool) -> bool:
    """Whether what is reported in the record of errors comes from guards, and something does."""
    kinds = {site.kind for site in sites} - {"stack", "print"}
    return not debug and bool(kinds) and kinds <= GUARDS


@dataclass(frozen=True)
class _Watch:
    """A program's record, what it may be about, and whose it is."""

    record: Array
    sites: Sequence[Site]
    owner: weakref.ref[object]


class Outside:
    """The records of a device's programs; those of programs that are gone are kept until the device has finished."""

    def __init__(self) -> None:
        self._watches: list[_Watch] = []
        self._records: list[Array] = []

    def watch(self, record: Array, sites: Sequence[Site], owner: object) -> None:
        """Look at a record of errors at such sites from now on, for as long as its owner lives.

        Whoever calls keeps its memory for as long as the array is alive.
        """
        self._watches.append(_Watch(record, sites, weakref.ref(owner)))
        self._records.append(record)

    @property
    def any(self) -> bool:
        """Whether a launch has reported something so far."""
        return any(map(_FIRST, self._records))

    def taken(self) -> AdstackError | None:
        """What was reported first, by the order of the programs; all records are clear then. The device is idle."""
        error: AdstackError | None = None
        for watch in self._watches:
            if watch.record[0]:
                error = error or failure(watch.sites, watch.record.tolist(), {})
                watch.record[:] = 0
        self._watches = [watch for watch in self._watches if watch.owner() is not None]
        self._records = [watch.record for watch in self._watches]
        return error
