"""Which values a change of the inputs reaches, and which reach the outputs: only those carry adjoints."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...ir.def_use import live_in
from ...ir.ops import ARRAY_LOAD, ARRAY_STORE, ATOMIC, FOR, IF, LOAD, PLACE_WRITES, RETURN, WHILE
from ...ir.structure import Op, Place, Region, Value
from ...ir.types import ArrayType, DType

__all__ = ["Activity", "flows"]


def is_real(value: Value) -> bool:
    """Whether a value can carry a derivative at all."""
    t = value.type
    return (isinstance(t, DType) and t.is_float) or (isinstance(t, ArrayType) and t.dtype.is_float)


class Activity:
    """Active values: those on a way from an input to an output.

    A value is *varied* if it depends on an element of a place with an adjoint, and *useful* if such an element, or what
    the kernel returns, depends on it; it is active if both. Local arrays are active as a whole. Every step from value
    to value is followed once, so the time is in proportion to the size of the body, however long the ways round its
    loops are.

    Args:
        body: of the kernel.
        places: names of the places that have adjoints.
        inputs: values that count as inputs, too, as far as they are real.

    Attributes:
        varied: the values that depend on an input, whether or not an output depends on them.
    """

    def __init__(self, body: Region, places: Collection[str], inputs: Iterable[Value] = ()) -> None:
        self.places = places
        varied, useful = _Reached(), _Reached()
        varied.start(filter(is_real, inputs))
        for op in body.walk():
            self._vary(op, varied)
            self._use(op, useful)
        self.varied = varied.values()
        self.values = self.varied & useful.values()

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def live_in(self, *regions: Region) -> list[Value]:
        """The active scalars that are live into regions: their adjoints go through the reversal of these."""
        return [v for v in live_in(*regions) if v in self and isinstance(v.type, DType)]

    def place(self, place: Place) -> bool:
        """Whether a place has an adjoint."""
        return place.name in self.places

    def touches(self, op: Op) -> bool:
        """Whether reversing an op does anything: it moves adjoints, or holds one that does."""
        if op.opdef in PLACE_WRITES:
            return self.place(op.attrs["place"])
        if any(v in self for v in op.results):
            return True
        if op.opdef is ARRAY_STORE:
            return op.operands[0] in self
        return any(self.touches(inner) for region in op.regions for inner in region.ops)

    def _vary(self, op: Op, varied: _Reached) -> None:
        """What depends on an input if an operand does, or in any case."""
        if op.opdef in (LOAD, ATOMIC):
            if self.place(op.attrs["place"]):
                varied.start(v for v in op.results if is_real(v))
        elif op.opdef is ARRAY_STORE:
            varied.step(op.operands[2], op.operands[0])
        elif op.opdef is ARRAY_LOAD:
            if is_real(op.result):
                varied.step(op.operands[0], op.result)
        elif op.regions:
            for values, targets in flows(op):
                varied.steps(values, targets)
        elif op.opdef.pulls and is_real(op.results[0]):
            for operand in _pulled(op):
                varied.steps([operand] * len(op.results), op.results)

    def _use(self, op: Op, useful: _Reached) -> None:
        """What an output depends on if a result does, or in any case."""
        if op.opdef in PLACE_WRITES:
            if self.place(op.attrs["place"]):
                useful.start(v for v in op.operands[op.attrs["place"].rank :] if is_real(v))
        elif op.opdef is RETURN:
            useful.start(v for v in op.operands if is_real(v))
        elif op.opdef is ARRAY_STORE:
            useful.step(op.operands[0], op.operands[2])
        elif op.opdef is ARRAY_LOAD:
            useful.step(op.result, op.operands[0])
        elif op.regions:
            for values, targets in flows(op):
                useful.steps(targets, values)
        elif op.opdef.pulls:
            for operand in filter(is_real, _pulled(op)):
                useful.step(op.results[0], operand)


class _Reached:
    """What can be reached by steps from values to values."""

    def __init__(self) -> None:
        self._found: set[Value] = set()
        self._steps: dict[Value, list[Value]] = {}

    def start(self, values: Iterable[Value]) -> None:
        self._found.update(values)

    def step(self, source: Value, target: Value) -> None:
        self._steps.setdefault(source, []).append(target)

    def steps(self, sources: Sequence[Value], targets: Sequence[Value]) -> None:
        for source, target in zip(sources, targets, strict=True):
            self.step(source, target)

    def values(self) -> set[Value]:
        """Where one may start, and all that is reached from there."""
        work = list(self._found)
        while work:
            new = [target for target in self._steps.pop(work.pop(), ()) if target not in self._found]
            self._found.update(new)
            work += new
        return self._found


def _pulled(op: Op) -> list[Value]:
    """The operands by which an op has derivatives."""
    return [operand for operand, pull in zip(op.operands, op.opdef.pulls or (), strict=True) if pull is not None]


def flows(op: Op) -> list[tuple[Sequence[Value], Sequence[Value]]]:
    """Where a structured op hands values on: (values, what they become)."""
    if op.opdef is IF:
        return [(region.terminator.operands, op.results) for region in op.regions]
    if op.opdef is FOR:
        (body,) = op.regions
        args = body.args[1:]
        yields = body.terminator.operands
        return [(op.operands[2:], args), (yields, args), (yields, op.results), (op.operands[2:], op.results)]
    if op.opdef is WHILE:
        condition, body = op.regions
        passed = condition.terminator.operands[1:]
        return [
            (op.operands, condition.args),
            (passed, body.args),
            (passed, op.results),
            (body.terminator.operands, condition.args),
        ]
    return []
