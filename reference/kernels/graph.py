"""`graph`: calls of kernels, recorded in a block and launched together as often as one likes.

    with qd.graph() as g:
        step()
        loss()
        step.grad()
    g.launch()

The block runs nothing. The first launch is that of the calls, one after the other, with all checks there are; a device
that can keeps what it did, and repeats it as one from then on. Elsewhere every launch is that of the calls.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.boxes import Box, intersection
from ..data.hostarrays import HostArray
from ..errors import AdstackArgumentError, AdstackDataAccessError, AdstackRuntimeError
from ..gradients.events import key_of
from ..gradients.launches.last_launch import has_changed, reverse_last_launch
from ..gradients.modes.compiled import differentiated
from ..gradients.modes.differentiated import Differentiated
from ..runtime import state
from ..runtime.adstack_heap import HeapLimit
from ..runtime.capturing import CAPTURING, allowing, is_capturing
from ..runtime.copying import Uncopied
from ..runtime.graphs import Captured, Planned, captured
from ..runtime.memory import Buffer
from ..runtime.plans import Plan
from ..runtime.recording import RECORDERS, is_recording, recording
from ..runtime.scopes import Entry, Scoped
from ..runtime.turn import TURN
from ..values.protocol import current_emitter

if TYPE_CHECKING:
    from ..launch.arguments import Call
    from ..launch.specialisation import Specialisation
    from .gradient import Gradient
    from .kernel import Kernel

__all__ = ["Graph", "graph"]


@dataclass(frozen=True)
class Step:
    """A recorded call.

    Attributes:
        made, call: the specialisation that serves it, and what is passed.
        gradient: the kernel's reverse mode, if that is what was called.
        runtime: in which.
        keep: the arguments, whose memory must stay.
    """

    made: Specialisation
    call: Call
    gradient: Gradient | None
    runtime: state.Runtime
    keep: tuple[Any, ...]

    @property
    def title(self) -> str:
        """What was called, as it is written."""
        return self.made.kernel.name + (".grad" if self.gradient is not None else "")

    @cached_property
    def plan(self) -> Plan:
        """How it is launched."""
        return self.made.plan if self.gradient is None else self._reverse.plan

    @property
    def _reverse(self) -> Differentiated:
        return differentiated(self.made, "reverse", self.runtime)

    @cached_property
    def planned(self) -> Planned:
        """The launch."""
        scalars = self.call.scalars if self.gradient is None else self._reverse.scalars(self.call)
        return Planned(self.plan, tuple(scalars), self.call.arrays)

    @cached_property
    def needed(self) -> dict[int, list[Box]]:
        """The elements that its reverse mode may read, by memory."""
        records = self.made.records
        names = () if records is None else (*records.fields, *records.arrays)
        return self._regions(self.made.plan.compiled.reach(self.call.scalars, self._shapes).read, names)

    @cached_property
    def written(self) -> dict[int, list[Box]]:
        """The elements that its launch may write, by memory."""
        reach = self.plan.compiled.reach(self.planned.scalars, self._shapes).written
        return self._regions(reach, self.plan.compiled.written)

    def _regions(self, reach: Mapping[str, list[Box]], names: Collection[str]) -> dict[int, list[Box]]:
        regions: dict[int, list[Box]] = {}
        for name in names:
            buffer = self.call.arrays.get(name) or self.plan.buffers.get(name) or self.made.plan.buffers.get(name)
            if buffer is not None and reach.get(name):
                regions.setdefault(_memory(buffer), []).extend(reach[name])
        return regions

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: buffer.shape for name, buffer in self.call.arrays.items()}

    def overwrites(self, other: Step) -> bool:
        """Whether it may write what the reverse mode of another call reads."""
        return any(_meet(boxes, other.needed.get(memory, ())) for memory, boxes in self.written.items())

    @property
    def buffers(self) -> list[Buffer]:
        """All memory that it works on."""
        return [*self.made.plan.buffers.values(), *self.call.arrays.values()]

    def run(self) -> None:
        """Do what was called."""
        if self.gradient is not None:
            reverse_last_launch(self.made, self.call, self.runtime)
        else:
            self.made.launch(self.call)

    def go_on(self, short: HeapLimit) -> None:
        """Do a launch that found no room for its adstacks."""
        if self.gradient is None:
            raise short
        self._reverse.go_on(self.call, short)

    def changed(self) -> bool:
        """For a gradient of a call that is not in the graph: whether memory is not as that call found it."""
        return has_changed(self.made, self.call, self.runtime)


class Graph(Scoped, Uncopied):
    """What `graph()` gives: a context in which calls are recorded, and their launch.

    Attributes:
        is_captured: whether the device repeats its calls as one.
    """

    COPY_WHAT = "a graph"
    COPY_DO = "record another one"

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._runtime: state.Runtime | None = None
        self._recorder: Entry[Any] | None = None
        self._capture_entry: Entry[bool] | None = None
        self._captured: Captured | None = None
        self._first = True
        self._alone: list[Step] = []

    # ---- recording

    def __enter__(self) -> Graph:
        if is_capturing() or is_recording() or current_emitter() is not None:
            raise AdstackRuntimeError(
                "a graph can't be recorded inside another graph, a Tape, a FwdMode or a kernel", do="leave that first"
            )
        try:
            with TURN.lock:
                self._begin()
        except BaseException:
            self._end()
            raise
        return self

    def _begin(self) -> None:
        """Record the calls of this thread, and keep the host from memory meanwhile."""
        self._steps, self._runtime = [], state.current()
        self._captured, self._first = None, True
        holder = self.holder()
        self._capture_entry = CAPTURING.begin(True, holder)
        _detach(self._runtime)
        self._recorder = RECORDERS.begin(self, holder)

    def _end(self) -> None:
        """Record no more."""
        if self._recorder is not None:
            RECORDERS.end(self._recorder)
        if self._capture_entry is not None:
            CAPTURING.end(self._capture_entry)
        if self._runtime is not None and not CAPTURING.anywhere():
            _attach(self._runtime)

    def leave(self, kind: Any, error: Any, trace: Any) -> None:
        """Record no more; what an exception has broken off is no graph."""
        with TURN.lock:
            self._end()
            if kind is not None:
                self._steps, self._runtime = [], None

    def call(self, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Record a call of a kernel."""
        self._record(kernel, None, args, kwargs)

    def reverse(self, gradient: Gradient, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Record a call of a kernel's reverse mode."""
        self._record(gradient.kernel, gradient, args, kwargs)

    def host_wrote(self, array: Any, where: Any) -> None:
        """Nothing: the host writes nothing inside."""

    def _record(self, kernel: Kernel, gradient: Gradient | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        title = kernel.signature.name
        _check_arguments(title, (*args, *kwargs.values()))
        with allowing(), recording(None):
            made, call, runtime = (kernel if gradient is None else gradient).prepared(args, kwargs)
            step = Step(made, call, gradient, runtime, (*args, *kwargs.values(), *made.life.objects()))
            if not runtime.options.ad_snapshot and not (made.records is not None and made.records.keeps):
                step.planned  # noqa: B018 - what can't be differentiated is refused here
        if gradient is None:
            _check_silent(title, made)
        _detach(runtime)
        self._steps.append(step)

    def __len__(self) -> int:
        """How many calls there are."""
        return len(self._steps)

    # ---- launching

    def launch(self) -> None:
        """Do what was recorded, on the memory as it is now.

        Scalar arguments are those of the block. AdstackStaleBoundError if the device has kept adstacks that are too
        small now, since a loop bound has grown: then nothing, or nothing that could be used, was computed.
        """
        ended = state.ENDED[0]
        with TURN.lock:
            state.check_unended(ended, "a graph was launched")
            self._launch()

    def _launch(self) -> None:
        self._check()
        if self._first:
            self._capture()
            return
        found = self._captured
        if found is None or any(step.changed() for step in self._alone):
            self._plainly()
            return
        try:
            done = found.launch()
        except HeapLimit as short:
            self._go_on(short)
            return
        if done:
            self._note()
        else:
            self._plainly()

    __call__ = launch

    def _go_on(self, short: HeapLimit) -> None:
        """Do one launch with less memory, since its adstacks had no room, and those after it call by call."""
        if short.launch is None:
            raise short
        self._note()
        self._steps[short.launch].go_on(short)
        for step in self._steps[short.launch + 1 :]:
            step.run()

    def renew(self) -> None:
        """Let the next launch capture the calls anew: adstacks are as deep as they must be then."""
        self._captured, self._first = None, True

    @property
    def is_captured(self) -> bool:
        return self._captured is not None

    def _check(self) -> None:
        if self._recorder is not None and self._recorder.in_force and self._recorder in RECORDERS:
            raise AdstackRuntimeError("the graph is still being recorded", do="launch it after the block")
        if is_recording() or is_capturing():
            raise AdstackRuntimeError(
                "a graph can't be launched inside another one, a Tape or a FwdMode: they would not see its calls",
                do="make the calls themselves, or launch the graph outside",
            )
        if self._runtime is None:
            raise AdstackRuntimeError("nothing was recorded", do="call kernels in `with qd.graph() as g:` first")
        if self._runtime is not state.active():
            raise AdstackRuntimeError("the graph was recorded before init() or reset()", do="record it again")
        found = self._captured
        if not (found.alive if found is not None else all(b.alive for step in self._steps for b in step.buffers)):
            raise AdstackRuntimeError(
                "memory that the graph works on was destroyed", do="make the data again, then record the graph again"
            )

    def _plainly(self) -> None:
        for step in self._steps:
            step.run()

    def _capture(self) -> None:
        """Launch for the first time."""
        self._alone = _alone(self._steps)
        if self._is_repeatable():
            assert self._runtime is not None
            launches = [step.planned for step in self._steps]
            self._captured = captured(self._runtime.backend, launches, self._plainly)
        else:
            self._plainly()
        self._first = False

    def _is_repeatable(self) -> bool:
        """Whether later launches need no more checks than can be made ahead of all calls at once."""
        assert self._runtime is not None
        if not self._steps or self._runtime.options.ad_snapshot:
            return False
        reversed_ = {key_of(step.made, step.call) for step in self._steps if step.gradient is not None}
        for number, step in enumerate(self._steps):
            if step.gradient is not None:
                if step.made.records is not None and step.made.records.keeps:
                    return False  # a launch by itself keeps what it overwrites
                if step in self._alone and any(one.overwrites(step) for one in self._steps[:number]):
                    return False
            elif key_of(step.made, step.call) in reversed_ and self._is_overwritten(number):
                return False  # elements would have to be compared
        return True

    def _is_overwritten(self, number: int) -> bool:
        """Whether a later call may write what the gradient of one needs, before that gradient or another such call."""
        step = self._steps[number]
        key, last = key_of(step.made, step.call), number
        for later, one in enumerate(self._steps[number + 1 :], number + 1):
            if key_of(one.made, one.call) == key:
                if one.gradient is None:
                    break
                last = later
        return any(one.overwrites(step) for one in self._steps[number + 1 : last])

    def _note(self) -> None:
        """There were launches, as far as somebody wants to know."""
        for number, step in enumerate(self._steps):
            if step.gradient is None:
                step.made.calls += 1
                if step.made.records is not None:
                    later = next((one for one in self._steps[number + 1 :] if one.overwrites(step)), None)
                    step.made.records.note(step.call, None if later is None else _overwritten(step, later))

    def __repr__(self) -> str:
        return f"<graph: {', '.join(step.title for step in self._steps)}>"


def graph() -> Graph:
    """Record the calls of kernels in a block, to launch them together: `with qd.graph() as g: ...`, then `g.launch()`.

    Nothing runs in the block, so the host can't look at memory there, nor make any. Fields and ndarrays are those
    that were used, and stay; scalar arguments keep their values. Numpy arrays, and kernels that return or print
    something, can't be recorded.
    """
    return Graph()


def _memory(buffer: Buffer) -> int:
    """Equal where memory may be the same: somebody else's arrays may overlap in any way."""
    return id(buffer) if buffer.owned else 0


def _meet(some: Collection[Box], others: Collection[Box]) -> bool:
    return any(intersection(one, other) is not None for one in some for other in others)


def _overwritten(step: Step, later: Step) -> AdstackDataAccessError:
    """Why a launch that is part of a graph can't be differentiated outside of it."""
    return AdstackDataAccessError(
        f"{step.title}.grad() needs what {step.title} found, and {later.title} may have overwritten it, which was "
        "launched with it in a graph",
        loc=step.made.kernel.loc,
        do=f"record {step.title}.grad() in the graph, before {later.title}, or call the kernels one by one",
    )


def _alone(steps: list[Step]) -> list[Step]:
    """Gradients of calls that are not among the steps before them."""
    seen, found = set(), []
    for step in steps:
        key = key_of(step.made, step.call)
        if step.gradient is None:
            seen.add(key)
        elif key is None or key not in seen:
            found.append(step)
    return found


def _check_arguments(title: str, args: tuple[Any, ...]) -> None:
    for value in args:
        if isinstance(value, np.ndarray) or getattr(getattr(value, "device", None), "type", "") == "cpu":
            raise AdstackArgumentError(
                f"a graph can't take the call of {title}: an argument is an array of the host",
                do="pass an ndarray: its memory belongs to the device and stays where it is",
            )


def _check_silent(title: str, made: Specialisation) -> None:
    if made.returns is not None:
        raise AdstackRuntimeError(
            f"a graph can't take the call of {title}: it returns a value, and nothing has run yet",
            do="store the value in a field, and read it after the launch",
        )
    if any(op.name == "print" for op in made.kernel.body.walk()):
        raise AdstackRuntimeError(
            f"a graph can't take the call of {title}: it prints", do="leave the print out, or call it outside"
        )


def _detach(runtime: state.Runtime) -> None:
    """Let every access of the host to fields and ndarrays ask for their memory."""
    for array in runtime.residents():
        if isinstance(array, HostArray):
            array.disconnect()


def _attach(runtime: state.Runtime) -> None:
    """Let the host have the quick ways to fields and ndarrays again."""
    for array in runtime.residents():
        if isinstance(array, HostArray):
            array.connect()
