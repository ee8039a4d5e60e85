"""`@kernel(graph=True)`: the tasks of a kernel launched as one, by a device that keeps launches."""

from __future__ import annotations

from typing import Any

from ..runtime.graphs import Planned, captured
from ..runtime.state import Runtime
from .arguments import Call
from .specialisation import Specialisation

__all__ = ["launch"]


def launch(made: Specialisation, call: Call, runtime: Runtime) -> Any:
    """Launch, as one where the device can; the value that the kernel returns."""
    whole = made.whole
    if whole is False or call.loans is not None or made.plan.is_watched:
        return made.launch(call)
    if whole is None:
        return _first(made, call, runtime)
    arguments = tuple(call.scalars), {name: id(buffer) for name, buffer in call.arrays.items()}
    if whole[0] != arguments or not whole[1].alive:
        bound = whole[1].rebound(Planned(made.plan, arguments[0], call.arrays)) if whole[1].alive else None
        if bound is None:
            made.whole = None
            return launch(made, call, runtime)
        made.whole = whole = arguments, bound
    whole[1].launch()
    made.calls += 1
    if made.bounds is not None:
        made.bounds.note(call)
    return None


def _first(made: Specialisation, call: Call, runtime: Runtime) -> Any:
    """Launch, and keep what the device does; a kernel of one task, or with a result, is nothing to keep."""
    if made.returns is not None or len(made.plan.compiled.program.tasks) < 2:
        made.whole = False
        return made.launch(call)
    planned = Planned(made.plan, tuple(call.scalars), call.arrays)
    found = captured(runtime.backend, [planned], lambda: made.launch(call))
    buffers = {name: id(buffer) for name, buffer in call.arrays.items()}
    made.whole = False if found is None else ((planned.scalars, buffers), found)
    return None
