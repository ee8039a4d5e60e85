"""Memory to registers (mem2reg): cells become SSA values, thread-local arrays, or places that threads share.

Requires: a kernel body as the frontend emits it, cells allocated before use. Ensures: no cell is left; what a region
changes of the cells from outside is a result of its op, and carried by it if it is a loop. Time is linear in the ops
plus the carried values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.builder import Builder
from ...ir.opdef import OpDef
from ...ir.ops import FOR, IF, TABLE, WHILE
from ...ir.structure import Op, Place, Region, Value
from ...ir.types import i32
from .cells import ALLOC, READ, UPDATE, WRITE, Cell
from .survey import Survey

__all__ = ["mem2reg"]

Key = tuple[Cell, int]
_CELL_OPS = (ALLOC, READ, WRITE, UPDATE)


def mem2reg(body: Region, places: dict[str, Place]) -> None:
    """Rewrite `body` in place; shared cells become "temp" places, entered in `places`."""
    survey = Survey(body)
    rewriting = _Mem2Reg(survey)
    for cell in survey.shared:
        name = _unused(f"{cell.name or 'local'}.{len(places)}", places)
        shape = () if cell.length is None else (cell.length,)
        places[name] = Place(name, cell.dtype, shape, kind="temp", label=cell.name)
        rewriting.places[cell] = places[name]
    rewriting.region(body)


def _unused(name: str, places: dict[str, Place]) -> str:
    while name in places:
        name += "_"
    return name


class _Mem2Reg:
    """One run of the pass, with the SSA value that each element of each cell has at the present op."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.now: dict[Key, Value] = {}
        self.arrays: dict[Cell, Value] = {}
        self.places: dict[Cell, Place] = {}
        self.builder = Builder()
        self.structured: dict[OpDef, Callable[[Op], None]] = {IF: self._if, FOR: self._for, WHILE: self._while}
        self.cellular: dict[OpDef, Callable[[Op, Cell], None]] = {
            ALLOC: self._alloc,
            READ: self._read,
            WRITE: self._write,
            UPDATE: self._update,
        }

    # ---- regions

    def region(self, region: Region) -> None:
        """Rewrite the ops of one region in order."""
        ops, region.ops = region.ops, []
        outer = self.builder
        self.builder = Builder(region)
        for op in ops:
            self._op(op)
        self.builder = outer

    def _op(self, op: Op) -> None:
        self.builder.loc = op.loc
        if op.opdef in _CELL_OPS:
            if op.attrs["cell"] not in self.survey.unread:
                self.cellular[op.opdef](op, op.attrs["cell"])
            op.erase()
            return
        if op.regions:
            self.structured.get(op.opdef, self._plain)(op)
        self.builder.region.ops.append(op)

    def _plain(self, op: Op) -> None:
        for region in op.regions:
            self.region(region)

    def _changed(self, op: Op) -> list[Key]:
        """The elements from outside of `op` that its regions change and that are SSA values."""
        return [key for key in self.survey.written[op] if key in self.now]

    def _if(self, op: Op) -> None:
        keys = self._changed(op)
        before = [self.now[key] for key in keys]
        for region in op.regions:
            self.now.update(zip(keys, before, strict=False))
            self.region(region)
            region.terminator.append_operands(self.now[key] for key in keys)
        self._results(op, keys)

    def _for(self, op: Op) -> None:
        keys = self._changed(op)
        op.append_operands(self.now[key] for key in keys)
        self._carry(op.regions[0], keys)
        self.region(op.regions[0])
        op.regions[0].terminator.append_operands(self.now[key] for key in keys)
        self._results(op, keys)

    def _while(self, op: Op) -> None:
        keys = self._changed(op)
        op.append_operands(self.now[key] for key in keys)
        for region in op.regions:
            self._carry(region, keys)
            self.region(region)
            region.terminator.append_operands(self.now[key] for key in keys)
        self._results(op, keys)

    def _carry(self, region: Region, keys: list[Key]) -> None:
        for key in keys:
            value = Value(key[0].dtype, key[0].name)
            region.define((value,))
            self.now[key] = value

    def _results(self, op: Op, keys: list[Key]) -> None:
        for key in keys:
            value = Value(key[0].dtype, key[0].name)
            op.define((value,))
            self.now[key] = value

    # ---- cell ops

    def _index(self, op: Op) -> Value:
        """The position of the element as a value."""
        at = op.attrs["at"]
        return op.operands[-1] if at is None else self.builder.const(at, i32)

    def _address(self, op: Op, cell: Cell) -> list[Value]:
        return [] if cell.length is None else [self._index(op)]

    def _values(self, op: Op) -> Sequence[Value]:
        return op.operands[:-1] if op.attrs["at"] is None else op.operands

    def _alloc(self, op: Op, cell: Cell) -> None:
        if cell in self.places:
            for k, value in enumerate(op.operands):
                at = [] if cell.length is None else [self.builder.const(k, i32)]
                self.builder.store(self.places[cell], at, value)
        elif cell in self.survey.arrays:
            handle = self.arrays[cell] = self.builder.array(cell.dtype, cell.size, cell.team)
            handle.name = cell.name if cell.in_memory else ""
            for k, value in enumerate(op.operands):
                self.builder.array_store(handle, self.builder.const(k, i32), value)
        else:
            for k, value in enumerate(op.operands):
                self.now[cell, k] = value

    def _fetch(self, op: Op, cell: Cell) -> Value:
        if cell in self.places:
            return self.builder.load(self.places[cell], self._address(op, cell))
        if cell in self.arrays:
            return self.builder.array_load(self.arrays[cell], self._index(op))
        if op.attrs["at"] is not None:
            return self.now[cell, op.attrs["at"]]
        element = self.now[cell, 0]
        for k in range(1, cell.size):
            element = self.builder.select(self._is(op, k), self.now[cell, k], element)
        return element

    def _is(self, op: Op, k: int) -> Value:
        index = self._index(op)
        return self.builder.eq(index, self.builder.const(k, index.dtype))

    def _put(self, op: Op, cell: Cell, value: Value) -> None:
        if cell in self.places:
            self.builder.store(self.places[cell], self._address(op, cell), value)
        elif cell in self.arrays:
            self.builder.array_store(self.arrays[cell], self._index(op), value)
        elif op.attrs["at"] is not None:
            self.now[cell, op.attrs["at"]] = value
        else:
            for k in range(cell.size):
                self.now[cell, k] = self.builder.select(self._is(op, k), value, self.now[cell, k])

    def _read(self, op: Op, cell: Cell) -> None:
        op.result.replace_all_uses_with(self._fetch(op, cell))

    def _write(self, op: Op, cell: Cell) -> None:
        self._put(op, cell, self._values(op)[0])

    def _update(self, op: Op, cell: Cell) -> None:
        kind, values = op.attrs["kind"], self._values(op)
        if cell in self.places:
            old = self.builder.atomic(kind, self.places[cell], self._address(op, cell), *values)
        else:
            old = self._fetch(op, cell)
            self._put(op, cell, self._combined(kind, old, values))
        op.result.replace_all_uses_with(old)

    def _combined(self, kind: str, old: Value, values: Sequence[Value]) -> Value:
        if kind == "xchg":
            return values[0]
        if kind == "cas":
            return self.builder.select(self.builder.eq(old, values[0]), values[1], old)
        return self.builder.emit(TABLE[kind], old, values[0])
