"""Transcendentals to calls: `lower_math(body)`.

Requires: verified IR.
Ensures: no transcendental op is left; each is a `call` of the library's function, to the bit what it meant. Where a
region takes both sine and cosine of a value, one call gives both. With `options.fast_math`, functions that have a fast
variant are that variant.
"""

from __future__ import annotations

from typing import Final

from ...analysis.facts import draws_random, mod_ref
from ...analysis.manager import Analyses, Preserved
from ...ir import scalar_ops as ops
from ...ir.ops import CALL
from ...ir.structure import Function, Op, Region, Value
from ..rewriting.options import DEFAULT, Options
from ..rewriting.rewrite import Rewriter
from .algorithms import SINCOS
from .library import function

__all__ = ["lower_math"]

PAIR: Final = (ops.SIN, ops.COS)


def lower_math(body: Region, options: Options = DEFAULT, analyses: Analyses | None = None) -> Preserved:
    """Replace transcendentals in place."""
    Lowering(options.fast_math).run(body)
    return draws_random, mod_ref


class Lowering(Rewriter):
    """Walks with the values of which the region at hand takes both sine and cosine.

    Attributes:
        fast: take fast variants.
        both: such a value -> the values of its sine and its cosine, once they are computed.
    """

    def __init__(self, fast: bool) -> None:
        super().__init__()
        self.fast = fast
        self.both: dict[Value, list[Value]] = {}

    def run(self, region: Region) -> None:
        outer, self.both = self.both, {v: [] for v in _twice(region)}
        super().run(region)
        self.both = outer

    def plain(self, op: Op) -> None:
        if not op.opdef.transcendental:
            self.append(op)
        elif op.opdef in PAIR and op.operands[0] in self.both:
            self._share(op)
        else:
            self._call(op, function(op.name, op.result.dtype, self.fast), op.results)

    def _call(self, like: Op, called: Function, results: list[Value]) -> None:
        self.append(Op(CALL, like.operands, {"function": called}, results, loc=like.loc))
        like.erase()

    def _share(self, op: Op) -> None:
        pair = self.both[op.operands[0]]
        position = PAIR.index(op.opdef)
        if not pair:
            dtype = op.result.dtype
            pair += [op.result if k == position else Value(dtype) for k in range(2)]
            self._call(op, function(SINCOS, dtype, self.fast), pair)
        else:
            self.replace(op, (pair[position],))


def _twice(region: Region) -> set[Value]:
    """The values of which ops of the region itself take both sine and cosine."""
    sines, cosines = ({op.operands[0] for op in region.ops if op.opdef is row} for row in PAIR)
    return sines & cosines
