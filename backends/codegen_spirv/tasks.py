"""Tasks as compute shaders.

The address of the launch's words (`shared/launch_words.py`) comes as a push constant. A serial task is one thread. One
that has nothing to report may be told of several launches, whose words stand one behind the other: it does one after
another.

In a parallel task as many threads as were dispatched share the iterations: thread t of n runs t, t + n, t + 2n... of
the row-major order of the box. So any number of threads is right, and the extents may be known to the device alone.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field

from adstack.analysis.accumulation import is_ordered
from adstack.analysis.induction import values_in_32_bits
from adstack.analysis.iteration_space import known_extent
from adstack.analysis.manager import Analyses
from adstack.backends.shared.launch_words import Context
from adstack.backends.shared.sites import Site
from adstack.backends.shared.ways import alone
from adstack.backends.shared.workgroups import Room, team_in
from adstack.ir.ops import CALL, PRINT, RANDOM, STACK_ALLOCA
from adstack.ir.structure import Op, Program, Task
from adstack.ir.types import DType, i32, i64, u32, u64

from . import access, atomics, calls, checks, control, pure, random, stacks
from .assembly.code import Code, Num
from .assembly.module import Module
from .assembly.opcodes import BUILTIN, Storage
from .assembly.opcodes import Op as Spv
from .assembly.traits import IEEE, Traits
from .assumptions import in_versions
from .frame import TaskFrame
from .gathering import gather
from .memory import REPORTS, WORDS, Address, buffer_of, memory_of
from .region import RegionEmitter
from .rows import Rows
from .teams import TeamCode

__all__ = ["Emitted", "Shader", "emit_program"]

_MOST_CALLS = 12
"""With more of them, the code of functions is kept short: drivers write it out for every call."""
_LEAST = 4
"""Bytes that an element of a workgroup's memory may take, where drivers choose: a u1 as a word."""
_EMITTERS = (access, atomics, calls, checks, control, pure, random, stacks)
"""Importing them registers what they emit."""


@dataclass(frozen=True)
class Shader:
    """A task's module.

    Attributes:
        task: what it does.
        words: SPIR-V.
        local_size: how many iterations a workgroup takes at once: one for each thread, or one block of threads.
        capabilities: what the module declares.
        repeats: whether it can be told of several launches.
        buffers: what is bound for it, in this order (see `buffer_of`).
    """

    task: Task
    words: list[int]
    local_size: int
    capabilities: frozenset[int]
    repeats: bool = False
    buffers: tuple[str, ...] = ()


@dataclass
class Emitted:
    """The shaders of a program, and what is needed to run it.

    Attributes:
        shaders: one per task.
        context: where tasks find their arguments.
        sites: what may be reported, by number.
    """

    shaders: list[Shader]
    context: Context
    sites: list[Site] = field(default_factory=list)


def emit_program(
    program: Program,
    traits: Traits = IEEE,
    *,
    debug: bool = False,
    local_size: int = 64,
    analyses: Analyses | None = None,
) -> Emitted:
    """Every task of a program as a shader.

    Args:
        program: verified.
        traits: of the device.
        debug: whether checks are emitted.
        local_size: threads of a workgroup in a parallel task.
        analyses: facts about the program's regions, as far as they are known; it must not change from now on.
    """
    out, analyses = Emitted([], Context.of(program)), analyses or Analyses()
    section = 0
    for number, task in enumerate(program.tasks):
        parallel = task.kind == "parallel"
        emitter = _TaskEmitter(out, number, task, traits, 2 * section + parallel, analyses, debug=debug)
        out.shaders.append(emitter.shader(local_size if parallel else 1))
        section += parallel
    return out


class _TaskEmitter:
    """Emits the module of one task."""

    def __init__(
        self,
        out: Emitted,
        number: int,
        task: Task,
        traits: Traits,
        section: int,
        analyses: Analyses,
        *,
        debug: bool,
    ) -> None:
        self.out, self.number, self.task, self.section, self.debug = out, number, task, section, debug
        self.analyses = analyses
        self.local_size = 1
        room = Room(traits.threads if traits.endless else 0, traits.shared, least=_LEAST, atomics=(32,))
        self.team = team_in(task, room, debug=debug)
        self.m = Module(traits)
        self.m.fast_paths = sum(op.opdef is CALL for op in task.body.walk()) <= _MOST_CALLS
        self.c = Code(self.m)
        self.memory = memory_of(traits)

    def shader(self, local_size: int) -> Shader:
        """The task, run by workgroups of so many threads."""
        self.local_size = 1 if self.team else local_size
        repeats = self.task.kind != "parallel" and not self._ends_early(self.m.traits) and "print" not in self._own()
        if repeats:
            self._repeat()
        else:
            (address,) = self._pushed(u64)
            self._launch(self.memory.of(WORDS, address))
        self.c.do(Spv.Return)
        main = self.m.new()
        self.m.add(self.c.function(main, self.m.void, self.m.signature(self.m.void)))
        self.m.entry(main, self.team.threads if self.team else local_size)
        return Shader(self.task, self.m.words, self.local_size, self.m.capabilities, repeats, self.memory.buffers)

    def _repeat(self) -> None:
        """Launch by launch: pushed are the address of the first one's words, how many there are, how far apart."""
        address, count, stride = self._pushed(u64, u32, u32)
        memory = self.memory
        first, wide = (number.resize(memory.counts) for number in (address, stride))

        def iteration(carried: Sequence[Num]) -> tuple[Num, Sequence[Num]]:
            base, done = carried
            self._launch(memory.of(WORDS, base))
            return done + 1 < count, [base + wide, done + 1]

        self.c.until([first, self.c.const(0, u32)], iteration)

    def _launch(self, base: Address) -> None:
        """All of one launch."""
        e = self._open(base)
        if self.debug:
            self._leave_if_failed(e)
        if not self.m.traits.endless:
            self._watch_loops(e)
        if self.task.kind == "parallel":
            self._parallel(e)
        else:
            self._restart_random(e)
            e.region(self.task.body)

    # ---- the start

    def _pushed(self, *types: DType) -> list[Num]:
        """The push constants."""
        c, m = self.c, self.m
        offsets = [sum(dtype.size for dtype in types[:k]) for k in range(len(types))]
        block = m.push_constants(*((m.type(dtype), at) for dtype, at in zip(types, offsets, strict=True)))
        values = []
        for k, dtype in enumerate(types):
            pointer = m.pointer(Storage.PushConstant, m.type(dtype))
            values.append(c.let(Spv.Load, dtype, c.raw(Spv.AccessChain, pointer, block, m.word(k))))
        return values

    def _open(self, base: Address) -> RegionEmitter:
        """Read what the launch hands over."""
        c, context = self.c, self.out.context
        e = RegionEmitter(c)
        e.few = self.analyses.get(values_in_32_bits, self.task.body)
        for arg, slot in zip(self.task.body.args, context.params, strict=True):
            if arg.uses:
                e.bind(arg, (base + 8 * slot).load(arg.dtype))
        e.task = self._frame(base)
        words = context.heaps.get(self.number)
        if words is not None:
            e.task.rows = Rows(c, self.memory, words, base, e.task.thread)
        return e

    def _frame(self, base: Address) -> TaskFrame:
        c, context = self.c, self.out.context
        places = {op.attrs["place"].name for op in self.task.body.walk() if "place" in op.attrs}
        outer = context.pointers | context.depths
        pointers = {n: self._handed(base, slot, buffer_of(n)) for n, slot in outer.items() if n in places}
        pointers |= {name: base + at for name, at in context.inside.items() if name in places}
        extents = {k: (base + 8 * slot).load(i64) for k, slot in context.extents.items() if k[0] in places}
        needed = self._own()
        own = {n: self._handed(base, context.own[n], buffer) for n, buffer in REPORTS.items() if n in needed}
        keys = {n: (base + 8 * context.own[n]).load(u32) for n in ("seed", "launch") if n in needed}
        zero = c.const(0, u64)
        parallel = self.task.kind == "parallel"
        thread, threads = self._threads() if parallel else (zero, c.const(1, u64))
        return TaskFrame(
            name=self.task.name,
            debug=self.debug,
            parallel=parallel,
            own=own,
            keys=keys,
            pointers=pointers,
            extents=extents,
            sites=self.out.sites,
            section=self.section,
            iteration=zero,
            thread=thread,
            threads=threads,
        )

    def _handed(self, base: Address, slot: int, buffer: str) -> Address:
        """Where something is that the launch says where it is."""
        memory = self.memory
        return memory.of(buffer, (base + 8 * slot).load(memory.counts))

    def _ends_early(self, traits: Traits) -> bool:
        """Whether a report may end the thread."""
        stacks = any(op.opdef is STACK_ALLOCA for op in self.task.body.walk())
        return self.debug or stacks or not traits.endless

    def _own(self) -> Sequence[str]:
        """Which of the runtime's words the task needs."""
        rows = {op.opdef for op in self.task.body.walk()}
        guarded = any("guarded" in op.attrs for op in self.task.body.walk())
        wanted = ["errors"] if self._ends_early(self.m.traits) or guarded else []
        wanted += ["overflow"] if STACK_ALLOCA in rows else []
        wanted += ["print"] if PRINT in rows else []
        wanted += ["seed", "launch"] if RANDOM in rows else []
        return wanted

    def _threads(self) -> tuple[Num, Num]:
        """The number of this thread, and how many there are; where iterations are blocks, the same of workgroups."""
        c, m = self.c, self.m
        three = m.vector(u32, 3)
        components = []
        for name in ("WorkgroupId" if self.team else "GlobalInvocationId", "NumWorkgroups"):
            vector = c.raw(Spv.Load, three, m.builtin(BUILTIN[name], three))
            components.append(c.let(Spv.CompositeExtract, u32, vector, 0).resize(u64))
        return components[0], components[1] * self.local_size

    def _leave_if_failed(self, e: RegionEmitter) -> None:
        """A launch ends with its first failed check."""
        c = self.c
        failed = e.frame.own["errors"].load(u32).ne(0)
        leave, go_on = c.m.new(), c.m.new()
        c.do(Spv.SelectionMerge, go_on, 0)
        c.split(failed, leave, go_on)
        c.enter(leave)
        c.do(Spv.Return)
        c.enter(go_on)

    def _watch_loops(self, e: RegionEmitter) -> None:
        """A loop that the driver ended is reported."""
        site = Site("loops", "", self.task.body.terminator.loc)

        def watch(going: Num) -> None:
            self.c.watch = None  # the report has none
            checks.refuse(e, site, going, ())
            self.c.watch = watch

        self.c.watch = watch

    def _restart_random(self, e: RegionEmitter) -> None:
        """No number has been drawn yet."""
        if any(op.opdef is RANDOM for op in self.task.body.walk()):
            if not e.frame.counter:
                e.frame.counter = self.c.local(self.m.type(u32))
            self.c.do(Spv.Store, e.frame.counter, self.m.word(0))

    # ---- parallel loops

    def _parallel(self, e: RegionEmitter) -> None:
        *header, loop, _ = self.task.body.ops
        for op in header:
            e.op(op)
        e.settle()
        c, frame = self.c, e.frame
        box = _Box(e, loop, known_extent(loop, header))
        total, threads = box.total, frame.threads
        if frame.rows is not None:
            # threads without rows in the heap do nothing
            threads = frame.rows.threads
            total = (frame.thread < threads).choose(total, 0)
        ordered = is_ordered(self.task)
        if ordered:
            total, threads = frame.thread.eq(0).choose(total, 0), c.const(1, u64)
        first, threads = frame.thread.resize(box.counts), threads.resize(box.counts)

        def iteration(carried: Sequence[Num]) -> list[Num]:
            position = carried[0]
            frame.iteration, frame.indices = position.resize(u64), tuple(loop.regions[0].args)
            self._restart_random(e)
            box.bind(position)
            e.region(loop.regions[0])
            frame.indices = ()
            return [position + threads]

        gathered = () if self.debug or ordered else gather(e, loop.regions[0], self.analyses)
        if self.team is None:
            e.own = set(alone(loop.regions[0], "own", self.analyses))
        else:
            e.team = TeamCode(c, self.team)
        in_versions(e, self.task, lambda: c.loop([first], lambda carried: (carried[0] < total, carried), iteration))
        for atomic in gathered:
            atomic.close(e)


class _Box:
    """The iteration space of a `parallel_for`: per axis its lower bound and its extent.

    Args:
        e: emits its code.
        loop: the `parallel_for`.
        points: how many there are, where that is known when compiling.

    Attributes:
        counts: the type in which its points are counted. u32 where their number is known and small enough that the
            next point of any thread has a number, too: devices have no division of 64 bits.
        total: how many points there are.
    """

    def __init__(self, e: RegionEmitter, loop: Op, points: int | None) -> None:
        self.e, self.loop = e, loop
        self.low: list[Num] = []
        self._extents: list[Num] = []
        self.counts: DType = u32 if points is not None and points <= i32.max else u64
        for lo, hi in zip(loop.operands[::2], loop.operands[1::2], strict=True):
            some = e.get(lo) < e.get(hi)
            low = e.index(lo)
            self.low.append(low)
            self._extents.append(some.choose(e.index(hi) - low, 0).resize(self.counts))
        self.total = functools.reduce(operator.mul, self._extents)

    def bind(self, position: Num) -> None:
        """Bind the indices of one iteration."""
        for arg, low, at in zip(self.loop.regions[0].args, self.low, self._indices(position), strict=True):
            self.e.bind(arg, low.resize(arg.dtype) + at.resize(arg.dtype))

    def _indices(self, position: Num) -> list[Num]:
        """How far the indices of a point are from the lower bounds."""
        extents = self._extents[1:]
        if not extents or self.counts is u32:
            return _split(position, extents)

        def narrow() -> list[Num]:
            return [at.resize(u64) for at in _split(position.resize(u32), [n.resize(u32) for n in extents])]

        return self.e.c.either(self.total <= u32.max, narrow, lambda: _split(position, extents))


def _split(position: Num, extents: Sequence[Num]) -> list[Num]:
    """The indices of a position in row-major order; the first axis, which needs no extent, too."""
    rest, indices = position, list[Num]()
    for extent in reversed(extents):
        indices.append(rest % extent)
        rest = rest // extent
    return [rest, *reversed(indices)]
