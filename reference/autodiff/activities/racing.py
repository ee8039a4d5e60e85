"""Races that can be proven: `Races(kernel, names)`, of accesses through which derivatives flow.

Requires: a verified kernel; names of the places that are differentiated. The kernel is not changed.
Ensures: `error(number)` is an AdstackDataAccessError if two iterations of a parallel loop race for sure, given what is
known of the integers of the kernel. A program without a race is never refused.

Some accesses are made by every iteration, with no `if` or `while` around them, at indices that are numbers, indices
of loops plus numbers, or values from before the loop. Where two of these meet is a system of equations between indices,
each of which has a range of its own. Others are evaluated in many iterations, if integers of the launch decide where
they are and whether they are made (see `witnesses`): that finds some of the races there are.

A derivative flows through a load or store whose value is active. So a flag that all iterations look at, or a constant
that all of them store, is left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import combinations_with_replacement, product
from types import MappingProxyType
from typing import Final

from ...analysis.manager import Analyses
from ...analysis.order import Order
from ...errors import AdstackDataAccessError
from ...ir.ops import ATOMIC, FOR, IF, LOAD, PARALLEL_FOR, PLACE_ACCESSES, PLACE_WRITES, STORE
from ...ir.structure import Kernel, Op, Region, Value
from .activity import Activity
from .witnesses import Access, Number, decided_by, met

__all__ = ["DISTINCT", "Number", "Races"]

DISTINCT: Final[Mapping[str, str]] = MappingProxyType({})
"""No place has another name."""

Form = tuple["Value | None", int]
"""An index: a value, or None for 0, plus a number."""

Pair = tuple["Access", "Access"]
Node = tuple[str, Value]
"""A value, and whose it is: that of the iteration that makes the first access, of the other, or of both."""


_MOST_EVALUATED: Final = 64
"""Pairs of accesses of a kernel that are evaluated: of more, the others are not proven."""
_MOST_MET: Final = 1024
"""For how many pairs and integers of a launch it is remembered whether they meet."""
_KINDS: Final = {"temp": "local"}
_WORDS: Final = {STORE: "stores to", LOAD: "reads", ATOMIC: "updates"}


class Races:
    """The pairs of accesses of a kernel that may race: whether one does depends on integers of the launch.

    Args:
        kernel: the kernel, which is not changed.
        names: of the places that are differentiated.
        analyses: what is known of the kernel's body.
        aliases: of some places the name of another one that is the same memory.

    Attributes:
        pairs: the first of them writes. There are none in a kernel in which each iteration keeps to its own elements.
    """

    def __init__(
        self, kernel: Kernel, names: Collection[str], analyses: Analyses, aliases: Mapping[str, str] = DISTINCT
    ) -> None:
        self._kernel, self._names, self._aliases = kernel, names, aliases
        self._order = analyses.get(Order, kernel.body)
        self._left = _MOST_EVALUATED
        self._decided: dict[Access, frozenset[Value] | None] = {}
        self._met: dict[tuple[Pair, tuple[int | None, ...]], bool] = {}
        loops = [op for op in kernel.body.ops if op.opdef is PARALLEL_FOR]
        self.pairs = [pair for loop in loops for pair in self._pairs(loop)]

    @cached_property
    def _activity(self) -> Activity:
        return Activity(self._kernel.body, self._differentiated)

    @cached_property
    def _differentiated(self) -> set[str]:
        """The names of places that are differentiated, and of locals that iterations share, where derivatives flow."""
        names, body = set(self._names), self._kernel.body
        writes = [op for op in body.walk() if op.opdef in PLACE_WRITES and op.attrs["place"].kind == "temp"]
        while True:
            varied = Activity(body, names).varied
            more = {op.attrs["place"].name for op in writes if not varied.isdisjoint(op.operands)} - names
            if not more:
                return names
            names |= more

    def _memory(self, access: Access) -> str:
        """The name of what it accesses."""
        return self._aliases.get(access.place.name, access.place.name)

    def error(self, number: Number) -> AdstackDataAccessError | None:
        """The error for the first pair that races for sure."""
        certain = (pair for pair in self.pairs if self._is_certain(pair, number))
        return next((self._error(*pair) for pair in certain), None)

    def _is_certain(self, pair: Pair, number: Number) -> bool:
        meeting = _Meeting(self._order, pair, number)
        if meeting.is_certain():
            return True
        deciding = None if meeting.is_decisive else self._deciding(pair)
        if deciding is None:
            return False
        key = pair, tuple(map(meeting.known, deciding))
        if key not in self._met:
            if len(self._met) == _MOST_MET:
                self._met.clear()
            self._met[key] = met(*pair, meeting.known)
        return self._met[key]

    def _is_possible(self, pair: Pair) -> bool:
        """Whether there may be a launch in which this is a race for certain."""
        meeting = _Meeting(self._order, pair, None)
        if meeting.is_decisive:
            return meeting.is_certain()
        if not self._left or self._deciding(pair) is None or not meeting.may_be():
            return False
        self._left -= 1
        return True

    def _deciding(self, pair: Pair) -> list[Value] | None:
        """The integers of a launch that decide where two accesses are; None if something else does, too."""
        for access in pair:
            if access not in self._decided:
                self._decided[access] = decided_by(access, self._kernel.params)
        sets = [self._decided[access] for access in pair]
        return None if None in sets else list(frozenset().union(*(one for one in sets if one)))

    def _error(self, one: Access, other: Access) -> AdstackDataAccessError:
        place, kind = one.place, _KINDS.get(one.place.kind, one.place.kind)
        return AdstackDataAccessError(
            f"Breaks the global data access rule: iterations of a parallel loop race on {kind} "
            f"{place.label or place.name}: one {self._told(one)} here, and another one {self._told(other)}"
            f"{'' if place is other.place else f' of {other.place.label or other.place.name}'} at {other.op.loc}, "
            "so that the gradient depends on which of them comes first",
            loc=one.op.loc if one.op.loc.line else None,
            do="write to another field, let each iteration keep to elements of its own, use atomic operations for all "
            "of these accesses, or run the loop in order with qd.loop_config(serialize=True)",
        )

    def _told(self, access: Access) -> str:
        """An access as text: what it does, and at which indices."""
        indices = ", ".join(_spelled(*self._order.offset(index)) for index in access.indices) or "None"
        return f"{_WORDS[access.op.opdef]} [{indices}]"

    def _pairs(self, loop: Op) -> Iterator[Pair]:
        """Accesses of one memory that are a race if two iterations make them at one element, as they may."""
        memories: dict[str, list[Access]] = {}
        for access in _each(loop, loop.regions[0], ()):
            if access.place.name in self._differentiated and (
                not access.conditions or self._deciding((access, access)) is not None
            ):
                memories.setdefault(self._memory(access), []).append(access)
        for accesses in memories.values():
            for one, other in self._near(accesses):
                pair = (other, one) if one.op.opdef is LOAD else (one, other)
                if self._is_possible(pair) and self._matters(*pair):
                    yield pair

    def _near(self, accesses: list[Access]) -> Iterator[Pair]:
        """Pairs that conflict where they meet, but those of which a look at the indices tells that they never do."""
        forms = {access: [self._order.offset(index) for index in access.indices] for access in accesses}
        alike: dict[tuple[int | None, ...], list[Access]] = {}  # accesses of components, at constant indices, are many
        for access in accesses:
            alike.setdefault(tuple(plus if base is None else None for base, plus in forms[access]), []).append(access)
        for one, other in combinations_with_replacement(alike, 2):
            if any(a is not None and b is not None and a != b for a, b in zip(one, other, strict=True)):
                continue
            pairs = combinations_with_replacement(alike[one], 2) if one is other else product(alike[one], alike[other])
            for pair in pairs:
                if _may_conflict(*pair) and not _keep_apart(*pair, forms):
                    yield pair

    def _matters(self, one: Access, other: Access) -> bool:
        """Whether a derivative depends on which access comes first."""
        if other.op.opdef is LOAD:
            return other.op.result in self._activity and not self._own(other)
        return any(value in self._activity for access in (one, other) for value in access.op.operands)

    def _own(self, load: Access) -> bool:
        """Whether the iteration itself has stored to the element before: then stores are what may race."""
        spots, order = self._order.spots, self._order
        return any(
            store.op.opdef is STORE
            and self._memory(store) == self._memory(load)
            and spots[store.op].number < spots[load.op].number
            and store.inside == load.inside[: len(store.inside)]
            and store.conditions == load.conditions[: len(store.conditions)]
            and list(map(order.offset, store.indices)) == list(map(order.offset, load.indices))
            for store in _each(load.loop, load.loop.regions[0], ())
        )


def _each(
    loop: Op, region: Region, inside: tuple[Op, ...], conditions: tuple[tuple[Value, bool], ...] = ()
) -> Iterator[Access]:
    """What each iteration accesses, as far as loops inside it run and conditions hold."""
    for op in region.ops:
        if op.opdef in PLACE_ACCESSES:
            yield Access(op, loop, inside, conditions)
        elif op.opdef is FOR:
            yield from _each(loop, op.regions[0], (*inside, op), conditions)
        elif op.opdef is IF:
            for branch, truth in zip(op.regions, (True, False), strict=True):
                yield from _each(loop, branch, inside, (*conditions, (op.operands[0], truth)))


def _may_conflict(one: Access, other: Access) -> bool:
    """Whether two iterations may not make these accesses at one element."""
    return one.op.opdef is not other.op.opdef or one.op.opdef is STORE


def _keep_apart(one: Access, other: Access, forms: Mapping[Access, list[Form]]) -> bool:
    """Whether each index of the parallel loop picks the elements of both, in the same way."""
    same = {a[0] for a, b in zip(forms[one], forms[other], strict=True) if a == b}
    return same.issuperset(one.loop.regions[0].args)


def _spelled(base: Value | None, plus: int) -> str:
    """An index as it is written."""
    if base is None:
        return str(plus)
    name = base.name or "..."
    return f"{name} {'+' if plus > 0 else '-'} {abs(plus)}" if plus else name


class _Meeting:
    """Whether two iterations make a pair of accesses at one element: equations between their indices.

    Each index is a variable of its range. Variables that an equation ties together are one class: each is the class's
    root plus a number.

    Args:
        order: of the kernel.
        pair: the accesses.
        number: what integers are known to be. Without, what is not known is what it has to be.
    """

    def __init__(self, order: Order, pair: Pair, number: Number | None) -> None:
        self._order, self._pair, self._number = order, pair, number
        self._roots: dict[Node | None, tuple[Node | None, int]] = {None: (None, 0)}
        self._ranges: dict[Node, tuple[int, int] | None] = {}

    @property
    def is_decisive(self) -> bool:
        """Whether equations say all there is to say: nothing is conditional, and there is one for each index."""
        one, other = self._pair
        if one.conditions or other.conditions:
            return False
        return all(self._run(access, who) for access, who in ((one, "one"), (other, "other"))) and not any(
            self._form(index, who) is None
            for access, who in ((one, "one"), (other, "other"))
            for index in access.indices
        )

    def may_be(self) -> bool:
        """Whether equations leave it open that two iterations access the same element."""
        one, other = self._pair
        self._run(one, "one")
        self._run(other, "other")
        for a, b in zip(one.indices, other.indices, strict=True):
            left, right = self._form(a, "one"), self._form(b, "other")
            if left is not None and right is not None and not self._equal(*left, *right):
                return False
        return True

    def is_certain(self) -> bool:
        """Whether there are two different iterations that access the same element, for certain."""
        one, other = self._pair
        if one.conditions or other.conditions:
            return False
        if not (self._run(one, "one") and self._run(other, "other")):
            return False
        for a, b in zip(one.indices, other.indices, strict=True):
            left, right = self._form(a, "one"), self._form(b, "other")
            if left is None or right is None or not self._equal(*left, *right):
                return False
        classes = self._classes()
        return classes is not None and self._differ(classes)

    def known(self, value: Value) -> int | None:
        """What an integer is, if it is known."""
        base, plus = self._order.offset(value)
        if base is None:
            return plus
        number = None if self._number is None else self._number(base)
        return None if number is None else number + plus

    def _run(self, access: Access, who: str) -> bool:
        """Note the ranges of the loops around an access; False if they are not known."""
        for index, lo, hi in access.ranges:
            first, end = self.known(lo), self.known(hi)
            if first is not None and end is not None:
                self._ranges[who, index] = first, end - 1
            elif self._number is None:
                self._ranges[who, index] = None
            else:
                return False
            self._roots[who, index] = (who, index), 0
        return True

    def _form(self, value: Value, who: str) -> tuple[Node | None, int] | None:
        """An index as a variable plus a number; the variable None is 0. None if it is neither."""
        number = self.known(value)
        if number is not None:
            return None, number
        base, plus = self._order.offset(value)
        assert base is not None
        if (who, base) in self._ranges:
            return (who, base), plus
        if self._pair[0].loop in self._order.varies.get(base, ()):
            return None
        self._roots.setdefault(("both", base), (("both", base), 0))
        return ("both", base), plus

    def _root(self, node: Node | None) -> tuple[Node | None, int]:
        """The root of a variable's class, and what the variable is beyond it."""
        plus = 0
        while self._roots[node][0] != node:
            node, step = self._roots[node]
            plus += step
        return node, plus

    def _equal(self, one: Node | None, a: int, other: Node | None, b: int) -> bool:
        """Let one + a be other + b; False if it never is."""
        (root, p), (tied, q) = self._root(one), self._root(other)
        if root == tied:
            return p + a == q + b
        if tied is None:
            root, tied, p, a, q, b = tied, root, q, b, p, a
        self._roots[tied] = root, p + a - q - b
        return True

    def _classes(self) -> dict[Node | None, tuple[int, int]] | None:
        """The range of each root; None if there is no solution, or it can't be known."""
        ranges: dict[Node | None, tuple[int, int]] = {None: (0, 0)}
        tied = {root for node in self._roots if (root := self._root(node)[0]) != node}
        for node in self._roots:
            if node is None:
                continue
            root, plus = self._root(node)
            if node[0] == "both" and self._number is not None and (root in tied or root is None):
                return None  # the value of something from before the loop is not known: no equation holds for certain
            bounds = self._ranges.get(node)
            if bounds is not None:
                low, high = ranges.get(root) or (bounds[0] - plus, bounds[1] - plus)
                ranges[root] = max(low, bounds[0] - plus), min(high, bounds[1] - plus)
        return None if any(low > high for low, high in ranges.values()) else ranges

    def _differ(self, classes: dict[Node | None, tuple[int, int]]) -> bool:
        """Whether the two iterations can be two."""
        for index in self._pair[0].loop.regions[0].args:
            (root, p), (other, q) = self._root(("one", index)), self._root(("other", index))
            if root == other:
                if p != q:
                    return True
                continue
            one, two = classes.get(root), classes.get(other)
            if one is None or two is None or one[0] != one[1] or two[0] != two[1] or one[0] + p != two[0] + q:
                return True
        return False
