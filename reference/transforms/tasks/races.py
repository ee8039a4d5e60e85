"""Marks for races: `watched(program) -> Watched | None`.

Requires: a lowered program; it stays as it is. Ensures: a program that does the same, its tasks at the same positions.
Besides, each access of a parallel loop that may take part in a race leaves a mark, and two tasks at the end look for
marks that conflict.

The iterations of a loop that read, write or atomically update an element are summed up by the least and the greatest
of them: two such sets have no conflict if and only if both hold one and the same iteration. Atomic max keeps them, so
that the order in which iterations run does not matter, and the same race is reported each time.

Where it is proven that no iteration touches the elements of another there are no marks, and without marks nothing is
added: the result is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...analysis.manager import Analyses
from ...analysis.order import Order
from ...ir.builder import Builder
from ...ir.opdef import OpDef
from ...ir.ops import ATOMIC, LOAD, PLACE_ACCESSES, STORE
from ...ir.scalar_ops import SHR
from ...ir.structure import Kernel, Op, Place, Program, Region, Task, Value
from ...ir.types import DType, i64, u1, u32, u64
from ..rewriting.rewrite import clone_kernel

__all__ = ["BASES", "BOXES", "KINDS", "MARKS", "PAIRS", "RECORD", "Site", "Watched", "watched"]

KINDS: Final = (STORE, LOAD, ATOMIC)
PAIRS: Final = ((STORE, LOAD), (STORE, ATOMIC), (ATOMIC, LOAD))
"""What two iterations may not do with one element; nor may both store."""

MARKS: Final = "races.marks"
BASES: Final = "races.bases"
BOXES: Final = "races.boxes"
RECORD: Final = "races.record"


@dataclass(frozen=True)
class Site:
    """An access that leaves marks: an op, and the number of the watched loop that it is in."""

    op: Op
    loop: int

    @property
    def row(self) -> tuple[int, str]:
        """The loop, and the name of the place."""
        return self.loop, self.op.attrs["place"].name


@dataclass(frozen=True)
class Watched:
    """A program that looks for races.

    Attributes:
        program: the program with marks. Besides the places of the original it has

            MARKS: zeros; a row for each element of each place in each loop. For each of `kinds` it takes how far the
                least mark is from `top`, and the greatest mark plus one. 0 stands for no mark.
            BASES: for each of `rows` where the elements of the place begin in MARKS, and how far apart they are.
            BOXES: takes the bounds of the loops.
            RECORD: zeros; takes how far the number of the first row of MARKS with a conflict is from `top`, then that
                row.
        wide: whether marks have 64 bits.
        kinds: the rows of accesses that leave marks. A mark is the number of an iteration, row-major; if marks
            are wide, shifted left by `shift`, plus the number of the site.
        sites: by number.
        rows: (loop, name of a place).
        axes: how many indices each loop has.
    """

    program: Program
    wide: bool
    kinds: tuple[OpDef, ...]
    sites: tuple[Site, ...]
    rows: tuple[tuple[int, str], ...]
    axes: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        """The type of marks."""
        return u64 if self.wide else u32

    @property
    def top(self) -> int:
        """The greatest number that a mark can be."""
        return int(self.dtype.max)

    @property
    def shift(self) -> int:
        """How many bits of a mark hold the number of a site."""
        return (len(self.sites) - 1).bit_length() if self.wide else 0


def watched(program: Program, *, wide: bool = True, everywhere: bool = False) -> Watched | None:
    """The program with marks; None if it needs none.

    Args:
        program: lowered.
        wide: whether the target updates 64 bits atomically. Without, marks do not say which access they are of.
        everywhere: whether any two places may be the same memory.
    """
    tasks, analyses = [_cloned(task) for task in program.tasks], Analyses()
    loops = [(task, ops) for task in tasks if (ops := _suspects(task, analyses, everywhere=everywhere))]
    if not loops:
        return None
    sites = tuple(Site(op, number) for number, (_, ops) in enumerate(loops) for op in ops)
    used = {site.op.opdef for site in sites}
    kinds = tuple(kind for kind in KINDS if kind in used)
    axes = tuple(len(_loop(task).operands) // 2 for task, _ in loops)
    watch = Watched(program, wide, kinds, sites, tuple(dict.fromkeys(site.row for site in sites)), axes)
    places = _places(watch)
    for number, (task, _) in enumerate(loops):
        _Marking(watch, places, number).task(task)
    tail = [_search(watch, places), _tell(watch, places)]
    for task in tail:
        task.body.define(Value(v.type) for v in program.tasks[0].body.args)
    return replace(watch, program=replace(program, tasks=[*tasks, *tail], places={**program.places, **places}))


def _cloned(task: Task) -> Task:
    return replace(task, body=clone_kernel(Kernel(task.name, task.body)).body)


def _loop(task: Task) -> Op:
    """The loop of a parallel task: only the `return` stands after it."""
    return task.body.ops[-2]


def _places(watch: Watched) -> dict[str, Place]:
    words = 2 * len(watch.kinds)
    places = (
        Place(MARKS, watch.dtype, (None, words), "ndarray"),
        Place(BASES, i64, (len(watch.rows), 2), "ndarray"),
        Place(BOXES, i64, (len(watch.axes), 2 * max(watch.axes)), "ndarray"),
        Place(RECORD, watch.dtype, (1 + words,), "ndarray"),
    )
    return {place.name: place for place in places}


# ---- who may race


def _suspects(task: Task, analyses: Analyses, *, everywhere: bool) -> list[Op]:
    """The accesses of a task's loop that may take part in a race."""
    if task.kind != "parallel" or task.sizes:
        return []
    groups: dict[str, list[Op]] = {}
    for op in _loop(task).regions[0].walk():
        if op.opdef in PLACE_ACCESSES and not op.attrs["place"].relaxed:
            groups.setdefault("" if everywhere else op.attrs["place"].name, []).append(op)
    order = analyses.get(Order, task.body)
    racing = (ops for ops in groups.values() if _conflict(ops) and (everywhere or not _apart(order, task, ops)))
    return [op for ops in racing for op in ops]


def _conflict(ops: Iterable[Op]) -> bool:
    """Whether two of these accesses are a race if they meet."""
    kinds = {op.opdef for op in ops}
    return STORE in kinds or kinds >= {ATOMIC, LOAD}


def _apart(order: Order, task: Task, ops: Sequence[Op]) -> bool:
    """Whether each index of the loop picks the elements, in the same way at all accesses of a place."""
    rank = ops[0].attrs["place"].rank
    picked = {forms.pop() for k in range(rank) if len(forms := {order.offset(op.operands[k]) for op in ops}) == 1}
    return {base for base, _ in picked}.issuperset(_loop(task).regions[0].args)


# ---- marks


class _Marking:
    """Rebuilds the task of one watched loop.

    Attributes:
        bases: name of a place -> where its rows begin, and how far apart they are.
        mark: the number of the iteration, in its place in a mark.
    """

    mark: Value

    def __init__(self, watch: Watched, places: dict[str, Place], number: int) -> None:
        self.watch, self.places, self.number = watch, places, number
        self.numbers = {site.op: k for k, site in enumerate(watch.sites) if site.loop == number}
        self.b = Builder()
        self.bases: dict[str, tuple[Value, Value]] = {}

    def task(self, task: Task) -> None:
        """Put marks into its loop."""
        loop, end = task.body.ops[-2:]
        del task.body.ops[-2:]
        with self.b.at(loop.loc):
            with self.b.into(task.body):
                bounds = [self.b.cast(bound, i64) for bound in loop.operands]
                for row, (number, name) in enumerate(self.watch.rows):
                    if number == self.number:
                        self.bases[name] = self._word(BASES, row, 0), self._word(BASES, row, 1)
            (body,) = loop.regions
            ops, body.ops = body.ops, []
            with self.b.into(body):
                self._begin(bounds, body.args)
        body.ops += self._marked(ops)
        task.body.ops += [loop, end]

    def _word(self, place: str, row: int, column: int) -> Value:
        return self.b.load(self.places[place], [self.b.const(row, i64), self.b.const(column, i64)])

    def _begin(self, bounds: list[Value], indices: list[Value]) -> None:
        """Number the iteration; the first one leaves the bounds of the loop."""
        b, watch = self.b, self.watch
        number = b.const(0, i64)
        for index, lo, hi in zip(indices, bounds[::2], bounds[1::2], strict=True):
            number = b.add(b.mul(number, b.sub(hi, lo)), b.sub(b.cast(index, i64), lo))
        first = Region()
        with b.into(first):
            for k, bound in enumerate(bounds):
                b.store(self.places[BOXES], [b.const(self.number, i64), b.const(k, i64)], bound)
            b.yield_()
        b.if_(b.eq(number, b.const(0, i64)), first, _nothing(b))
        self.mark = b.cast(number, watch.dtype)
        if watch.shift:
            self.mark = b.shl(self.mark, b.const(watch.shift, watch.dtype))

    def _marked(self, ops: list[Op]) -> list[Op]:
        """The ops, with a mark after each access that leaves one."""
        marked = Region()
        for op in ops:
            for inner in op.regions:
                inner.ops = self._marked(inner.ops)
            marked.ops.append(op)
            if op in self.numbers:
                # after the access: one that leaves its place is an error, and has no element
                with self.b.into(marked), self.b.at(op.loc):
                    self._mark(op)
        return marked.ops

    def _mark(self, op: Op) -> None:
        b, watch, place = self.b, self.watch, op.attrs["place"]
        element = b.const(0, i64)
        for axis, index in enumerate(op.operands[: place.rank]):
            extent = place.shape[axis]
            length = b.shape(place, axis, i64) if extent is None else b.const(extent, i64)
            element = b.add(b.mul(element, length), b.cast(index, i64))
        base, step = self.bases[place.name]
        row, column = b.add(base, b.mul(element, step)), 2 * watch.kinds.index(op.opdef)
        mark = b.add(self.mark, b.const(self.numbers[op], watch.dtype)) if watch.shift else self.mark
        least, greatest = b.sub(b.const(watch.top, watch.dtype), mark), b.add(mark, b.const(1, watch.dtype))
        for k, word in enumerate((least, greatest)):
            b.atomic("max", self.places[MARKS], [row, b.const(column + k, i64)], word)


def _nothing(b: Builder) -> Region:
    region = Region()
    with b.into(region):
        b.yield_()
    return region


# ---- the tasks that look for conflicts


def _search(watch: Watched, places: dict[str, Place]) -> Task:
    """The task that puts the first row with a conflict on record."""
    body, inside, conflict = Region(), Region([Value(i64)]), Region()
    b = Builder(body)
    bounds = b.const(0, i64), b.shape(places[MARKS], 0, i64)
    (row,) = inside.args
    with b.into(inside):
        conflicts = _conflicts(b, watch, places, row)
        with b.into(conflict):
            distance = b.sub(b.const(watch.top, watch.dtype), b.cast(row, watch.dtype))
            b.atomic("max", places[RECORD], [b.const(0, i64)], distance)
            b.yield_()
        b.if_(conflicts, conflict, _nothing(b))
        b.yield_()
    b.parallel_for([bounds], inside)
    b.return_()
    return Task("races.search", body, "parallel")


def _conflicts(b: Builder, watch: Watched, places: dict[str, Place], row: Value) -> Value:
    """Whether there is a conflict in a row of marks."""

    def iteration(word: Value) -> Value:
        return b.emit(SHR, word, b.const(watch.shift, watch.dtype)) if watch.shift else word

    one, none = b.const(1, watch.dtype), b.const(0, watch.dtype)
    there: dict[OpDef, Value] = {}
    ends: dict[OpDef, tuple[Value, Value]] = {}
    for k, kind in enumerate(watch.kinds):
        far, after = (b.load(places[MARKS], [row, b.const(2 * k + j, i64)]) for j in (0, 1))
        there[kind] = b.ne(after, none)
        ends[kind] = iteration(b.sub(b.const(watch.top, watch.dtype), far)), iteration(b.sub(after, one))
    several = b.const(False, u1)
    if STORE in ends:
        several = b.and_(there[STORE], b.ne(*ends[STORE]))
    for kind, other in PAIRS:
        if kind in ends and other in ends:
            (least, greatest), (low, high) = ends[kind], ends[other]
            differ = b.or_(b.ne(least, high), b.ne(greatest, low))
            several = b.or_(several, b.and_(b.and_(there[kind], there[other]), differ))
    return several


def _tell(watch: Watched, places: dict[str, Place]) -> Task:
    """The task that adds that row of marks to the record."""
    body, copied = Region(), Region()
    b = Builder(body)
    distance = b.load(places[RECORD], [b.const(0, i64)])
    with b.into(copied):
        row = b.cast(b.sub(b.const(watch.top, watch.dtype), distance), i64)
        for k in range(2 * len(watch.kinds)):
            word = b.load(places[MARKS], [row, b.const(k, i64)])
            b.store(places[RECORD], [b.const(1 + k, i64)], word)
        b.yield_()
    b.if_(b.ne(distance, b.const(0, watch.dtype)), copied, _nothing(b))
    b.return_()
    return Task("races.tell", body, "serial")
