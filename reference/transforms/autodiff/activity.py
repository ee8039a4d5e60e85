"""Which values a change of the inputs reaches, and which reach the outputs: only those carry adjoints."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ...ir.derivatives import RULES
from ...ir.structure import Op, Place, Region, Value
from ...ir.types import ArrayType, DType

__all__ = ["Activity"]


def is_real(value: Value) -> bool:
    """Whether a value can carry a derivative at all."""
    t = value.type
    return (isinstance(t, DType) and t.is_float) or (isinstance(t, ArrayType) and t.dtype.is_float)


class Activity:
    """Active values, by a fixpoint over the region tree.

    A value is *varied* if it depends on an element of a place with an adjoint, and *useful* if such an element depends
    on it; it is active if both. Local arrays are active as a whole.

    Args:
        body: of the kernel.
        places: names of the places that have adjoints.
    """

    def __init__(self, body: Region, places: Collection[str]) -> None:
        self.places = places
        self._varied: set[Value] = set()
        self._useful: set[Value] = set()
        self._until_stable(body, self._vary, self._varied)
        self._until_stable(body, self._use, self._useful)
        self.values = self._varied & self._useful

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def place(self, place: Place) -> bool:
        """Whether a place has an adjoint."""
        return place.name in self.places

    def touches(self, op: Op) -> bool:
        """Whether reversing an op does anything: it moves adjoints, or holds one that does."""
        if op.name in ("store", "atomic"):
            return self.place(op.attrs["place"])
        if any(v in self for v in op.results):
            return True
        if op.name == "array.store":
            return op.operands[0] in self
        return any(self.touches(inner) for region in op.regions for inner in region.ops)

    @staticmethod
    def _until_stable(body: Region, step: Callable[[Region], None], found: set[Value]) -> None:
        size = -1
        while size != len(found):
            size = len(found)
            step(body)

    # ---- forward: what depends on an input

    def _vary(self, region: Region) -> None:
        for op in region.ops:
            self._vary_op(op)

    def _vary_op(self, op: Op) -> None:
        varied = self._varied
        if op.name in ("load", "atomic"):
            if self.place(op.attrs["place"]):
                varied.update(v for v in op.results if is_real(v))
        elif op.name == "array.store":
            if op.operands[2] in varied:
                varied.add(op.operands[0])
        elif op.name == "array.load":
            if op.operands[0] in varied:
                varied.update(v for v in op.results if is_real(v))
        elif op.regions:
            self._vary_structured(op)
        elif op.name in RULES and is_real(op.results[0]):
            pulls = zip(op.operands, RULES[op.name], strict=True)
            if any(p is not None and v in varied for v, p in pulls):
                varied.update(op.results)

    def _vary_structured(self, op: Op) -> None:
        for values, targets in _flows(op):
            self._mark(values, targets)
        for region in op.regions:
            self._vary(region)
        for values, targets in _flows(op):
            self._mark(values, targets)

    def _mark(self, values: list[Value], targets: list[Value]) -> None:
        self._varied.update(t for v, t in zip(values, targets, strict=True) if v in self._varied)

    # ---- backward: what an output depends on

    def _use(self, region: Region) -> None:
        for op in reversed(region.ops):
            self._use_op(op)

    def _use_op(self, op: Op) -> None:
        useful = self._useful
        if op.name in ("store", "atomic"):
            if self.place(op.attrs["place"]):
                useful.update(v for v in op.operands[op.attrs["place"].rank :] if is_real(v))
        elif op.name == "array.store":
            if op.operands[0] in useful:
                useful.add(op.operands[2])
        elif op.name == "array.load":
            if op.result in useful:
                useful.add(op.operands[0])
        elif op.regions:
            self._use_flows(op)
            for region in reversed(op.regions):
                self._use(region)
            self._use_flows(op)
        elif op.name in RULES and op.results[0] in useful:
            pulls = zip(op.operands, RULES[op.name], strict=True)
            useful.update(v for v, p in pulls if p is not None and is_real(v))

    def _use_flows(self, op: Op) -> None:
        for values, targets in _flows(op):
            self._useful.update(v for v, t in zip(values, targets, strict=True) if t in self._useful)


def _flows(op: Op) -> list[tuple[list[Value], list[Value]]]:
    """Where a structured op hands values on: (values, what they become)."""
    if op.name == "if":
        return [(region.terminator.operands, op.results) for region in op.regions]
    if op.name == "for":
        (body,) = op.regions
        args = body.args[1:]
        yields = body.terminator.operands
        return [(op.operands[2:], args), (yields, args), (yields, op.results), (op.operands[2:], op.results)]
    if op.name == "while":
        condition, body = op.regions
        passed = condition.terminator.operands[1:]
        return [
            (op.operands, condition.args),
            (passed, body.args),
            (passed, op.results),
            (body.terminator.operands, condition.args),
        ]
    return []
