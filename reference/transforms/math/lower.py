"""Transcendentals to calls: `lower_math(body)`.

Requires: verified IR.
Ensures: no transcendental op is left; each is a `call` of the library's function, to the bit what it meant. Where a
region takes both sine and cosine of a value, plain or hyperbolic, one call gives both; so it does where one is taken
on a side of an `if`, and the other on that side of a later `if` of the same condition, as reverse mode does. With
`options.fast_math`, functions that have a fast variant are that variant.
"""

from __future__ import annotations

from typing import Final

from ...analysis.facts import draws_random, mod_ref
from ...analysis.manager import Analyses, Preserved
from ...ir.opdef import OpDef
from ...ir.ops import CALL, IF
from ...ir.structure import Function, Op, Region, Value
from ..rewriting.options import DEFAULT, Options
from ..rewriting.rewrite import Rewriter, constant_op
from .algorithms import PAIRS
from .library import function

__all__ = ["lower_math"]

_PAIR_OF: Final = {row: name for name, rows in PAIRS.items() for row in rows}
"""The function that gives an operation, and another one beside it."""

Wanted = tuple[str, Value]
"""A function of a pair, and what it is to be taken of."""


def lower_math(body: Region, options: Options = DEFAULT, analyses: Analyses | None = None) -> Preserved:
    """Replace transcendentals in place."""
    Lowering(options.fast_math).run(body)
    return draws_random, mod_ref


class Lowering(Rewriter):
    """Walks with the values of which the region at hand takes both operations of a pair.

    Attributes:
        fast: take fast variants.
        both: such a value, and the function -> the two results, once they are computed.
    """

    def __init__(self, fast: bool) -> None:
        super().__init__()
        self.fast = fast
        self.both: dict[Wanted, list[Value]] = {}

    def run(self, region: Region) -> None:
        """See `Rewriter.run`."""
        _bring_together(region)
        outer, self.both = self.both, {pair: [] for pair in _twice(region)}
        super().run(region)
        self.both = outer

    def plain(self, op: Op) -> None:
        """See `Rewriter.plain`."""
        if not op.opdef.transcendental:
            self.append(op)
        elif _pair(op) in self.both:
            self._share(op)
        else:
            self._call(op, function(op.name, op.result.dtype, self.fast), op.results)

    def _call(self, like: Op, called: Function, results: list[Value]) -> None:
        self.append(Op(CALL, like.operands, {"function": called}, results, loc=like.loc))
        like.erase()

    def _share(self, op: Op) -> None:
        name, value = _pair(op)
        results = self.both[name, value]
        position = PAIRS[name].index(op.opdef)
        if not results:
            dtype = op.result.dtype
            results += [op.result if k == position else Value(dtype) for k in range(2)]
            self._call(op, function(name, dtype, self.fast), results)
        else:
            self.replace(op, (results[position],))


def _pair(op: Op) -> Wanted:
    """The function that gives a transcendental op and another one, if there is one, and of what."""
    return _PAIR_OF.get(op.opdef, ""), op.operands[0]


def _halves(region: Region) -> dict[tuple[OpDef, Value], Op]:
    """The ops of the region itself that may be half of a pair: the first one of each operation on each operand."""
    halves: dict[tuple[OpDef, Value], Op] = {}
    for op in region.ops:
        if op.opdef in _PAIR_OF:
            halves.setdefault((op.opdef, op.operands[0]), op)
    return halves


def _twice(region: Region) -> set[Wanted]:
    """The pairs of which the region itself takes both."""
    halves = _halves(region)
    pairs = {(_PAIR_OF[row], value) for row, value in halves}
    return {(name, value) for name, value in pairs if all((row, value) in halves for row in PAIRS[name])}


def _other(row: OpDef) -> OpDef:
    """The other operation of its pair."""
    first, second = PAIRS[_PAIR_OF[row]]
    return second if row is first else first


def _bring_together(region: Region) -> None:
    """Where two `if`s of one condition take an operation of a pair each, on the same side, the first one takes both."""
    by_condition: dict[Value, list[Op]] = {}
    for op in region.ops:
        if op.opdef is not IF:
            continue
        earlier = by_condition.setdefault(op.operands[0], [])
        for side, inside in enumerate(op.regions):
            for (row, value), half in _halves(inside).items():
                wanted = _other(row), value
                first = next((one for one in earlier if wanted in _halves(one.regions[side])), None)
                if first is not None:
                    _take_early(first, side, half, inside)
        earlier.append(op)


def _take_early(first: Op, side: int, half: Op, inside: Region) -> None:
    """Let an earlier `if` compute an op of a later one, and yield it."""
    dtype = half.result.dtype
    for number, region in enumerate(first.regions):
        value = Value(dtype)
        same = number == side
        computed = (
            Op(half.opdef, half.operands, results=[value], loc=half.loc) if same else constant_op(0.0, value, half)
        )
        region.ops.insert(len(region.ops) - 1, computed)
        region.terminator.append_operands([value])
    early = Value(dtype, half.result.name)
    first.define([early])
    half.result.replace_all_uses_with(early)
    inside.ops.remove(half)
    half.erase()
