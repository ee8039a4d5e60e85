"""The iterations of a parallel loop: the points of a box, in row-major order, and the lanes that run side by side."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from adstack.errors import InternalError
from adstack.ir.structure import Op, Value
from adstack.ir.types import i32, i64

from ..function.region import RegionEmitter
from ..text.writer import type_text

__all__ = ["Box", "Rest", "first_lanes"]


class Rest(Enum):
    """How the last iterations of a piece of a loop run, which are too few for all lanes."""

    ONE_BY_ONE = auto()
    MASKED = auto()
    NONE = auto()
    """There are none: pieces, and the rows of the last index in them, are whole vectors."""


def first_lanes(e: RegionEmitter, position: str, stop: str) -> str:
    """The mask of the lanes whose iterations come before `stop`; there is at least one."""
    left = e.w.let(f"sub i64 {stop}, {position}")
    over = e.w.intrinsic("llvm.usub.sat.i64", "i64", [("i64", str(e.lanes)), ("i64", left)])
    word = f"i{e.lanes}"
    if e.lanes != 64:
        over = e.w.let(f"{'trunc' if e.lanes < 64 else 'zext'} i64 {over} to {word}")
    return e.w.let(f"bitcast {word} {e.w.let(f'lshr {word} -1, {over}')} to {e.mask_type}")


class Box:
    """The iteration space of a `parallel_for`: per axis its lower bound and its extent, as i64.

    Args:
        e: emits its code.
        loop: the `parallel_for`.
        points: how many there are, where that is known when compiling.

    Attributes:
        is_small: whether there are certainly so few that 32 bits number them. A division of 64 bits takes several
            times as long, also by a number that is known.
    """

    def __init__(self, e: RegionEmitter, loop: Op, points: int | None) -> None:
        self.e, self.loop = e, loop
        self.is_small = points is not None and points <= i32.max
        self.low: list[str] = []
        self.extent: list[str] = []
        for k in range(len(loop.operands) // 2):
            lo, hi = e.wide(loop.operands[2 * k], 1), e.wide(loop.operands[2 * k + 1], 1)
            self.low.append(lo)
            size = e.w.let(f"sub i64 {hi}, {lo}")
            word = "slt" if loop.operands[2 * k].dtype.is_signed else "ult"
            some = e.w.let(f"icmp {word} i64 {lo}, {hi}")
            self.extent.append(e.w.let(f"select i1 {some}, i64 {size}, i64 0"))

    def total(self, first: int = 0) -> str:
        """How many points there are, over the axes from the first one on."""
        total = "1"
        for extent in self.extent[first:]:
            total = self.e.w.let(f"mul i64 {total}, {extent}")
        return total

    def last_vector(self, lanes: int) -> str:
        """The position at which whole vectors end; the first one if a row is so short that lanes would wrap twice."""
        if len(self.extent) == 1:
            return "%end"
        wide = self.e.w.let(f"icmp sge i64 {self.extent[-1]}, {lanes}")
        return self.e.w.let(f"select i1 {wide}, i64 %end, i64 %begin")

    def _coordinates(self, position: str) -> list[str]:
        """The point at a position, relative to the lower bounds."""
        w = self.e.w
        if len(self.extent) == 1 or not self.is_small:
            return self._divided("i64", position, self.extent[1:])
        extents = [w.let(f"trunc i64 {extent} to i32") for extent in self.extent[1:]]
        at = self._divided("i32", w.let(f"trunc i64 {position} to i32"), extents)
        return [w.let(f"zext i32 {coordinate} to i64") for coordinate in at]

    def _divided(self, ty: str, position: str, extents: list[str]) -> list[str]:
        w, rest = self.e.w, position
        inner: list[str] = []
        for extent in reversed(extents):
            inner.insert(0, w.let(f"urem {ty} {rest}, {extent}"))
            rest = w.let(f"udiv {ty} {rest}, {extent}")
        return [rest, *inner]

    def bind_one(self, position: str) -> None:
        """Bind the indices of one iteration."""
        for arg, low, at in zip(self.loop.regions[0].args, self.low, self._coordinates(position), strict=True):
            value = self.e.w.let(f"add i64 {low}, {at}")
            self.e.bind(arg, self._narrow(value, arg, 1))

    def bind_lanes(self, position: str, lanes: int) -> None:
        """Bind the indices of `lanes` iterations: the last axis counts up and carries into the others where it ends."""
        e = self.e
        numbers = "<" + ", ".join(f"i64 {k}" for k in range(lanes)) + ">"
        ty = type_text(i64, lanes)
        args = self.loop.regions[0].args
        carry = ""
        for axis in reversed(range(len(args))):
            at = e.splat(self._coordinates_cached(position)[axis], i64)
            if axis == len(args) - 1:
                at = e.w.let(f"add {ty} {at}, {numbers}")
            elif carry:
                at = e.w.let(f"add {ty} {at}, {e.w.let(f'zext {e.mask_type} {carry} to {ty}')}")
            if axis:
                extent = e.splat(self.extent[axis], i64)
                carry = e.w.let(f"icmp uge {ty} {at}, {extent}")
                wrapped = e.w.let(f"sub {ty} {at}, {extent}")
                at = e.w.let(f"select {e.mask_type} {carry}, {ty} {wrapped}, {ty} {at}")
            value = e.w.let(f"add {ty} {at}, {e.splat(self.low[axis], i64)}")
            e.bind(args[axis], self._narrow(value, args[axis], lanes))
        if len(args) == 1:
            e.frame.starts[args[0]] = e.w.let(f"add i64 {self._coordinates_cached(position)[0]}, {self.low[0]}")

    def bind_row(self, position: str) -> tuple[Callable[[str], None], str]:
        """Bind the indices of the row that a position is in, but the last; gives what binds that, and the row's end.

        The lanes of a position then are the points that follow it in the row, and behind its end none.
        """
        e, args = self.e, self.loop.regions[0].args
        *outer, first = self._coordinates(position)
        for arg, low, at in zip(args, self.low, outer, strict=False):
            e.bind(arg, self._narrow(e.w.let(f"add i64 {low}, {at}"), arg, 1))
        left = e.w.let(f"sub i64 {self.extent[-1]}, {first}")
        start = e.w.let(f"sub i64 {e.w.let(f'add i64 {self.low[-1]}, {first}')}, {position}")

        def bind(at: str) -> None:
            ty = type_text(i64, e.lanes)
            numbers = "<" + ", ".join(f"i64 {k}" for k in range(e.lanes)) + ">"
            first = e.frame.starts[args[-1]] = e.w.let(f"add i64 {start}, {at}")
            base = e.splat(first, i64)
            e.bind(args[-1], self._narrow(e.w.let(f"add {ty} {base}, {numbers}"), args[-1], e.lanes))

        return bind, e.w.let(f"add i64 {position}, {left}")

    def _coordinates_cached(self, position: str) -> list[str]:
        if self._last[0] != position:
            self._last = (position, self._coordinates(position))
        return self._last[1]

    _last: tuple[str, list[str]] = ("", [])

    def _narrow(self, name: str, arg: Value, width: int) -> str:
        if arg.dtype.bits == 64:
            return name
        if arg.dtype.bits > 64 or arg.dtype.is_float:
            raise InternalError(f"a loop index of type {arg.dtype}")
        ty = f"i{arg.dtype.bits}" if width == 1 else f"<{width} x i{arg.dtype.bits}>"
        return self.e.w.let(f"trunc {type_text(i64, width)} {name} to {ty}")
