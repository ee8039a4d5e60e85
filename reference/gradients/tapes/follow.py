"""How a tape follows what earlier tapes of its thread have learned: `Follow`.

The first call is Python's: it finds a program that such a call belongs to. From then on machine code serves the calls,
as long as each is the next one of the program. A call that is not, a write of the host to memory of the program, or
anything else that a tape has to know of, ends the run: what was served is one event, and the call is recorded, or
begins another run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakMethod, ref

from ...errors import AdstackMemoryError
from ...runtime.memory.blocks import Block
from ...runtime.memory.buffers import Buffer
from ...runtime.protocol.following import Sequenced, following
from ...runtime.threads.guards import ASKING, GUARD
from ...values.linked import Linked
from ..clearing import are_others
from ..events import Launch
from .fallbacks import fell_back
from .program import NOTHING, Program
from .run import Run
from .steps import Key, Step, key_of_call

if TYPE_CHECKING:
    from ...launch.arguments import Call
    from ...launch.specialisation import Specialisation
    from ...runtime.state import Runtime

__all__ = ["Follow", "Recorded"]

_MOST: Final = 8
"""How many programs a thread remembers."""
_AHEAD: Final = 4
"""How many calls of a program may be left out."""

Recorded = tuple[Any, tuple[Any, ...], Launch, Sequence[Buffer]] | Run | None
"""What a tape has recorded: a call as (kernel, arguments, launch, memory of gradients that it may clear), calls that
were followed, or something else."""


class _Learned(threading.local):
    """What the tapes of a thread have learned.

    Attributes:
        programs: those used last come first.
        recent: the keys of the last sequences that were not learned.
        credit: how many more are learned when they come for the first time.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.begin(0)

    def begin(self, epoch: int) -> None:
        """Know nothing yet in a runtime, given by its epoch; what is known of it stays."""
        if epoch != self.epoch or not epoch:
            self.epoch, self.programs = epoch, list[Program]()
            self.recent, self.credit = deque[int](maxlen=_MOST), _MOST


_LEARNED: Final = _Learned()


class Follow:
    """What one tape follows.

    Args:
        interrupted: is told of memory of the program that is about to be written, to end the run that is open.

    Attributes:
        open: whether machine code serves calls.
        ahead: what calls do from the one on that matched.
    """

    def __init__(self, interrupted: WeakMethod[Callable[[Block], object]]) -> None:
        self._interrupted = interrupted
        self.open = False
        self._program: Program | None = None
        self.ahead = NOTHING
        self._objects: list[Any] = []
        self._sequence: Sequenced | None = None
        self._first = self._at = 0
        self._trace: list[Recorded] = []

    # ---- runs

    def matches(self, specialisation: Specialisation, call: Call, runtime: Runtime) -> bool:
        """Whether a call is the next one of what can be followed."""
        linked = [scalar for scalar in call.scalars if isinstance(scalar, Linked)]
        if linked or GUARD[ASKING] != 1 or not (_LEARNED.programs or self._program):
            return False
        key = key_of_call(specialisation, call)
        for program in ([] if self._program is None else [self._program]) + _LEARNED.programs:
            at = _found(program, key, self._at)
            if at is not None and program.runtime is runtime:
                objects = program.objects()
                if objects is not None:
                    self._program, self._objects, self._first = program, objects, at
                    self._sequence, self.ahead = program.sequence, program.span(at, len(program.steps))
                    return True
        fell_back("differs")
        return False

    def begin(self) -> bool:
        """Begin a run at the call that matched; False if gradients are another thread's."""
        program, first = self._program, self._first
        assert program is not None
        assert self._sequence is not None
        if are_others(self.ahead.gradients.values()):
            return False
        for touched in self.ahead.written.values():
            watch = touched.buffer.watch
            if watch is not None and watch.strict:
                watch.before(touched.buffer, "a Tape", touched.boxes)
        for buffer in program.buffers:
            # the run is over before others save what is there
            (buffer.watch or buffer.told()).subscribe(self, first=True)
        program.begin(self)
        self.open = True
        self._sequence.begin(first)
        return True

    def before(self, buffer: Block) -> None:
        """Somebody is about to write memory of the program."""
        interrupted = self._interrupted()
        if self.open and interrupted is not None:
            interrupted(buffer)
        elif isinstance(buffer, Buffer):
            self._unsubscribe([buffer])

    def _unsubscribe(self, buffers: Iterable[Buffer]) -> None:
        """Not be told of writes to some buffers."""
        for buffer in buffers:
            if buffer.watch is not None:
                buffer.watch.unsubscribe(self)

    def close(self) -> None:
        """Follow nothing any more; safe to call whatever state the tape is in."""
        if self.open:
            self.end()

    def until(self, holder: object) -> ref[Any]:
        """What closes it once the `holder` is gone, as long as that is kept."""
        return ref(holder, partial(_close, ref(self)))

    def end(self) -> tuple[Run, bool]:
        """End the run that is open: what was served, and whether a call began and did not come to its end."""
        program = self._program
        self.open = False
        assert program is not None
        assert self._sequence is not None
        end, torn, passed = self._sequence.end()
        self._unsubscribe(program.buffers)
        self.ahead = NOTHING
        run = Run(program, self._first, end, self._objects, passed)
        if end > self._first and program.alive:
            self._trace.append(run)
            self._at = end
            program.runs.append(ref(run))
        return run, torn

    # ---- what is learned

    def recorded(self, call: Recorded) -> None:
        """Something was recorded the ordinary way; None for what is not a call that can be followed."""
        if call is None and self._trace and self._trace[-1] is None:
            return
        self._trace.append(call)
        self._at += 1

    def learn(self, runtime: Runtime) -> None:
        """The tape has come to its end: remember what it has done, unless it is known."""
        trace, self._trace = self._trace, []
        if following(runtime.backend) is None or not trace:
            return
        _LEARNED.begin(runtime.epoch)
        program = self._program
        if program is not None and program.alive and program.runtime is runtime:
            others = [one for one in _LEARNED.programs if one is not program and one.alive]
            _LEARNED.programs = [program, *others][:_MOST]
            if len(trace) == 1 and isinstance(trace[0], Run) and trace[0].end == len(program.steps):
                return
        if not _is_worth([*_keys(trace)]):
            return
        _LEARNED.programs = [one for one in _LEARNED.programs if one.alive]
        steps = [*_steps(trace)]
        keys = tuple(None if step is None else step.key for step in steps)
        if not any(keys) or any(one.keys == keys for one in _LEARNED.programs):
            return
        try:
            program = Program(steps, runtime)
            runtime.adopt(program)
            _LEARNED.programs = [program, *_LEARNED.programs][:_MOST]
        except (MemoryError, AdstackMemoryError):
            fell_back("memory")


def _close(follow: ref[Follow], _: object) -> None:
    follower = follow()
    if follower is not None:
        follower.close()


def _is_worth(keys: Sequence[Key | None]) -> bool:
    """Whether a sequence should be learned: one of the first, or one that came before."""
    number = hash(tuple(keys))
    if number in _LEARNED.recent:
        return True
    _LEARNED.recent.append(number)
    _LEARNED.credit -= 1
    return _LEARNED.credit >= 0


def _found(program: Program, key: Key, at: int) -> int | None:
    """Which of the next calls of a program a call is."""
    for number in range(at, min(at + _AHEAD, len(program.keys))):
        if program.keys[number] == key and program.steps[number] is not None:
            return number
    return None


def _keys(trace: Iterable[Recorded]) -> Iterable[Key | None]:
    """The keys of the calls, whether they can be followed or not."""
    for one in trace:
        if isinstance(one, Run):
            yield from one.program.keys[one.first : one.end]
        else:
            yield None if one is None else key_of_call(one[2].specialisation, one[2].call)


def _steps(trace: Iterable[Recorded]) -> Iterable[Step | None]:
    for one in trace:
        if isinstance(one, Run):
            yield from one.program.steps[one.first : one.end]
        elif one is None:
            yield None
        else:
            step = Step.of(*one)
            if isinstance(step, str):
                fell_back(step)
            yield None if isinstance(step, str) else step
