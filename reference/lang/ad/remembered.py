"""What launches outside a Tape leave behind for their `.grad()`: under `ad_snapshot` and in debug mode.

Both keep a timeline: what changed of the elements that remembered launches look at, and by whom. So memory can be put
back to what it was just after a launch. Under `ad_snapshot` the gradient is taken there; in debug mode an element that
the reverse pass reads, and that differs now, is an error. A launch is remembered until the kernel is launched again
with the same arguments, or until there are too many.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from ...errors import AdstackDataAccessError, AdstackError
from ...runtime.state import Runtime
from ..arguments import Call
from ..differentiated import check_storage, derived, differentiated
from ..specialisation import Specialisation
from .access import launch_validated
from .events import Event, HostWrites, Launch, key_of
from .recorded import recordable
from .stale import reverse_verified
from .undo import Change, Log, identity, net

__all__ = ["Remembered", "remembered"]

MOST: Final = 4096
"""How many launches are remembered."""
MOST_BYTES: Final = 1 << 30
"""How much may be kept of what changed, array arguments included; then the launches of longest ago are forgotten."""

_KNOWN: Final[WeakKeyDictionary[Runtime, Remembered]] = WeakKeyDictionary()


def remembered(runtime: Runtime) -> Remembered | None:
    """What is remembered of the launches in a runtime; None if nothing is."""
    if not (runtime.options.debug or runtime.options.ad_snapshot):
        return None
    found = _KNOWN.get(runtime)
    return _KNOWN.setdefault(runtime, Remembered(runtime)) if found is None else found


@dataclass
class Record:
    """A launch that is remembered.

    Attributes:
        launches: what it was made of.
        begin, end: its events in the timeline, numbered from the first one ever.
        lost: the error for what it has overwritten itself, if it has.
    """

    launches: list[Launch]
    begin: int
    end: int
    lost: AdstackDataAccessError | None


class Remembered:
    """The launches of one runtime, and what happened to memory since the first of them."""

    def __init__(self, runtime: Runtime) -> None:
        self._options = runtime.options
        self._log = Log()
        self._timeline: list[Event] = []
        self._first = 0
        self._bytes = 0
        self._records: dict[Any, Record] = {}
        self._held: Counter[int] = Counter()
        self._many = 16

    # ---- forward

    def launch(self, made: Specialisation, call: Call, runtime: Runtime) -> Any:
        """Launch, and remember."""
        self._note_host()
        key = key_of(made, call)
        self._delete(key)
        launches = self._recordable(made, call, runtime) if key else []
        begin, lost, result = self._now, None, None
        for launch in launches:
            result, lost = self._launched(launch, runtime)
        if not launches:
            result = self._plainly(Launch(made, call, None))
        else:
            self._records[key] = Record(launches, begin, self._now, lost)
            self._hold(call, 1)
        self._forget_oldest()
        return result

    def _recordable(self, made: Specialisation, call: Call, runtime: Runtime) -> list[Launch]:
        """The launch as one that can be differentiated later; nothing if it can't be: `.grad()` will say why."""
        if not self._options.ad_snapshot:
            return [Launch(made, call, None)]
        try:
            return recordable(made, call, runtime)
        except AdstackError:
            return []

    def _launched(self, launch: Launch, runtime: Runtime) -> tuple[Any, AdstackDataAccessError | None]:
        """Launch, and watch what the reverse pass may read; with the result comes the error for what is lost."""
        written, (before, after) = launch.written(), launch.needed()
        self._log.watch(before)
        if self._options.ad_snapshot:
            result, lost = launch.launch(), None
        else:
            result, lost = _validated(launch, runtime)
            after = launch.read()
        launch.changes = self._log.mark(written)
        self._log.watch(after)
        self._append(launch)
        return result, lost

    def _plainly(self, launch: Launch) -> Any:
        """Launch; what it changes counts."""
        result = launch.launch()
        launch.changes = self._log.mark(launch.written())
        if launch.changes:
            self._append(launch)
        return result

    def _note_host(self) -> None:
        """Make an event of what changed since the last one."""
        changes = self._log.mark()
        if changes:
            self._append(HostWrites(changes=changes))

    # ---- the timeline

    @property
    def _now(self) -> int:
        return self._first + len(self._timeline)

    def _append(self, event: Event) -> None:
        self._timeline.append(event)
        self._bytes += event.nbytes

    def forget(self, specialisations: Container[Specialisation]) -> None:
        """Forget the launches of these."""
        for key in [key for key in self._records if key[0] in specialisations]:
            self._delete(key)

    def _delete(self, key: Any) -> None:
        record = self._records.pop(key, None)
        if record is not None:
            self._hold(record.launches[0].call, -1)

    def _hold(self, call: Call, more: int) -> None:
        """Count the arrays that are there only because somebody may ask for a launch with them."""
        for buffer in call.arrays.values():
            size = math.prod(buffer.shape) * buffer.dtype.size if buffer.owned else 0
            before = self._held[id(buffer)]
            self._held[id(buffer)] = before + more
            self._bytes += size if before == 0 else 0
            if before + more == 0:
                del self._held[id(buffer)]
                self._bytes -= size

    def _forget_oldest(self) -> None:
        """Forget what is too much, and what happened before everything that is remembered."""
        while len(self._records) > MOST or (self._bytes > MOST_BYTES and len(self._records) > 1):
            self._delete(next(iter(self._records)))
            self._trim()
        self._trim()
        if len(self._log) > self._many:
            live = [
                touched for record in self._records.values() for one in record.launches for touched in one.watched()
            ]
            self._log.keep({identity(touched.buffer) for touched in live})
            self._many = 2 * max(8, len(self._log))

    def _trim(self) -> None:
        start = next((record.begin for record in self._records.values()), self._now) - self._first
        self._bytes -= sum(event.nbytes for event in self._timeline[:start])
        del self._timeline[:start]
        self._first += start

    # ---- reverse

    def reverse(self, made: Specialisation, call: Call, runtime: Runtime) -> None:
        """Propagate adjoints through the last launch with these arguments."""
        check_storage(made)
        record = self._records.get(key_of(made, call))
        if record is None:
            self._unknown(made, call, runtime)
            return
        if record.lost is not None:
            raise record.lost
        self._note_host()
        since = self._timeline[record.end - self._first :]
        changes = net([event.changes for event in since])
        if self._options.ad_snapshot:
            self._reverse_there(record, call, changes)
        else:
            launch = Launch(made, call, differentiated(made, "trusting", runtime))
            reverse_verified(launch, changes, lambda change, position: _culprit(since, change, position), runtime)

    def _reverse_there(self, record: Record, call: Call, since: list[Change]) -> None:
        """Reverse mode in the memory of the launch's own time."""
        undone: list[Change] = []
        try:
            for change in since:
                change.swap()
                undone.append(change)
            for launch in reversed(record.launches):
                replace(launch, call=call).reverse()
                for change in reversed(launch.changes):
                    change.swap()
                    undone.append(change)
        finally:
            for change in reversed(undone):
                change.swap()

    def _unknown(self, made: Specialisation, call: Call, runtime: Runtime) -> None:
        """Reverse mode in the memory of now, if nothing else is needed."""
        try:
            mode = differentiated(made, "reverse", runtime)
        except AdstackDataAccessError as error:
            if self._options.ad_snapshot and _recorded_elsewhere(made, call, runtime):
                raise _forgotten(made, error) from None
            raise
        mode.launch(call)


def _validated(launch: Launch, runtime: Runtime) -> tuple[Any, AdstackDataAccessError | None]:
    """Launch; with the result comes the error for what the reverse pass would read and is lost."""
    compiled = launch.made.plan.compiled
    if compiled.read.isdisjoint(compiled.written):
        return launch.launch(), None
    try:
        suspects = derived(launch.made, "trusting", runtime).suspects
    except AdstackError:
        return launch.launch(), None  # .grad() will say why
    return launch_validated(launch, runtime) if suspects else (launch.launch(), None)


def _recorded_elsewhere(made: Specialisation, call: Call, runtime: Runtime) -> bool:
    """Whether a launch with these arguments could have been remembered."""
    try:
        return key_of(made, call) is not None and bool(recordable(made, call, runtime))
    except AdstackDataAccessError:
        return False


def _forgotten(made: Specialisation, error: AdstackDataAccessError) -> AdstackDataAccessError:
    return AdstackDataAccessError(
        f"{made.kernel.name}.grad() needs values that the launch overwrites, and no launch with these arguments is "
        f"remembered ({error.message})",
        loc=error.loc,
        do=f"launch {made.kernel.name} with these arguments first; the last {MOST} launches are remembered, "
        f"as long as what they overwrote takes less than {MOST_BYTES >> 20} MiB",
    )


def _culprit(since: list[Event], change: Change, position: int) -> str:
    """Who wrote an element last."""
    memory = identity(change.buffer)
    for event in reversed(since):
        for one in event.changes:
            if identity(one.buffer) == memory and position in one.positions:
                return event.writer(memory)
    return "the host"
