"""The history of one buffer: its contents at the launches that a reverse pass may still ask about.

Launches are numbered by the backend, also those that machine code serves. A buffer is *watched* by whoever may have to
differentiate a launch later. Every writer announces which boxes of elements it is about to write; what these hold is
kept if a launch since the last such write needs it, as the way back from what the buffer holds next. So a launch costs
nothing, and a write costs a copy of the elements that meet what is needed.

The buffer's version does not do here: it tells that there was a write, and is raised after it; who is asked for the
contents of before has to know ahead of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple, Protocol
from weakref import ReferenceType, ref

import numpy as np

from ...analysis.boxes import Box, contains, intersection
from ..adstacks.budget import current
from ..protocol.words import BY_MACHINE_CODE, CHANGED, UNCHANGED, VERSION, Words
from .blocks import Array, Block
from .differences import Difference, difference, meeting
from .history import MISSED, History, Written
from .keeping import Copies, Kept
from .origins import Origins, Tiles, clipped
from .rows import Latest
from .saved import Saved

__all__ = ["Saver", "Watch", "Watcher"]

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


class _Again(NamedTuple):
    """A launch that computes again what a buffer holds: that is not kept, as it will be there after the launch.

    Attributes:
        writer: the launch, in words.
        boxes: of the elements.
        launches: how many launches there were before.
    """

    writer: str
    boxes: Sequence[Box]
    launches: int


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
        self._again: _Again | None = None

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
        if launch is None:
            if self._watchers:
                self._keep(buffer, writer, (buffer.box,) if boxes is None else boxes, buffer.backend.launches, copies)
            history.write(boxes)
        else:
            written = history.after(launch[0], launch[1])
            if self._watchers:
                self._before_launch(buffer, writer, written, launch[2], copies)
            history.put(written)

    def _before_launch(
        self, buffer: Block, writer: str, written: Origins, launches: int, copies: Copies | None
    ) -> None:
        """Keep what a launch is about to write, and does not compute again."""
        known, changed, again = self.history.tiles.known, list[Box](), list[Box]()
        for box, origin in written:
            if known.get(box) == origin:
                again.append(box)
            else:
                changed.append(box)
        if again:
            self._again = _Again(writer, again, launches)  # before any of it: an interrupt may come at any time
        if changed:
            self._keep(buffer, writer, changed, launches, copies)

    def failed(self, buffer: Block, launches: int) -> None:
        """A launch has failed that was announced when there had been so many: what it wrote is not known."""
        self.history.forget()
        again, self._again = self._again, None
        if again is not None and again.launches >= launches:
            if again.launches != self._launches:
                self._begin(buffer, again.launches)
            if self.saved:
                for box in again.boxes:
                    self._latest.put(box, self.saved[-1].number)
                self.saved[-1].miss(again.boxes, again.writer)

    def _keep(self, buffer: Block, writer: str, boxes: Sequence[Box], launches: int, copies: Copies | None) -> None:
        """Keep what some boxes hold that are about to be written after so many launches, as far as it is needed."""
        if launches != self._launches:
            self._begin(buffer, launches)
            self._launches = launches  # now that it has begun: an interrupt may come at any time
        if self.saved:
            self._save(buffer, writer, boxes, copies)

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
        return difference(buffer, changed, within)

    def _are_recomputed(self, buffer: Block, changed: Sequence[Saved], within: Sequence[Box]) -> bool:
        """Whether what was written in some boxes since has the origins that it had."""
        tiles, seen = self.origins(buffer), dict[Box, None]()
        for one in changed:
            for box, _, origins in one.patches:
                if box in seen or any(contains(earlier, box) for earlier in seen):
                    continue
                for part in meeting(box, within):
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
