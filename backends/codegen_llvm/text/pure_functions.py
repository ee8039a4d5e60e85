"""A pure region (scalar operations and `if`s without effects) as an LLVM function, for any number of lanes.

Over lanes an `if` runs each side that some lane takes, for all lanes, and selects; sides without a lane are skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.ops import IF
from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Op, Region, Value
from adstack.ir.types import DType, u1

from .scalar_ops import emit
from .writer import Writer, any_lane, type_text

__all__ = ["PureEmitter", "function_text"]


class PureEmitter:
    """Emits the ops of pure regions into one writer; `names` maps values to LLVM operands."""

    def __init__(self, writer: Writer, lanes: int) -> None:
        self.w = writer
        self.lanes = lanes
        self.names: dict[Value, str] = {}
        self.block = "entry"
        self._blocks = 0

    def run(self, region: Region) -> list[str]:
        """Emit a region; gives the operands of what it yields."""
        for op in region.ops[:-1]:
            self.op(op)
        return [self.names[v] for v in region.terminator.operands]

    def op(self, op: Op) -> None:
        """Emit one op of a pure function: a constant, an `if` or a scalar operation."""
        if op.opdef is CONST:
            self.names[op.result] = self.w.constant(op.attrs["value"], op.result.dtype, self.lanes)
        elif op.opdef is IF:
            self._if(op)
        else:
            types = tuple(v.dtype for v in op.operands)
            args = tuple(self.names[v] for v in op.operands)
            self.names[op.result] = emit(self.w, self.lanes, op.opdef, op.result.dtype, types, args)

    def _any(self, mask: str) -> str:
        """Whether some lane's bit is set."""
        return any_lane(self.w, self.lanes, mask)

    def _new_block(self) -> str:
        self._blocks += 1
        return f"b{self._blocks}"

    def _enter(self, label: str) -> None:
        self.w.label(label)
        self.block = label

    def _if(self, op: Op) -> None:
        condition = self.names[op.operands[0]]
        mask = type_text(u1, self.lanes)
        types = [v.dtype for v in op.results]
        yes = self._side(condition, op.regions[0], types)
        inverse = self.w.let(f"xor {mask} {condition}, {self.w.constant(True, u1, self.lanes)}")
        no = self._side(inverse, op.regions[1], types)
        for result, a, b in zip(op.results, yes, no, strict=True):
            ty = type_text(result.dtype, self.lanes)
            self.names[result] = self.w.let(f"select {mask} {condition}, {ty} {a}, {ty} {b}")

    def _side(self, wanted: str, region: Region, types: Sequence[DType]) -> list[str]:
        """One side of an `if`; where no lane wants it, its values are not defined."""
        inside, after = self._new_block(), self._new_block()
        before = self.block
        self.w.do(f"br i1 {self._any(wanted)}, label %{inside}, label %{after}")
        self._enter(inside)
        values = self.run(region)
        last = self.block
        self.w.do(f"br label %{after}")
        self._enter(after)
        joined = []
        for value, dtype in zip(values, types, strict=True):
            ty = type_text(dtype, self.lanes)
            joined.append(self.w.let(f"phi {ty} [ {value}, %{last} ], [ poison, %{before} ]"))
        return joined


def function_text(name: str, body: Region, lanes: int, attributes: str = "") -> tuple[str, dict[str, str]]:
    """A function of the region's arguments that returns the one value it yields; and the declarations it needs."""
    w = Writer()
    emitter = PureEmitter(w, lanes)
    parameters = []
    for k, arg in enumerate(body.args):
        emitter.names[arg] = f"%p{k}"
        parameters.append(f"{type_text(arg.dtype, lanes)} %p{k}")
    (result,) = emitter.run(body)
    ty = type_text(body.terminator.operands[0].dtype, lanes)
    w.do(f"ret {ty} {result}")
    head = f"define internal {ty} @{name}({', '.join(parameters)}) {attributes} {{\nentry:\n"
    return head + "\n".join(w.lines) + "\n}\n", w.declarations
