"""Fields of real numbers that somebody overwrites between a launch and its `.grad()`, as far as that is certain.

Writes of the host are seen: what they replace is kept, so that elements can be compared. Kernels write without being
asked. What the last launch of one has certainly stored to, after the last launch of the kernel in question, and what
its reverse pass certainly reads, have no element in common, or the gradient is refused. Nothing is guessed from a field
having been touched: debug mode finds the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import AdstackDataAccessError
from ...runtime.boxes import Box, intersection
from ...runtime.certain import certain
from ...runtime.memory import Buffer
from ...runtime.plans import Plan
from ...runtime.reach import Reach
from ..arguments import Call
from ..differentiated import Differentiated, companions
from ..fields import Field
from ..specialisation import Specialisation
from .bounds import change_from
from .undo import Change

__all__ = ["Inputs"]

MOST_BYTES: Final = 1 << 26
"""Of larger fields nothing is kept."""

_KNOWN: Final[WeakKeyDictionary[Plan, tuple[Any, Reach]]] = WeakKeyDictionary()


class Inputs:
    """The fields of real numbers that a specialisation reads."""

    def __init__(self, made: Specialisation, names: Collection[str]) -> None:
        self._made = made
        self.fields = {name: made.plan.buffers[name] for name in names}
        self._first = 0
        self._unclear = False
        for buffer in self.fields.values():
            if np.prod(buffer.shape, dtype=object) * buffer.dtype.size <= MOST_BYTES:
                buffer.watched(strictly=False).add(self)

    @staticmethod
    def of(made: Specialisation) -> Inputs | None:
        """Those of a specialisation; None if it has none, or no gradient."""
        if not companions(made, "grad"):
            return None
        loads = (op.attrs["place"] for op in made.kernel.body.walk() if op.name == "load")
        names = {p.name for p in loads if p.dtype.is_float and isinstance(made.fields.get(p.name), Field)}
        names &= made.plan.buffers.keys()
        return Inputs(made, names) if names else None

    # ---- a watcher

    def last(self) -> int:
        return self._made.plan.number

    def numbers(self) -> Collection[int]:
        return {self._first or self.last()}

    def changes(self) -> None:
        if self._takes_arguments:
            # until the first change all launches found the same, whatever their arguments; later ones can't be told
            self._unclear = self._first != 0
            self._first = self._first or self.last()

    @property
    def looks_at_kernels(self) -> bool:
        """Whether what other kernels wrote is looked at: not where launches can't be told apart by their arguments."""
        return not self._takes_arguments or self._made.calls <= 1

    @property
    def _takes_arguments(self) -> bool:
        return bool(self._made.kernel.params or self._made.plan.arguments)

    # ---- launches

    def changed(self, call: Call) -> list[Change]:
        """What the host has changed since the last launch."""
        if self._takes_arguments and (self._unclear or self._first not in (0, self.last())):
            return []
        found = []
        for name, buffer in self.fields.items():
            known = None if buffer.watch is None or buffer.shared else buffer.watch.at(buffer, self.last())
            if known is not None and self.last() and not any(self._later_writers(buffer)):
                change = change_from(self._made, call, name, known[0])
                found += [] if change is None else [change]
        return found

    def refuse_overwritten(self, mode: Differentiated, call: Call) -> None:
        """Raise AdstackDataAccessError if a kernel has certainly overwritten what the reverse pass certainly reads."""
        if not self.last() or not self.looks_at_kernels:
            return
        shapes = {name: buffer.shape for name, buffer in call.arrays.items()}
        read = None
        for name, buffer in self.fields.items():
            for plan in self._later_writers(buffer):
                read = read or _certain(mode.plan, mode.scalars(call), shapes).read
                found = _common(read.get(name, ()), plan, name)
                if found is not None:
                    raise self._error(name, found, plan)

    def _later_writers(self, buffer: Buffer) -> Iterator[Plan]:
        """Who has written a field since the last launch."""
        return (plan for plan in buffer.writers or () if plan is not self._made.plan and plan.number > self.last())

    def _error(self, name: str, box: Box, plan: Plan) -> AdstackDataAccessError:
        place = self._made.kernel.places[name]
        loads = (op for op in self._made.kernel.body.walk() if op.name == "load" and op.attrs["place"].name == name)
        at = ", ".join(str(lo) for lo, _ in box) or "None"
        by = plan.compiled.program
        stores = (op for task in by.tasks for op in task.body.walk() if op.name == "store")
        store = next(op for op in stores if op.attrs["place"].name == name)
        title = self._made.kernel.name
        return AdstackDataAccessError(
            f"{title}.grad() needs {place.label or name}[{at}] as the launch found it, "
            f"and {by.name} has overwritten it since ({store.loc})",
            loc=next(loads).loc,
            do=f"call {title}.grad() before {by.name}, launch {title} again after it, record both with qd.ad.Tape, "
            "or use init(ad_snapshot=True)",
        )


def _certain(plan: Plan, scalars: Sequence[Any], shapes: Mapping[str, tuple[int, ...]]) -> Reach:
    """What a launch of a plan touches for sure; of the last arguments it is remembered."""
    key = tuple(s if isinstance(s, int) else None for s in scalars), tuple(shapes.items())
    known = _KNOWN.get(plan)
    if known is None or known[0] != key:
        known = _KNOWN[plan] = key, certain(plan.compiled.program, scalars, shapes)
    return known[1]


def _common(read: Collection[Box], plan: Plan, name: str) -> Box | None:
    """An element that is in what is read, and in what the last launch of a plan has stored to for sure."""
    scalars = plan.scalars
    if not read:
        return None
    written = _certain(plan, scalars, {}).written.get(name, ())
    pairs = ((one, other) for one in read for other in written)
    return next((box for one, other in pairs if (box := intersection(one, other)) is not None), None)
