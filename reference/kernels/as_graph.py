"""`@kernel(graph=True)`: the tasks of a kernel launched as one, by a device that keeps launches."""

from __future__ import annotations

from ..launch.arguments import Call
from ..launch.specialisation import Specialisation
from ..runtime.graphs import Planned, captured
from ..runtime.protocol.abilities import rebinding
from ..runtime.protocol.backend import Scalars
from ..runtime.state import Runtime

__all__ = ["launch"]


def launch(made: Specialisation, call: Call, runtime: Runtime) -> object:
    """Launch, as one where the device can; the value that the kernel returns."""
    graphed = made.graph
    if call.loans is not None or made.plan.is_watched or (made.records is not None and made.records.keeps):
        return made.launch(call)
    if graphed is None or graphed is False:
        return _first(made, call, runtime)
    known, graph = graphed
    arguments = _arguments(call)
    if known != arguments or not graph.alive:
        if not graph.alive or not graph.rebind(Planned(made.plan, arguments[0], call.arrays)):
            made.graph = None
            return launch(made, call, runtime)
        made.graph = arguments, graph
    graph.launch()
    made.calls += 1
    if made.records is not None:
        made.records.note(call)
    return None


def _first(made: Specialisation, call: Call, runtime: Runtime) -> object:
    """Launch, and keep what the device does; a kernel of one task, or with a result, is nothing to keep."""
    repeats = rebinding(runtime.backend) is not None and len(made.plan.compiled.program.tasks) > 1
    if made.returns is not None or not repeats:
        made.graph = False
        return made.launch(call)
    planned = Planned(made.plan, tuple(call.scalars), call.arrays)
    found = captured(runtime.backend, [planned], lambda: made.launch(call))
    made.graph = False if found is None else (_arguments(call), found)
    return None


def _arguments(call: Call) -> tuple[Scalars, dict[str, int]]:
    return tuple(call.scalars), {name: id(buffer) for name, buffer in call.arrays.items()}
