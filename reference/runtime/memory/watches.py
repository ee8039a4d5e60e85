"""The history of one buffer: its contents at the launches that a reverse pass may still ask about.

Launches are numbered by the backend, also those that machine code serves. A buffer is *watched* by whoever may have to
differentiate a launch later. Every writer announces which boxes of elements it is about to write; what these hold is
kept if a launch since the last such write needs it, as the way back from what the buffer holds next. So a launch costs
nothing, and a write costs a copy of the elements that meet what is needed.

The buffer's version does not do here: it tells that there was a write, and is raised after it; who is asked for the
contents of before has to know ahead of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Final, Protocol
from weakref import ReferenceType, ref

import numpy as np
import numpy.typing as npt

from ...analysis.boxes import Box, contains, intersection, slices
from ..adstacks.budget import current
from ..protocol.words import BY_MACHINE_CODE, CHANGED, UNCHANGED, VERSION, Words
from .blocks import Array, Block
from .history import MISSED, History, Written
from .keeping import Copies, Kept
from .origins import Tiles, clipped
from .rows import Latest
from .saved import Saved

__all__ = ["Difference", "LostError", "Saver", "Watch", "Watcher"]

SPARE: Final = 4
"""So many pieces of memory more than twice those that are in use are used again, rather than given back."""


class Watcher(Protocol):
    """One that may have to know the contents of a buffer at some launches."""

    def last(self) -> int:
        """The number of its last launch; 0 if there was none."""

    def numbers(self) -> Collection[int]:
        """The numbers of all launches that it may ask about."""

    def needs(self, buffer: Block) -> Sequence[Box] | None:
        """The elements of a buffer that these launches need; None for all."""

    def changes(self, buffer: Block) -> None:
        """A buffer that it watches is about to be written after its last launch."""


class Saver(Protocol):
    """Who saves what a buffer holds before it is written."""

    def before(self, buffer: Block) -> None:
        """Save what it may need of a buffer, which is about to be written."""


@dataclass(frozen=True)
class Difference:
    """How a buffer differs from what it held at a launch.

    Attributes:
        positions: flat positions, ascending.
        values: what the launch found there.
        writers: who has written any of the elements that were looked at since.
    """

    positions: npt.NDArray[np.int64]
    values: Array
    writers: tuple[str, ...]


class LostError(Exception):
    """What a buffer held is not known any more: what was kept took too much memory.

    Attributes:
        writers: who has overwritten it.
    """

    def __init__(self, writers: Iterable[str]) -> None:
        super().__init__()
        self.writers = tuple(writers)


class Watch:
    """The past of one buffer, as far as its watchers may ask for it.

    Attributes:
        savers: who is told of every write before it happens.
        last: how many launches there had been when a change was noted last, see `words.CHANGED`.
        saved: what was kept, oldest first.
        history: who wrote.
        strict: whether kernels may only write the buffer with Python's knowledge.
        is_idle: whether nobody watches, is told, or may ask who wrote: then nothing is noted.
        words: the record of the buffer, which tells how often machine code wrote it; None as long as there is none.
    """

    def __init__(self, words: Words | None = None) -> None:
        self.last = UNCHANGED
        self.strict, self.is_idle, self._is_asked = False, True, False
        self.words = words
        self._watchers: list[ReferenceType[Watcher]] = []
        self.saved: list[Saved] = []
        self.savers: list[Saver] = []
        self.history = History()
        self._launches = 0
        self._many = 2
        self._latest = Latest()
        self._spare: list[Block] = []

    def add(self, watcher: Watcher) -> None:
        """Somebody may have to know, as long as it lives."""
        if watcher not in self.watchers():
            self._watchers = [ref(one) for one in (*self.watchers(), watcher)]
            self.strict, self.is_idle = True, False

    def origins(self, buffer: Block) -> Tiles:
        """Where what the buffer holds now comes from."""
        self.history.settle(buffer.written)
        return self.history.tiles

    def ask(self) -> None:
        """Somebody may ask later who has written from now on."""
        self._is_asked, self.is_idle = True, False

    def subscribe(self, saver: Saver, *, first: bool = False) -> None:
        """Tell somebody of every write, before others if it is the `first`."""
        if saver not in self.savers:
            self.savers.insert(0 if first else len(self.savers), saver)
            self.is_idle = False

    def unsubscribe(self, saver: Saver) -> None:
        """Tell somebody no longer."""
        if saver in self.savers:
            self.savers.remove(saver)
            self.is_idle = not (self.savers or self.strict or self._is_asked)

    def watchers(self) -> list[Watcher]:
        """The watchers that are alive."""
        return [one for reference in self._watchers if (one := reference()) is not None]

    def before(
        self,
        buffer: Block,
        writer: str,
        boxes: Sequence[Box] | None = None,
        launch: tuple[Written, str, int] | None = None,
        copies: Copies | None = None,
    ) -> None:
        """Some boxes of elements of the buffer (None: any elements) are about to be written.

        Args:
            buffer: whose watch this is.
            writer: who writes, in words.
            boxes: where.
            launch: which launch writes, what it calls the buffer, and how many launches there were; None if the host
                writes.
            copies: to which whoever writes adds what is to be copied before; None to have it copied now.
        """
        if self.is_idle:
            self.history.unseen = MISSED
            return
        for saver in tuple(self.savers):
            saver.before(buffer)
        history, words = self.history, self.words
        unseen = buffer.written if words is None else words[VERSION] & BY_MACHINE_CODE
        if history.unseen != unseen:
            history.settle(unseen)
        if self._watchers:
            launches = buffer.backend.launches if launch is None else launch[2]
            if launches != self._launches:
                self._begin(buffer, launches)
                self._launches = launches  # now that it has begun: an interrupt may come at any time
            if self.saved:
                self._save(buffer, writer, (buffer.box,) if boxes is None else boxes, copies)
        if launch is None:
            history.write(boxes)
        else:
            history.launch(launch[0], launch[1])

    def _save(self, buffer: Block, writer: str, boxes: Sequence[Box], copies: Copies | None) -> None:
        latest = self.saved[-1]
        for reference in self._watchers:
            watcher = reference()
            if watcher is None:
                continue
            needs = watcher.needs(buffer)
            for box in boxes:
                for other in (box,) if needs is None or box in needs else needs:
                    common = box if other is box else intersection(box, other)
                    if common is None:
                        continue
                    if writer not in latest.writers:
                        latest.writers += (writer,)
                    # what was saved together with other elements is written now, too; and this comes before it is
                    # saved, as an interrupt may come at any time
                    if self._latest.numbers.get(common) != latest.number:
                        self._latest.put(common, latest.number)
                    if common not in latest.boxes:
                        latest.save(buffer, common, self._spare, self.history, copies)

    def _begin(self, buffer: Block, launches: int) -> None:
        """Begin to keep another state, before the first write after so many launches, if any of them found the newest.

        The watchers that launched are told that it changes.
        """
        newest = self.saved[-1].number if self.saved else 0
        latest = 0
        for reference in self._watchers:
            watcher = reference()
            if watcher is not None and (last := watcher.last()) > newest:
                watcher.changes(buffer)
                latest = max(latest, last)
        if not latest:
            return
        launches = max(launches, latest)  # machine code may have launched since they were counted
        self.last = launches
        if self.words is not None:
            self.words[CHANGED] = launches
        if self.saved and not self.saved[-1].patches:
            self.saved[-1].number = launches
        else:
            self.saved.append(Saved(launches))
        if len(self.saved) > self._many:
            self._trim()
            self._many = 2 + 2 * len(self.saved)

    def change(self, launches: int) -> None:
        """Say that the buffer is not known any more as any of so many launches found it, without Python."""
        self.last = launches
        if self.words is not None:
            self.words[CHANGED] = launches

    def since(self, number: int, within: Sequence[Box] | None = None) -> bool:
        """Whether an element of some boxes (None: any) may have been written since a launch."""
        latest = self._latest
        return latest.number >= number and (within is None or latest.reaches(number, within))

    def difference(self, buffer: Block, number: int, within: Sequence[Box]) -> Difference | None:
        """How the elements in some boxes differ from what a launch found, by bits; None if they don't.

        None, too, if the same launches have computed them again. Raises `LostError` if what they were is not known.
        """
        changed = [one for one in self.saved if one.number >= number and one.meets(within)]
        if self._are_recomputed(buffer, changed, within):
            return None  # and nothing is read, which would wait for the device
        patches, writers = _patches(changed, within)
        now = buffer.read()
        if all(_is_in(now, box, kept) for box, kept in patches):
            return None
        positions = np.concatenate([_flat(box, buffer.shape) for box, _ in patches])
        at, first = np.unique(positions, return_index=True)
        old = np.concatenate([kept.reshape(-1) for _, kept in patches])[first]
        differs = np.nonzero(_bits(old) != _bits(np.ascontiguousarray(now.reshape(-1)[at])))[0]
        return Difference(at[differs], old[differs], tuple(writers)) if len(differs) else None

    def _are_recomputed(self, buffer: Block, changed: Sequence[Saved], within: Sequence[Box]) -> bool:
        """Whether what was written in some boxes since has the origins that it had."""
        tiles, seen = self.origins(buffer), dict[Box, None]()
        for one in changed:
            for box, _, origins in one.patches:
                if box in seen or any(contains(earlier, box) for earlier in seen):
                    continue
                for part in _meeting(box, within):
                    now = tiles.alone(part)
                    before = origins[0][1] if origins[0][0] == part else None
                    if now is None or before is None:
                        is_same = clipped(origins, part) == self.history.origins(part)
                    else:
                        is_same = now == before
                    if not is_same:
                        return False
                seen[box] = None
        return True

    def _trim(self) -> None:
        """Drop what no reverse pass will ask for."""
        numbers = sorted({number for watcher in self.watchers() for number in watcher.numbers()})
        kept: list[Saved] = []
        unused: list[Kept | Array] = []
        asked = iter(numbers)
        number = next(asked, None)
        for one in self.saved:
            wanted = False
            while number is not None and number <= one.number:
                wanted, number = True, next(asked, None)
            if wanted:
                kept.append(one)
            elif kept:
                unused += kept[-1].absorb(one)
            else:
                unused += [contents for _, contents, _ in one.patches]
        self.saved = kept
        memory = [one.memory for one in unused if not isinstance(one, np.ndarray)]
        most = SPARE + 2 * (len(kept) + len(memory))  # so much may be needed until this is done again
        self._spare = [*self._spare, *memory][-most:]
        if self._spare:
            current().spares.add(self)

    @property
    def size(self) -> int:
        """Bytes of memory that is to be used again."""
        return sum(one.taken for one in self._spare)

    def relieve(self) -> bool:
        """Memory is short: give that back; whether there was any."""
        spare, self._spare = self._spare, []
        return bool(spare)


def _patches(changed: Sequence[Saved], within: Sequence[Box]) -> tuple[list[tuple[Box, Array]], dict[str, None]]:
    """What some boxes held before some stretches of writes, where these wrote; and who wrote there.

    Where boxes overlap the first one counts; those that lie in an earlier one are left out.
    """
    patches: list[tuple[Box, Array]] = []
    writers = dict[str, None]()
    for one in changed:
        if one.lost:
            raise LostError(one.writers)
        writers |= dict.fromkeys(one.writers)
        for box, kept, _ in one.patches:
            if _meeting(box, within) and not any(contains(patched, box) for patched, _ in patches):
                if isinstance(kept, Kept) and not kept.is_there:
                    raise LostError(one.writers)  # an interrupt came before it was copied
                patches.append((box, kept if isinstance(kept, np.ndarray) else kept.array()))
    return patches, writers


def _meeting(box: Box, others: Sequence[Box]) -> list[Box]:
    if box in others:
        return [box]
    return [common for other in others if (common := intersection(box, other)) is not None]


def _is_in(contents: Array, box: Box, old: Array) -> bool:
    """Whether a box of elements holds these bits."""
    at: tuple[EllipsisType | slice, ...] = (..., *slices(box))
    return np.array_equal(_bits(contents[at]), _bits(old))


def _bits(elements: Array) -> Array:
    """The same as unsigned integers."""
    bits: Array = elements.view(f"u{elements.dtype.itemsize}")
    return bits


def _flat(box: Box, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Flat positions of the elements of a box, in C order."""
    flat = np.zeros((), np.int64)
    for (low, high), extent in zip(box, shape, strict=True):
        flat = (flat[..., np.newaxis] if flat.ndim else flat) * extent + np.arange(low, high + 1)
    return flat.reshape(-1)
