"""Forward mode: `forward(kernel, duals, ...) -> Kernel`, which computes what `kernel` does and the tangents of it.

Requires: a verified kernel without adstacks, best optimised with `keep_accesses`; `duals` maps names of places to the
places of their tangents, of the same type and shape. Temps get tangents of their own. There may be several such maps
with the same keys, the lanes: each is a direction, along which everything gets a tangent of its own.
Ensures: the new kernel returns what `kernel` returns, and behind that the tangents of the real numbers among it, those
of one number side by side. It writes what `kernel` writes and, where memory has a dual, its directional derivative
there: a store replaces the dual by the tangent of what is stored, an atomic add adds the tangent, other atomics leave
the tangent of what they leave. A value that no dual reaches has a tangent of true zero: nothing is computed for it.
What is computed for a lane is what would be computed for it alone; the values themselves are computed once.

Two atomic ops, one on the memory and one on its dual, are not one: a parallel loop with an atomic that has to choose
between tangents (all but add and exchange) becomes a serial one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Final, TypeAlias

from ..ir.builder import Builder
from ..ir.opdef import OpDef
from ..ir.ops import ARRAY_ALLOC, ARRAY_LOAD, ARRAY_STORE, ATOMIC, FOR, IF, LOAD, PARALLEL_FOR, STORE, WHILE
from ..ir.pulls import Pull, Saved
from ..ir.structure import Kernel, Op, Place, Region, Value
from ..ir.types import ArrayType
from ..transforms.math.num import Num
from ..transforms.rewriting.rewrite import clone_kernel
from .activities.activity import Activity
from .overwrite.conflicts import may_be_one
from .overwrite.updates import serial
from .places import in_lane

__all__ = ["forward"]

_TOGETHER: Final = ("add", "xchg")
"""Atomics that act on the dual by an atomic of their own."""


_Tangents: TypeAlias = tuple[Value, ...]
"""The tangents of one value, or of one local array: one for each lane."""


def forward(kernel: Kernel, *lanes: Mapping[str, Place]) -> Kernel:
    """`kernel` and its tangents, as many of each value as there are `lanes`, of which there is at least one."""
    kernel = clone_kernel(kernel)
    used = {name: tuple([lane[name] for lane in lanes]) for name in lanes[0] if name in kernel.places}
    for place in kernel.places.values():
        if place.kind == "temp" and place.dtype.is_float:
            dual = replace(place, name=f"{place.name}.dual")
            used[place.name] = tuple([in_lane(dual, lane) for lane in range(len(lanes))])
    returned = [k for k, dtype in enumerate(kernel.returns) if dtype.is_float]
    derived = replace(
        kernel,
        places={**kernel.places, **{dual.name: dual for duals in used.values() for dual in duals}},
        returns=(*kernel.returns, *(kernel.returns[k] for k in returned for _ in lanes)),
        apart=kernel.apart | frozenset(_apart(kernel, used)),
    )
    _Forward(Activity(derived.body, used.keys()), used, len(lanes)).region(derived.body, returned)
    return derived


def _apart(kernel: Kernel, used: Mapping[str, tuple[Place, ...]]) -> Iterator[frozenset[str]]:
    """Pairs of places that are apart because of what they hold: tangents, which no call may pass as something else.

    The tangents of two arrays are apart where the arrays are.
    """
    for name, duals in used.items():
        others = [*kernel.places.values()]
        for other, theirs in used.items():
            if other == name or frozenset((name, other)) in kernel.apart:
                others += theirs
        for dual, place in product(duals, others):
            if dual.name != place.name and may_be_one(dual, place):
                yield frozenset((dual.name, place.name))


class _Forward:
    """Rebuilds regions with the tangents beside the values.

    Attributes:
        active: the values that have tangents.
        duals: primal place name -> the places of its tangents, one for each lane.
        lanes: how many tangents a value has.
        tangents: the tangents of a value, where they are not true zeros.
        b: where ops go.
    """

    def __init__(self, active: Activity, duals: Mapping[str, tuple[Place, ...]], lanes: int) -> None:
        self.active = active
        self.duals = duals
        self.lanes = lanes
        self.tangents: dict[Value, _Tangents] = {}
        self.b = Builder()
        self._visitors: dict[OpDef, Callable[[Op], None]] = {
            LOAD: self._load,
            STORE: self._store,
            ATOMIC: self._atomic,
            ARRAY_ALLOC: self._array_alloc,
            ARRAY_LOAD: self._array_load,
            ARRAY_STORE: self._array_store,
            IF: self._if,
            FOR: self._for,
            WHILE: self._while,
            PARALLEL_FOR: self._parallel_for,
        }

    def region(self, region: Region, carried: Sequence[int] = (), first: int = 0) -> None:
        """Rebuild `region`; after what it yields come the tangents of those at the positions `first` + `carried`."""
        ops, region.ops = region.ops, []
        with self.b.into(region):
            for op in ops[:-1]:
                self._visit(op)
            end = ops[-1]
            with self.b.at(end.loc):
                end.append_operands([t for k in carried for t in self._of(end.operands[first + k])])
            region.ops.append(end)

    def _visit(self, op: Op) -> None:
        with self.b.at(op.loc):
            visit = self._visitors.get(op.opdef)
            if visit is not None:
                visit(op)
                return
            self.b.region.ops.append(op)
            if op.opdef.pulls and op.results[0] in self.active:
                self._linear(op)

    def _of(self, value: Value) -> _Tangents:
        """The tangents of `value` for memory, or for a place where there have to be some."""
        tangents = self.tangents.get(value)
        return (self.b.const(0.0, value.dtype),) * self.lanes if tangents is None else tangents

    # ---- scalar operations

    def _linear(self, op: Op) -> None:
        """result' = the sum of the pulls of the operands' tangents."""
        pulled = [
            (self.tangents[operand], pull)
            for operand, pull in zip(op.operands, op.opdef.pulls or (), strict=True)
            if pull is not None and operand in self.tangents
        ]
        if not pulled:
            return
        names = zip("xyz", op.operands, strict=False)
        primals = {"r": Num(self.b, op.result), **{name: Num(self.b, v) for name, v in names}}
        sums = []
        for lane in range(self.lanes):
            terms = (self._pulled(pull, tangents[lane], primals).to(op.result.dtype) for tangents, pull in pulled)
            sums.append(reduce(operator.add, terms).v)
        self.tangents[op.result] = tuple(sums)

    def _pulled(self, pull: Pull, tangent: Value, primals: Mapping[str, Num]) -> Num:
        saved = Saved(**{name: primals[name] for name in pull.needs})
        result: Num = pull.map(Num(self.b, tangent), saved)
        return result

    # ---- memory

    def _load(self, op: Op) -> None:
        self.b.region.ops.append(op)
        if op.result in self.active and op.attrs["place"].name in self.duals:
            self.tangents[op.result] = self._loaded(self.duals[op.attrs["place"].name], op.operands)

    def _loaded(self, duals: Sequence[Place], indices: Sequence[Value]) -> _Tangents:
        return tuple([self.b.load(dual, indices) for dual in duals])

    def _store(self, op: Op) -> None:
        self.b.region.ops.append(op)
        duals = self.duals.get(op.attrs["place"].name)
        if duals is not None:
            *indices, value = op.operands
            for dual, tangent in zip(duals, self._of(value), strict=True):
                self.b.store(dual, indices, tangent)

    def _atomic(self, op: Op) -> None:
        place: Place = op.attrs["place"]
        duals = self.duals.get(place.name)
        indices, values = op.operands[: place.rank], op.operands[place.rank :]
        if duals is None:
            self.b.region.ops.append(op)
            return
        kind = op.attrs["kind"]
        if kind in _TOGETHER:
            self.b.region.ops.append(op)
            if kind == "xchg" or values[0] in self.tangents:
                pairs = zip(duals, self._of(values[0]), strict=True)
                self.tangents[op.result] = tuple([self.b.atomic(kind, dual, indices, t) for dual, t in pairs])
            elif op.result in self.active:
                self.tangents[op.result] = self._loaded(duals, indices)
            return
        before = self._loaded(duals, indices)
        self.b.region.ops.append(op)
        self.tangents[op.result] = before
        for dual, old, tangent in zip(duals, before, self._of(values[-1]), strict=True):
            self.b.store(dual, indices, self._combined(op, old, values, tangent))

    def _combined(self, op: Op, before: Value, values: Sequence[Value], moved: Value) -> Value:
        """The tangent of what an atomic leaves: of the winner, of the product, of what was swapped in."""
        old, change = Num(self.b, op.result), Num(self.b, before)
        value, tangent = Num(self.b, values[-1]), Num(self.b, moved)
        if op.attrs["kind"] == "mul":
            return (change * value + old * tangent).v
        if op.attrs["kind"] == "cas":
            return old.eq(Num(self.b, values[0])).where(tangent, change).v
        old_wins = (old > value) if op.attrs["kind"] == "max" else (old < value)
        return (old_wins | value.ne(value)).where(change, tangent).v

    # ---- local arrays

    def _array_alloc(self, op: Op) -> None:
        self.b.region.ops.append(op)
        if op.result in self.active:
            assert isinstance(op.result.type, ArrayType)
            dtype, length = op.result.type.dtype, op.result.type.length
            self.tangents[op.result] = tuple([self.b.array(dtype, length) for _ in range(self.lanes)])

    def _array_load(self, op: Op) -> None:
        self.b.region.ops.append(op)
        array, index = op.operands
        if array in self.tangents:
            self.tangents[op.result] = tuple([self.b.array_load(one, index) for one in self.tangents[array]])

    def _array_store(self, op: Op) -> None:
        self.b.region.ops.append(op)
        array, index, value = op.operands
        if array in self.tangents:
            for one, tangent in zip(self.tangents[array], self._of(value), strict=True):
                self.b.array_store(one, index, tangent)

    # ---- control

    def _active_positions(self, *columns: Sequence[Value]) -> list[int]:
        """Where at least one of the values that stand at the same position has a tangent."""
        return [k for k, values in enumerate(zip(*columns, strict=True)) if any(v in self.active for v in values)]

    def _with_tangents(self, owner: Op | Region, positions: Iterable[int]) -> None:
        """Have an op or region define tangents for each of these positions of its results or arguments."""
        values = owner.results if isinstance(owner, Op) else owner.args
        for k in positions:
            self.tangents[values[k]] = new = tuple([Value(values[k].type) for _ in range(self.lanes)])
            owner.define(new)

    def _if(self, op: Op) -> None:
        carried = self._active_positions(op.results)
        for region in op.regions:
            self.region(region, carried)
        self._with_tangents(op, carried)
        self.b.region.ops.append(op)

    def _for(self, op: Op) -> None:
        (body,) = op.regions
        op.attrs.pop("team", None)  # what atomics do to tangents is not atomic
        carried = self._active_positions(body.args[1:], op.results)
        op.append_operands([t for k in carried for t in self._of(op.operands[2 + k])])
        self._with_tangents(body, [k + 1 for k in carried])
        self.region(body, carried)
        self._with_tangents(op, carried)
        self.b.region.ops.append(op)

    def _while(self, op: Op) -> None:
        test, body = op.regions
        carried = self._active_positions(test.args, body.args, op.results)
        op.append_operands([t for k in carried for t in self._of(op.operands[k])])
        self._with_tangents(test, carried)
        self.region(test, carried, first=1)
        self._with_tangents(body, carried)
        self.region(body, carried)
        self._with_tangents(op, carried)
        self.b.region.ops.append(op)

    def _parallel_for(self, op: Op) -> None:
        (body,) = op.regions
        chooses = any(self._chooses(inner) for inner in body.walk())
        self.region(body)
        self.b.region.ops.append(serial(op) if chooses else op)

    def _chooses(self, op: Op) -> bool:
        return op.opdef is ATOMIC and op.attrs["place"].name in self.duals and op.attrs["kind"] not in _TOGETHER
