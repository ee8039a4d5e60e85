"""Sequences of calls that machine code serves and reverses, on any device: the tables that it reads.

Forward, each call has a row of `follow.CALL` words. Backward, the last call first, there are `steps`: what is copied
before its reverse mode, the reverse mode, and what is exchanged after it. The words of the context that are written
before a reverse mode have its arguments; the floats among them are noted by the call itself.
"""

from __future__ import annotations

import ctypes
import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from adstack.backends.shared.bits import signed_bits
from adstack.ir.types import DType
from adstack.runtime.adstacks.heap import HeapLimit
from adstack.runtime.protocol.backend import Executable, Scalar, Storage
from adstack.runtime.protocol.following import Bound, Lent, Move, SequenceCall
from adstack.runtime.threads.guards import ASKING, FOLLOWED, GUARD, REWIRED

from . import launching
from .calls import launch_record
from .entry import Entry
from .follow import CALL, SEQUENCE
from .lent import LENT
from .steps import Launch, Mover, Pairs, Part, Steps, memo_of, table

if TYPE_CHECKING:
    from .tables import Words

__all__ = ["Device", "Queueing", "Sequenced", "Together"]

_PAIR: Final = 16
"""Bytes of an (address, value) pair."""


_MOST_SPANS: Final = 8
"""Of so many beginnings of a sequence, forward and backward, commands are queued together."""


class Together(Protocol):
    """Commands of launches and moves of memory that come in a known order, and may be queued together."""

    def open(self) -> None:
        """From now on what is launched may wait for what comes next, until somebody else uses the device."""

    def close(self) -> None:
        """All of it is queued."""


class Queueing(Protocol):
    """Makes what queues the commands of a sequence together."""

    def __call__(self, executables: Sequence[Executable], moves: int, *, paced: bool) -> Together:
        """What queues the launches of executables, each listed once for each launch, with so many moves of memory;
        `paced` says that Python's code runs between them.
        """


class Device(Protocol):
    """What a backend tells of launches and of memory."""

    def entry(self, executable: Executable) -> Entry | None:
        """A program as machine code launches it; None if Python has to, but not for what sequences consist of."""

    def mover(self, moves: Sequence[Move], words: Pairs | None = None) -> Mover:
        """What copies memory, one of the moves after the other, once words, as (address, value), were written."""

    def address(self, storage: Storage) -> int:
        """Where launches find the memory of a handle."""

    def mark(self, storage: Storage) -> int:
        """Where launches note that they use the memory of a handle; 0 if they need not."""

    def prepare(self, executables: Sequence[Executable]) -> None:
        """Machine code is about to launch these executables."""

    @property
    def together(self) -> Queueing | None:
        """What queues launches and moves together; None where each is queued by itself, or the device knows better."""

    def about(self, bound: Bound) -> None:
        """What is reported from now on is about the launch `bound`."""


class Sequenced:
    """See `adstack.runtime.protocol.following.Sequenced`.

    Args:
        calls: what it consists of; None for what machine code does not serve.
        device: where they run.
    """

    def __init__(self, calls: Sequence[SequenceCall | None], device: Device) -> None:
        self._calls, self._device = calls, device
        self._keep: list[object] = []
        served = [(k, call) for k, call in enumerate(calls) if call is not None]
        self._gaps = [*(k for k, call in enumerate(calls) if call is None), len(calls)]
        self._launches = _Launches([call for _, call in served], device)
        self._noted = {k: self._launches.pairs(call.reverse or call.forward) for k, call in served}
        self._where: dict[Lent, int] = {}
        self._passed: list[object] = []
        self._rows = table([{} if call is None else self._call(k, call) for k, call in enumerate(calls)], CALL)
        self._address = self._rows.ctypes.data
        self._steps, self._begins = self._reversing()
        self._behind = [-begin for begin in self._begins]  # ascending
        self._restores, self._offsets = self._restoring()
        self._state = (ctypes.c_int64 * len(SEQUENCE))()
        self._spans: dict[tuple[bool, int, int], Together] = {}
        self._open: Together | None = None

    # ---- tables

    def _call(self, k: int, call: SequenceCall) -> dict[str, int]:
        """The row of a call."""
        entry, noted = self._launches.entry(call.forward.executable), self._noted[k].ctypes.data
        params = enumerate(zip(entry.context.params, entry.program.params, strict=True))
        floats = [(entry.slots + 8 * slot, noted + _PAIR * j + 8) for j, (slot, dtype) in params if dtype.is_float]
        same = [*self._launches.same(call.forward, {one.place for one in call.lent}), *call.words]
        lent = [[self._lent(k, call, one)[name] for name in LENT] for one in call.lent]
        return {
            "record": call.follower.address,
            **self._listed("same", "same_count", same),
            **self._listed("floats", "float_count", floats),
            **self._listed("lent", "lent_count", lent),
            **(self._saving(call.saves) if call.saves else {}),
        }

    def _lent(self, k: int, call: SequenceCall, one: Lent) -> dict[str, int]:
        """The words of an array of the host."""
        entry, where = self._launches.entry(call.forward.executable), self._where_of(k, call, one)
        return {
            "argument": one.argument,
            "slot": entry.slots + 8 * entry.context.pointers[one.place] if one.nbytes else where,
            "bytes": one.nbytes,
            "latest": where if one.earlier is None else self._where[one.earlier],
            "own": 0 if one.memory is None else self._device.address(one.memory),
            "where": where,
        }

    def _where_of(self, k: int, call: SequenceCall, one: Lent) -> int:
        """The address of the word that tells where an array of the host is noted: the reverse mode gets it."""
        pairs, names = self._noted[k], list((call.reverse or call.forward).bindings.storages)
        if one.place in names:
            self._where[one] = pairs[len(call.forward.scalars) + names.index(one.place), 1:].ctypes.data
        else:
            word = np.array([0 if one.memory is None else self._device.address(one.memory)], np.int64)
            self._keep.append(word)
            self._where[one] = word.ctypes.data
        return self._where[one]

    def _saving(self, saves: Sequence[Move]) -> dict[str, int]:
        """The words that tell of what is kept before a call."""
        mover = self._device.mover(saves)
        self._keep.append(mover)
        return {**mover.row, "unmoved": id(mover.otherwise)}

    def _reversing(self) -> tuple[Steps, list[int]]:
        """The steps backward; and for each call, and the end, how many of them come before those of the ones before."""
        parts, begins = list[Part](), [0]
        for k in reversed(range(len(self._calls))):
            call = self._calls[k]
            if call is not None:
                parts += self._step(k, call, len(parts))
            begins.append(len(parts))
        return Steps(parts), begins[::-1]

    def _step(self, k: int, call: SequenceCall, number: int) -> Iterator[Part]:
        """The steps of a call, of which the first has a number."""
        if call.beside:
            yield self._device.mover(call.beside)
        if call.reverse is not None:
            yield self._launches.part(call.reverse, self._noted[k])
        if call.later:
            yield self._device.mover(call.later, self._launches.exchange(number))

    def _restoring(self) -> tuple[Steps, list[int]]:
        """What puts memory back, in the order of the calls; and for each call, and the end, how many come before."""
        parts, offsets = list[Part](), [0]
        for call in self._calls:
            if call is not None and call.saves:
                back = [Move(one.target, one.at, one.source, one.start, one.nbytes) for one in call.saves]
                parts.append(self._device.mover(back))
            offsets.append(len(parts))
        return Steps(parts), offsets

    def _listed(self, at: str, count: str, rows: Sequence[Sequence[int]]) -> dict[str, int]:
        """The words of a row that tell of a list of others."""
        if not rows:
            return {}
        listed = np.array(rows, np.int64)
        self._keep.append(listed)
        return {at: listed.ctypes.data, count: len(rows)}

    # ---- what is queued together

    def _together(self, queueing: Queueing, *, forward: bool, first: int, end: int) -> Together | None:
        """What queues the calls from one on to another, or their reverse modes; None if there are too many spans."""
        span = forward, first, end
        if span not in self._spans:
            served = [call for call in self._calls[first:end] if call is not None]
            if len(self._spans) >= _MOST_SPANS:
                return None
            moves = sum(len(call.saves) if forward else len(call.beside) + len(call.later) for call in served)
            launches = [call.forward if forward else call.reverse for call in served]
            executables = [launch.executable for launch in launches if launch is not None]
            self._spans[span] = queueing(executables, moves, paced=forward)
        return self._spans[span]

    # ---- forward

    def begin(self, first: int) -> None:
        """See `Sequenced.begin` of the protocol."""
        passed = self._passed = list[object]()
        words = {
            "thread": threading.get_ident(),
            "asks": GUARD[ASKING],
            "rewired": GUARD[REWIRED],
            "position": first,
            "calls": self._address,
            "count": len(self._calls),
            "torn": 0,
            "passed": id(passed),
        }
        self._state[:] = [words[name] for name in SEQUENCE]
        queueing = self._device.together
        if queueing is not None:
            self._open = self._together(queueing, forward=True, first=first, end=self._stop(first))
        if self._open is not None:
            self._open.open()
        GUARD[FOLLOWED] = ctypes.addressof(self._state)

    def _stop(self, first: int) -> int:
        """Behind the last of the calls from one on that are served without another between them."""
        return self._gaps[bisect_left(self._gaps, first)]

    def end(self) -> tuple[int, bool, list[object]]:
        """See `Sequenced.end` of the protocol."""
        if GUARD[FOLLOWED] == ctypes.addressof(self._state):
            GUARD[FOLLOWED] = 0
        if self._state[SEQUENCE["thread"]] != threading.get_ident():
            launching.alone(_nothing)  # a call may be under way
        together, self._open = self._open, None
        if together is not None:
            together.close()
        passed, self._passed = self._passed, []
        return self._state[SEQUENCE["position"]], bool(self._state[SEQUENCE["torn"]]), passed

    def noted(self, lent: Lent) -> int:
        """See `Sequenced.noted` of the protocol."""
        return ctypes.c_int64.from_address(self._where[lent]).value

    def scalars(self, call: int) -> Sequence[Scalar]:
        """The scalar arguments of a call when it was served last."""
        served = self._calls[call]
        assert served is not None
        entry, noted = self._launches.entry(served.forward.executable), self._noted[call]
        pairs = enumerate(zip(entry.program.params, served.forward.scalars, strict=True))
        return [_float(noted, k, dtype) if dtype.is_float else one for k, (dtype, one) in pairs]

    # ---- backward

    def turn(self, end: int) -> ctypes.c_int64:
        """Calls up to `end` are about to be reversed: how far that comes."""
        return ctypes.c_int64(self._begins[end])

    def reverse(self, first: int, progress: ctypes.c_int64, short: Callable[[int, HeapLimit], object]) -> None:
        """See `Sequenced.reverse` of the protocol."""
        self._device.prepare(self._launches.reversing)
        end = self._begins[first]
        queueing, together = self._device.together, None
        if queueing is not None:
            together = self._together(queueing, forward=False, first=first, end=self._reversed(progress))
        if together is not None:
            together.open()
        try:
            while progress.value < end:
                limit = self._limited(progress, end)
                if limit is not None:
                    short(self._reversed(progress) - 1, limit)
                    progress.value += 1
        finally:
            if together is not None:
                together.close()

    def _limited(self, progress: ctypes.c_int64, end: int) -> HeapLimit | None:
        """Do steps up to one; what the first of them says that has no room."""
        try:
            launching.alone(partial(self._steps.run, progress, end))
        except HeapLimit as limit:
            return limit
        return None

    def _reversed(self, progress: ctypes.c_int64) -> int:
        """The first one of the calls that have been reversed."""
        return bisect_left(self._behind, -progress.value)

    def restore(self, progress: ctypes.c_int64, end: int) -> None:
        """See `Sequenced.restore` of the protocol."""
        position = ctypes.c_int64(self._offsets[min(self._reversed(progress), end)])
        if position.value < self._offsets[end]:
            launching.alone(partial(self._restores.run, position, self._offsets[end]))


class _Launches:
    """How the launches of a sequence are made.

    Attributes:
        reversing: what the reverse modes run.
    """

    def __init__(self, calls: Sequence[SequenceCall], device: Device) -> None:
        self._device = device
        reverses = [call.reverse for call in calls if call.reverse is not None]
        self.reversing: list[Executable] = list({id(one.executable): one.executable for one in reverses}.values())
        self._entries: dict[int, Entry] = {}
        memory = [(name, storage, one) for one in reverses for name, storage in one.bindings.storages.items()]
        written = {id(storage) for name, storage, one in memory if name in one.written}
        self._written = written | {id(move.target) for call in calls for move in (*call.saves, *call.beside)}
        self._exchanged = {id(move.source) for call in calls for move in call.saves}
        self._latest, self._still = ctypes.c_int64(0), ctypes.c_int64(0)
        self._records: dict[tuple[int, ...], tuple[Words, Words | None]] = {}

    def entry(self, executable: Executable) -> Entry:
        """A program as machine code launches it."""
        entry = self._entries.get(id(executable))
        if entry is None:
            entry = self._device.entry(executable)
            assert entry is not None
            self._entries[id(executable)] = entry
        return entry

    def pairs(self, bound: Bound) -> Pairs:
        """The words of the context that tell of the arguments and the memory of a launch; scalars come first."""
        slots = self.entry(bound.executable).slots
        return np.array([(slots + 8 * slot, value) for slot, value in self._words(bound)], np.int64).reshape(-1, 2)

    def _words(self, bound: Bound) -> list[tuple[int, int]]:
        """(slot, word) for each word that tells of the arguments and the memory of a launch."""
        entry = self.entry(bound.executable)
        context, bindings = entry.context, bound.bindings
        params = zip(context.params, entry.program.params, bound.scalars, strict=True)
        words = [(slot, signed_bits(value, dtype)) for slot, dtype, value in params]
        words += [(context.pointers[name], self._device.address(one)) for name, one in bindings.storages.items()]
        words += [(slot, self._device.mark(bindings.storages[name])) for name, slot in entry.marks.items()]
        return words + [(slot, bindings.shapes[name][axis]) for (name, axis), slot in context.extents.items()]

    def same(self, bound: Bound, lent: Collection[str]) -> Iterator[tuple[int, int]]:
        """(address, value) of the words that must be what they are: integers, and what tells of arrays.

        The host's, at the places `lent`, may be in other memory.
        """
        entry = self.entry(bound.executable)
        context, places = entry.context, entry.program.places
        params = zip(context.params, entry.program.params, strict=True)
        slots = {slot for slot, dtype in params if not dtype.is_float} | {*context.extents.values()}
        arrays = {name: slot for name, slot in context.pointers.items() if places[name].kind == "ndarray"}
        slots |= {slot for name, slot in arrays.items() if name not in lent}
        return ((entry.slots + 8 * slot, value) for slot, value in self._words(bound) if slot in slots)

    def part(self, bound: Bound, words: Pairs) -> Part:
        """The step that launches a reverse mode."""
        entry = self.entry(bound.executable)
        key = id(bound.executable), *(id(one.storage) for one in bound.sizes or ())
        record = self._records.get(key)
        if record is None:
            memo = self._memo(entry, bound) if entry.depths else None
            record = self._records[key] = launch_record(entry, memo, bound.reductions), memo
        return Launch(entry, record[0], words, partial(self._device.about, bound))

    def _memo(self, entry: Entry, bound: Bound) -> Words:
        """What the depths of its adstacks depend on."""
        looked_at = None if bound.sizes is None else {id(one.storage) for one in bound.sizes}
        if looked_at is None or not looked_at.isdisjoint(self._written):
            return memo_of(entry, self._still, None)
        moves = not looked_at.isdisjoint(self._exchanged)
        return memo_of(entry, self._latest if moves else self._still, bound.sizes)

    def exchange(self, number: int) -> Pairs:
        """What is written down when memory is exchanged, in a step near a number: depths may be others from then on."""
        return np.array([(ctypes.addressof(self._latest), number + 1)], np.int64)


def _float(words: Pairs, k: int, dtype: DType) -> float:
    value: float = words[k, 1:].view(dtype.numpy)[0].item()
    return value


def _nothing() -> None:
    """There is nothing to do but to wait."""
