"""`kernel.grad`: a kernel in reverse mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ..absent import with_absent
from ..gradients.launches.kept import reversing
from ..gradients.launches.last_launch import reverse_last_launch
from ..gradients.modes.compiled import differentiated
from ..gradients.modes.differentiated import Differentiated
from ..gradients.returned import default_seeds
from ..gradients.seeds import SEED, is_real, seeds_of
from ..runtime import state
from ..runtime.memory.copying import ByName
from ..runtime.threads.guards import ASKING, EPOCH, GUARD, REWIRED
from ..runtime.threads.recording import RECORDERS, Forward, capturing, forward_mode, in_charge, is_recording, recording
from ..runtime.threads.runtime_lock import RUNTIME_LOCK
from ..runtime.threads.scopes import settle
from .reverse_shortcut import shortcut

if TYPE_CHECKING:
    from ..launch.arguments import Call
    from ..launch.specialisation import Specialisation
    from ..runtime.adstack_report import AdstackReport
    from ..runtime.state import Runtime
    from .kernel import Kernel

__all__ = ["Gradient"]

MOST_SHORTCUTS: Final = 8
"""How many kinds of calls are tried one after another in machine code."""


@with_absent("the gradient of a kernel")
class Gradient(ByName):
    """What `kernel.grad` is: it propagates adjoints through one launch of the kernel.

    Args:
        kernel: which.
        bound: arguments that come first: the object, for a method.

    Attributes:
        __call__: what serves a call: `serve`, or a shortcut of the backend which leaves the rest to it.
    """

    __slots__ = ("__call__", "_epoch", "_kinds", "bound", "kernel")
    __call__: Callable[..., None]

    def __init__(self, kernel: Kernel, bound: tuple[object, ...] = ()) -> None:
        self.kernel = kernel
        self.bound = bound
        self._epoch: tuple[int, int] = (0, 0)
        self._kinds: set[tuple[object, ...]] = set()
        self.__call__ = partial(kernel.grad, *bound) if bound else self.serve

    def drop(self) -> None:
        """Forget what serves calls."""
        self._epoch, self._kinds = (GUARD[EPOCH], GUARD[REWIRED]), set()
        self.__call__ = partial(self.kernel.grad, *self.bound) if self.bound else self.serve

    def serve(self, *args: object, **kwargs: object) -> None:
        """Apply the transposed Jacobian of the launch with these arguments to the gradients, in place.

        The adjoint of what the kernel returned is `seed=`: of the shape of what is returned, and 1 unless given for one
        real number. A parameter of that name is passed by position.
        """
        ended = state.ENDED[0]
        try:
            with RUNTIME_LOCK.lock:
                if state.ENDED[0] != ended:
                    self.kernel.check_unended(ended)
                self._serve(args, kwargs)
        except BaseException:
            with self.kernel.shown:
                raise

    def _serve(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        capture = capturing() if RECORDERS else None
        if capture is not None:
            capture.reverse(self, args, kwargs)
        elif RECORDERS and is_recording():
            recorder: object = in_charge()
            forward = forward_mode()
            if forward is not None:
                forward.reverses()
            with recording(None):
                specialisation, call, runtime = self.prepared(args, kwargs)
                if isinstance(recorder, Forward):
                    positional = self.kernel.positional(args, self._parted(kwargs)[0])
                    specialisation, call = recorder.adjoint(self.kernel, specialisation, call, runtime, positional)
                reverse_last_launch(specialisation, call, runtime)
        else:
            for announced in () if kwargs else self.kernel.announced.calls:
                if announced.reverse(args):
                    return
            specialisation, call, runtime = self.prepared(args, kwargs)
            reverse_last_launch(specialisation, call, runtime)
            if not kwargs and not call.seeds and (specialisation.records is None or not specialisation.records.notes):
                self._shorten(differentiated(specialisation, "reverse", runtime), args)

    def left(self, *args: object, **kwargs: object) -> None:
        """The same through a launch that left the memory of the arguments as it is, whatever launches have been.

        AdstackDataAccessError if the reverse pass needs what the launch has overwritten. It is no mistake if nothing
        that the kernel reads has a gradient: memory that it writes may have one that passes through.
        """
        ended = state.ENDED[0]
        with self.kernel.shown, RUNTIME_LOCK.lock, recording(None):
            self.kernel.check_unended(ended)
            specialisation, call, runtime = self.prepared(args, kwargs)
            differentiated(specialisation, "reverse", runtime, strict=False).launch(call)

    def prepared(self, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[Specialisation, Call, Runtime]:
        """What would serve a call, and what the call passes, with the adjoints of what the kernel returned."""
        kwargs, seed = self._parted(kwargs)
        specialisation, call, runtime = self.kernel.prepared(args, kwargs)
        if is_real(specialisation.returns):
            call.seeds = (
                default_seeds(specialisation, call)
                if seed is None
                else seeds_of(specialisation.returns, seed, specialisation.kernel.name)
            )
        return specialisation, call, runtime

    def _parted(self, kwargs: dict[str, object]) -> tuple[dict[str, object], object]:
        """What is passed to parameters by name; the adjoint of what the kernel returned, None if none is given."""
        if SEED not in kwargs or not is_real(self.kernel.returns):
            return kwargs, None
        return {name: value for name, value in kwargs.items() if name != SEED}, kwargs[SEED]

    def _shorten(self, mode: Differentiated, args: tuple[object, ...]) -> None:
        """Let machine code serve calls like this one from now on, if it can."""
        if GUARD[ASKING]:
            settle()
        if self._epoch != (GUARD[EPOCH], GUARD[REWIRED]):
            self.drop()
        if len(self._kinds) == MOST_SHORTCUTS:
            return
        described = self.kernel.described(args)
        if described is None:
            return
        kind = mode.specialisation, *map(type, described)
        if kind not in self._kinds:
            self._kinds.add(kind)
            self.__call__ = shortcut(mode, described, self.__call__, self._called) or self.__call__

    def _called(self, args: tuple[object, ...]) -> Call:
        return self.kernel.prepared(args, {})[1]

    def stages(self, *args: object, **kwargs: object) -> dict[str, str]:
        """The IR of reverse mode as text, and what the backend made of it, for arguments like these: nothing is run."""
        from ..ir.text.printer import print_ir

        modes, _, _ = self._prepared(args, kwargs)
        stages: dict[str, str] = {}
        for mode in reversed(modes):
            compiled = mode.plan.compiled
            listing = {"tasks": print_ir(compiled.program), **mode.plan.backend.listing(compiled.executable)}
            stages = {name: stages.get(name, "") + text for name, text in listing.items()}
        return stages

    def adstack_report(self, *args: object, use: bool = False, **kwargs: object) -> AdstackReport:
        """What the reverse pass keeps on adstacks for a call with these arguments: why, how deep, in how much memory;
        what launches keep beside, where they overwrite what it needs; and how much of sparse fields is active.

        Nothing is launched, and no memory changes: depths are computed by the reference interpreter. With `use` it runs
        the whole reverse pass on copies, to see how deep the stacks really get; not where it needs what launches keep.
        """
        from ..data.occupancy import occupancies
        from ..runtime.adstack_report import AdstackReport

        modes, kept, call = self._prepared(args, kwargs)
        sparse = occupancies(data for mode in modes for data in mode.specialisation.fields.values())
        return AdstackReport.together([_reported(mode, call, use=use) for mode in reversed(modes)], kept, sparse)

    def _prepared(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[Sequence[Differentiated], Sequence[str], Call]:
        specialisation, call, runtime = self.kernel.prepared((*self.bound, *args), self._parted(kwargs)[0])
        return *reversing(specialisation, call, runtime), call

    def __reduce__(self) -> tuple[object, ...]:
        return Gradient, (self.kernel, self.bound)

    def __repr__(self) -> str:
        return f"{self.kernel!r}.grad"


def _reported(mode: Differentiated, call: Call, *, use: bool) -> AdstackReport:
    """The report of one reverse mode; with the depths for a call, if all memory that these depend on is there."""
    from ..runtime.adstack_report import measured

    plan, report = mode.plan, mode.adstack_report()
    wanted = {p.name for p in plan.compiled.program.places.values() if p.kind in ("field", "ndarray")}
    buffers = {**plan.buffers, **call.arrays}
    if not wanted <= buffers.keys():
        return report  # memory that only a launch has
    memory = {name: buffers[name].read() for name in wanted}
    return measured(plan.compiled, report, memory, mode.scalars(call), use=use)
