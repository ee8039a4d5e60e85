"""Whether IR obeys its rules: `verify(kernel)` is silent, or raises an IRError that says which op broke which rule."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ...errors import IRError
from ..ops import FOR, PARALLEL_FOR, RETURN, TABLE, TEAM_ARRAYS, WAYS
from ..structure import Kernel, Op, Place, Program, Region, Value
from . import expect
from .rules import RULES
from .rules_call import check_function, unverified
from .rules_program import check_kernel, check_places, check_program, check_task

__all__ = ["asked", "verify"]


def asked(*, between_passes: bool = False) -> bool:
    """Whether the variable ADSTACK_VERIFY asks for the verifier.

    Its value is 1 for checks before the first pass and after every one, and `ends` for those before the first and after
    the last.
    """
    return os.environ.get("ADSTACK_VERIFY") in (("1",) if between_passes else ("1", "ends"))


def verify(root: Kernel | Program) -> None:
    """Check a kernel, or every task of a program; linear in the number of ops."""
    check_places(root)
    walk = _Walk(root.places)
    if isinstance(root, Kernel):
        walk.body(root.body, root.name)
        check_kernel(root)
    else:
        for task in root.tasks:
            walk.body(task.body, task.name)
            check_task(task)
        check_program(root)
    for function, op in unverified(root):
        inner = _Walk({})
        inner.region(function.body, op)
        inner.check_uses()
        check_function(function)
    walk.check_uses()


class _Frame:
    """A region being walked: the op around it (None for a body), the ops left, the regions left of the op inside."""

    __slots__ = ("defined", "inside", "left", "ops", "owner", "regions")

    def __init__(self, region: Region, owner: Op | None) -> None:
        self.owner = owner
        self.ops: Iterator[Op] = iter(region.ops)
        self.left = len(region.ops)
        self.defined: list[Value] = []
        self.inside: Op | None = None
        self.regions: Iterator[Region] = iter(())


class _Walk:
    """Walks bodies in program order, keeping what is visible; a stack instead of recursion bears any depth."""

    def __init__(self, places: dict[str, Place]) -> None:
        self.places = places
        self.visible: set[Value] = set()
        self.ever: set[Value] = set()
        self.objects: set[int] = set()
        self.used: dict[Value, int] = {}
        self.stack: list[_Frame] = []

    def body(self, region: Region, name: str) -> None:
        if not region.ops:
            raise IRError(f"{name}: the body is empty: expected it to end with return")
        self.region(region, None)

    def region(self, region: Region, owner: Op | None) -> None:
        """Check a region and all inside it; the body of a kernel or task has no owner."""
        self._enter(region, owner)
        while self.stack:
            frame = self.stack[-1]
            if frame.inside is not None:
                self._next_region(frame, frame.inside)
                continue
            op = next(frame.ops, None)
            if op is None:
                self.visible.difference_update(self.stack.pop().defined)
            else:
                frame.left -= 1
                self._op(op, frame)

    def _next_region(self, frame: _Frame, op: Op) -> None:
        region = next(frame.regions, None)
        if region is not None:
            self._enter(region, op)
            return
        frame.inside = None
        self._define(op.results, frame, op, op)

    def _enter(self, region: Region, owner: Op | None) -> None:
        if id(region) in self.objects:
            raise _error(owner, "its region object is used a second time; make a copy")
        self.objects.add(id(region))
        frame = _Frame(region, owner)
        self.stack.append(frame)
        self._define(region.args, frame, owner, region)

    def _define(self, values: list[Value], frame: _Frame, at: Op | None, owner: Op | Region) -> None:
        """Make values visible that `owner` defines; `at` is the op that an error names."""
        for value in values:
            if value in self.ever:
                raise _error(at, f"a value is defined a second time: {value!r}")
            if value.owner is not owner:
                raise _error(at, f"a value does not name what defines it as its owner: {value!r}")
            self.ever.add(value)
            self.visible.add(value)
            frame.defined.append(value)

    def _check_shared(self, op: Op) -> None:
        """No two ops may share a mutable object: a change of one would change the other. Empty attributes may be."""
        parts = {"op": op, "dict of attributes": op.attrs or object()}
        for what, thing in parts.items():
            if id(thing) in self.objects:
                expect.fail(op, f"its {what} object is used a second time; make a copy")

    def _op(self, op: Op, frame: _Frame) -> None:
        mutable = {id(op), id(op.attrs)}
        if not self.objects.isdisjoint(mutable):
            self._check_shared(op)
        self.objects |= mutable
        for position, value in enumerate(op.operands):
            if value not in self.visible:
                self._unusable(op, position, value)
            self._count_use(op, position, value)
        _check_row(op)
        _check_guard(op)
        _check_sums(op)
        _check_team(op)
        _check_position(op, frame)
        RULES[op.opdef](op, self.places)
        if op.regions:
            frame.inside, frame.regions = op, iter(op.regions)
        else:
            self._define(op.results, frame, op, op)

    def _count_use(self, op: Op, position: int, value: Value) -> None:
        """An operand is listed among the uses of its value."""
        if value.uses.get(op) != op.operands.count(value):
            expect.fail(op, f"operand {position} does not list the op among its uses: {value!r}")
        self.used[value] = self.used.get(value, 0) + 1

    def check_uses(self) -> None:
        """Every use that a value lists is an operand of an op that was visited."""
        for value in self.ever:
            if sum(value.uses.values()) != self.used.get(value, 0):
                stray = next((op for op in value.uses if id(op) not in self.objects), None)
                raise _error(stray, f"it is listed among the uses of a value, and is no part of the program: {value!r}")

    def _unusable(self, op: Op, position: int, value: object) -> None:
        if not isinstance(value, Value):
            expect.fail(op, f"operand {position} must be a Value, got {value!r}")
        problem = "is used outside the region that defines it" if value in self.ever else "is used before it is defined"
        expect.fail(op, f"operand {position} {problem}: {value!r}")


def _error(owner: Op | None, problem: str) -> IRError:
    if owner is None:
        return IRError(f"body: {problem}")
    return IRError(f"{owner.name}: {problem}", loc=expect.known(owner.loc))


def _check_row(op: Op) -> None:
    """The op is a row of the table and has what its row says: attributes, regions."""
    row = op.opdef
    if TABLE.get(row.name) is not row:
        expect.fail(op, "is not an operation of the table")
    optional = (("guarded", row.guards), ("sums", row.sums), ("team", row.teams))
    more = sum(allowed and name in op.attrs for name, allowed in optional)
    if len(op.attrs) != len(row.attrs) + more or not all(name in op.attrs for name in row.attrs):
        expect.fail(op, f"expected attributes ({', '.join(row.attrs)}), got ({', '.join(map(str, op.attrs))})")
    if len(op.regions) != row.regions:
        expect.fail(op, f"expected {row.regions} regions, got {len(op.regions)}")


def _check_guard(op: Op) -> None:
    """The axes of a guard are axes of what is accessed, in their order."""
    axes, place = op.attrs.get("guarded"), op.attrs.get("place")
    if axes is None:
        return
    own_axes = range(place.rank if isinstance(place, Place) else 1)
    if not isinstance(axes, tuple) or not axes or list(axes) != [axis for axis in own_axes if axis in axes]:
        expect.fail(op, f"attribute 'guarded' must be some of its axes, in their order, got {axes!r}")


def _check_sums(op: Op) -> None:
    """How an update is added up is one of the known ways."""
    way = op.attrs.get("sums", WAYS[0])
    if way not in WAYS:
        expect.fail(op, f"attribute 'sums' must be one of {', '.join(WAYS)}, got {way!r}")


def _check_team(op: Op) -> None:
    """A loop over the threads of a block says how many there are at most, an array what they do with it."""
    team = op.attrs.get("team")
    if team is None:
        return
    if op.opdef is FOR and (type(team) is not int or team < 1):
        expect.fail(op, f"attribute 'team' must be a positive int, got {team!r}")
    if op.opdef is not FOR and team not in TEAM_ARRAYS:
        expect.fail(op, f"attribute 'team' must be one of {', '.join(TEAM_ARRAYS)}, got {team!r}")


def _check_position(op: Op, frame: _Frame) -> None:
    """Terminators stand at the ends of regions and nowhere else; `parallel_for` stands at the top level."""
    last, top = frame.left == 0, frame.owner is None
    if op.opdef.terminator != last:
        end = "return" if top else "yield"
        if not last:
            expect.fail(op, "a terminator in the middle of a region: expected it at the end only")
        expect.fail(op, f"expected {end} as the last op of the region, got {op.name}")
    if last and (op.opdef is RETURN) != top:
        wanted = "return at the end of a kernel's or task's body" if top else "yield at the end of an inner region"
        expect.fail(op, f"expected {wanted}, got {op.name}")
    if not top and op.opdef is PARALLEL_FOR:
        assert frame.owner is not None
        expect.fail(op, f"expected only at the top level of a kernel or task, got one inside {frame.owner.name}")
