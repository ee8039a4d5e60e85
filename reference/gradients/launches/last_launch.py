"""`kernel.grad()`: reverse mode of the kernel's last launch with some arguments, outside a tape.

What its reverse pass reads is as the launch found it, or is put back, or the gradient is refused: see `records.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ...analysis.boxes import Box, intersection
from ...errors import AdstackDataAccessError, InternalError, SourceSpan
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.memory.differences import LostError
from ...runtime.memory.keeping import Kept
from ...runtime.memory.ledger import LEDGER
from ...runtime.state import Runtime
from ..events import Launch, memory_of
from ..memory.undo import Change, differing, undone
from ..modes.compiled import differentiated
from ..modes.differentiated import Differentiated, with_arrays
from .kept import KeptLaunch
from .record import Record
from .records import Records, records_of
from .stale import reverse_verified

if TYPE_CHECKING:
    from ...launch.arguments import Call
    from ...launch.specialisation import Specialisation

__all__ = ["has_changed", "reverse_last_launch"]


Launching: TypeAlias = "Callable[[Differentiated, Call], object]"
"""Launches reverse mode with the arguments of a call."""


def reverse_last_launch(
    specialisation: Specialisation, call: Call, runtime: Runtime, launch: Launching = Differentiated.launch
) -> None:
    """Propagate adjoints through the last launch with these arguments; without one, through that which could be now.

    It is `launch` that launches reverse mode in the memory of now.

    AdstackDataAccessError or AdstackStaleBoundError if something that this takes has changed; gradients are as before.
    """
    records = records_of(specialisation)
    record = None if records is None else records.find(call)
    if records is None or (record is None and records.keeps):
        _unlaunched(specialisation, runtime).launch(call)
        return
    if record is not None and record.error is not None:
        raise record.error
    if record is not None and record.lost:
        raise _given_up(specialisation, ())
    if record is not None and (record.kept or runtime.options.ad_snapshot):
        _reverse_there(specialisation, records, record, call, runtime)
    else:
        _reverse_here(specialisation, records, record, call, runtime, launch)


def _refuse_unwritten(specialisation: Specialisation, call: Call, mode: Differentiated) -> None:
    """AdstackDataAccessError if reverse mode reads what a launch writes: there was none with these arguments."""
    both = specialisation.plan.compiled.written & mode.plan.compiled.read
    if not both:
        return
    shapes = {name: buffer.shape for name, buffer in call.arrays.items()}
    written = specialisation.plan.compiled.reach(call.scalars, shapes).written
    read = mode.plan.compiled.reach(mode.scalars(call), shapes).read
    for name in sorted(both):
        if any(intersection(one, other) is not None for one in written.get(name, ()) for other in read.get(name, ())):
            label = _label(mode, call, name)
            raise _unremembered(specialisation, f"it reads {label} as the launch leaves it", specialisation.kernel.loc)


def _unremembered(specialisation: Specialisation, why: str, loc: SourceSpan | None) -> AdstackDataAccessError:
    title = specialisation.kernel.name
    return AdstackDataAccessError(
        f"{title}.grad() needs values that the launch overwrites, and no launch with these arguments is "
        f"remembered ({why})",
        loc=loc,
        do=f"launch {title} with these arguments first",
    )


def _unlaunched(specialisation: Specialisation, runtime: Runtime) -> Differentiated:
    """Reverse mode for a launch that has not been."""
    try:
        return differentiated(specialisation, "reverse", runtime)
    except AdstackDataAccessError as error:
        if specialisation.records is None or not specialisation.records.keeps:
            raise
        raise _unremembered(specialisation, error.message, error.loc) from None


def has_changed(specialisation: Specialisation, call: Call, runtime: Runtime) -> bool:
    """Whether something that reverse mode reads is not as the last launch with these arguments found it."""
    records = records_of(specialisation)
    if records is None:
        return False
    record, mode = records.find(call), differentiated(specialisation, "reverse", runtime)
    with _changes(records, call, mode, _suspects(records, record, call, mode)) as changed:
        return bool(changed.changes)


def _reverse_here(
    specialisation: Specialisation,
    records: Records,
    record: Record | None,
    call: Call,
    runtime: Runtime,
    launch: Launching,
) -> None:
    """Reverse mode in the memory of now, if it reads nothing that has changed.

    What has changed is put back for kernels that keep it where the arrays of a call are one memory.
    """
    mode = differentiated(specialisation, "reverse", runtime)
    if record is None and (records is None or not records.knows):
        _refuse_unwritten(specialisation, call, mode)
    suspects = _suspects(records, record, call, mode)
    if not suspects:
        launch(mode, call)
        return
    with _changes(records, call, mode, suspects) as changed:
        if not changed.changes:
            launch(mode, call)
            return
        if specialisation.kernel.apart:
            with undone(changed.changes):
                Launch(specialisation, changed.call, mode).reverse()
            return
        writers = {id(change): " or ".join(who) for change, who in zip(changed.changes, changed.writers, strict=True)}
        there = Launch(specialisation, changed.call, mode)
        reverse_verified(there, changed.changes, lambda change, _: writers[id(change)], runtime)


def _reverse_there(
    specialisation: Specialisation, records: Records, record: Record, call: Call, runtime: Runtime
) -> None:
    """Reverse mode in the memory of the launch's own time; afterwards memory is as it is now."""
    for piece in reversed(record.kept):
        suspects = _suspects(records, record, call, piece.mode, piece)
        with _changes(records, call, piece.mode, suspects) as changed, undone(changed.changes):
            piece.reversed(changed.call).reverse()
    if not record.kept:
        mode = differentiated(specialisation, "reverse", runtime)
        suspects = _suspects(records, record, call, mode)
        with _changes(records, call, mode, suspects) as changed, undone(changed.changes):
            Launch(specialisation, changed.call, mode).reverse()


@dataclass
class _Changed:
    """What differs from what a launch found.

    Attributes:
        call: the call, with memory of its own for arrays that belong to others and differ.
        changes: which elements; what the launch found is not in memory.
        writers: who may have written these, for each change.
    """

    call: Call
    changes: list[Change] = field(default_factory=list)
    writers: list[tuple[str, ...]] = field(default_factory=list)


class _Suspect(NamedTuple):
    """Memory that may have been written since a launch: the name of its place, the elements that matter, the number of
    the launch, and what the memory held then, if that was copied.
    """

    name: str
    boxes: Sequence[Box]
    since: int
    copy: Kept | Array | Buffer | None = None


def _suspects(
    records: Records, record: Record | None, call: Call, mode: Differentiated, piece: KeptLaunch | None = None
) -> list[_Suspect]:
    """What of that which a reverse mode may read may have been written since a launch, which may be one in parts."""
    suspects = []
    is_known = record is not None and (records.takes_arguments or record.kept)
    for name, boxes, buffer in _read(records, mode, call, piece):
        copy = None if record is None else record.copies.get(name)
        if record is not None and copy is not None:
            suspects.append(_Suspect(name, boxes, record.number, copy))
            continue
        if piece is not None:
            since: int | None = piece.number
        else:
            since = record.number if record is not None and is_known else records.number(record, buffer)
        watch = buffer.watch
        if since is None or watch is None or not watch.saved or watch.saved[-1].number < since:
            continue
        if watch.since(since, boxes):
            suspects.append(_Suspect(name, boxes, since))
    return suspects


@contextmanager
def _changes(records: Records, call: Call, mode: Differentiated, suspects: Sequence[_Suspect]) -> Iterator[_Changed]:
    """What has changed of what may have been written."""
    changed = _Changed(call)
    borrowed: list[Buffer] = []
    try:
        for name, boxes, since, copy in suspects:
            buffer = records.memory(name, call)
            if copy is None:
                _look(changed, name, buffer, since, boxes, mode)
            else:
                _compare(changed, borrowed, name, buffer, _contents(copy), mode)
        if borrowed:
            mode.check(call)  # copies no longer tell which arguments are one array
        yield changed
    finally:
        for buffer in borrowed:
            buffer.drop()


class _Reads(NamedTuple):
    """The memory that a reverse mode may read in a call: (name of the place, boxes, memory)."""

    mode: Differentiated
    memory: Sequence[tuple[str, Sequence[Box], Buffer]]


def _read(
    records: Records, mode: Differentiated, call: Call, piece: KeptLaunch | None
) -> Sequence[tuple[str, Sequence[Box], Buffer]]:
    """The memory that a reverse mode may read, unless nothing has written it: as in `_Reads`."""
    known = call.reads
    if piece is None and isinstance(known, _Reads) and known.mode is mode:
        return known.memory
    watched = records.fields.keys() | records.arrays
    unwatched = mode.inputs - watched
    if unwatched:
        raise InternalError(
            f"{mode.specialisation.kernel.name}.grad() reads {', '.join(unwatched)}, which nobody watches"
        )
    if records.are_untouched(call):
        return ()
    scalars = mode.scalars(call) if mode.seeds else call.scalars
    needs_shapes = call.arrays or piece is not None or mode.derived.beside
    reach = mode.plan.compiled.reach(scalars, _shapes(mode, call, piece) if needs_shapes else {}).read
    memory = [(name, reach[name], records.memory(name, call)) for name in watched & reach.keys()]
    if piece is None:
        call.reads = _Reads(mode, memory)
    return memory


def _shapes(mode: Differentiated, call: Call, piece: KeptLaunch | None) -> dict[str, tuple[int, ...]]:
    """The extents of what is passed to a reverse mode, which may be that of one part of a launch."""
    shapes = {name: buffer.shape for name, buffer in call.arrays.items()} if call.arrays else {}
    if piece is not None:
        shapes |= piece.shapes
    if mode.derived.beside:
        buffers = {**mode.specialisation.plan.buffers, **call.arrays}
        shapes |= {alias: buffers[name].shape for alias, name in mode.derived.beside.items()}
    return shapes


def _contents(kept: Kept | Array | Buffer) -> Array:
    if isinstance(kept, Buffer):
        return kept.read()
    return kept.array() if isinstance(kept, Kept) else kept


def _compare(
    changed: _Changed, borrowed: list[Buffer], name: str, buffer: Buffer, old: Array, mode: Differentiated
) -> None:
    """Compare memory that others write with what the launch found; of an array that differs the call gets a copy."""
    now = buffer.read()
    positions = differing(old.reshape(now.shape), now)
    if len(positions):
        if name in changed.call.arrays:
            copy = Buffer(buffer.backend, buffer.dtype, buffer.shape)
            borrowed.append(copy)
            copy.write(now)
            changed.call, buffer = with_arrays(changed.call, {name: copy}), copy
        changed.changes.append(Change(_label(mode, changed.call, name), buffer, positions, old.reshape(-1)[positions]))
        changed.writers.append(("the host",))


def _look(
    changed: _Changed, name: str, buffer: Buffer, number: int, boxes: Sequence[Box], mode: Differentiated
) -> None:
    """Compare the elements that were written since with what was kept of them."""
    assert buffer.watch is not None
    try:
        difference = buffer.watch.difference(buffer, number, boxes)
    except LostError as lost:
        raise _given_up(mode.specialisation, lost.writers, lost.failed) from None
    if difference is not None:
        label = _label(mode, changed.call, name)
        changed.changes.append(Change(label, buffer, difference.positions, difference.values))
        changed.writers.append(difference.writers)


def _label(mode: Differentiated, call: Call, name: str) -> str:
    ((label, _),) = memory_of(mode.specialisation, call, frozenset((name,)))
    return label


def _given_up(specialisation: Specialisation, writers: Sequence[str], failed: str = "") -> AdstackDataAccessError:
    title = specialisation.kernel.name
    by = f" by {' or '.join(writers)}" if writers else ""
    if failed:
        return AdstackDataAccessError(
            f"{title}.grad() needs values that are not known any more: a launch of {failed}, which was to compute them "
            f"again, has failed",
            loc=specialisation.kernel.loc,
            do=f"launch {title} again before {title}.grad()",
        )
    return AdstackDataAccessError(
        f"{title}.grad() needs values that have been overwritten since its launch{by}; they were kept until all that "
        f"is kept took more than {LEDGER.most} bytes",
        loc=specialisation.kernel.loc,
        note=LEDGER.why,
        do=f"call {title}.grad() sooner, launch {title} again before it, or record both with qd.ad.Tape",
    )
