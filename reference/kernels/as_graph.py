"""`@kernel(graph=True)`: the tasks of a kernel launched as one, by a device that keeps launches."""

from __future__ import annotations

from ..launch.arguments import Call
from ..launch.specialisation import Arguments, Specialisation
from ..runtime.graphs import Planned, captured
from ..runtime.memory.scalar_bits import scalar_bits
from ..runtime.protocol.abilities import rebinding
from ..runtime.state import Runtime

__all__ = ["launch"]


def launch(specialisation: Specialisation, call: Call, runtime: Runtime) -> object:
    """Launch, as one where the device can; the value that the kernel returns."""
    graphed = specialisation.graph
    if call.loans is not None or specialisation.plan.is_watched or specialisation.keeps:
        return specialisation.launch(call)
    if graphed is None or graphed is False:
        return _first(specialisation, call, runtime)
    captured, graph = graphed
    arguments = _arguments(specialisation, call)
    if captured != arguments or not graph.alive:
        if not graph.alive or not graph.rebind(Planned(specialisation.plan, tuple(call.scalars), call.arrays)):
            specialisation.graph = None
            return launch(specialisation, call, runtime)
        specialisation.graph = arguments, graph
    graph.launch()
    specialisation.calls += 1
    if specialisation.records is not None:
        specialisation.records.note(call)
    return None


def _first(specialisation: Specialisation, call: Call, runtime: Runtime) -> object:
    """Launch, and keep what the device does; a kernel of one task, or with a result, is nothing to keep."""
    repeats = rebinding(runtime.backend) is not None and len(specialisation.plan.compiled.program.tasks) > 1
    if specialisation.returns is not None or not repeats:
        specialisation.graph = False
        return specialisation.launch(call)
    planned = Planned(specialisation.plan, tuple(call.scalars), call.arrays)
    graph = captured(runtime.backend, [planned], lambda: specialisation.launch(call))
    specialisation.graph = False if graph is None else (_arguments(specialisation, call), graph)
    return None


def _arguments(specialisation: Specialisation, call: Call) -> Arguments:
    """Equal for calls that the same launches serve."""
    bits = scalar_bits(specialisation.plan.compiled.program.params, call.scalars)
    return bits, {name: id(buffer) for name, buffer in call.arrays.items()}
