"""`@kernel(graph=True)`: the tasks of a kernel launched as one, by a device that keeps launches."""

from __future__ import annotations

from typing import Any

from ..launch.arguments import Call
from ..launch.specialisation import Specialisation
from ..runtime.graphs import Planned, captured
from ..runtime.protocol.abilities import rebinding
from ..runtime.state import Runtime

__all__ = ["launch"]


def launch(made: Specialisation, call: Call, runtime: Runtime) -> Any:
    """Launch, as one where the device can; the value that the kernel returns."""
    whole = made.whole
    if call.loans is not None or made.plan.is_watched or (made.records is not None and made.records.keeps):
        return made.launch(call)
    if whole is None:
        return _first(made, call, runtime)
    known, graph = whole
    arguments = _arguments(call)
    if known != arguments or not graph.alive:
        if not graph.alive or not graph.rebind(Planned(made.plan, arguments[0], call.arrays)):
            made.whole = None
            return launch(made, call, runtime)
        made.whole = arguments, graph
    graph.launch()
    made.calls += 1
    if made.records is not None:
        made.records.note(call)
    return None


def _first(made: Specialisation, call: Call, runtime: Runtime) -> Any:
    """Launch, and keep what the device does; a kernel of one task, or with a result, is nothing to keep."""
    repeats = rebinding(runtime.backend) is not None and len(made.plan.compiled.program.tasks) > 1
    if made.returns is not None or not repeats:
        made.whole = False
        return made.launch(call)
    planned = Planned(made.plan, tuple(call.scalars), call.arrays)
    found = captured(runtime.backend, [planned], lambda: made.launch(call))
    made.whole = False if found is None else (_arguments(call), found)
    return None


def _arguments(call: Call) -> tuple[tuple[Any, ...], dict[str, int]]:
    return tuple(call.scalars), {name: id(buffer) for name, buffer in call.arrays.items()}
