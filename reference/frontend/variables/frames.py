"""Frames: what each call that is under way, or each thread of a block, keeps, in arrays with an element for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.builder import Builder
from ...ir.opdef import OpDef
from ...ir.structure import Op, Value
from ...ir.types import DType, i32
from . import cells
from .activations import Leaf
from .cells import Cell
from .segments import Segments

__all__ = ["Frames", "stacked"]


def stacked(builder: Builder, name: str, dtype: DType, size: int, most: int) -> Cell:
    """A new array with `size` elements for each of `most` frames, all 0."""
    cell = Cell(name, dtype, size * most, in_memory=True)
    cells.alloc(builder, cell, [])
    return cell


class Frames:
    """The variables and values that live on while calls are under way; `depth` says which call is the present one.

    Args:
        builder: where ops go.
        segments: which variables and values those are.
        most: how many frames there are.
        leaves: what the outermost call is given, besides.
    """

    depth: Value

    def __init__(self, builder: Builder, segments: Segments, most: int, leaves: Sequence[Leaf] = ()) -> None:
        self.builder = builder
        self.segments = segments
        self.most = most
        parameters = dict.fromkeys(cell for cell, _ in leaves)
        self.of_cell = {c: self.stacked(c.name, c.dtype, c.size) for c in {**parameters, **segments.crossing}}
        self.of_value = {v: self.stacked(v.name or "kept", v.dtype, 1) for v in segments.kept}
        for cell, k in leaves:
            cells.write(builder, self.of_cell[cell], cells.read(builder, cell, k), k * self.most)
        self._rewrite: dict[OpDef, Callable[[Op, Cell], None]] = {cells.ALLOC: self._alloc}

    def stacked(self, name: str, dtype: DType, size: int) -> Cell:
        return stacked(self.builder, name, dtype, size, self.most)

    # ---- the present call's values, and the next one's parameters

    def keep(self, value: Value, now: Value) -> None:
        """Have `now` as the value of this call, if later pieces need it."""
        if value in self.of_value:
            cells.write(self.builder, self.of_value[value], now, self.depth)

    def get(self, value: Value, user: Op) -> Value:
        """What an op is to use in place of an operand."""
        if not self.segments.moves(value, user):
            return value
        if value in self.of_value:
            return cells.read(self.builder, self.of_value[value], self.depth)
        assert value.op is not None
        return self.builder.const(value.op.attrs["value"], value.dtype)

    def pass_on(self, leaf: Leaf, value: Value, depth: Value) -> None:
        """Write a parameter of the call at a depth."""
        cell, k = leaf
        cells.write(self.builder, self.of_cell[cell], value, self._element(k, depth))

    def _element(self, k: int, depth: Value) -> Value:
        return depth if k == 0 else self.builder.add(depth, self.builder.const(k * self.most, i32))

    # ---- ops of a piece

    def emit(self, ops: list[Op]) -> None:
        """Append the ops of a piece, which read and write this call's frame from now on."""
        for op in ops:
            with self.builder.at(op.loc):
                for region in op.regions:
                    inner, region.ops = region.ops, []
                    with self.builder.into(region):
                        self.emit(inner)
                self._emit(op)

    def _emit(self, op: Op) -> None:
        op.set_operands([self.get(value, op) for value in op.operands])
        if op.attrs.get("cell") in self.of_cell:
            self._rewrite.get(op.opdef, self._access)(op, op.attrs["cell"])
        else:
            self.builder.region.ops.append(op)
        for value in op.results:
            self.keep(value, value)

    def _alloc(self, op: Op, cell: Cell) -> None:
        for k, value in enumerate(op.operands):
            cells.write(self.builder, self.of_cell[cell], value, self._element(k, self.depth))
        op.erase()

    def _access(self, op: Op, cell: Cell) -> None:
        at = op.attrs["at"]
        if at is not None:
            op.append_operands([self._element(at, self.depth)])
        else:
            *values, index = op.operands
            row = self.builder.mul(self.builder.cast(index, i32), self.builder.const(self.most, i32))
            op.set_operands([*values, self.builder.add(row, self.depth)])
        op.attrs |= {"cell": self.of_cell[cell], "at": None}
        self.builder.region.ops.append(op)
