"""Functions that call themselves at run time: one loop, in which each turn goes on with the innermost call.

Requires: the body of such a function, as the frontend emits it, in which `call.again` calls it. Ensures: a loop without
such calls that does the same. A call that calls again ends its turn, and notes in its frame which call it waits for;
the turn after the inner call's end skips to there. There is no other control flow than `if` and `while`, so that
every backend has it, and both modes of differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...ir.builder import Builder
from ...ir.opdef import OpDef
from ...ir.ops import FOR, IF, WHILE, YIELD
from ...ir.structure import Op, Region, Value
from ...ir.types import i32, u1
from . import cells
from .activations import CALL_AGAIN, Activation
from .cells import Cell
from .frames import Frames, stacked
from .segments import Segments, Span

__all__ = ["unfold"]

RUNNING = 0
"""The mode in which ops act. A positive mode is the number of the call that the turn skips to."""
ENDED = -1
"""The mode after a call: the rest of the turn does nothing."""


def unfold(builder: Builder, activation: Activation, body: Region) -> None:
    """Emit the calls of a function, from the outermost one's start to its end."""
    _Turns(builder, activation, body).emit(body)


class _Turns:
    def __init__(self, builder: Builder, activation: Activation, body: Region) -> None:
        self.b = builder
        self.activation = activation
        self.segments = Segments(self._is_call, body)
        self.frames = Frames(builder, self.segments, activation.most, activation.parameters)
        self.depth = Cell("depth", i32)
        self.mode = Cell("mode", i32)
        self.cut: dict[OpDef, Callable[[Op], None]] = {IF: self._if, WHILE: self._while, FOR: self._for}

    def _is_call(self, op: Op) -> bool:
        """Whether it calls the function again."""
        return op.opdef is CALL_AGAIN and op.attrs["activation"] is self.activation

    def emit(self, body: Region) -> None:
        """The loop: as long as a call is under way."""
        label = f"the frames of {self.activation.name}, as many as max_depth of its @real_func says"
        self.waits = stacked(self.b, label, i32, 1, self.activation.most)
        cells.alloc(self.b, self.depth, [self._int(0)])
        test, turn = Region(), Region()
        with self.b.into(test):
            self.b.yield_(self.b.ge(cells.read(self.b, self.depth), self._int(0)))
        with self.b.into(turn):
            self.frames.depth = cells.read(self.b, self.depth)
            cells.alloc(self.b, self.mode, [cells.read(self.b, self.waits, self.frames.depth)])
            self._region(body, self._end)
            self.b.yield_()
        self.b.while_([], test, turn)

    def _end(self) -> None:
        """The present call has come to its end."""
        cells.write(self.b, self.depth, self.b.sub(self.frames.depth, self._int(1)))

    # ---- small things

    def _int(self, number: int) -> Value:
        return self.b.const(number, i32)

    def _is(self, mode: int) -> Value:
        return self.b.eq(cells.read(self.b, self.mode), self._int(mode))

    def _seeks(self, span: Span | None) -> Value:
        """Whether the turn skips to one of these calls."""
        if span is None:
            return self.b.const(False, u1)
        mode = cells.read(self.b, self.mode)
        return self.b.and_(self.b.ge(mode, self._int(span[0])), self.b.le(mode, self._int(span[1])))

    def _enters(self, part: Op | Region) -> Value:
        """Whether control comes to a part of the body: it acts, or a call is sought in it."""
        running = self._is(RUNNING)
        span = self.segments.spans.get(part)
        return running if span is None else self.b.or_(running, self._seeks(span))

    @contextmanager
    def _only_if(self, condition: Value) -> Iterator[None]:
        then, orelse = Region(), Region()
        with self.b.into(then):
            yield
            self.b.yield_()
        with self.b.into(orelse):
            self.b.yield_()
        self.b.if_(condition, then, orelse)

    def _operand(self, op: Op, position: int) -> Value:
        return self.frames.get(op.operands[position], op)

    # ---- regions, and ops that calls stand in

    def _region(self, region: Region, last: Callable[[], None]) -> None:
        """The pieces of a region, each where the mode lets it act, `last` after the last of them."""
        piece: list[Op] = []
        for op in region.ops:
            if self.segments.is_cut(op):
                self._piece(piece)
                piece = []
                with self.b.at(op.loc):
                    self.cut.get(op.opdef, self._call)(op)
                op.drop_uses()
            elif op.opdef is not YIELD:
                piece.append(op)
        self._piece(piece, last)

    def _piece(self, ops: list[Op], last: Callable[[], None] | None = None) -> None:
        if ops or last is not None:
            with self._only_if(self._is(RUNNING)):
                self.frames.emit(ops)
                if last is not None:
                    last()

    def _yields(self, region: Region, to: Callable[[int, Value], None]) -> Callable[[], None]:
        """What hands over the values that a region yields."""
        terminator = region.terminator

        def hand_over() -> None:
            for k in range(len(terminator.operands)):
                to(k, self._operand(terminator, k))
            terminator.drop_uses()

        return hand_over

    def _if(self, op: Op) -> None:
        with self._only_if(self._enters(op)):
            then, orelse = Region(), Region()
            taken = self.b.and_(self._is(RUNNING), self._operand(op, 0))
            taken = self.b.or_(taken, self._seeks(self.segments.spans.get(op.regions[0])))
            for old, new in zip(op.regions, (then, orelse), strict=True):
                with self.b.into(new):
                    self._region(old, self._yields(old, lambda k, v: self.frames.keep(op.results[k], v)))
                    self.b.yield_()
            self.b.if_(taken, then, orelse)

    def _while(self, op: Op) -> None:
        test, body = op.regions

        def once(goes_on: Cell) -> None:
            self._region(test, self._yields(test, lambda _, value: cells.write(self.b, goes_on, value)))
            enters = self.b.and_(cells.read(self.b, goes_on), self._enters(body))
            with self._only_if(enters):
                self._region(body, self._yields(body, lambda *_: None))

        self._loop(op, once)

    def _for(self, op: Op) -> None:
        (body,) = op.regions
        (index,) = body.args
        now = self.frames.of_value[index]

        def following() -> None:
            one = self.b.const(1, index.dtype)
            self.frames.keep(index, self.b.add(cells.read(self.b, now, self.frames.depth), one))
            body.terminator.drop_uses()

        def once(goes_on: Cell) -> None:
            with self._only_if(self._is(RUNNING)):
                less = self.b.lt(cells.read(self.b, now, self.frames.depth), self._operand(op, 1))
                cells.write(self.b, goes_on, less)
            with self._only_if(cells.read(self.b, goes_on)):
                self._region(body, following)

        with self._only_if(self._is(RUNNING)):
            self.frames.keep(index, self._operand(op, 0))
        self._loop(op, once)

    def _loop(self, op: Op, once: Callable[[Cell], None]) -> None:
        """A loop that a call stands in: its iterations, until a condition ends it or a call the turn."""
        goes_on = Cell("goes_on", u1)
        cells.alloc(self.b, goes_on, [self._enters(op)])
        test, body = Region(), Region()
        with self.b.into(test):
            self.b.yield_(cells.read(self.b, goes_on))
        with self.b.into(body):
            once(goes_on)
            with self._only_if(self._is(ENDED)):
                cells.write(self.b, goes_on, self.b.const(False, u1))
            self.b.yield_()
        self.b.while_([], test, body)

    # ---- calls

    def _call(self, op: Op) -> None:
        """A call: where it has come back, what it returned; where control comes to it, its frame."""
        number = self.segments.number[op]
        back = self._is(number)
        calls = self._is(RUNNING)
        with self._only_if(back):
            for (cell, k), value in zip(self.activation.returned, op.results, strict=True):
                self.frames.keep(value, cells.read(self.b, cell, k))
            cells.write(self.b, self.mode, self._int(RUNNING))
        with self._only_if(calls):
            self._enter(op, number)
            cells.write(self.b, self.mode, self._int(ENDED))

    def _enter(self, op: Op, number: int) -> None:
        inner = self.b.add(self.frames.depth, self._int(1))
        fits = self.b.lt(inner, self._int(self.activation.most))
        most, name = self.activation.most, self.activation.name
        message = f"{name} calls itself more than {most} deep: raise the limit by @real_func(max_depth=...)"
        self.b.assert_(fits, message)  # noqa: PT009 - the builder's
        cells.write(self.b, self.waits, self._int(0), inner)  # outside of the array an error without debug mode, too
        cells.write(self.b, self.depth, self._int(-1))
        with self._only_if(fits):
            for k, leaf in enumerate(self.activation.parameters):
                self.frames.pass_on(leaf, self._operand(op, k), inner)
            cells.write(self.b, self.waits, self._int(number), self.frames.depth)
            cells.write(self.b, self.depth, inner)
