"""`kernel.grad`: a kernel in reverse mode."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..runtime.capturing import CAPTURING
from .ad.events import Launch
from .ad.remembered import remembered
from .ad.stale import reverse_verified
from .differentiated import Differentiated, differentiated
from .recording import RECORDERS, Capture, recording

if TYPE_CHECKING:
    from ..runtime.adstack_report import AdstackReport
    from ..runtime.state import Runtime
    from .ad.undo import Change
    from .arguments import Call
    from .kernel import Kernel
    from .specialisation import Specialisation

__all__ = ["Gradient"]


class Gradient:
    """What `kernel.grad` is: it propagates adjoints through one launch of the kernel.

    Args:
        kernel: which.
        bound: arguments that come first: the object, for a method.
    """

    __slots__ = ("bound", "kernel")

    def __init__(self, kernel: Kernel, bound: tuple[Any, ...] = ()) -> None:
        self.kernel = kernel
        self.bound = bound

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Apply the transposed Jacobian of the launch with these arguments to the gradients, in place."""
        with self.kernel.shown():
            if not RECORDERS:
                self.repeat(*self.kernel.prepared((*self.bound, *args), kwargs))
                return
            recorder: object = RECORDERS[-1]
            if CAPTURING and isinstance(recorder, Capture):
                recorder.reverse(self, (*self.bound, *args), kwargs)
                return
            with recording(None):
                self.repeat(*self.kernel.prepared((*self.bound, *args), kwargs))

    def repeat(self, made: Specialisation, call: Call, runtime: Runtime) -> None:
        """The same for a call that was prepared."""
        known = remembered(runtime)
        if known is None:
            self._reverse(made, call, runtime)
        else:
            known.reverse(made, call, runtime)

    def _reverse(self, made: Specialisation, call: Call, runtime: Runtime) -> None:
        """Reverse mode in the memory of now; AdstackStaleBoundError if loops would not run as they did."""
        mode = differentiated(made, "reverse", runtime)
        changes, writers = ([], "") if made.bounds is None else made.bounds.changed(call)
        inputs: list[Change] = [] if made.inputs is None else made.inputs.changed(call)
        if made.inputs is not None:
            made.inputs.refuse_overwritten(mode, call)

        def culprit(change: Change, position: int) -> str:
            return "the host" if any(change is one for one in inputs) else writers

        if changes or inputs:
            reverse_verified(Launch(made, call, mode), [*changes, *inputs], culprit, runtime)
        else:
            mode.launch(call)

    def stages(self, *args: Any, **kwargs: Any) -> dict[str, str]:
        """The IR of reverse mode as text, and what the backend made of it, for arguments like these: nothing is run."""
        from ..ir.printer import print_ir

        mode, _ = self._prepared(args, kwargs)
        compiled = mode.plan.compiled
        return {"tasks": print_ir(compiled.program), **mode.plan.backend.listing(compiled.executable)}

    def adstack_report(self, *args: Any, use: bool = False, **kwargs: Any) -> AdstackReport:
        """What the reverse pass keeps on adstacks for a call with these arguments: why, how deep, in how much memory.

        Nothing is launched, and no memory changes: depths are computed by the reference interpreter. With `use` it runs
        the whole reverse pass on copies, to see how deep the stacks really get.
        """
        from ..runtime.adstack_report import measured, report

        mode, call = self._prepared(args, kwargs)
        plan = mode.plan
        found = report(plan.compiled, plan.backend.adstacks(plan.compiled.executable))
        if mode.lean is not None:
            found = replace(found, checkpoints=mode.lean.told)
        wanted = {p.name for p in plan.compiled.program.places.values() if p.kind in ("field", "ndarray")}
        buffers = {**plan.buffers, **call.arrays}
        if not wanted <= buffers.keys():
            return found  # memory that only a tape has
        memory = {name: buffers[name].read() for name in wanted}
        return measured(plan.compiled, found, memory, call.scalars, use=use)

    def _prepared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Differentiated, Call]:
        made, call, runtime = self.kernel.prepared((*self.bound, *args), kwargs)
        return differentiated(made, "reverse", runtime), call

    def __repr__(self) -> str:
        return f"{self.kernel!r}.grad"
