"""A program as one LLVM module for the host's processor: its tasks, and the entry that runs them."""

from __future__ import annotations

from dataclasses import dataclass

from adstack.analysis.manager import Analyses
from adstack.backends.codegen_llvm.function.heap_table import heap_of
from adstack.backends.codegen_llvm.loops.iteration_space import Rest
from adstack.backends.codegen_llvm.tasks import Emitted, emit_program
from adstack.backends.codegen_llvm.text.writer import Writer
from adstack.backends.shared.sites import Site
from adstack.ir.structure import Program, Task
from adstack.runtime.adstacks.layout import Placement
from adstack.runtime.assume import Assumed

from .copies import Copies
from .entry import entry_text
from .fitting import NOTHING
from .lanes import is_masked, is_whole, lanes_of
from .layout import stack_frames
from .sharing import is_shared, updates_of
from .tiles import Tiles

__all__ = ["Module", "emit_module"]


@dataclass(frozen=True)
class Module:
    """LLVM text of a whole program; `run` is its entry."""

    emitted: Emitted
    text: str


def emit_module(
    program: Program,
    *,
    debug: bool,
    lanes: int,
    vector_bytes: int,
    narrow: bool = False,
    framed: bool = False,
    assumed: Assumed = NOTHING,
    sites: list[Site] | None = None,
) -> Module:
    """Emit a program.

    Args:
        program: verified.
        debug: whether checks are emitted.
        lanes: of every parallel task; 0 leaves the choice to this module.
        vector_bytes: of a register.
        narrow: whether tasks with adstacks in the heap run one lane at a time.
        framed: whether adstacks are in the stack of the thread instead of the heap.
        assumed: which guards are left out, and what the entry looks for; it gives UNFIT if that is not so.
        sites: of other versions, which are added to.
    """
    analyses = Analyses()
    chosen = [lanes_of(task, lanes, vector_bytes, analyses, debug=debug) for task in program.tasks]
    chosen = [1 if narrow and heap_of(task) else width for task, width in zip(program.tasks, chosen, strict=True)]
    chosen, frames = stack_frames(program, chosen) if framed else (chosen, dict[int, Placement]())
    emitted = emit_program(
        program,
        chosen,
        debug=debug,
        rests=[_rest(task, width, vector_bytes) for task, width in zip(program.tasks, chosen, strict=True)],
        framed=frames,
        in_bounds=assumed.inside,
        sites=sites,
        analyses=analyses,
    )
    emitted.text += "" if debug else _share_text(program, emitted, analyses)
    return Module(emitted, emitted.text + entry_text(program, emitted, assumed, analyses, debug=debug))


def _rest(task: Task, lanes: int, vector_bytes: int) -> Rest:
    """How a task's last iterations run, which are too few for all lanes."""
    if is_whole(task, lanes):
        return Rest.NONE
    return Rest.MASKED if is_masked(task, vector_bytes) else Rest.ONE_BY_ONE


def _share_text(program: Program, emitted: Emitted, analyses: Analyses) -> str:
    """`i32 taskN.share(ctx, parallel, total, seats)` for each task that is shared: it runs the task."""
    w, functions = Writer(), list[str]()
    for number, task in enumerate(program.tasks):
        if is_shared(task):
            share = Copies if updates_of(task, "private") else Tiles
            functions += share(number, task, emitted, w, analyses).functions()
    missing = [text for symbol, text in w.declarations.items() if f" @{symbol}(" not in emitted.text]
    return "\n".join([*missing, *functions, ""])
