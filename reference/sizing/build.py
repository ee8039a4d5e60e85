"""From the code that counts to a formula: `Builder(dependence).size(capacity)`.

The reverse transform emits, ahead of a loop nest, code that runs the nest's control flow and adds up trip counts. Where
that code is a sum whose terms do not depend on what was summed up before, it is a formula. What is not (a `while`, a
bound that the loop itself computes) gives None: only running the code tells, see `sizers.py`.
"""

from __future__ import annotations

from ..analysis.facts import integer
from ..ir.ops import FOR, IF, WHILE
from ..ir.scalar_ops import ADD, CAST, CONST, GT, LT, SELECT
from ..ir.structure import Op, Value
from ..ir.types import i64
from .dependence import Dependence
from .expr import Branch, Const, Number, Plus, SizeExpr, SumOverRange, Times, Triangle, Trips

__all__ = ["Builder", "total"]

_SUMS = frozenset({ADD, FOR, IF, SELECT, CONST})
"""What counts are made of; anything else is a number of the program."""


class Builder:
    """Reads formulas off the code of one task."""

    def __init__(self, dependence: Dependence) -> None:
        self.dependence = dependence

    def size(self, value: Value) -> SizeExpr | None:
        """The formula of a count."""
        maker = self._maker(value)
        if not isinstance(maker, Op):
            return maker
        if maker.opdef is ADD and all(self._is_sum(v) for v in maker.operands):
            return plus(*(self.size(v) for v in maker.operands))
        if maker.opdef is IF:
            sides = [self.size(side) for side in _sides(maker, value)]
            return branch(maker.operands[0], *sides)
        if maker.opdef is FOR:
            return self._loop(maker, value)
        return None if maker.opdef is WHILE else Number(value)

    def _maker(self, value: Value) -> Op | SizeExpr:
        """The op that computes a count; the formula itself where the count is a constant or a number of the program."""
        maker = value.op
        if maker is None or value.dtype is not i64:
            return Number(value)
        constant = integer(value)
        return maker if constant is None else Const(max(0, constant))

    def above_zero(self, value: Value) -> SizeExpr:
        """A formula without sums over loops that is above 0 wherever the count is, and maybe elsewhere."""
        maker = self._maker(value)
        if not isinstance(maker, Op):
            return maker
        if maker.opdef is ADD and all(self._is_sum(v) for v in maker.operands):
            return total(*(self.above_zero(v) for v in maker.operands))
        if maker.opdef is IF:
            yes, no = (self.above_zero(side) for side in _sides(maker, value))
            return yes if yes == no else Branch(maker.operands[0], yes, no)
        if maker.opdef is FOR:
            first = maker.operands[2 + maker.results.index(value)]
            return total(self.above_zero(first), Trips(maker.operands[0], maker.operands[1]))
        return Const(1) if maker.opdef is WHILE else Number(value)

    def _is_sum(self, value: Value) -> bool:
        maker = value.op
        return maker is not None and maker.opdef in _SUMS

    def _loop(self, op: Op, value: Value) -> SizeExpr | None:
        """What a `for` has added up in one of its carried values."""
        k = op.results.index(value)
        return plus(self.size(op.operands[2 + k]), self._per_trip(op, k))

    def _per_trip(self, op: Op, k: int) -> SizeExpr | None:
        region = op.regions[0]
        more = self._above(region.terminator.operands[k], region.args[1 + k])
        if more is None or not self.dependence.carried.isdisjoint(self.dependence.arguments_in(more)):
            return None
        return self._summed(SumOverRange(region.args[0], op.operands[0], op.operands[1], more, op.loc))

    def _above(self, value: Value, base: Value) -> SizeExpr | None:
        """The formula of what is added to `base` to give a value; None if the value is not such a sum."""
        if value is base:
            return Const(0)
        if not self._needs(value, base):
            return None
        maker = value.op
        if maker is None:
            return None
        if maker.opdef is ADD:
            one, other = maker.operands
            if self._needs(other, base):
                one, other = other, one
            return None if self._needs(other, base) else plus(self._above(one, base), self.size(other))
        if maker.opdef is IF:
            sides = [self._above(side, base) for side in _sides(maker, value)]
            return None if self._needs(maker.operands[0], base) else branch(maker.operands[0], *sides)
        if maker.opdef is FOR:
            k = maker.results.index(value)
            return plus(self._above(maker.operands[2 + k], base), self._per_trip(maker, k))
        return None

    def _needs(self, value: Value, base: Value) -> bool:
        return base in self.dependence.arguments_of(value)

    # ---- sums without a loop

    def _summed(self, sum_: SumOverRange) -> SizeExpr:
        if sum_.index not in self.dependence.arguments_in(sum_.body):
            return sum_.body if sum_.body == Const(0) else Times(Trips(sum_.lo, sum_.hi), sum_.body)
        shift = self._shift(sum_)
        return sum_ if shift is None else Triangle(sum_.lo, sum_.hi, shift)

    def _shift(self, sum_: SumOverRange) -> int | None:
        """The c of a body max(0, index + c)."""
        if not isinstance(sum_.body, Number):
            return None
        maker = sum_.body.value.op
        if maker is None or maker.opdef is not SELECT or integer(maker.operands[2]) != 0:
            return None
        test = maker.operands[0].op
        chosen = self._plain(maker.operands[1])
        if test is None or test.opdef not in (GT, LT):
            return None
        low, high = test.operands if test.opdef is LT else test.operands[::-1]
        if integer(low) != 0 or self._plain(high) is not chosen:
            return None
        return self._offset(chosen, sum_.index)

    def _plain(self, value: Value) -> Value:
        """The value that a cast to a wider integer type was applied to, or the value itself."""
        maker = value.op
        widened = maker is not None and maker.opdef is CAST and value.dtype is i64
        if widened and maker is not None and maker.operands[0].dtype.is_signed:
            return maker.operands[0]
        return value

    def _offset(self, value: Value, index: Value) -> int | None:
        """The c of index + c, where the sum can't wrap."""
        if value is index:
            return 0
        maker = value.op
        if maker is None or maker.opdef is not ADD:
            return None
        one, other = maker.operands
        one, other = (other, one) if self._plain(other) is index else (one, other)
        constant = integer(other)
        most = 2**31 if value.dtype is i64 else 1  # the next index is at most the bound: it does not wrap
        return constant if self._plain(one) is index and constant is not None and 0 <= constant <= most else None


def plus(*terms: SizeExpr | None) -> SizeExpr | None:
    """The sum of two formulas; None if one of them is None."""
    formulas = [term for term in terms if term is not None]
    return total(*formulas) if len(formulas) == len(terms) else None


def total(*terms: SizeExpr) -> SizeExpr:
    """A sum, its constants folded into one."""
    parts: list[SizeExpr] = []
    constant = 0
    for term in terms:
        for part in term.terms if isinstance(term, Plus) else (term,):
            if isinstance(part, Const):
                constant += part.value
            else:
                parts.append(part)
    if constant or not parts:
        parts.append(Const(constant))
    return parts[0] if len(parts) == 1 else Plus(tuple(parts))


def branch(condition: Value, *sides: SizeExpr | None) -> SizeExpr | None:
    """A branch; the formula of both sides where they are the same."""
    yes, no = sides
    if yes is None or no is None:
        return None
    return yes if yes == no else Branch(condition, yes, no)


def _sides(op: Op, value: Value) -> list[Value]:
    k = op.results.index(value)
    return [region.terminator.operands[k] for region in op.regions]
