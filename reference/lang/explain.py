"""What `kernel.explain()` says."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.structure import Place
from ..runtime.state import Runtime
from .specialisation import Specialisation

__all__ = ["explain"]


def explain(made: Specialisation, runtime: Runtime, names: tuple[str, ...]) -> str:
    """How a specialisation was made and what it touches."""
    return "\n".join(_lines(made, runtime, names))


def _lines(made: Specialisation, runtime: Runtime, names: tuple[str, ...]) -> Iterator[str]:
    device = runtime.backend.capabilities
    program = made.plan.compiled.program
    yield f"kernel {made.kernel.name} on {device.name} ({device.kind}: {device.device})"
    for name, spec in zip(names, made.request.specs, strict=True):
        yield f"  parameter {name}: {spec}"
    yield f"  returns: {', '.join(t.name for t in program.returns) or 'nothing'}"
    for task in program.tasks:
        yield f"  task {task.name}: {task.kind}, {sum(1 for _ in task.body.walk())} ops"
    for place in program.places.values():
        yield f"  place {place.name}: {_describe(place)}, {_use(made, place.name)}"


def _describe(place: Place) -> str:
    shape = ", ".join("?" if n is None else str(n) for n in place.shape)
    called = f" ({place.label})" if place.label else ""
    return f"{place.kind}{called}, {place.dtype}[{shape}]"


def _use(made: Specialisation, name: str) -> str:
    compiled = made.plan.compiled
    uses = [word for word, names in (("read", compiled.read), ("written", compiled.written)) if name in names]
    return " and ".join(uses) or "unused"
