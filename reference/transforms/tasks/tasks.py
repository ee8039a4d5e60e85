"""Task splitting: `split(kernel) -> Program`.

Requires: a verified kernel; best optimised. It is used up: the program's tasks own its ops.
Ensures: one parallel task per `parallel_for`, in order; between them one serial task per run of other ops, if any of
them has an effect or gives what a later task needs. Every task has parameters of its own, of the kernel's types. A task
that needs a value from before it

- recomputes it, if that takes no more than `RECOMPUTED` pure ops of parameters, constants and extents, and loads of
  places that nobody may write from the first load to the end of the task;
- else loads it from a "temp" place of rank 0, where the task that computes it leaves it.

A local array of the kernel's level that several tasks, or a parallel loop, use is a "temp" place of rank 1. Returned
values are stored to "result" places by the serial task that has them at hand, or by one at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ...errors import IRError
from ...ir.ops import ARRAY_ALLOC, ARRAY_LOAD, ARRAY_STORE, LOAD, RETURN, STORE
from ...ir.structure import Kernel, Op, Place, Program, Region, Task, Value
from ...ir.types import ArrayType, DType
from ..rewriting.options import DEFAULT, Options
from ..rewriting.rewrite import Renaming, clone_op, rename_operands
from ..scalar.dce import dce
from .crossing import Crossing, Segment, segments

__all__ = ["split"]

_OF_PLACES: Final = {ARRAY_LOAD: LOAD, ARRAY_STORE: STORE}
"""What an access to a local array becomes where the array is a place."""


def split(kernel: Kernel, options: Options = DEFAULT) -> Program:
    """The tasks of `kernel`."""
    return Splitter(kernel, options).program()


class Splitter:
    """Builds tasks one after another.

    Attributes:
        places: those of the kernel, the temps and the results.
        temps: where a value that crosses tasks is left.
    """

    def __init__(self, kernel: Kernel, options: Options) -> None:
        self.kernel, self.options = kernel, replace(options, keep_loops=True)
        self.places: dict[str, Place] = dict(kernel.places)
        self.temps: dict[Value, Place] = {}
        self.segments = segments(kernel.body)
        self._place_arrays()
        self.crossing = Crossing(kernel.body, self.segments)

    def program(self) -> Program:
        """Split, clean up, name."""
        kernel = self.kernel
        results = self._store_results()
        bodies = self._bodies()
        self._leave_temps(bodies)
        kernel.body.terminator.erase()
        tasks: list[Task] = []
        for segment, body in zip(self.segments, bodies, strict=True):
            dce(body, self.options)
            if len(body.ops) > 1:
                tasks.append(Task(f"{kernel.name}.{len(tasks)}.{segment.kind}", body, segment.kind))
        params = tuple(value.dtype for value in kernel.params)
        return Program(kernel.name, tasks, self.places, kernel.returns, results, kernel.loc, params)

    def _place(self, kind: str, dtype: DType, shape: tuple[int, ...] = (), label: str = "") -> Place:
        """A new place, called after its kind and a number that is free."""
        number = sum(place.kind == kind for place in self.places.values())
        while f"{kind}{number}" in self.places:
            number += 1
        place = Place(f"{kind}{number}", dtype, shape, kind, label=label)
        self.places[place.name] = place
        return place

    # ---- arrays and returned values

    def _place_arrays(self) -> None:
        """Arrays of the kernel's level that more than one serial segment uses move to places."""
        home = {op.result: segment for segment in self.segments for op in segment.ops if op.opdef is ARRAY_ALLOC}
        if not home:
            return
        moved: dict[Value, Place] = {}
        for segment in self.segments:
            for op in segment.walk():
                handle = op.operands[0] if op.operands else None
                if handle in home and home[handle] is not segment and handle not in moved:
                    assert isinstance(handle.type, ArrayType)
                    moved[handle] = self._place("temp", handle.type.dtype, (handle.type.length,), handle.name)
        for segment in self.segments:
            segment.ops = [op for op in segment.ops if not (op.results and op.results[0] in moved)]
            for op in segment.walk():
                if op.operands and op.operands[0] in moved:
                    op.attrs = {"place": moved[op.operands[0]]}
                    op.set_operands(op.operands[1:])
                    op.opdef = _OF_PLACES[op.opdef]

    def _store_results(self) -> tuple[str, ...]:
        names = []
        for value in self.kernel.body.terminator.operands:
            place = self._place("result", value.dtype)
            self._home(value).ops.append(store(place, value, self.kernel.body.terminator))
            names.append(place.name)
        return tuple(names)

    def _home(self, value: Value) -> Segment:
        """The serial segment that stores a returned value: where it is computed, if that is serial; else the last."""
        home = self.crossing.origin.get(value)
        if home is not None and value not in self.crossing.weight:
            return home
        if not self.segments or self.segments[-1].parallel:
            self.segments.append(Segment(len(self.kernel.body.ops) - 1))
        return self.segments[-1]

    # ---- bodies

    def _bodies(self) -> list[Region]:
        """Each segment's ops behind a header that gives them what they need from before."""
        # all headers come first: they copy ops as they stand before any is renamed
        heads = [self._head(segment) for segment in self.segments]
        for segment, (body, renamed) in zip(self.segments, heads, strict=True):
            rename_operands(segment.ops, renamed)
            body.ops += segment.ops
            body.ops.append(Op(RETURN, [], loc=self.kernel.body.terminator.loc))
        return [body for body, _ in heads]

    def _head(self, segment: Segment) -> tuple[Region, Renaming]:
        """A body with parameters and header, and what stands there for values from before."""
        body = Region([Value(v.type, v.name) for v in self.kernel.params])
        renamed: Renaming = dict(zip(self.kernel.params, body.args, strict=True))
        for value in self.crossing.needs(segment):
            self._fetch(value, segment, renamed, body.ops)
        return body, renamed

    def _fetch(self, value: Value, segment: Segment, renamed: Renaming, header: list[Op]) -> None:
        """Recompute or load `value` in the header, once."""
        if value in renamed:
            return
        source = value.op
        assert source is not None
        if self.crossing.recomputable(value, segment):
            for operand in source.operands:
                self._fetch(operand, segment, renamed, header)
            header.append(clone_op(source, renamed))
            return
        if not isinstance(value.type, DType):
            raise IRError(f"a value of type {value.type} can't leave the serial code that makes it", loc=source.loc)
        if value not in self.temps:
            self.temps[value] = self._place("temp", value.dtype, label=value.name)
        renamed[value] = Value(value.type, value.name)
        header.append(Op(LOAD, [], {"place": self.temps[value]}, [renamed[value]], loc=source.loc))

    def _leave_temps(self, bodies: Iterable[Region]) -> None:
        """Every task ends with leaving the values that later tasks load."""
        for segment, body in zip(self.segments, bodies, strict=True):
            left = [(v, op) for op in segment.ops for v in op.results if v in self.temps]
            body.ops[-1:-1] = [store(self.temps[v], v, op) for v, op in left]


def store(place: Place, value: Value, like: Op) -> Op:
    """A store to a place without axes, at the location of `like`."""
    return Op(STORE, [value], {"place": place}, loc=like.loc)
