"""Sequences of calls that machine code serves and reverses: the tables that it reads.

Forward, each call has a row of `follow.CALL` words; backward, one of `run.STEP` words, last call first. What a reverse
mode is launched with stands in front of its context; the floats among it are noted by the call itself.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.backends.hostcall import launching
from adstack.backends.hostcall.follow import CALL, SEQUENCE
from adstack.backends.hostcall.run import MOVE, STEP
from adstack.backends.shared.bits import signed_bits
from adstack.ir.types import DType
from adstack.runtime.adstacks.heap import HeapLimit
from adstack.runtime.protocol.backend import Scalar
from adstack.runtime.protocol.following import Bound, Move, SequenceCall
from adstack.runtime.threads.guards import ASKING, FOLLOWED, GUARD, REWIRED

from .executable import Executable
from .pool import pool

__all__ = ["Sequenced"]

Words = npt.NDArray[np.int64]
_NOTHING: Final = np.zeros(0, np.int64)


class Sequenced:
    """See `adstack.runtime.protocol.following.Sequenced`.

    Args:
        calls: what it consists of; None for what machine code does not serve.
        launches: the address of the number of launches.
    """

    def __init__(self, calls: Sequence[SequenceCall | None], launches: int) -> None:
        self._calls, self._launches = calls, launches
        self._keep: list[Words] = []
        self._noted = [_NOTHING if call is None else _arguments(call.reverse or call.forward) for call in calls]
        pairs = list(zip(calls, self._noted, strict=True))
        self._rows = _table([{} if call is None else self._call(call, noted) for call, noted in pairs], CALL)
        self._steps = _table([{} if call is None else self._step(call, noted) for call, noted in pairs[::-1]], STEP)
        self._restores, self._offsets = self._restoring()
        self._state = (ctypes.c_int64 * len(SEQUENCE))()
        launched = [call.reverse.executable for call in calls if call is not None and call.reverse is not None]
        self._executables: list[Executable] = list({id(one): one for one in launched}.values())
        self._threads = {one.options.cpu_max_num_threads for one in self._executables if one.is_parallel}

    def _call(self, call: SequenceCall, noted: Words) -> dict[str, int]:
        """The row of a call."""
        executable: Executable = call.forward.executable
        now, at = _arguments(call.forward), executable.address
        floats = [slot for slot, dtype in executable.params if dtype.is_float]
        varying = [slot for slot, dtype in executable.params if not dtype.is_float]
        varying += _array_slots(executable)
        same = [*((at + 8 * slot, int(now[slot])) for slot in varying), *call.words]
        pairs = [(at + 8 * slot, noted.ctypes.data + 8 * slot) for slot in floats]
        saves = [_move(move) for move in call.saves]
        return {
            "record": call.follower.address,
            **self._listed("same", "same_count", same),
            **self._listed("floats", "float_count", pairs),
            **self._listed("moves", "move_count", saves),
        }

    def _step(self, call: SequenceCall, noted: Words) -> dict[str, int]:
        """The row of its reverse mode."""
        later = self._listed("later", "later_count", [_move(move, exchanges=True) for move in call.saves])
        if call.reverse is None:
            return later
        executable: Executable = call.reverse.executable
        return {
            "run": executable.code.entry,
            "ctx": executable.address,
            "kept": noted.ctypes.data,
            "size": len(noted),
            "launch_slot": executable.address + 8 * executable.context.own["launch"],
            "errors": executable.errors.ctypes.data,
            "overflow": executable.overflow.ctypes.data,
            "release": int(executable.is_long),
            **self._listed("prior", "prior_count", [_move(move) for move in call.beside]),
            **later,
        }

    def _restoring(self) -> tuple[Words, list[int]]:
        """What is put back, in the order of the calls, and where the rows of each call begin."""
        rows, offsets = [], [0]
        for call in self._calls:
            saves = () if call is None else call.saves
            rows += [_move(Move(one.target, one.at, one.source, one.start, one.nbytes)) for one in saves]
            offsets.append(len(rows))
        return np.array(rows, np.int64).reshape(-1, len(MOVE)), offsets

    def _listed(self, at: str, count: str, rows: Sequence[Sequence[int]]) -> dict[str, int]:
        """The words of a row that tell of a list of others."""
        if not rows:
            return {}
        self._keep.append(np.array(rows, np.int64))
        return {at: self._keep[-1].ctypes.data, count: len(rows)}

    # ---- forward

    def begin(self, first: int) -> None:
        """Serve the calls of this thread from one on."""
        words = {
            "thread": threading.get_ident(),
            "asks": GUARD[ASKING],
            "rewired": GUARD[REWIRED],
            "position": first,
            "calls": self._rows.ctypes.data,
            "count": len(self._calls),
            "torn": 0,
        }
        self._state[:] = [words[name] for name in SEQUENCE]
        GUARD[FOLLOWED] = ctypes.addressof(self._state)

    def end(self) -> tuple[int, bool]:
        """Serve no more of them: up to which one they came, and whether that one did not come to its end."""
        if GUARD[FOLLOWED] == ctypes.addressof(self._state):
            GUARD[FOLLOWED] = 0
        if self._state[SEQUENCE["thread"]] != threading.get_ident():
            launching.alone(_nothing)  # a call may be under way
        return self._state[SEQUENCE["position"]], bool(self._state[SEQUENCE["torn"]])

    def scalars(self, call: int) -> Sequence[Scalar]:
        """The scalar arguments of a call when it was served last."""
        served = self._calls[call]
        assert served is not None
        forward = served.forward
        pairs = zip(forward.executable.params, forward.scalars, strict=True)
        return [_float(self._noted[call], slot, dtype) if dtype.is_float else one for (slot, dtype), one in pairs]

    # ---- backward

    def turn(self, end: int) -> ctypes.c_int64:
        """Calls up to `end` are about to be reversed: how far that comes."""
        return ctypes.c_int64(len(self._calls) - end)

    def reverse(self, first: int, progress: ctypes.c_int64, short: Callable[[int, HeapLimit], object]) -> None:
        """Run the reverse modes of some calls, last first."""
        for executable in self._executables:
            executable.cells[executable.sized_slot] = 0
            executable.settled = False  # its depths need not be those that stand
            executable.bound = None
        for threads in self._threads:
            pool().start(threads)
        count = len(self._calls)
        while progress.value < count - first:
            limit = self._limited(progress, count - first)
            if limit is not None:
                short(count - 1 - progress.value, limit)
                self._pass(progress)

    def _limited(self, progress: ctypes.c_int64, end: int) -> HeapLimit | None:
        """Launch steps up to one; what the first of them says that has no room."""
        try:
            launching.alone(lambda: self._run(progress, end))
        except HeapLimit as limit:
            return limit
        return None

    def _run(self, progress: ctypes.c_int64, end: int) -> None:
        """Launch steps up to one, or up to one that has no room."""
        while True:
            launching.repeat(self._steps.ctypes.data, progress, end, self._launches)
            at = progress.value
            if at >= end:
                return
            call = self._calls[len(self._calls) - 1 - at]
            assert call is not None
            assert call.reverse is not None
            executable: Executable = call.reverse.executable
            executable.shapes = call.reverse.bindings.shapes
            if self._steps[at, STEP["code"]]:
                executable.go_on(int(self._steps[at, STEP["code"]]))
            executable.report()
            self._pass(progress)

    def _pass(self, progress: ctypes.c_int64) -> None:
        """A step that stopped has come to its end."""
        row = self._steps[progress.value]
        launching.move(int(row[STEP["later"]]), int(row[STEP["later_count"]]))
        progress.value += 1

    def restore(self, progress: ctypes.c_int64, end: int) -> None:
        """Put memory back as it was before calls up to `end` were reversed."""
        first, last = self._offsets[min(len(self._calls) - progress.value, end)], self._offsets[end]
        launching.move(self._restores[first:last].ctypes.data, last - first)


def _table(rows: Sequence[dict[str, int]], names: dict[str, int]) -> Words:
    """Rows of words."""
    return np.array([[row.get(name, 0) for name in names] for row in rows], np.int64).reshape(-1, len(names))


def _arguments(bound: Bound) -> Words:
    """The words at the beginning of a context that tell of the arguments and the memory of a launch."""
    executable: Executable = bound.executable
    context = executable.context
    words: Words = executable.slots[: min(context.own.values())].copy()
    for (slot, dtype), value in zip(executable.params, bound.scalars, strict=True):
        words[slot] = signed_bits(value, dtype)
    for name, storage in bound.bindings.storages.items():
        words[context.pointers[name]] = storage.ctypes.data
    for (name, axis), slot in context.extents.items():
        words[slot] = bound.bindings.shapes[name][axis]
    return words


def _array_slots(executable: Executable) -> list[int]:
    """Where the context tells of array arguments."""
    places, context = executable.program.places, executable.context
    names = [name for name in context.pointers if places[name].kind == "ndarray"]
    return [*(context.pointers[name] for name in names), *(context.extents[one] for one in context.extents)]


def _float(words: Words, slot: int, dtype: DType) -> float:
    value: float = words[slot : slot + 1].view(dtype.numpy)[0].item()
    return value


def _move(move: Move, *, exchanges: bool = False) -> tuple[int, ...]:
    words = {
        "source": move.source.ctypes.data + move.start,
        "target": move.target.ctypes.data + move.at,
        "bytes": move.nbytes,
        "exchanges": int(exchanges),
    }
    return tuple(words[name] for name in MOVE)


def _nothing() -> None:
    """There is nothing to do but to wait."""
