"""Calls that a tape has followed: `Run`, one event for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ...errors import AdstackRuntimeError
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.memory.observers import OBSERVERS, tell_others
from ...runtime.protocol.following import Progress
from ...values.kinds import KernelObject
from ..events import Event, may_write
from ..memory.undo import Rewound, Touched, standing
from .program import Program

if TYPE_CHECKING:
    from ...launch.arguments import Call
    from .steps import Step

__all__ = ["Run", "torn"]

Called = tuple[KernelObject, tuple[object, ...]]
"""A kernel, and the arguments of a call."""


@dataclass(eq=False)
class Run(Event):
    """Calls of a program, from one on, the last not included.

    Attributes:
        objects: what the program was learned with.
        passed: arrays of the host that were passed, one call after the other.
        told: what was called, once the program has been followed again.
    """

    program: Program
    first: int
    end: int
    objects: Sequence[object]
    passed: Sequence[object] = ()
    told: list[Called] | None = None
    __hash__ = object.__hash__

    @property
    def title(self) -> str:
        """See `Event.title`."""
        return "calls that were followed"

    @property
    def calls(self) -> list[Called]:
        """(kernel, arguments), with the numbers that there were."""
        return [*self._told()] if self.told is None else self.told

    def _told(self) -> Iterator[Called]:
        passed = iter(self.passed)
        for at, step in self.program.served(self.first, self.end):
            yield step.kernel(), self._arguments(at, step, passed)

    def _arguments(self, at: int, step: Step, passed: Iterator[object]) -> tuple[object, ...]:
        """The arguments of a call, of which the arrays of the host come next among those that were passed."""
        assert self.program.sequence is not None
        args = step.passed(self.program.sequence.scalars(at))
        for one in step.lent:
            args[one.argument] = next(passed)
        return tuple(args)

    def forget(self) -> None:
        """See `Following.forget`."""
        self.told = self.calls

    def note(self) -> None:
        """Let the records of the launches' kernels know that a tape made them."""
        lent = self._lent() if self.passed else {}
        for at, touched, like in self.program.noted(self.first, self.end):
            step = self.program.steps[at]
            records = None if step is None else step.specialisation.records
            is_known = like is not None and self._are_alike(like, at, lent)
            if step is None or records is None or is_known:
                continue
            call, held = (self._on_lent(at, step, lent[at]) if step.lent else None) or (self.program.call(at), {})
            records.note_taped(call, touched=touched, held=held)

    def _lent(self) -> dict[int, Sequence[object]]:
        """The arrays of the host that were passed, by the call."""
        passed = iter(self.passed)
        served = self.program.served(self.first, self.end)
        return {at: [next(passed) for _ in step.lent] for at, step in served if step.lent}

    def _are_alike(self, one: int, other: int, lent: Mapping[int, Sequence[object]]) -> bool:
        """Whether two calls of a kernel were passed the same arrays of the host, which held the same."""
        is_same = all(first is second for first, second in zip(lent[one], lent[other], strict=True))
        return is_same and self.program.lent(one) == self.program.lent(other)

    def _on_lent(self, at: int, step: Step, lent: Sequence[object]) -> tuple[Call, Mapping[str, Array]] | None:
        """A call on the very arrays that it was passed, and what they held; None if they would be passed otherwise."""
        specialisation, call, _ = step.kernel().prepared(self._arguments(at, step, iter(lent)), {})
        held = {place: buffer.read() for place, buffer in self.program.held(at).items()}
        return (call, held) if specialisation is step.specialisation else None

    @property
    def written(self) -> Sequence[Touched]:
        """The elements that the calls may write."""
        return list(self.program.span(self.first, self.end).written.values())

    def needs(self) -> Iterable[Touched]:
        """See `Event.needs`."""
        return self.program.span(self.first, self.end).needed.values()

    def computes(self, memory: object) -> bool:
        """See `Event.computes`."""
        if memory in self.program.span(self.first, self.end).written:
            return True
        served = reversed(self.program.served(self.first, self.end))
        return any(may_write(step.specialisation, step.call, memory) for _, step in served)

    def launches(self) -> list[tuple[str, list[tuple[str, int, int]]]]:
        """What each call keeps: its title, and (what, how many elements, bytes)."""
        served = self.program.served(self.first, self.end)
        return [(step.specialisation.kernel.name, self.program.kept[at]) for at, step in served]

    def kept(self) -> list[tuple[str, int, int]]:
        """See `Event.kept`."""
        return [*super().kept(), *(one for _, kept in self.launches() for one in kept)]

    def unwind(self, rewound: Rewound) -> None:
        """See `Event.unwind`."""
        program, span = self.program, self.program.span(self.first, self.end)
        if self.told is not None:
            raise AdstackRuntimeError(
                "what this Tape recorded was done again under another Tape since",
                do="differentiate a Tape when it ends",
            )
        for buffer in program.buffers:
            if buffer.storage is None:
                raise AdstackRuntimeError("a field that the kernel uses was destroyed", do="make the field again")
        gradients = list({id(grad): grad for grad in span.gradients.values()}.values())
        _announce(gradients)
        written = [touched.buffer for touched in span.written.values()]
        assert program.sequence is not None
        progress = program.sequence.turn(self.end)
        rewound.later(partial(self._restore, progress))
        before = standing(written)
        try:
            program.sequence.reverse(self.first, progress, program.short)
        finally:
            for buffer in (*gradients, *written):
                buffer.touch()  # what was kept was exchanged with it
        rewound.wound(before)
        if self.changes:
            super().unwind(rewound)

    def reverse(self) -> None:
        """Nothing: `unwind` has done it, which puts memory back between the calls."""

    def _restore(self, progress: Progress) -> None:
        """Put memory back to what it was after the last call."""
        assert self.program.sequence is not None
        self.program.sequence.restore(progress, self.end)
        for touched in self.written:
            touched.buffer.touch()


def torn(what: str) -> AdstackRuntimeError:
    """The error for a tape in which something, in words, has not come to its end."""
    return AdstackRuntimeError(
        f"{what} did not come to its end inside this Tape: what it has written is not known",
        do="leave the Tape by the exception, and begin with a new one",
    )


def _announce(buffers: Iterable[Buffer]) -> None:
    """Say that the elements of some buffers are about to be written."""
    is_observed = bool(OBSERVERS and OBSERVERS.others())
    for buffer in buffers:
        if is_observed:
            tell_others(buffer)
        if buffer.watch is not None and buffer.watch.strict:
            buffer.watch.before(buffer, "a Tape")
