"""What `kernel.explain()` says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..analysis.accumulation import is_ordered, plan
from ..gradients.modes.state import state_of
from ..ir.ops import ATOMIC, LOAD, PARALLEL_FOR, SHAPE
from ..ir.scalar_ops import CONST
from ..ir.structure import Op, Place, Task, Value
from ..launch.specialisation import Specialisation
from ..runtime.protocol.backend import Capabilities
from ..runtime.state import Runtime
from ..transforms.tasks.gathering import gathering
from ..values.specs import MatrixSpec, NdarraySpec, ScalarSpec, Spec

__all__ = ["explain"]


def explain(specialisation: Specialisation, runtime: Runtime, names: tuple[str, ...]) -> str:
    """How a specialisation runs: its tasks, over what the parallel ones range, and what each reads and writes."""
    return "\n".join(_lines(specialisation, runtime, names))


def _lines(specialisation: Specialisation, runtime: Runtime, names: tuple[str, ...]) -> Iterator[str]:
    device = runtime.backend.capabilities
    program = specialisation.plan.compiled.program
    yield f"kernel {specialisation.kernel.name} on {device.name} ({device.kind}: {device.device})"
    for name, spec in zip(names, specialisation.specs, strict=True):
        yield f"  parameter {name}: {_parameter(spec)}"
    yield f"  returns: {', '.join(t.name for t in program.returns) or 'nothing'}"
    for task in program.tasks:
        yield from _task(task, device)
    yield from _reverse(specialisation, device)
    for place in program.places.values():
        yield f"  place {place.name}: {_place(place)}, {_use(specialisation, place.name)}"


def _reverse(specialisation: Specialisation, device: Capabilities) -> Iterator[str]:
    """What reverse mode keeps, if there has been a call of it."""
    for mode in state_of(specialisation).compiled.values():
        if mode.derived.recipe is not None:
            kept = mode.adstack_report()
            yield from (f"  reverse mode: {line}" for line in (*kept.rows, *kept.tasks, *kept.checkpoints))
            tasks = (task for task in mode.plan.compiled.program.tasks if not task.sizes)
            sums = (line for task in tasks for line in _sums(task, device))
            yield from (f"  reverse mode: {line.strip()}" for line in sums)


def _parameter(spec: Spec) -> str:
    if isinstance(spec, ScalarSpec):
        return spec.dtype.name
    if isinstance(spec, MatrixSpec):
        return f"{spec.dtype} of shape {spec.shape}"
    if isinstance(spec, NdarraySpec):
        elements = f" of elements of shape {spec.element_shape}" if spec.element_shape else ""
        beside = (", with a gradient" if spec.has_grad else "") + (", with a dual" if spec.has_dual else "")
        return f"array of {spec.dtype}, {spec.ndim} axes{elements}{beside}"
    return str(spec)


def _task(task: Task, device: Capabilities) -> Iterator[str]:
    loop = next((op for op in task.body.ops if op.opdef is PARALLEL_FOR), None)
    inside = sum(1 for _ in task.body.walk())
    if loop is None:
        first = task.body.ops[0]
        yield f"  task {task.name}: serial, {inside} ops, from {_line(first)}"
    else:
        yield f"  task {task.name}: parallel over {_domain(loop)}, {inside} ops, from {_line(loop)}"
    uses: dict[str, list[str]] = {}
    for op in task.body.walk():
        place = op.attrs.get("place")
        if isinstance(place, Place) and (op.opdef.reads or op.opdef.writes):
            uses.setdefault(_verb(op), []).append(place.label or place.name)
    for verb, places in uses.items():
        yield f"    {verb} {', '.join(dict.fromkeys(places))}"
    yield from _sums(task, device)


def _sums(task: Task, device: Capabilities) -> Iterator[str]:
    """How each update that iterations share is added up, and why not better."""
    updates = Counter[tuple[str, str]]()
    scattered = gathering(task) if device.gathers else ""
    beside = f"; it is not gathered: {scattered}" if scattered and isinstance(scattered, str) else ""
    for op, decision in plan(task, device.sums, deterministic=is_ordered(task)).decisions.items():
        reason = f": {decision.why}{beside if decision.way in ('subgroup', 'atomic') else ''}" if decision.why else ""
        updates[_where(op), f"{decision.way}{reason}"] += 1
    updates.update((_where(op), "gathered") for op in task.body.walk() if op.attrs.get("sums") == "gathered")
    for (where, how), count in updates.items():
        yield f"    {where}{f', {count} times,' if count > 1 else ''} is added up as {how}"


def _where(op: Op) -> str:
    place: Place = op.attrs["place"]
    return f"{place.label or place.name} at {_line(op)}"


def _verb(op: Op) -> str:
    if op.opdef is ATOMIC:
        return f"updates by atomic {op.attrs['kind']}"
    return "writes" if op.opdef.writes else "reads"


def _line(op: Op) -> str:
    return f"{Path(op.loc.file).name}:{op.loc.line}"


def _domain(loop: Op) -> str:
    """The ranges of a parallel loop: "i in 0 .. n, j in 2 .. 5"; the end is outside."""
    indices = loop.regions[0].args
    bounds = [_expression(value) for value in loop.operands]
    names = [index.name or f"axis {axis}" for axis, index in enumerate(indices)]
    return ", ".join(f"{name} in {bounds[2 * axis]} .. {bounds[2 * axis + 1]}" for axis, name in enumerate(names))


def _expression(value: Value) -> str:
    op = value.op
    if op is None:
        return value.name or "a value of the header"
    if op.opdef is CONST:
        return str(op.attrs["value"])
    if op.opdef is SHAPE:
        return f"{op.attrs['place'].name}.shape[{op.attrs['axis']}]"
    operands = ", ".join(_expression(operand) for operand in op.operands)
    if op.opdef is LOAD:
        return f"{op.attrs['place'].label or op.attrs['place'].name}[{operands}]"
    return f"{op.name}({operands})"


def _place(place: Place) -> str:
    shape = ", ".join("?" if n is None else str(n) for n in place.shape)
    called = f" ({place.label})" if place.label else ""
    return f"{place.kind}{called}, {place.dtype}[{shape}]"


def _use(specialisation: Specialisation, name: str) -> str:
    compiled = specialisation.plan.compiled
    uses = [word for word, names in (("read", compiled.read), ("written", compiled.written)) if name in names]
    return " and ".join(uses) or "unused"
