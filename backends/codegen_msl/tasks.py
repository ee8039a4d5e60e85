"""A program as one source: what a launch hands over as a struct, and a kernel function for each task.

A serial task is one thread. In a parallel task as many threads as were dispatched share the iterations: thread t of n
runs t, t + n, t + 2n... of the row-major order of the box. So any number of threads is right, and the extents may be
known to the device alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from adstack.analysis.accumulation import is_ordered
from adstack.analysis.manager import Analyses
from adstack.backends.shared.launch_words import Context
from adstack.backends.shared.sites import Site
from adstack.backends.shared.ways import alone
from adstack.backends.shared.workgroups import team_in
from adstack.ir.ops import RANDOM
from adstack.ir.structure import Op, Program, Task

from . import access, atomics, calls, checks, control, pure, random, stacks
from .frame import TaskFrame
from .gathering import COUNT, LANE, NUMBER, WIDTH, close, gather
from .library import Library
from .prelude import HEAD, prelude
from .region import RegionEmitter
from .rows import Rows
from .spelling import memory_type, symbol
from .struct import member_names, struct_of
from .teams import NUMBER as NUMBER_OF_TEAM
from .teams import PARAMETERS, ROOM, STEP, TeamCode
from .writer import Writer

__all__ = ["Emitted", "emit_program"]

_EMITTERS = (access, atomics, calls, checks, control, pure, random, stacks)
"""Importing them registers what they emit."""
_PARAMETERS = (
    "device Launch& launch [[buffer(0)]], uint thread [[thread_position_in_grid]], uint threads [[threads_per_grid]]"
)
_TOGETHER = f", uint {LANE} [[thread_index_in_simdgroup]], uint {WIDTH} [[threads_per_simdgroup]]"
"""More of them, where threads combine what they have."""
_GROUPED = f", uint {NUMBER} [[simdgroup_index_in_threadgroup]], uint {COUNT} [[simdgroups_per_threadgroup]]"
"""More of them, where those of a threadgroup do."""


@dataclass
class Emitted:
    """The source of a program, and what is needed to run it.

    Attributes:
        text: of all tasks.
        names: of the kernel functions, one per task.
        context: where tasks find their arguments.
        sites: what may be reported, by number.
        widths: of tasks whose iterations are blocks of threads that run side by side, how many threads a block has.
    """

    text: str
    names: list[str]
    context: Context
    sites: list[Site] = field(default_factory=list)
    widths: dict[int, int] = field(default_factory=dict)


def emit_program(program: Program, *, debug: bool = False, analyses: Analyses | None = None) -> Emitted:
    """Every task of a program as a kernel function.

    Args:
        program: verified.
        debug: whether checks are emitted.
        analyses: facts about the program's regions, as far as they are known; it must not change from now on.

    Raises:
        BackendUnavailableError: the language has no way to say it: f64, atomic updates of 64 bits.
    """
    out, library, analyses = Emitted("", [], Context.of(program)), Library(), analyses or Analyses()
    kernels, section = [], 0
    for number, task in enumerate(program.tasks):
        parallel = task.kind == "parallel"
        name = f"{symbol(task.name)}_{number}"
        emitter = _TaskEmitter(program, out, library, number, 2 * section + parallel, analyses, debug=debug)
        lines = emitter.lines()
        parameters = _PARAMETERS + emitter.more
        head = f"kernel void {name}({parameters}) {{"
        if emitter.team is not None:
            out.widths[number] = width = emitter.team.threads
            head = f"[[max_total_threads_per_threadgroup({width})]] {head}"
        kernels.append("\n".join([head, *lines, "}"]))
        out.names.append(name)
        section += parallel
    body = "\n\n".join([struct_of(program, out.context), *library.texts, *kernels])
    out.text = "\n\n".join(filter(None, [HEAD, prelude(body), body])) + "\n"
    return out


class _TaskEmitter:
    """Emits the kernel function of one task."""

    def __init__(
        self,
        program: Program,
        out: Emitted,
        library: Library,
        number: int,
        section: int,
        analyses: Analyses,
        *,
        debug: bool,
    ) -> None:
        self.program, self.out, self.number, self.section, self.debug = program, out, number, section, debug
        self.task: Task = program.tasks[number]
        self.analyses = analyses
        self.w = Writer()
        self.e = RegionEmitter(self.w, library)
        self.team = team_in(self.task, ROOM, debug=debug)

    def lines(self) -> list[str]:
        """The body of the function."""
        if self.debug:  # a launch ends with its first failed check
            self.w.line("if (uint(launch.errors[0]) != 0) return;")
        self._open()
        if self.task.kind == "parallel":
            self._parallel()
        else:
            self.e.region(self.task.body)
        return self._used()

    @property
    def more(self) -> str:
        """Parameters of the function besides those that all have, once its lines are there."""
        if self.team is not None:
            return _TOGETHER + _GROUPED + PARAMETERS
        if not self.e.gathered:
            return ""
        return _TOGETHER if self.e.frame.leaves else _TOGETHER + _GROUPED

    def _used(self) -> list[str]:
        """The lines, without extents that nothing asks for."""
        words = Counter(word for line in self.w.lines for word in re.findall(r"\w+", line))
        unused = {f"const long {name} =" for name in self.e.frame.extents.values() if words[name] == 1}
        return [line for line in self.w.lines if line.strip().rpartition("=")[0].strip() + " =" not in unused]

    def _open(self) -> None:
        """Read what the launch hands over."""
        w, e, context = self.w, self.e, self.out.context
        for k, arg in enumerate(self.task.body.args):
            if arg.uses:
                e.let(arg, f"launch.param_{k}")
        e.task = self._frame()
        words = context.heaps.get(self.number)
        if words is not None:
            e.task.rows = Rows(w, words, self.number)

    def _frame(self) -> TaskFrame:
        names = member_names(self.program)
        places = {op.attrs["place"].name: op.attrs["place"] for op in self.task.body.walk() if "place" in op.attrs}
        pointers = {
            name: self.w.typed(f"device {memory_type(place.dtype)}* const", f"launch.{names[name]}", name)
            for name, place in places.items()
        }
        extents = {
            key: self.w.typed("long", f"launch.extent_{names[key[0]]}_{key[1]}", f"{key[0]}_extent")
            for key in self.out.context.extents
            if key[0] in places
        }
        draws = any(op.opdef is RANDOM for op in self.task.body.walk())
        return TaskFrame(
            name=self.task.name,
            debug=self.debug,
            parallel=self.task.kind == "parallel",
            pointers=pointers,
            extents=extents,
            sites=self.out.sites,
            section=self.section,
            counter=self.w.variable("uint", "0u", "drawn") if draws else "",
        )

    # ---- parallel loops

    def _parallel(self) -> None:
        *header, loop, _ = self.task.body.ops
        e, w, frame = self.e, self.w, self.e.frame
        for op in header:
            e.op(op)
        box = _Box(e, loop)
        total, first, step = box.total(), "thread", "threads"
        if self.team is not None:
            e.team, first, step = TeamCode(w, self.team), NUMBER_OF_TEAM, STEP
        if frame.rows is not None:  # threads without rows in the heap do nothing
            step = frame.rows.threads
            total = w.typed("ulong", f"thread < {step} ? {total} : 0ul", "total")
        ordered = is_ordered(self.task)
        if ordered:
            total, step = w.typed("ulong", f"thread == 0 ? {total} : 0ul", "total"), "1"
        gathered = () if self.debug or ordered else gather(e, loop.regions[0], self.analyses)
        e.own = set() if self.team else set(alone(loop.regions[0], "own", self.analyses))
        with w.block(f"for (ulong position = {first}; position < {total}; position += {step})"):
            frame.iteration, frame.indices = "position", tuple(loop.regions[0].args)
            if frame.counter:
                w.line(f"{frame.counter} = 0u;")
            box.bind()
            e.region(loop.regions[0])
            frame.indices = ()
        close(e, gathered)


class _Box:
    """The iteration space of a `parallel_for`: per axis its lower bound and its extent."""

    def __init__(self, e: RegionEmitter, loop: Op) -> None:
        self.e, self.loop = e, loop
        self.low: list[str] = []
        self.extent: list[str] = []
        for lo, hi in zip(loop.operands[::2], loop.operands[1::2], strict=True):
            low, high = e.index(lo), e.index(hi)
            self.low.append(low)
            first, end = e.number(lo), e.number(hi)
            if first is not None and end is not None:
                self.extent.append(f"{max(end - first, 0)}ul")
                continue
            some = f"{e.get(lo)} < {e.get(hi)} ? ulong({high}) - ulong({low}) : 0ul"
            self.extent.append(e.w.typed("ulong", some, "extent"))

    def total(self) -> str:
        """How many points there are."""
        return " * ".join(self.extent) if len(self.extent) == 1 else f"({' * '.join(self.extent)})"

    def bind(self) -> None:
        """Bind the indices of one iteration."""
        parts, rest = list[str](), "position"
        for extent in reversed(self.extent[1:]):
            parts.append(f"{rest} % {extent}")
            rest = f"({rest} / {extent})"
        parts.append(rest)
        indices: Sequence[str] = parts[::-1]
        for arg, low, at in zip(self.loop.regions[0].args, self.low, indices, strict=True):
            number = at if low == "0l" else f"ulong({low}) + {at}"
            self.e.let(arg, f"{memory_type(arg.dtype)}({number})")
