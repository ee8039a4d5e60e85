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

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from ..data.hostarrays import HostArray
from ..errors import AdstackArgumentError, AdstackRuntimeError
from ..gradients.custom import no_grad
from ..ir.ops import PRINT
from ..runtime import state
from ..runtime.adstacks.heap import HeapLimit
from ..runtime.graphs import Captured, captured
from ..runtime.memory.copying import Uncopied
from ..runtime.threads.capturing import CAPTURING, allowing, is_capturing
from ..runtime.threads.recording import RECORDERS, Recorder, check_entered, is_recording, recording
from ..runtime.threads.runtime_lock import RUNTIME_LOCK
from ..runtime.threads.scopes import Entry, Scoped
from ..values.calling import takes
from ..values.kinds import KernelObject
from ..values.protocol import current_emitter
from .recorded import Step, alone, is_repeatable, overwritten
from .taped import Taped

if TYPE_CHECKING:
    from ..gradients.tapes.tape import Tape
    from ..launch.specialisation import Specialisation
    from .gradient import Gradient
    from .kernel import Kernel

__all__ = ["Graph", "graph"]


class Graph(Scoped, Uncopied):
    """What `graph()` gives: a context in which calls are recorded, and their launch.

    Attributes:
        is_captured: whether the device repeats its calls as one.
    """

    COPY_WHAT = "a graph"
    COPY_DO = "record another one"

    def __init__(self) -> None:
        self._steps: list[Step | Taped] = []
        self._taped: Taped | None = None
        self._runtime: state.Runtime | None = None
        self._recorder: Entry[Recorder | None] | None = None
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
            with RUNTIME_LOCK.lock:
                self._begin()
        except BaseException:
            self._end()
            raise
        return self

    def _begin(self) -> None:
        """Record the calls of this thread, and keep the host from memory meanwhile."""
        self._steps, self._taped, self._runtime = [], None, state.current()
        self._captured, self._first = None, True
        holder = self.holder()
        self._capture_entry = CAPTURING.begin(True, holder)
        _detach(self._runtime)
        self._recorder = RECORDERS.begin(self, holder)

    def _end(self) -> None:
        """Stop recording the calls of this thread."""
        RECORDERS.end(self._recorder)
        CAPTURING.end(self._capture_entry)
        self._recorder = None
        if self._runtime is not None and not CAPTURING.anywhere():
            _attach(self._runtime)

    def leave(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Record no more; what an exception has broken off is no graph."""
        check_entered(self._recorder, "graph")
        with RUNTIME_LOCK.lock:
            self._end()
            if kind is not None or self._taped is not None:
                self._steps, self._taped, self._runtime = [], None, None

    def begin_tape(self, tape: Tape) -> None:
        """The calls that follow are made under `tape`, by each launch; AdstackRuntimeError inside another one."""
        if self._taped is not None:
            raise AdstackRuntimeError("a Tape can't be opened inside another Tape or FwdMode", do="leave that first")
        self._taped = Taped(tape)

    def end_tape(self, *, failed: bool) -> None:
        """They are no longer. What an exception has broken off is left open, and so the graph will be nothing."""
        if not failed and self._taped is not None:
            self._steps.append(self._taped)
            self._taped = None

    def replaced(
        self,
        primal: Callable[..., object],
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        """A function that has a gradient of its own is called: under a tape that is what is recorded."""
        if self._taped is None:
            return function(*args, **kwargs)
        self._taped.calls.append((primal, args, kwargs))
        return None

    def constant(self, function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """A function whose launches count as constants is called: under a tape that is what is recorded."""
        return self.replaced(no_grad(function), function, args, kwargs)

    def call(self, kernel: Kernel, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Record a call of a kernel."""
        self._record(kernel, None, args, kwargs)

    def reverse(self, gradient: Gradient, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Record a call of a kernel's reverse mode."""
        self._record(gradient.kernel, gradient, args, kwargs)

    def host_wrote(self, array: object, where: object) -> None:
        """Nothing: the host writes nothing inside."""

    def _record(
        self, kernel: Kernel, gradient: Gradient | None, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> None:
        title = kernel.signature.name
        _check_arguments(title, (*args, *kwargs.values()))
        with allowing(), recording(None):
            specialisation, call, runtime = (kernel if gradient is None else gradient).prepared(args, kwargs)
            step = Step(
                specialisation, call, gradient, runtime, (*args, *kwargs.values(), *specialisation.life.objects())
            )
            if not runtime.options.ad_snapshot and not specialisation.keeps:
                step.planned  # noqa: B018 - what can't be differentiated is refused here
        if gradient is None:
            _check_silent(title, specialisation)
        _detach(runtime)
        if self._taped is None:
            self._steps.append(step)
        else:
            self._taped.steps.append(step)
            self._taped.calls.append((kernel if gradient is None else gradient, args, kwargs))

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
        with RUNTIME_LOCK.lock:
            state.check_unended(ended, "a graph was launched")
            self._launch()

    def _launch(self) -> None:
        self._check()
        if self._first:
            self._capture()
            return
        repeated = self._captured
        if repeated is None or any(step.changed() for step in self._alone):
            self._plainly()
            return
        try:
            done = repeated.launch()
        except HeapLimit as short:
            self._go_on(short)
            return
        if done:
            self._note()
        else:
            self._plainly()

    __call__ = launch

    def do_while(self, condition: KernelObject) -> None:
        """Launch, and again for as long as the condition is not zero after a launch.

        Args:
            condition: a scalar field or ndarray of one element, which the calls of the graph change.
        """
        if getattr(condition, "shape", None) not in ((), (1,)):
            raise AdstackArgumentError(
                "the condition of do_while must be a field or ndarray of one element", do="pass qd.field(qd.i32, ())"
            )
        at = None if condition.shape == () else 0
        self.launch()
        while condition[at]:
            self.launch()

    def _go_on(self, short: HeapLimit) -> None:
        """Do one launch with less memory, since its adstacks had no room, and those after it call by call."""
        if short.launch is None:
            raise short
        self._note()
        steps = self._plain_steps
        steps[short.launch].go_on(short)
        for step in steps[short.launch + 1 :]:
            step.run()

    def renew(self) -> None:
        """Let the next launch capture the calls anew: adstacks are as deep as they must be then."""
        self._captured, self._first = None, True

    @property
    def is_captured(self) -> bool:
        """Whether the device does what was recorded as one."""
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
        repeated = self._captured
        if not (repeated.alive if repeated is not None else all(b.alive for step in self._steps for b in step.buffers)):
            raise AdstackRuntimeError(
                "memory that the graph works on was destroyed", do="make the data again, then record the graph again"
            )

    def _plainly(self) -> None:
        for step in self._steps:
            step.run()

    def _capture(self) -> None:
        """Launch for the first time."""
        assert self._runtime is not None
        steps = self._plain_steps
        self._alone = alone(steps)
        plain = not steps or len(steps) < len(self._steps) or self._runtime.options.ad_snapshot
        if not plain and is_repeatable(steps, self._alone):
            launches = [step.planned for step in steps]
            self._captured = captured(self._runtime.backend, launches, self._plainly)
        else:
            self._plainly()
        self._first = False

    @property
    def _plain_steps(self) -> list[Step]:
        """The calls that no tape differentiates: all, where the device repeats them."""
        return [step for step in self._steps if isinstance(step, Step)]

    def _note(self) -> None:
        """Count the launches of a repetition, and note them where a gradient may ask for them."""
        steps = self._plain_steps
        for number, step in enumerate(steps):
            if step.gradient is None:
                step.specialisation.calls += 1
                if step.specialisation.records is not None:
                    later = next((one for one in steps[number + 1 :] if one.overwrites(step)), None)
                    step.specialisation.records.note(step.call, None if later is None else overwritten(step, later))

    def __repr__(self) -> str:
        return f"<graph: {', '.join(step.title for step in self._steps)}>"


@takes("graph")
def graph() -> Graph:
    """Record the calls of kernels in a block, to launch them together: `with qd.graph() as g: ...`, then `g.launch()`.

    Nothing runs in the block, so the host can't look at memory there, nor make any. Fields and ndarrays are those
    that were used, and stay; scalar arguments keep their values. Numpy arrays, and kernels that return or print
    something, can't be recorded.
    """
    return Graph()


def _check_arguments(title: str, args: tuple[object, ...]) -> None:
    for value in args:
        if isinstance(value, np.ndarray) or getattr(getattr(value, "device", None), "type", "") == "cpu":
            raise AdstackArgumentError(
                f"a graph can't take the call of {title}: an argument is an array of the host",
                do="pass an ndarray: its memory belongs to the device and stays where it is",
            )


def _check_silent(title: str, specialisation: Specialisation) -> None:
    if specialisation.returns is not None:
        raise AdstackRuntimeError(
            f"a graph can't take the call of {title}: it returns a value, and nothing has run yet",
            do="store the value in a field, and read it after the launch",
        )
    if any(op.opdef is PRINT for op in specialisation.kernel.body.walk()):
        raise AdstackRuntimeError(
            f"a graph can't take the call of {title}: it prints", do="leave the print out, or call it outside"
        )


def _detach(runtime: state.Runtime) -> None:
    """Let every access of the host to fields and ndarrays ask for their memory."""
    for array in runtime.residents():
        if isinstance(array, HostArray):
            array.disconnect()


def _attach(runtime: state.Runtime) -> None:
    """Let the host have direct access to fields and ndarrays again."""
    for array in runtime.residents():
        if isinstance(array, HostArray):
            array.connect()
