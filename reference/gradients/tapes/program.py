"""A sequence of calls that a tape has learned: `Program`.

It ends with the first of the objects that it was learned with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import ref

from ...data.placement import PLACED
from ...runtime.adstacks.heap import HeapLimit
from ...runtime.memory.buffers import Buffer
from ...runtime.protocol.following import SequenceCall, Sequenced, following
from ...runtime.threads.guards import EPOCH, GUARD
from ..memory.undo import Touched
from ..modes.differentiated import with_arrays
from .kept_regions import Keeping, include_all
from .steps import Key, Reference, Step

if TYPE_CHECKING:
    from ...launch.arguments import Call
    from ...runtime.state import Runtime

__all__ = ["Following", "Program", "Span"]

_MOST_SPANS: Final = 4
"""What so many stretches do is remembered for each call of a program: a tape that is interrupted asks for the same ones
each time, from each of its runs to the end of the program, and of each run.
"""


@dataclass
class Span:
    """What some calls of a program do together.

    Attributes:
        written, needed: by memory, the elements that they write, and that their reverse modes need.
        gradients: by memory, its gradients.
        cleared: by memory, gradients that start from zero.
        noted: see `Program.noted`.
    """

    written: dict[int, Touched] = field(default_factory=dict)
    needed: dict[int, Touched] = field(default_factory=dict)
    gradients: dict[int, Buffer] = field(default_factory=dict)
    cleared: dict[int, Buffer] = field(default_factory=dict)
    noted: list[tuple[int, bool, int | None]] | None = None

    @classmethod
    def of(cls, steps: Iterable[Step]) -> Span:
        """What some calls do together."""
        span = cls()
        for step in steps:
            include_all(span.written, step.written)
            include_all(span.needed, step.before)
            include_all(span.needed, step.after)
            span.gradients.update((id(primal), grad) for primal, grad in step.gradients)
            span.cleared.update((id(grad), grad) for grad in step.cleared)
        return span


NOTHING: Final = Span()
"""What no calls do."""


class Following(Protocol):
    """Calls of a program as a tape followed them."""

    def forget(self) -> None:
        """The calls are about to be made again: what was kept for these is lost."""


class Program:
    """A sequence of calls.

    Args:
        steps: the calls; None for what comes between them and can't be followed.
        runtime: where they run.

    Attributes:
        keys: of the calls.
        steps: those that are followed.
        kept: what each keeps: (what the user calls the memory, how many elements, bytes).
        buffers: all their memory.
        alive: whether all that it was learned with is there.
        runs: its calls as the latest tape followed them, as far as somebody still has them.
    """

    def __init__(self, steps: Sequence[Step | None], runtime: Runtime) -> None:
        self.keys: tuple[Key | None, ...] = tuple(None if step is None else step.key for step in steps)
        self.runtime, self.placed, self._epoch, self.alive = runtime, PLACED[0], 0, True
        self._keeping, calls, followed = Keeping(runtime.backend), list[SequenceCall | None](), list[Step | None]()
        cleared = {id(grad) for step in steps if step is not None for grad in step.cleared}
        for step in steps:
            is_followed = step is not None and cleared.isdisjoint(step.touched)  # else it looks at what is cleared late
            call = self._keeping.add(step) if step is not None and is_followed else None
            if call is None:
                self._keeping.skip()
            calls.append(call)
            followed.append(None if call is None else step)
        self.runs: list[ref[Following]] = []
        self._whose: Callable[[], object] = _nobody
        self.steps, self.kept = tuple(followed), self._keeping.kept
        served = [(at, step) for at, step in enumerate(followed) if step is not None]
        self.buffers = list({id(one): one for _, step in served for one in step.buffers}.values())
        self._followers = {(step.kernel, step.follower): None for _, step in served}
        self._spans: dict[tuple[int, int], Span] = {}
        device = following(runtime.backend)
        assert device is not None
        self.sequence: Sequenced | None = device.sequence(calls)
        self._references = [*self._watched(step for _, step in served)]

    def _watched(self, served: Iterator[Step]) -> Iterator[Reference]:
        """References to what it was learned with, which end the program with the first of these."""
        owner, seen = ref(self), set[int]()

        def gone(_: object) -> None:
            program = owner()
            if program is not None:
                program.drop()

        for one in (reference() for step in served for reference in step.references):
            if id(one) not in seen and type(one).__weakrefoffset__:
                seen.add(id(one))
                yield ref(one, gone)

    def drop(self) -> None:
        """Give up all that it keeps: it is not followed any more."""
        self.alive, self.steps, self.buffers, self.kept = False, (), [], []
        self.keys = ()
        self._spans, self._followers, self._keeping, self.sequence = {}, {}, Keeping(self.runtime.backend), None

    def objects(self) -> list[Any] | None:
        """What it was learned with, to be kept for a while; None if some of it is gone, or is not what it was."""
        if not self.alive or self.placed != PLACED[0]:
            return None
        objects = [reference() for reference in self._references]
        for one in objects:
            if one is None:
                return None
        if self._epoch != GUARD[EPOCH] and not all(buffer.alive and not buffer.shared for buffer in self.buffers):
            return None
        self._epoch = GUARD[EPOCH]
        return [self.sequence, self._keeping, *objects]

    def begin(self, whose: object) -> None:
        """Its calls are about to be followed, by a tape that may have followed others of them."""
        if self._whose() is not whose:
            for reference in self.runs:
                run = reference()
                if run is not None:
                    run.forget()
            self._whose, self.runs = ref(whose), []
        for kernel, follower in self._followers:
            kernel().follow(follower)

    def span(self, first: int, end: int) -> Span:
        """What some of its calls do."""
        span = self._spans.get((first, end))
        if span is None:
            if len(self._spans) >= _MOST_SPANS * len(self.steps):
                self._spans.clear()
            span = self._spans[first, end] = Span.of(step for _, step in self.served(first, end))
        return span

    def served(self, first: int, end: int) -> list[tuple[int, Step]]:
        """(number of the call, step) for each of some calls that is followed."""
        return [(at, step) for at, step in enumerate(self.steps[first:end], first) if step is not None]

    def noted(self, first: int, end: int) -> list[tuple[int, bool, int | None]]:
        """What the records of the kernels of some calls are told: (call, touched, None), see `Records.note_taped`; or
        with another call, which they are told, if that was passed other arrays of the host.
        """
        span = self.span(first, end)
        if span.noted is None:
            calls = ((at, step, self._keeping.calls[at]) for at, step in self.served(first, end))
            span.noted = [*_noted([(at, step, call) for at, step, call in calls if call is not None])]
        return span.noted

    def call(self, at: int) -> Call:
        """A call with the numbers that it was made with last, on memory that holds what arrays of the host held."""
        step, sequence, call = self.steps[at], self.sequence, self._keeping.calls[at]
        assert step is not None
        assert sequence is not None
        assert call is not None
        if not (step.takes_floats or step.lent):
            return call
        return with_arrays(call, self.held(at), sequence.scalars(at))

    def lent(self, at: int) -> list[int]:
        """Where it is noted what the arrays of the host held that were passed to a call last."""
        assert self.sequence is not None
        return [self.sequence.noted(one) for one in self._keeping.lent[at] if one.nbytes]

    def held(self, at: int) -> dict[str, Buffer]:
        """By place, what arrays of the host held when they were passed to a call last, as far as anybody needs it."""
        assert self.sequence is not None
        return dict(self._keeping.lending.held(self._keeping.lent[at], self.sequence))

    def short(self, at: int, limit: HeapLimit) -> None:
        """Reverse a call whose adstacks have no room."""
        step = self.steps[at]
        assert step is not None
        assert step.mode is not None
        step.mode.go_on(with_arrays(self.call(at), self._keeping.beside[at]), limit)


def _noted(served: Sequence[tuple[int, Step, Call]]) -> Iterator[tuple[int, bool, int | None]]:
    """See `Program.noted`: of each kernel the first call or, if it takes no arguments, the last; and those after which
    nothing was written that matters, where the first does not stand for them.
    """
    touched, written = dict[int, bool](), set[int]()
    for at, step, call in reversed(served):
        if step.specialisation.records is not None:
            touched[at] = not written.isdisjoint(map(id, step.specialisation.records.memories(call)))
        written.update(id(one.buffer) for one in step.written)
    firsts = {id(step.specialisation): at for at, step, _ in reversed(served)}
    lasts = {id(step.specialisation): at for at, step, _ in served}
    for at, step, _ in served:
        records, first = step.specialisation.records, firsts[id(step.specialisation)]
        if records is None:
            continue
        if not records.takes_arguments:
            is_told = at == lasts[id(step.specialisation)]
        else:
            is_told = at == first or (not touched[at] and (touched[first] or records.rereads))
        if is_told or (step.lent and not touched[at]):
            yield at, touched[at], None if is_told else first


def _nobody() -> None:
    """Stands for a reference to the tape that follows a program: there is none."""
