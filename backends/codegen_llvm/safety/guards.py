"""Guarded accesses: nothing out of bounds is touched, and the first index that is out of bounds is recorded.

The case that some index is out of bounds is kept off the usual path. As every branch takes LLVM time, there are few:
lanes that are outside are left out by a mask, or an access outside becomes one to memory that has no meaning. Whether
any was outside is looked at once for all such accesses that follow each other: their indices are in registers until
then, or, where there are many, in memory, in the note that would tell of them. Where neither is as quick as the access
itself, of neighbours in all lanes and of one lane, there is a branch, and a second version of the access behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from adstack.ir.ops import ATOMIC, CALL, LOAD, SERIAL_LOOPS
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import i64, u1

from ..function.region import FastPath, RegionEmitter
from ..function.target import HOST
from ..text.writer import any_of, type_text
from .accesses import FEW, compared, elsewhere, indices_of, is_any_out, is_crowded, is_guarded, is_out, run_of
from .deferred import deferred
from .notes import UNREAD, Note, note_first, report, word_of

__all__ = ["guarded", "is_inside", "when_inside"]

Access = Callable[[], str | None]
"""Emits an access; gives the name of what it read, in the form that the op's result has, if anybody wants it."""

_PATIENCE: Final = 8
"""Other ops that may come between accesses that are looked at together, whose indices are in registers until then."""
_MOST_NOTED: Final = 64
_PATIENCE_NOTED: Final = 256
"""Accesses, and other ops, where what is to be told is written down at once: registers could not hold it."""


def guarded(e: RegionEmitter, op: Op, access: Access, careful: Access | None = None) -> str | None:
    """An access, which gives 0 and does nothing where it is outside.

    Args:
        e: writes it.
        op: what accesses memory.
        access: emits it.
        careful: emits it in little code, however slow, if it is long: for the lanes of a mask, where some are outside.
    """
    if not is_guarded(e, op):
        return access()
    if e.fast_path is not None and op in e.fast_path.clamped:
        return _clamped(e, e.fast_path, op, access)
    if e.target is not HOST:
        return deferred(e, op, access)
    pairs = compared(e, op)
    width = _width(e, pairs)
    if width > 1 and (e.mask is not None or not (op.opdef is ATOMIC or (_is_run(e, op) and not is_crowded(e)))):
        return _among(e, op, _pending(e).inside(e, op, width), access)
    if width == 1 and _is_spread(e, op):
        return _among(e, op, _pending(e).running(e, op), access)
    if careful is None and _can_go_aside(e, op, width):
        inside = _pending(e).inside(e, op, width)
        return _aside(e, op, f"{type_text(u1, width)} {inside}", access)
    e.settle()
    bad = is_any_out(e, pairs, width)
    if width == 1:
        return _either(e, op, bad, access, lambda: None)
    slow = careful or access
    return _either(e, op, bad, access, lambda: _among(e, op, e.flip(is_out(e, pairs, width)), slow))


def _is_run(e: RegionEmitter, op: Op) -> bool:
    """Whether lanes access neighbours: like an atomic, lane by lane, that is quicker without a mask."""
    place: Place | None = op.attrs.get("place")
    return place is not None and run_of(e, place, indices_of(op)) is not None


def _is_spread(e: RegionEmitter, op: Op) -> bool:
    """Whether each lane accesses an element of its own, of which the next lane's is no neighbour: by a mask anyway."""
    place: Place | None = op.attrs.get("place")
    spread = place is not None and max((e.width(index) for index in indices_of(op)), default=1) > 1
    return spread and e.lanes > 1 and op.opdef is LOAD and not _is_run(e, op)


def _can_go_aside(e: RegionEmitter, op: Op, width: int) -> bool:
    """Whether an access can be one to other memory instead: all lanes of it, or each for itself.

    In code of one lane an access often waits for the one before: a branch, which the processor foresees, is quicker.
    """
    place: Place | None = op.attrs.get("place")
    run = None if place is None else run_of(e, place, indices_of(op))
    if run is not None and (width > 1 or run.stride > 1):  # neighbours; or of records, which are more than a lane each
        return False
    return e.target is HOST and e.lanes > 1


def _clamped(e: RegionEmitter, path: FastPath, op: Op, access: Access) -> str | None:
    """The access where it is inside, elsewhere the same one to the first element, which is a miss of the fast path."""
    inside = is_inside(e, op)
    path.misses.append(e.w.let(f"xor i1 {inside}, true"))
    return elsewhere(e, f"i1 {inside}", e.frame.pointers[op.attrs["place"].name], access)


def _aside(e: RegionEmitter, op: Op, inside: str, access: Access) -> str | None:
    """The access where it is inside, elsewhere the same one to memory that reads as 0, or that nobody reads."""
    name = elsewhere(e, inside, UNREAD if op.opdef.writes else _zeros(e), access)
    if name is None or not op.opdef.writes:
        return name
    form = e.form(op.result)
    return e.w.let(f"select {inside}, {form} {name}, {form} zeroinitializer")


def _zeros(e: RegionEmitter) -> str:
    """Memory that reads as 0, in all lanes."""
    size = e.lanes * i64.size
    text = f"internal constant [{size} x i8] zeroinitializer, align 64\n"
    return "@" + e.module.once(("zeros", size), lambda symbol: f"@{symbol} = {text}")


def _pending(e: RegionEmitter) -> _Pending:
    """The accesses that this one is looked at together with."""
    if not isinstance(e.pending, _Pending) or len(e.pending.accesses) == e.pending.most:
        e.settle()
        e.pending = _Pending(Note(e) if is_crowded(e) else None)
    return e.pending


class _Pending:
    """Accesses that follow each other under one mask, and that are still to be looked at: whether they were inside.

    Args:
        note: what they are written to as they come, where there are many; None to keep them in registers.

    Attributes:
        most: how many there may be.
        accesses: their ops.
        all_inside: the mask of the lanes in which all of them were.
    """

    def __init__(self, note: Note | None) -> None:
        self.most, self._patience = (FEW, _PATIENCE) if note is None else (_MOST_NOTED, _PATIENCE_NOTED)
        self._note = note
        self.accesses: list[Op] = []
        self.all_inside = ""
        self._known: dict[tuple[tuple[Value, str], ...], str] = {}
        self._masks: dict[tuple[tuple[Value, str], ...], str] = {}
        self._since = 0

    def waits_for(self, op: Op) -> bool:
        """See `Pending.waits_for`: not for loops, nor for what is guarded inside of regions; nor for much else."""
        self._since += 1
        inner = (one for region in op.regions for one in (op, *region.walk()))
        barred = any(one.opdef in SERIAL_LOOPS or "guarded" in one.attrs for one in inner)
        return not barred and op.opdef is not CALL and self._since <= self._patience

    def inside(self, e: RegionEmitter, op: Op, width: int) -> str:
        """Where an access is inside: a mask of running lanes, or an i1 if its indices, of width 1, are those of all.

        One with the indices of an earlier one is outside where that was, which is told.
        """
        pairs = compared(e, op)
        self._since = 0
        if pairs not in self._known:
            bad = is_out(e, pairs, width)
            if width == e.lanes:
                mask = e.within(e.flip(bad))
                self._known[pairs] = mask
            else:
                self._known[pairs] = e.w.let(f"xor i1 {bad}, true")
                mask = e.within(e.splat(self._known[pairs], u1))
            self._masks[pairs] = mask
            self.accesses.append(op)
            if self._note is not None:
                self._note.indices(op)
            self.all_inside = e.w.let(f"and {e.mask_type} {self.all_inside}, {mask}") if self.all_inside else mask
        return self._known[pairs]

    def running(self, e: RegionEmitter, op: Op) -> str:
        """The running lanes in which an access is inside, all or none: of indices that all lanes have."""
        self.inside(e, op, 1)
        return self._masks[compared(e, op)]

    def settle(self, e: RegionEmitter) -> None:
        """Look at all of them, under the same mask: a branch that is hardly ever taken notes the first one outside."""
        fail, after = e.label("outside"), e.label("guarded")
        e.split(self._is_any_outside(e), fail, after, unlikely=True)
        e.enter(fail)
        note_first(e, self.accesses, self._note)
        e.jump(after)
        e.enter(after)

    def _is_any_outside(self, e: RegionEmitter) -> str:
        if e.mask is not None:
            running = word_of(e, e.mask)
        elif self._note is not None:
            running = "-1"
        else:
            return any_of(e.w, [is_any_out(e, pairs, _width(e, pairs)) for pairs in self._known])
        return e.w.let(f"icmp ne i{e.lanes} {word_of(e, self.all_inside)}, {running}")


def _width(e: RegionEmitter, pairs: Sequence[tuple[Value, str]]) -> int:
    """In how many lanes some of these indices differ."""
    return max(e.width(index) for index, _ in pairs)


def when_inside(e: RegionEmitter, op: Op, act: Callable[[], object]) -> None:
    """Run `act` if the indices of an access, which are the same in all iterations, are in bounds."""
    if not is_guarded(e, op):
        act()
        return
    e.settle()
    bad = is_out(e, compared(e, op), 1)
    fail, fine, after = e.label("outside"), e.label("inside"), e.label("guarded")
    e.split(bad, fail, fine, unlikely=True)
    e.enter(fail)
    report(e, op)
    e.jump(after)
    e.enter(fine)
    act()
    e.jump(after)
    e.enter(after)


def is_inside(e: RegionEmitter, op: Op) -> str:
    """Whether all indices of an access by one lane are inside (i1); nothing is recorded."""
    return e.w.let(f"xor i1 {is_out(e, compared(e, op), 1)}, true") if is_guarded(e, op) else "true"


def _either(e: RegionEmitter, op: Op, bad: str, usual: Access, careful: Access) -> str | None:
    """The usual access, or, on a cold path, what there is to do where it is outside."""
    fail, fine, after = e.label("outside"), e.label("inside"), e.label("guarded")
    e.split(bad, fail, fine, unlikely=True)
    e.enter(fail)
    report(e, op)
    other, there = careful(), e.block
    e.jump(after)
    e.enter(fine)
    name, here = usual(), e.block
    e.jump(after)
    e.enter(after)
    if name is None:
        return None
    form = e.form(op.result)
    return e.w.let(f"phi {form} [ {name}, %{here} ], [ {other or 'zeroinitializer'}, %{there} ]")


def _among(e: RegionEmitter, op: Op, inside: str, access: Access) -> str | None:
    """The access for the lanes of a mask, which may be empty."""
    outer, e.missing = e.missing, "zeroinitializer"
    with e.masked(inside):
        name = access()
    e.missing = outer
    if name is None or op.opdef is not ATOMIC:
        return name  # what is loaded for lanes that do not run is 0
    return e.choose(inside, name, "zeroinitializer", op.result.dtype)
