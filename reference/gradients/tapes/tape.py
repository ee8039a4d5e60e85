"""`Tape`: launches are recorded, and differentiated in reverse when it is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakMethod

from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from ...runtime import state
from ...runtime.memory.blocks import Block
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.memory.observers import OBSERVERS
from ...runtime.protocol.abilities import exclusively
from ...runtime.threads.recording import RECORDERS, Capture, capturing, check_entered, recording
from ...runtime.threads.runtime_lock import RUNTIME_LOCK
from ...runtime.threads.scopes import Entry, Scoped
from ...values.calling import takes
from ..access import launch_checked
from ..events import CustomCall, Event, HostWrites, Launch, give_back
from ..memory.positions import flat_positions
from ..memory.undo import Change, Log, Rewound, Touched, lent, whole
from .around import Around
from .check import check_gradients, to_check
from .cleared import Cleared, clearable, clearable_arrays
from .ended import Ended
from .follow import Follow
from .gradients import Gradients
from .inside import Inside, TapeConstants, protect
from .links import LinkedCopy, LinkedWrites, Linking, Links, unrepeated
from .losses import Loss
from .outside import Outside
from .reached import check_reached, check_scalars
from .recorded import recordable
from .report import TapeReport, report_of
from .run import Run, torn

__all__ = ["Tape"]


class Tape(Scoped):
    """Computes the gradient of a loss with respect to everything that has one.

        with qd.ad.Tape(loss):
            step()
            evaluate(loss)

    On entry gradients and the loss are set to zero. On leaving, the loss's gradient is set to one and the recorded
    launches are differentiated, last first, each in the memory of its own time: elements that were overwritten since
    are put back for it, and the final state is there again at the end. Leaving by an exception differentiates nothing.
    What a kernel returns, and what the host reads, knows where it came from, also where the host computes with it:
    storing it links the chain, `loss[None] = 2 * k()`. What else the host writes inside is an input like what was there
    on entry: the gradient of an element is that of all values that it was given from outside, added up. It records the
    launches of the thread that opened it; what other threads write of its memory is from outside, too. Inside a FwdMode
    it also computes `.grad.dual`, the directional derivatives of the gradients: a Hessian-vector product.

    Args:
        loss: a field of rank 0, an ndarray or a torch tensor of one element, with a gradient.
        clear_gradients: whether gradients of fields, and of the ndarrays that what is recorded uses, start from zero;
            those that a tape of another thread used last do so when a recorded launch first uses them.
        validation: whether a launch that overwrites an element that it has read is an error.
        grad_check: fields whose gradients are compared with finite differences.
    """

    @takes("ad.Tape")
    def __init__(
        self, loss: Any, clear_gradients: bool = True, validation: bool = False, grad_check: Sequence[Any] | None = None
    ) -> None:
        self.loss = Loss(loss)
        self.clear_gradients = clear_gradients
        self.validation = validation
        self.grad_check = [] if grad_check is None else to_check(grad_check)
        self._around = Around()
        self._recorder: Entry[Any] | None = None
        self._observer: Entry[Any] | None = None
        self._capture: Capture | None = None
        self._clear()

    def _clear(self) -> None:
        """Nothing is recorded: what an earlier block has recorded is not of the next one."""
        self._calls: list[tuple[Any, tuple[Any, ...]] | Run] = []
        self._follow: Follow | None = None
        self._events: list[Event] = []
        self._log = Log()
        self._cleared = Cleared(self.clear_gradients)
        self._gradients = Gradients(clears=self.clear_gradients)
        self._outside, self._links = Outside(), Links()
        self._torn, self._ended, self._kept = "", Ended(), list[tuple[Any, ...]]()

    def __enter__(self) -> Tape:
        self._capture = capturing() if RECORDERS else None
        if self._capture is not None:
            self._capture.begin_tape(self)
            return self
        self._around = Around.here(self.loss)
        try:
            with RUNTIME_LOCK.lock:
                self._begin()
        except BaseException:
            self._end()
            raise
        return self

    def _begin(self) -> None:
        """Record the calls of this thread, from a moment on at which no other thread is inside a launch."""
        if self._log.holder is not None:  # it has been entered before
            self._clear()
        self._cleared = Cleared(self.clear_gradients)
        zeroed, checks = partial(self._outside.note_zeroed, self._gradients), bool(self.validation or self.grad_check)
        self._around.begin(self.loss, zeroed, clears=self.clear_gradients, checks=checks)
        holder = self._log.holder = self.holder()
        if not (self.validation or self.grad_check or self._around.forward is not None):  # which need each call
            self._follow = Follow(WeakMethod(self._interrupted))
            self._over = self._follow.until(holder())
        self._recorder = RECORDERS.begin(self, holder)
        self._observer = OBSERVERS.begin(self, holder)
        exclusively(state.current().backend, lambda: None)  # waits, and does nothing

    def _end(self) -> None:
        """Record nothing any more."""
        self._links.close()
        if self._follow is not None:
            self._follow.close()
        RECORDERS.end(self._recorder)
        OBSERVERS.end(self._observer)
        self._recorder = self._observer = None  # which have the tape
        self._log.close()

    def leave(self, kind: object, error: object, trace: object) -> None:
        """Differentiate, unless an exception has ended the block, which goes on."""
        check_entered(self._recorder or self._capture, "Tape")
        if self._capture is not None:
            self._capture.end_tape(failed=kind is not None)
            return
        self._links.close()
        try:
            self._end_run(last=True)
            if kind is None:
                self.grad()
                self._ended = Ended.of(self._log, self._events)
                if self._follow is not None:
                    self._follow.learn(state.current())
        finally:
            self._end()

    def grad(self) -> None:
        """Differentiate what was recorded; AdstackDataAccessError if memory has changed since the block ended."""
        with RUNTIME_LOCK.lock, self._ended:
            self._end_run(last=True)
            self._check_whole()
            if self._around.forward is not None:
                self._around.forward.note_others()
            self._note_host()
            if not (self._log.needed or self.grad_check) and {Run}.issuperset(map(type, self._events)):
                self._differentiate()  # nothing is logged, and no function of the user's runs
            else:
                with recording(None), self._log.quiet():
                    self._differentiate()

    def _differentiate(self) -> None:
        check_reached(self.loss, self._events, self._gradients.all, lambda: self.calls)
        protect(self._events)
        self.loss.seed()
        self._around.seed(self.loss)
        self._links.start()
        rewound = Rewound()
        try:
            for number, event in reversed(list(enumerate(self._events))):
                self._links.flush(number)
                event.unwind(rewound)
            self._links.flush(-1)
            if self.grad_check:
                check_gradients(self.loss, self._events, self.grad_check)
            give_back(self._events)
        finally:
            rewound.restore()

    def _check_whole(self) -> None:
        if self._torn:  # something that was recorded has not come to its end
            raise torn(self._torn)

    # ---- recording

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch a kernel and record the launch; what the kernel returns, linked to the tape."""
        if kwargs and self._follow is not None and self._follow.open:
            return kernel(*kernel.positional(args, kwargs))  # which machine code may serve
        refused = self._follow is not None and self._follow.open and self._end_run()
        self._check_whole()
        specialisation, call, runtime = kernel.prepared(args, kwargs)
        if not refused and self._begin_run(specialisation, call, runtime):
            return kernel(*kernel.positional(args, kwargs))
        check_scalars(specialisation, call, self._links, self._events)
        positional = kernel.positional(args, kwargs)
        launched, call = self._around.launched(kernel, specialisation, call, runtime, positional)
        self._cleared.clear(clearable(launched, call))
        launches = recordable(launched, call, runtime, first_only=self.validation)
        launches = self._around.recorded(launches, specialisation, runtime)
        for launch in launches:
            result = self._record(launch, runtime)
        for records in {launched.records, specialisation.records} - {None}:
            records.note_taped(call)
        self._calls.append((kernel, positional))
        self._kept.append(specialisation.life.objects())
        if self._follow is not None:
            one = (kernel, positional, launches[0], clearable(specialisation, call)) if len(launches) == 1 else None
            self._follow.recorded(one)
        return result if launched is specialisation else self._around.returned(specialisation, result, self._links)

    def _begin_run(self, specialisation: Specialisation, call: Call, runtime: state.Runtime) -> bool:
        """Whether machine code may serve a call, and those after it, as what was learned."""
        follow = self._follow
        if follow is None or not follow.matches(specialisation, call, runtime):
            return False
        self._note_host()
        if not self._log.needed:
            return follow.begin()
        with self._log.launching(follow.ahead.written.values()):
            return follow.begin()

    def _interrupted(self, buffer: Block) -> None:
        """Memory is about to be written that machine code works on."""
        self._end_run()
        self._log.before(buffer)

    def _end_run(self, *, last: bool = False) -> bool:
        """What machine code has served until now is an event; whether it was to serve a call, and did not.

        With `last`, no launch comes after it.
        """
        follow = self._follow
        if follow is None or not follow.open:
            return False
        run, torn = follow.end()
        if torn:
            self._torn = "a launch"
        span = run.program.span(run.first, run.end)
        # nobody has looked at these gradients since the calls that use them: see `host_looked_inside`
        self._cleared.clear(span.cleared.values())
        if run.first == run.end or not run.program.alive:
            return not torn
        run.note()
        run.changes = self._log.mark(written=run.end > run.first + 1)  # reversing it may leave what stood between calls
        if not last:
            self._log.watch(span.needed.values())
        self._gradients.update(span.gradients.items())
        self._append(run)
        self._calls.append(run)
        return False

    @property
    def calls(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """What was recorded: (kernel, arguments), in order."""
        return [call for one in self._calls for call in (one.calls if isinstance(one, Run) else [one])]

    def _record(self, launch: Launch, runtime: state.Runtime) -> Any:
        """Launch, and log what it changes of what is needed."""
        self._note_host()
        self._gradients.note(launch.gradients)
        written, (before, after) = launch.written(), launch.needed()
        self._log.watch(before)
        if self.grad_check:
            self._log.watch(written)
        self._torn = f"the launch of {launch.title}"
        with self._log.launching(written):
            checked = self.validation and launch.mode is not None
            result = launch_checked(launch, runtime) if checked else launch.launch()
        launch.changes = self._log.mark()
        self._log.watch((*after, *lent(written)))
        self._append(launch)
        self._torn = ""
        return self._links.returned(launch, result)

    def _append(self, event: Event) -> None:
        self._links.note_event()
        self._events.append(event)
        if self._follow is not None and not isinstance(event, (Launch, Run)):
            self._follow.recorded(None)

    def replaced(self, primal: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function that has a gradient of its own, that of `primal`, and record the call; what it returns."""
        inside = Inside(self._log if self.grad_check else None, self._links, function.__name__)
        result = self._run_inside(inside, "has a gradient of its own", function, args, kwargs)
        self._cleared.clear([*inside.clearable, *clearable_arrays([*args, *kwargs.values()])])
        event = CustomCall(primal, function, args, kwargs, changes=self._log.mark())
        self._log.watch(Touched(label, buffer, whole(buffer)) for label, buffer in inside.touched.values())
        self._calls.append((primal, args))
        self._append(event)
        self._torn = ""
        return result

    def constant(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a function whose launches count as constants; what it returns."""
        inside = TapeConstants()
        result = self._run_inside(inside, "has no gradient", function, args, kwargs)
        changes = self._log.mark() if self._log.needed else []
        if changes or inside.overwritten:
            self._append(HostWrites(inside.overwritten, changes=changes))
        self._torn = ""
        return result

    def _run_inside(self, inside: Inside | TapeConstants, what: str, function: Any, args: Any, kwargs: Any) -> Any:
        """Run a function whose launches `inside` serves, and of which forward mode says `what`; what it returns."""
        self._around.refuse(function, what)
        self._end_run()
        self._check_whole()
        self._note_host()
        self._torn = f"the call of {function.__name__}"
        with recording(inside):
            result = function(*args, **kwargs)
        self._gradients.note(inside.gradients)
        return result

    def host_wrote(self, array: Any, where: Any, entries: Sequence[Any] = ()) -> None:
        """Note which elements of an array, those at `where`, the host wrote."""
        self._end_run()
        self._outside.note(self._gradients, self._around.written(array, where, entries), where)

    def host_read(self, array: Any, position: tuple[int, ...], value: float) -> Any:
        """The `value` that the host read at a `position` of an array, linked to the element if that has a gradient."""
        self._around.looked(array)
        if array.grad is None or not array.grad.is_placed:
            return value
        if self._around.forward is not None:
            return self._around.read(value, self._links)
        self._split_host(array)
        return self._links.read(array.grad.buffer, position, value)

    def host_linked(self, array: Any, where: Any, entries: Sequence[Any]) -> None:
        """Note where linked numbers went, if they have a gradient there. AdstackRuntimeError in `grad_check`."""
        if array.grad is None or not array.grad.is_placed:
            return
        nodes = [self._links.node_of(entry, array.label) for entry in entries]
        if self.grad_check:
            raise unrepeated(array.label)
        if self._around.forward is not None:
            self.host_wrote(array, where, entries)
            return
        grad, positions = array.grad.buffer, flat_positions(array.grad.buffer, where)
        self._link(array, LinkedWrites(links=self._links, grad=grad, positions=positions, nodes=nodes))

    def host_copied(self, array: Any, source: Any, copy: Callable[[], Array | None]) -> bool:
        """Let `copy` write an array with all elements of another, linked; False if the host does so one by one."""
        if self.grad_check or not self._around.may_copy(array, source):
            return False
        self._split_host(source)
        active = self._around.copy(array, source, copy)
        for (_, grad), (_, of_source) in zip(*map(self._around.gradients, (array, source)), strict=True):
            self._link(array, LinkedCopy(grad=grad, source=of_source, active=active))
        return True

    def _link(self, array: Any, event: Linking) -> None:
        """Note that the host has written linked numbers to an array."""
        self._split_host(array)
        self._outside.note_linked(event.grad)
        self._append(event)
        self._log.watch(lent([Touched(array.label, array.buffer, ())]))

    def _split_host(self, array: Any) -> None:
        """What the host wrote until now was before what it does next with an array that has a gradient."""
        self._end_run()
        self._cleared.clear(clearable_arrays([array]))
        self._gradients.note(self._around.gradients(array))
        self._note_overwritten([])

    def before_others(self, buffer: Block) -> None:
        """Another thread is about to write any elements, needed or not: which ones, shows when they are compared."""
        self._end_run()
        if isinstance(buffer, Buffer) and self._gradients.of(buffer):
            self._note_host()
            self._log.watch([Touched("memory that another thread wrote", buffer, whole(buffer))])
            self._log.before(buffer)

    def _note_host(self) -> None:
        """Make an event of what the host did since the last one."""
        changes = self._log.mark() if self._log.needed else []
        if changes or self._outside.masks or self._outside.complete:
            self._note_overwritten(changes)
            self._outside.forget()

    def _note_overwritten(self, changes: list[Change]) -> None:
        overwritten = self._outside.taken(changes, self._gradients)
        if changes or overwritten:
            self._append(HostWrites(overwritten, changes=changes))

    def host_looked(self, array: Any) -> None:
        """The host is about to read all of an array."""
        self._around.looked(array)

    def host_looked_inside(self, array: Any) -> None:
        """The host is about to read of an array: a gradient is zero by now if calls that were followed use it."""
        if array.role == "grad":
            self._end_run()

    def report(self) -> TapeReport:
        """What was kept of overwritten memory, per event and buffer, and how large it is."""
        return report_of(self._events)
