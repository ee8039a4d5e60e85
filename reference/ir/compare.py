"""Whether two pieces of IR say the same: `same(a, b)`, and `difference(a, b)` for where they part."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from .structure import Function, Kernel, Op, Program, Region, Value

__all__ = ["difference", "same"]


def same(a: Kernel | Program, b: Kernel | Program, *, locs: bool = True) -> bool:
    """Equal up to the identity and the names of values; `locs=False` ignores source locations."""
    return difference(a, b, locs=locs) is None


def difference(a: Kernel | Program, b: Kernel | Program, *, locs: bool = True) -> str | None:
    """What first differs, in words; None if nothing does."""
    try:
        _Comparison(locs).roots(a, b)
    except _DifferError as difference:
        return str(difference)
    return None


class _DifferError(Exception):
    """Carries the first difference out of the comparison."""


class _Comparison:
    """Walks two pieces of IR side by side, pairing the values they define."""

    def __init__(self, locs: bool) -> None:
        self.locs = locs
        self.pairs: dict[Value, Value] = {}
        self.functions: dict[Function, Function] = {}
        self.entered: set[Function] = set()

    def roots(self, a: Kernel | Program, b: Kernel | Program) -> None:
        self._equal("kind of root", type(a), type(b))
        for what in ("name", "returns", *(("loc",) if self.locs else ())):
            self._equal(what, getattr(a, what), getattr(b, what))
        self._equal("places", list(a.places.items()), list(b.places.items()))
        if isinstance(a, Kernel) and isinstance(b, Kernel):
            self._regions(a.body, b.body, a.name)
        elif isinstance(a, Program) and isinstance(b, Program):
            self._programs(a, b)

    def _programs(self, a: Program, b: Program) -> None:
        self._equal("results", a.results, b.results)
        self._equal("tasks", [(t.name, t.kind) for t in a.tasks], [(t.name, t.kind) for t in b.tasks])
        for x, y in zip(a.tasks, b.tasks, strict=True):
            self._regions(x.body, y.body, x.name)

    def _regions(self, a: Region, b: Region, where: str) -> None:
        self._define(a.args, b.args, f"{where}: arguments")
        self._equal(f"{where}: ops", [op.name for op in a.ops], [op.name for op in b.ops])
        for number, (x, y) in enumerate(zip(a.ops, b.ops, strict=True)):
            self._ops(x, y, f"{where}: op {number} ({x.name})")

    def _ops(self, a: Op, b: Op, where: str) -> None:
        expected = tuple([self.pairs.get(v) for v in a.operands])
        if None in expected or expected != b.operands:
            raise _DifferError(f"{where}: operands differ")
        self._equal(f"{where}: attributes", _attributes(a), _attributes(b))
        if isinstance(a.attrs.get("function"), Function):
            self._functions(a.attrs["function"], b.attrs["function"])
        if self.locs:
            self._equal(f"{where}: loc", a.loc, b.loc)
        self._equal(f"{where}: number of regions", len(a.regions), len(b.regions))
        for x, y in zip(a.regions, b.regions, strict=True):
            self._regions(x, y, where)
        self._define(a.results, b.results, f"{where}: results")

    def _functions(self, a: Function, b: Function) -> None:
        """Compare functions whose names are equal; the bodies of those of a text are compared once."""
        if a is not b and self.functions.setdefault(a, b) is b and a not in self.entered:
            self.entered.add(a)
            self._equal(f"{a!r}: types", (a.params, a.returns), (b.params, b.returns))
            self._regions(a.body, b.body, repr(a))

    def _define(self, a: Sequence[Value], b: Sequence[Value], where: str) -> None:
        self._equal(where, [v.type for v in a], [v.type for v in b])
        self.pairs.update(zip(a, b, strict=True))

    def _equal(self, what: str, a: object, b: object) -> None:
        if a != b:
            raise _DifferError(f"{what}: {a!r} is not {b!r}")


def _attributes(op: Op) -> dict[str, object]:
    """Attributes with values that compare as bits: -0.0 is not 0.0, nan is nan, True is not 1."""
    return {name: (type(value), _bits(value)) for name, value in op.attrs.items()}


def _bits(value: object) -> object:
    if isinstance(value, Function):
        return value.name
    if not isinstance(value, float):
        return value
    return "nan" if value != value else struct.pack("d", value)
