"""Tasks as LLVM functions.

A serial task is `void task(ptr ctx)`. A parallel task is `void task(ptr ctx, i64 begin, i64 end, i64 seat)`, which runs
the iterations [begin, end) of the row-major order of its box, `lanes` at a time and the rest one by one, and
`i64 task.count(ptr ctx)`, which says how many iterations there are. `ctx` is laid out as `context.Context` says. No two
threads that run a task at the same time have the same seat: they count from 0, and say whose adstacks are whose.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from adstack.analysis.accumulation import is_ordered
from adstack.analysis.exclusivity import by_place
from adstack.analysis.iteration_space import (
    bound_ops,
    known_extent,
    side_by_side,
    side_by_side_in_row,
    stays_in_rows,
)
from adstack.analysis.manager import Analyses
from adstack.analysis.reductions import read_only_places
from adstack.analysis.store_sinking import sinkable_stores
from adstack.backends.shared.sites import Site
from adstack.ir.ops import RANDOM
from adstack.ir.structure import Op, Program, Region, Task
from adstack.ir.types import DType, i64
from adstack.runtime.adstacks.layout import Placement

from .adstacks import machine
from .adstacks.counted import counted_stacks
from .function import library_calls, random
from .function.adstack_state import Rows
from .function.context import Context
from .function.frame import TaskFrame
from .function.heap_table import Words, heap_of, table
from .function.module import Module
from .function.region import RegionEmitter
from .function.target import HOST, Target
from .function.teams import TeamCode
from .loops import branches, for_loops, while_loops
from .loops.iteration_space import Box, Rest, first_lanes
from .memory import access, atomics, thread_heap
from .memory.exclusive_updates import exclusive_atomics
from .memory.reductions import Reductions
from .safety import checks, notes
from .safety.assumptions import in_versions
from .text.writer import Writer, type_text

__all__ = ["Emitted", "emit_counts", "emit_program"]

_EMITTERS = (access, atomics, branches, checks, for_loops, library_calls, machine, random, while_loops)
"""Importing them registers what they emit."""


@dataclass
class Emitted:
    """The text of a program and what is needed to run it.

    Attributes:
        text: LLVM assembly.
        context: where its tasks find their arguments.
        sites: what may be reported, by number.
        lanes: per task, how many iterations run side by side.
        symbols: per task, its function; a parallel task's count is at symbol + ".count".
        rows: per task with adstacks in the heap, where the table tells about them.
        widths: per task whose iterations are blocks of threads that run side by side, how many threads run a block.
    """

    text: str
    context: Context
    sites: list[Site] = field(default_factory=list)
    lanes: list[int] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    rows: dict[int, Words] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)


def emit_program(
    program: Program,
    lanes: Sequence[int],
    *,
    debug: bool = False,
    target: Target = HOST,
    rests: Sequence[Rest] = (),
    framed: Mapping[int, Placement] = MappingProxyType({}),
    in_bounds: Mapping[Op, tuple[int, ...]] = MappingProxyType({}),
    sites: list[Site] | None = None,
    analyses: Analyses | None = None,
) -> Emitted:
    """All tasks of a program in one module.

    Args:
        program: verified.
        lanes: iterations side by side, per task.
        debug: whether checks are emitted.
        target: the machine.
        rests: per task, what becomes of the last iterations, too few for all lanes; one by one where that is not told.
        framed: the tasks whose adstacks are in the frame of their function instead of the heap, and where there.
        in_bounds: guarded accesses -> the axes on which they need no guard.
        sites: those of other code for the same program, which are added to.
        analyses: facts about the program's regions, as far as they are known; it must not change from now on.
    """
    module = Module(target.head, target.space, unoptimised=target.unoptimised)
    context, kept_sites, rows = Context.of(program), [] if sites is None else sites, {} if framed else table(program)
    symbols, analyses = [f"task{number}" for number in range(len(program.tasks))], analyses or Analyses()
    out, section = Emitted("", context, kept_sites, list(lanes), symbols, rows), 0
    for number, (task, symbol) in enumerate(zip(program.tasks, symbols, strict=True)):
        emitter = _TaskEmitter(module, out, task, symbol, debug, target, analyses)
        emitter.words, emitter.framed, emitter.in_bounds = out.rows.get(number), framed.get(number), in_bounds
        if task.kind == "parallel":
            rest = rests[number] if number < len(rests) else Rest.ONE_BY_ONE
            emitter.parallel(out.lanes[number], 2 * section + 1, rest)
            section += 1
        else:
            emitter.serial(2 * section)
    out.text = module.text
    return out


def emit_counts(program: Program, tasks: Sequence[int], analyses: Analyses) -> str:
    """The functions alone that count the iterations of these tasks, for the host; nothing is checked in them."""
    module = Module()
    out = Emitted("", Context.of(program))
    for number in tasks:
        _TaskEmitter(module, out, program.tasks[number], f"task{number}", False, HOST, analyses).count()
    return module.text


class _TaskEmitter:
    """Emits the functions of one task."""

    def __init__(
        self,
        module: Module,
        out: Emitted,
        task: Task,
        symbol: str,
        debug: bool,
        target: Target,
        analyses: Analyses,
    ) -> None:
        self.module, self.out, self.task, self.symbol, self.debug = module, out, task, symbol, debug
        self.target, self.analyses = target, analyses
        self.words: Words | None = None
        self.framed: Placement | None = None
        self.in_bounds: Mapping[Op, tuple[int, ...]] = {}

    def serial(self, section: int) -> None:
        """One function that runs the task."""
        e = self._open(parallel=False, section=section)
        e.frame.poll = self._poll()
        self.target.begin(e)
        e.rows = self._rows(e, 1, parallel=False)
        self._restart_random(e)
        e.region(self.task.body)
        _finish(e)
        self._close(e, self.target.serial(self.symbol))

    def parallel(self, lanes: int, section: int, rest: Rest) -> None:
        """The function that runs a range of iterations, and the one that counts them if constants don't."""
        *header, loop, _ = self.task.body.ops
        if self.target.counts and not known_extent(loop, header):
            self.count()
        if self.target.shares and any(op.attrs.get("sums") == "tiled" for op in loop.regions[0].walk()):
            self.count(of_row=True)
        e = self._open(parallel=True, section=section)
        e.frame.poll, e.frame.seat = self._poll(), "%seat"
        self.target.begin(e)
        self._team_up(e)
        e.rows = self._rows(e, lanes, parallel=True)
        for op in header:
            e.op(op)
        e.settle()
        box = Box(e, loop, known_extent(loop, header))
        reductions = Reductions({} if self.debug else self.analyses.get(by_place, loop.regions[0]))
        reductions.prepare(e, loop.regions[0])
        e.exclusive = exclusive_atomics(e, loop.regions[0], self.analyses)
        if "%apart" in e.exclusive.values():
            word = _slot(e.w, self.out.context.size, "i64")
            e.w.do(f"%apart = icmp ne i64 {word}, 0")
        in_rows = stays_in_rows(self.task.body, lanes, self.analyses)
        if lanes == 1 or not (in_rows or rest is Rest.NONE or (len(box.extent) == 1 and not reductions.apart)):
            rest = Rest.ONE_BY_ONE
        start, stop, step = (self.target.span if e.team is None else e.team.blocks.span)(e.w, box.total)
        if is_ordered(self.task) and step != "1":  # of several threads, the first one
            first = e.w.let(f"icmp eq i64 {start}, 0")
            stop, step = e.w.let(f"select i1 {first}, i64 {stop}, i64 0"), "1"
        if lanes > 1:
            start = self._vector_loop(e, box, reductions, lanes, rest, in_rows=in_rows)
        if reductions.apart or (rest is Rest.ONE_BY_ONE and not in_rows):
            reductions.open(e)
            in_versions(e, self.task, lambda: self._iterate(e, start, stop, step, box.bind_one, loop.regions[0]))
            reductions.close(e)
        _finish(e)
        head = self.target.parallel if e.team is None else e.team.blocks.head
        self._close(e, head(self.symbol))

    def _team_up(self, e: RegionEmitter) -> None:
        """Begin as one of a block's threads, if the machine runs those side by side."""
        team = self.target.team(self.task)
        if team is not None:
            blocks = self.target.thread_blocks(team)
            e.team = TeamCode(e, team, blocks, self.module, self.symbol)
            self.out.widths[self.symbol] = blocks.width

    def _rows(self, e: RegionEmitter, lanes: int, *, parallel: bool) -> Rows | None:
        """The rows of the adstack heap, or of the frame, that the thread uses; None if there are none."""
        if self.framed is not None:
            heap = heap_of(self.task)
            assert heap is not None
            taken = lanes * (self.framed.stride + self.framed.beyond)
            return Rows(heap, e.frame.slot(f"[{taken} x i8]"), placement=self.framed)
        if self.words is None:
            return None
        size = e.w.let(f"load i64, ptr {e.w.let(f'getelementptr i64, ptr %rows, i64 {self.words.block}')}, align 8")
        return Rows(self.words.heap, self.target.block(e, size, parallel=parallel), self.words)

    def _poll(self) -> int | None:
        return self.out.context.own["poll"] if self.target is HOST else None

    def count(self, *, of_row: bool = False) -> None:
        """The function that counts the iterations, or those of a row: that have one and the same outermost index."""
        e = self._open(parallel=False, section=0)
        e.frame.leave = "ret i64 0"
        for op in self.analyses.get(bound_ops, self.task.body):
            e.op(op)
        total = Box(e, self.task.body.ops[-2], None).total(int(of_row))
        notes.record_notes(e)
        e.w.do(f"ret i64 {total}")
        name = "row" if of_row else "count"
        self._close(e, f'define internal i64 @"{self.symbol}.{name}"(ptr noalias %ctx)', inline=True)

    # ---- loops over iterations

    def _vector_loop(
        self, e: RegionEmitter, box: Box, reductions: Reductions, lanes: int, rest: Rest, *, in_rows: bool
    ) -> str:
        """Run `lanes` iterations at a time, to the last whole vector, or under a mask to the end; where it stops."""
        body = box.loop.regions[0]
        stop = "%end" if in_rows else box.last_vector(lanes)
        if reductions.apart:
            stop = e.w.let(f"select i1 {reductions.apart}, i64 {stop}, i64 %begin")
        neighbours = self.analyses.get(side_by_side_in_row if in_rows else side_by_side, self.task.body)
        e.lanes, e.varying, e.strides = lanes, set(neighbours.varying), neighbours.strides
        reductions.open(e)
        if in_rows:
            position = self._along_rows(e, box, stop, rest)
        else:
            bind = functools.partial(box.bind_lanes, lanes=lanes)
            position = self._iterate(e, "%begin", stop, str(lanes), bind, body, masked=rest is Rest.MASKED)
        reductions.close(e)
        e.lanes, e.varying, e.strides = 1, set(), None
        return position

    def _along_rows(self, e: RegionEmitter, box: Box, stop: str, rest: Rest) -> str:
        """Row by row, the end of each, if it has a rest, under a mask (or all of it); gives where it stops."""
        head, inside, after = e.label("row"), e.label("along"), e.label("rows")
        before, lanes, body = e.block, str(e.lanes), box.loop.regions[0]
        e.jump(head)
        e.enter(head)
        row = e.w.let("phi i64")
        line = len(e.w.lines) - 1
        e.split(e.w.let(f"icmp slt i64 {row}, {stop}"), inside, after)
        e.enter(inside)
        bind, end = box.bind_row(row)
        end = e.w.intrinsic("llvm.smin.i64", "i64", [("i64", end), ("i64", stop)])
        start = row if rest is Rest.MASKED else self._iterate(e, row, end, lanes, bind, body)
        if rest is not Rest.NONE:
            self._iterate(e, start, end, lanes, bind, body, masked=True)
        e.w.lines[line] += f" [ %begin, %{before} ], [ {end}, %{e.block} ]"
        e.jump(head)
        e.enter(after)
        return row

    def _iterate(
        self,
        e: RegionEmitter,
        start: str,
        stop: str,
        step: str,
        bind: Callable[[str], None],
        body: Region,
        *,
        masked: bool = False,
    ) -> str:
        """A loop over positions in the row-major order; gives the first position that it did not run."""
        head, inside, after = e.label("chunk"), e.label("run"), e.label("ran")
        before = e.block
        e.jump(head)
        e.enter(head)
        position = e.w.let("phi i64")
        line = len(e.w.lines) - 1
        following = e.w.let(f"add i64 {position}, {step}")
        all_lanes_run = e.lanes > 1 and not masked
        last = following if all_lanes_run else position
        e.split(e.w.let(f"icmp {'sle' if all_lanes_run else 'slt'} i64 {last}, {stop}"), inside, after)
        e.enter(inside)
        e.frame.iteration, e.frame.indices = position, tuple(body.args)
        self._restart_random(e)
        bind(position)
        notes.note_iteration(e, body)
        with e.masked(first_lanes(e, position, stop) if masked else None):
            e.region(body)
        e.frame.noted, e.frame.noted_bytes = {}, 0
        e.w.lines[line] += f" [ {start}, %{before} ], [ {following}, %{e.block} ]"
        e.jump(head)
        e.enter(after)
        return position

    def _restart_random(self, e: RegionEmitter) -> None:
        """Set the counters of random numbers to zero, at the start of an iteration."""
        if any(op.opdef is RANDOM for op in self.task.body.walk()):
            ty = type_text(i64, e.lanes)
            e.w.do(f"store {ty} {e.w.constant(0, i64, e.lanes)}, ptr {e.frame.counter_of(e.lanes)}, align 64")

    # ---- the function around

    def _open(self, *, parallel: bool, section: int) -> RegionEmitter:
        """Begin a function, whose entry block reads the context."""
        w = Writer()
        e = RegionEmitter(self.module, w, 1, set())
        e.stack_groups = counted_stacks(self.task.body, heap_of(self.task))
        context = self.out.context
        for arg, slot in zip(self.task.body.args, context.params, strict=True):
            e.bind(arg, _parameter(e, arg.dtype, slot))
        places = {op.attrs["place"].name for op in self.task.body.walk() if "place" in op.attrs}
        pointers = {name: self._address(w, slot) for name, slot in context.pointers.items() if name in places}
        extents = {key: _slot(w, slot, "i64") for key, slot in context.extents.items() if key[0] in places}
        e.task = TaskFrame(
            name=self.task.name,
            debug=self.debug,
            parallel=parallel,
            pointers=pointers,
            extents=extents,
            sites=self.out.sites,
            section=section,
        )
        e.target, e.task.space = self.target, self.target.space
        e.task.array_limit, e.task.in_bounds = self.target.array_bytes, self.in_bounds
        e.task.outside = context.own["outside"]
        if self.target.invariant_loads and parallel:
            e.task.read_only = frozenset(self.analyses.get(read_only_places, self.task.body))
        if self.target.together and parallel and not self.debug:
            e.task.combines = any(op.attrs.get("sums") == "subgroup" for op in self.task.body.walk())
        if self.target.loop_versions and parallel and not self.debug:
            e.sunk = self.analyses.get(sinkable_stores, self.task.body.ops[-2].regions[0])
        for name, slot in context.own.items():
            if name in ("parallel", "sized", "poll", "stop", "unfit", "outside"):
                continue
            w.lines += self.target.own(name, slot, context.size)
        return e

    def _address(self, w: Writer, slot: int) -> str:
        return self.target.address(w, w.let(f"getelementptr i64, ptr %ctx, i64 {slot}"))

    def _close(self, e: RegionEmitter, head: str, *, inline: bool = False) -> None:
        empty = [f"  store ptr null, ptr {slot}, align 8" for slot in e.frame.heap]
        body = "\n".join([*e.frame.slots, *notes.open_notes(e), *empty, *e.w.lines])
        self.module.take(e.w)
        self.module.define(f"{head} {'#2' if inline else '#0'} {{\nentry:\n{body}\n}}\n")


def _finish(e: RegionEmitter) -> None:
    """Emit the end of a task, where it also goes when it is interrupted."""
    e.jump("finish")
    e.enter("finish")
    thread_heap.release(e)
    notes.record_notes(e)
    if e.team is None:
        e.w.do("ret void")
    else:
        e.team.blocks.end(e)


def _slot(w: Writer, slot: int, ty: str) -> str:
    at = w.let(f"getelementptr i64, ptr %ctx, i64 {slot}")
    return w.let(f"load {ty}, ptr {at}, align 8")


def _parameter(e: RegionEmitter, dtype: DType, slot: int) -> str:
    """Load a scalar argument from the first bytes of its slot."""
    name = _slot(e.w, slot, access.memory_type(dtype))
    return access.from_memory(e, name, dtype, 1)
