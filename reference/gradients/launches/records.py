"""Launches outside a tape, as `.grad()` asks for them: what each found in memory, and what has changed since.

`kernel.grad(args)` is about the last launch with these arguments. A launch leaves a *record*: its number, the boxes of
elements that its reverse pass may read, and copies of what others may write without saying so (numpy arrays, torch
tensors). Fields and ndarrays are watched: whoever writes elements that a record needs has them kept first
(`runtime/memory/watches.py`). So `.grad()` knows which elements differ from what the launch found. It refuses where the
reverse pass looks at one of them, or puts them back for as long as it runs: under `ad_snapshot`, and for launches that
kept what they overwrote themselves (`kept.py`).

A record has a number, not versions: it stands for all memory at once, and says which of several changes came later.

Launches that machine code serves leave no records. They need none as long as nothing that the kernel needs has been
written since it is watched: all of them found the same. From the first such write on, Python serves the kernel's calls.

Nothing is kept for launches inside tapes, whose arguments are noted (`taped.py`). They can be differentiated outside as
long as the versions of memory are those of just after them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...analysis.boxes import Box, include
from ...analysis.may_access import Accesses
from ...errors import AdstackError
from ...runtime.compiled import MOST_REACHES
from ...runtime.memory.blocks import Block
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.memory.keeping import keep
from ...runtime.memory.ledger import LEDGER
from ...runtime.state import Runtime
from ...runtime.threads.guards import invalidate
from ..memory.arguments import argument_key
from ..memory.contents import Versioned, Versions
from ..modes.apart import readable
from ..modes.companions import accompanied
from ..modes.state import Way
from .kept import KeptLaunch, kept_launches, kept_way, loaded
from .record import Record
from .refusals import too_large, unkept
from .taped import MOST, TapedLaunches

if TYPE_CHECKING:
    from ...launch.arguments import Call
    from ...launch.specialisation import Specialisation

__all__ = ["Records", "records_of"]

OTHER: Final[Versions] = (-1,)
"""What stands for versions where launches that are not noted did not find the memory of now."""


class Records:
    """The launches of one specialisation.

    Args:
        specialisation: the specialisation.
        names: the places that its reverse pass may read.
        runtime: where it runs.

    Attributes:
        fields: the memory of these places that is the same in every call; `arrays`: the others.
        takes_arguments: whether calls differ.
        rereads: whether launches may write what their reverse pass reads.
        is_late: whether there were launches before anything had a gradient.
    """

    def __init__(self, specialisation: Specialisation, names: Collection[str], runtime: Runtime) -> None:
        self._specialisation, self._runtime = specialisation, runtime
        self._way: Way | None = kept_way(specialisation, names, runtime)
        if self._way is not None:
            names = loaded(specialisation)  # reverse mode may make the launch again, in memory of its own
        self.fields = {
            name: specialisation.plan.buffers[name] for name in sorted(names) if name in specialisation.plan.buffers
        }
        self.arrays = tuple(name for name in sorted(names) if specialisation.kernel.places[name].kind == "ndarray")
        self._names = (*self.fields, *self.arrays)
        self._records: dict[object, Record] = {}
        self._gone: deque[tuple[object, ...]] = deque()
        self._needs: dict[int, list[Box]] = {}
        self._included: dict[int, Accesses] = {}  # what these hold, by identity
        self._era = object()  # until these are forgotten
        self._unnoted: dict[int, int] = {}
        self._served = self._hidden = self._forgot = False
        self.is_late = False
        self._pending: Sequence[KeptLaunch] = ()
        self._last, self._forgotten = 0, -1  # nothing is known of launches up to `_forgotten`
        self._tape: Versions | None = None
        self._taped = TapedLaunches(specialisation)
        self._memory = Versioned(self.fields, self.arrays)
        self.takes_arguments = bool(specialisation.kernel.params or specialisation.plan.arguments)
        written = specialisation.plan.compiled.written
        self.rereads = not written.isdisjoint((*self.fields, *self.arrays))
        self._notes = self.keeps or runtime.options.ad_snapshot or (self.takes_arguments and self.rereads)
        for buffer in self.fields.values():
            buffer.watched(self)
        for name in written & specialisation.plan.buffers.keys():
            specialisation.plan.buffers[name].watched()  # whoever needs it later asks who wrote it

    @staticmethod
    def of(specialisation: Specialisation, runtime: Runtime, beside: Records | None = None) -> Records | None:
        """The records of a specialisation; None if nothing that it works on has a gradient yet.

        `beside` are those of other calls of the same code, if these have been told from its own from the start.
        """
        if not accompanied(specialisation, "grad"):
            return None
        records = Records(specialisation, readable(specialisation), runtime)  # more may get a gradient later
        if specialisation.plan.number if beside is None else beside.is_late:
            records.begin_late()
        return records

    @property
    def notes(self) -> bool:
        """Whether Python must serve every call."""
        if not self._notes:
            for buffer in self.fields.values():
                if buffer.shared:
                    return True
        return self._notes

    @property
    def keeps(self) -> bool:
        """Whether launches keep what they overwrite."""
        return self._way is not None

    def are_untouched(self, call: Call) -> bool:
        """Whether nothing that matters to a call has been written since it is watched."""
        if call.loans and not call.lent.isdisjoint(self.arrays):
            return False
        for memory in (self._places(call) if self.arrays else self.fields).values():
            if not memory.owned or memory.shared or (memory.watch is not None and memory.watch.saved):
                return False
        return True

    def may_serve(self, others: Collection[str]) -> bool:
        """Whether machine code may serve calls from now on; `others` are the parameters that take others' memory."""
        if self.notes or not set(others).isdisjoint(self.arrays):
            return False
        self._served = True
        return True

    # ---- a watcher (see `Watcher`)

    def last(self) -> int:
        """See `Watcher.last`."""
        number = max(self._last, self._specialisation.plan.last_launch())
        return number if number > self._forgotten else 0

    @property
    def _is_taped(self) -> bool:
        """Whether the last launch was recorded by a tape, which keeps for itself what it needs."""
        return self._forgotten >= 0 and not self.last()

    def numbers(self) -> Collection[int]:
        """See `Watcher.numbers`."""
        records = list(self._records.values())
        numbers = {record.number for record in records}
        if self._way is not None:
            numbers.update(piece.number for record in records for piece in record.kept)
            numbers.update(piece.number for piece in self._pending)
        numbers.update(self._unnoted.values())
        if not self.takes_arguments:
            numbers.add(self.last())
        return numbers

    def needs(self, buffer: Block) -> Sequence[Box] | None:
        """See `Watcher.needs`."""
        if self._forgotten >= 0 and self._is_taped:
            return ()
        if id(buffer) in self._unnoted:
            return None
        if self.takes_arguments:
            return self._needs.get(id(buffer), ())
        nobody = self._notes and not self._records and len(self._pending) < 2  # a launch in one piece is under way
        return () if nobody else None

    def changes(self, buffer: Block) -> None:
        """See `Watcher.changes`."""
        if self.takes_arguments:
            if self._served:
                self._look_for_unnoted()
            if self._hidden and id(buffer) not in self._unnoted:
                self._unnoted[id(buffer)] = self.last()
            if not self._notes and any(buffer is one for one in self.fields.values()):
                self._notes = True
                invalidate()

    def _look_for_unnoted(self) -> None:
        """Note if machine code may have served calls since the last one that has a record."""
        if not self._hidden:
            self._hidden = self._specialisation.plan.number > self._last

    # ---- launches

    def launch(self, call: Call, run: Callable[[Call], object] | None = None) -> Any:
        """Launch a call, by `run` if it is given, and note it; the value that the kernel returns."""
        run = self._specialisation.run if run is None else run
        if not self.takes_arguments and not self.notes:
            self._records.clear()
            result = run(call)  # its number is all that has to be known of it
            self._tape = None
            return result
        record = self._record(call)
        earlier = self._records.pop(record.key.value, None)  # this launch takes the place of that one
        result = run(call) if self._way is None else self._launch_kept(record, call, run, earlier)
        self._keep(record, call, earlier)
        return result

    def _launch_kept(self, record: Record, call: Call, run: Callable[[Call], Any], earlier: Record | None) -> Any:
        """Launch so that what the launch overwrites is kept, in the memory of an earlier one if there is any."""
        self._pending = kept_launches(self._specialisation, call, self._way, self._runtime)
        for piece, before in zip(self._pending, () if earlier is None else earlier.kept, strict=False):
            piece.spare = before.copies
        wanted = sum(piece.wanted(call) for piece in self._pending)
        if wanted > LEDGER.most and not self._runtime.options.ad_snapshot:
            self._pending, record.error = (), too_large(self._specialisation, wanted)
        try:
            if not self._pending:
                result = run(call)
            for piece in self._pending:
                result = piece.launch(call, run if piece.specialisation is self._specialisation else None)
                self._last = piece.number
            if all(piece.complete for piece in self._pending):
                record.kept = self._pending
            else:
                record.error = too_large(self._specialisation, wanted)
        finally:
            self._pending = ()
        return result

    def note_taped(self, call: Call, *, touched: bool = False, held: Mapping[str, Array] | None = None) -> None:
        """A tape has launched, and differentiates it: outside, that can be done as long as nothing is written.

        The versions of memory are those that the first such launch found; launches outside a tape before it are
        forgotten, so that it also counts whether they found the same.

        Args:
            call: the launch; of several at once any that nothing was written after, behind the first of them.
            touched: whether memory that matters was written by later launches of the tape.
            held: by place, what arrays of the host held then, if that is not what they hold now.
        """
        if not self.takes_arguments:
            self._tape = OTHER if touched else self._memory.versions(call, held)
        elif not self._is_taped:
            if self._served:
                self._look_for_unnoted()
            if touched or self._found_others(call):
                self._tape = OTHER
            elif self._tape is None:
                self._tape = self._memory.versions(call, held)
        if self.takes_arguments and not (touched or self.keeps):
            versions = self._memory.versions(call, held)
            if self.rereads or versions != self._tape:  # otherwise it found what any launch would find now
                self._taped.note(call, versions)
        self._forget_all()

    def _found_others(self, call: Call) -> bool:
        """Whether a launch may have found something else than one finds now; other arrays have other versions."""
        if self._unnoted or self._forgot or (self._hidden and self.arrays):
            return True
        buffers = [*self._places(call).values()]
        if not self._records or not buffers:
            return False
        if call.lent:  # each launch has a copy of its own
            return True
        first = min(record.number for record in self._records.values())
        return any(
            buffer.shared or not buffer.owned or (buffer.watch is not None and buffer.watch.since(first))
            for buffer in buffers
        )

    def begin_late(self) -> None:
        """There were launches before anything had a gradient: what they found is not known."""
        self.is_late, self._tape = True, OTHER if self.fields or self.arrays else ()
        self._forget_all()

    def _forget_all(self) -> None:
        launches, self._hidden = self._specialisation.plan.backend.launches, False
        if launches == self._forgotten and not (self._records or self._needs or self._unnoted):
            return  # all was forgotten when the tape's last launch was noted
        self._records.clear()
        self._needs.clear()
        self._included.clear()
        self._era = object()
        self._unnoted.clear()
        self._last = self._forgotten = launches
        for buffer in self.fields.values():
            buffer.watched().change(self._last)  # it keeps no old elements for launches that are not known
        if self.takes_arguments and not self._notes:
            self._notes = True  # later launches have to be told from those
            invalidate()

    def memories(self, call: Call) -> list[Buffer]:
        """The memory that the reverse pass of a call may read."""
        return self._memory.memories(call)

    def note(self, call: Call, error: AdstackError | None = None) -> None:
        """There was a launch of a call that others made; with an error, it can't be differentiated later."""
        record = self._record(call)
        record.error = error
        self._keep(record, call)

    def _record(self, call: Call) -> Record:
        """A record of a launch: of what it may read, which is watched from now on."""
        while self._gone:
            self._records.pop(self._gone.popleft(), None)
        if self._served:
            self._look_for_unnoted()
        if call.needed is not self._era:
            for name in self.arrays:
                if call.arrays[name].owned and name not in call.lent:
                    call.arrays[name].watched(self)
            self._need(call)
        return Record(argument_key(self._specialisation, call, self._gone.append), era=self._era)

    def _need(self, call: Call, *, stored: bool = False) -> None:
        """The elements that a launch may read are needed from now on; with `stored`, those that it has stored."""
        shapes = {name: buffer.shape for name, buffer in call.arrays.items()} if call.arrays else {}
        reach = self._specialisation.plan.compiled.reach(call.scalars, shapes)
        key, accesses = (-id(reach), reach.written) if stored else (id(reach), reach.read)
        if self._included.get(key) is reach:
            return
        for name, memory in self._places(call).items():
            boxes = self._needs.setdefault(id(memory), [])
            for box in accesses.get(name, ()):
                include(boxes, box)
        if not self.arrays and len(self._included) < MOST_REACHES:
            self._included[key] = reach

    def _keep(self, record: Record, call: Call, earlier: Record | None = None) -> None:
        """Keep the record of a launch that is over, as the last one with these arguments, in place of an earlier."""
        record.number = self._last = self._specialisation.plan.backend.launches
        if call.needed is not self._era:
            if self.rereads:
                self._need(call, stored=True)
            call.needed = record.era
        if self._way is not None and not record.kept and record.error is None:
            record.error = unkept(self._specialisation)
        for name in self._names:
            buffer = self.fields[name] if name in self.fields else call.arrays[name]
            if call.loans and name in call.lent:
                record.copies[name] = buffer
            elif buffer.shared or not buffer.owned:
                spare = None if earlier is None else earlier.spare(name, buffer.dtype)
                record.copies[name] = keep(buffer, buffer.box, spare)
        self._records.pop(record.key.value, None)
        self._records[record.key.value] = record
        if (record.copies or record.kept) and (nbytes := record.nbytes):
            LEDGER.add(record, nbytes)
        if len(self._records) > MOST:
            self._forgot = True
            del self._records[next(iter(self._records))]

    def _places(self, call: Call) -> Mapping[str, Buffer]:
        """The memory that the reverse pass of a call may read."""
        return {**self.fields, **{name: call.arrays[name] for name in self.arrays}} if self.arrays else self.fields

    def memory(self, name: str, call: Call) -> Buffer:
        """The memory of the place of that name in a call."""
        return self.fields[name] if name in self.fields else call.arrays[name]

    # ---- what is known

    def find(self, call: Call) -> Record | None:
        """The last launch with these arguments; None if none is known.

        AdstackDataAccessError if it may have been recorded by a tape, and what it needs may have changed since.
        """
        key = argument_key(self._specialisation, call)
        record = self._records.get(key.value)
        if record is not None and (not record.key.owners or record.key.alive):
            return record
        taped = self._taped.versions(key)
        if taped is not None and self._memory.are(taped, call):
            return Record(key, self._specialisation.plan.backend.launches)  # memory is as if the launch had just been
        is_unclear = self.takes_arguments or self._is_taped
        if self._tape is not None and is_unclear and (self.keeps or not self._memory.are(self._tape, call)):
            raise unkept(self._specialisation)
        return None

    @property
    def knows(self) -> bool:
        """Whether there was a launch with the arguments in question, which needs no record where there are none."""
        return not self.takes_arguments and self._specialisation.plan.number > 0

    def number(self, record: Record | None, buffer: Buffer) -> int | None:
        """From which launch on changes of a buffer matter to a record; None if there was none that could matter."""
        if record is not None and (self.takes_arguments or record.kept):
            return record.number
        if self.takes_arguments:
            return 0 if self._forgot else self._unnoted.get(id(buffer))
        return self.last() or None


def records_of(specialisation: Specialisation) -> Records | None:
    """The records of a specialisation, if it has any."""
    return specialisation.records if isinstance(specialisation.records, Records) else None
