"""Programs as kernels: a module for the device, and one for the host that launches them one after the other.

`run(ctx, table, begin, end)` of the host's module launches the tasks [begin, end) and gives CUDA's first error, or 0.
`table` holds words about the driver and the program (`WORDS`), and for every task its kernel, the threads of a block,
the most such blocks there may be, and whether it is left out; blocks are smaller where whole ones would leave some of
the device's multiprocessors without work. `count(ctx, task)` gives the iterations of a task. It is known where
constants, arguments and extents tell; where memory does, it is -1: the most blocks are launched, and the threads see
for themselves. `enter(ctx, 0)` serves a call of Python: it zeroes what must be zero, runs everything but what computes
depths of adstacks, and fetches what is returned; the address of the table stands in the context. It gives CUDA's first
error, or 0; or UNREADY, and has done nothing, where depths have to be computed or adstacks to be laid out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from adstack.analysis.iteration_space import bound_ops
from adstack.analysis.manager import Analyses
from adstack.backends.codegen_llvm.adstacks.in_frame import framed
from adstack.backends.codegen_llvm.function.context import Context
from adstack.backends.codegen_llvm.function.heap_table import Words, table
from adstack.backends.codegen_llvm.tasks import Emitted, emit_counts, emit_program
from adstack.backends.shared.sites import Site
from adstack.errors import AdstackCompilationError
from adstack.ir.ops import SHAPE
from adstack.ir.structure import Program, Task
from adstack.runtime.adstacks.layout import Placement

from .played.blocks import grids
from .threads import PARAMETER_BYTES, Threads

__all__ = [
    "BLOCK",
    "COVERED",
    "FUNCTION",
    "HEAD",
    "IDLE",
    "MOST",
    "ROW",
    "TABLE",
    "UNREADY",
    "WORDS",
    "Module",
    "emit_module",
]

WORDS: Final = {
    name: at
    for at, name in enumerate(
        (
            *(
                "launch",
                "use",
                "context",
                "zero",
                "fetch",
                "own",
                "zeroed",
                "here",
                "result",
                "size",
                "stream",
                "spread",
            ),
            *("version", "laid", "repeated"),
        )
    )
}
"""Functions of the driver, its context, where the program's own memory is and how much is zeroed before each launch, to
where a result goes, from where and how many bytes, the stream, and over how many multiprocessors threads spread; where
the version of the heap of adstacks stands, the version for which they were laid out, and where a word stands that is 0
unless a graph made the last launch."""
HEAD: Final = len(WORDS)
_WARP: Final = 32
ROW: Final = 5
FUNCTION, BLOCK, MOST, IDLE, COVERED = range(ROW)
"""The table has `HEAD` words in front, and a row for each task; its adstacks were laid out for `COVERED` iterations."""
UNREADY: Final = -1
"""What `enter` gives where only Python can make the launch."""


TABLE: Final = "parallel"
"""The slot of the context where the host finds the table; tasks don't look at it."""


@dataclass(frozen=True)
class Module:
    """Text of a whole program.

    Attributes:
        context: where tasks find their arguments; the table about adstacks follows it.
        rows: which words of that table are about which task.
        size: of both, in words.
        sites: what may be reported.
        symbols: of the tasks.
        widths: of those whose iterations are blocks of threads, how many threads run a block: of each task that is not
            here, a thread runs an iteration.
        text: for the device, or the host that plays it; a task's kernel is named by its symbol.
        launcher: for the host; `run` is its entry.
        counted: per task, whether the launcher knows how many iterations it has.
        gathers: per task, whether its threads gather what all of them add to one element.
    """

    context: Context
    rows: dict[int, Words]
    size: int
    sites: list[Site]
    symbols: list[str]
    widths: dict[str, int]
    text: str
    launcher: str
    counted: list[bool]
    gathers: list[bool]


def emit_module(
    program: Program,
    *,
    debug: bool,
    adds: Mapping[str, float],
    host: bool,
    local: int | None = None,
    waits: bool = False,
    pairs: bool = False,
) -> Module:
    """Emit a program; see `Threads` for the arguments.

    Args:
        program: what to emit.
        debug: of `Threads`, see there.
        adds: of `Threads`.
        host: of `Threads`.
        waits: of `Threads`.
        pairs: of `Threads`.
        local: adstacks of tasks that push no more than so many bytes in a thread are in the thread's own memory; None
            if all are in the heap.
    """
    size = _size(program)
    analyses, target = Analyses(), Threads(size, debug=debug, adds=adds, host=host, waits=waits, pairs=pairs)
    frames = {} if local is None else _frames(program, local)
    emitted = emit_program(
        program, [1] * len(program.tasks), debug=debug, target=target, framed=frames, analyses=analyses
    )
    counted = [task.kind == "parallel" and _is_countable(task, analyses) for task in program.tasks]
    text = emitted.text + (grids(emitted.symbols, emitted.widths) if host else "")
    launcher = _launcher(program, emitted, counted, analyses)
    gathers = [not debug and task.kind == "parallel" and _gathers(task) for task in program.tasks]
    parts = (emitted.context, emitted.rows, size, emitted.sites, emitted.symbols, emitted.widths)
    return Module(*parts, text, launcher, counted, gathers)


def _size(program: Program) -> int:
    """The words that a kernel is handed; AdstackCompilationError if these are more than can be."""
    size = Context.of(program).size + max((words.end for words in table(program).values()), default=0)
    if 8 * size > PARAMETER_BYTES:
        raise AdstackCompilationError(
            f"a kernel uses so many fields, arrays, arguments and adstacks that their addresses and extents take "
            f"{8 * size} bytes; a CUDA kernel is handed {PARAMETER_BYTES} bytes at most",
            loc=program.loc if program.loc.line else None,
            do="split the kernel, or put what belongs together into one field",
        )
    return size


def _frames(program: Program, most: int) -> dict[int, Placement]:
    """Where adstacks are in a thread's own memory, by the number of the task."""
    placements = {number: framed(program, task) for number, task in enumerate(program.tasks)}
    return {
        number: placement
        for number, placement in placements.items()
        if placement is not None and placement.stride + placement.beyond <= most
    }


def _is_countable(task: Task, analyses: Analyses) -> bool:
    """Whether the host can compute the bounds of a task's loop: no memory of the device decides them."""
    return all(op.opdef.pure or op.opdef is SHAPE for op in analyses.get(bound_ops, task.body))


def _gathers(task: Task) -> bool:
    """Whether each thread combines updates of an element that all iterations share."""
    return any(op.attrs.get("sums") == "uniform" for op in task.body.ops[-2].regions[0].walk())


def _launcher(program: Program, emitted: Emitted, counted: list[bool], analyses: Analyses) -> str:
    counts = emit_counts(program, [k for k, wanted in enumerate(counted) if wanted], analyses)
    lines = [
        "define i32 @run(ptr %ctx, ptr %table, i64 %begin, i64 %end) {",
        "entry:",
        "  %params = alloca ptr, align 8",
        "  store ptr %ctx, ptr %params, align 8",
        *_words(launch="ptr", stream="ptr", spread="i64"),
        "  br label %test0",
    ]
    for k, symbol in enumerate(emitted.symbols):
        parallel, blocks = program.tasks[k].kind == "parallel", symbol in emitted.widths
        lines += _step(k, symbol if counted[k] else "", parallel=parallel, blocks=blocks)
    lines += [f"test{len(emitted.symbols)}:", "  ret i32 0", "}", ""]
    return counts + "\n".join([*lines, *_counter(emitted, counted), *_enter(program, emitted)])


def _words(**wanted: str) -> list[str]:
    """Load words of `%table`: name -> type; the values are named alike."""
    lines = []
    for name, ty in wanted.items():
        lines.append(f"  %{name}.at = getelementptr i64, ptr %table, i64 {WORDS[name]}")
        lines.append(f"  %{name} = load {ty}, ptr %{name}.at, align 8")
    return lines


def _enter(program: Program, emitted: Emitted) -> list[str]:
    def calls(name: str, call: str, then: str) -> list[str]:
        return [
            f"{name}.call:",
            f"  %{name}.code = call i32 {call}",
            f"  %{name}.fine = icmp eq i32 %{name}.code, 0",
            f"  br i1 %{name}.fine, label %{then}, label %failed",
        ]

    def asks(name: str, size: str, then: str) -> list[str]:
        none = f"  %{name}.none = icmp eq i64 %{size}, 0"
        return [f"{name}.ask:", none, f"  br i1 %{name}.none, label %{then}, label %{name}.call"]

    names = ("use", "zero", "run", "fetch")
    codes = ", ".join(f"[ %{name}.code, %{name}.call ]" for name in names)
    return [
        "define i64 @enter(ptr %ctx, i64 %from) {",
        "entry:",
        f"  %table.at = getelementptr i64, ptr %ctx, i64 {emitted.context.own[TABLE]}",
        "  %table = load ptr, ptr %table.at, align 8",
        *_words(use="ptr", context="ptr", zero="ptr", fetch="ptr", own="i64", zeroed="i64", here="ptr", result="i64"),
        *_words(size="i64", stream="ptr"),
        *_ready(program, emitted),
        *calls("use", "%use(ptr %context)", "zero.ask"),
        *asks("zero", "zeroed", "run.call"),
        *calls("zero", "%zero(i64 %own, i8 0, i64 %zeroed, ptr %stream)", "run.call"),
        *calls("run", f"@run(ptr %ctx, ptr %table, i64 0, i64 {len(emitted.symbols)})", "fetch.ask"),
        *asks("fetch", "size", "done"),
        *calls("fetch", "%fetch(ptr %here, i64 %result, i64 %size)", "done"),
        f"failed:\n  %code = phi i32 {codes}\n  %wide = zext i32 %code to i64\n  ret i64 %wide",
        f"done:\n  ret i64 0\nunready:\n  ret i64 {UNREADY}\n}}\n",
    ]


def _ready(program: Program, emitted: Emitted) -> list[str]:
    """Go on if the depths of adstacks are known, and the adstacks of each task are where its words say."""
    sizers = [k for k, task in enumerate(program.tasks) if task.sizes]
    lines: list[str] = []

    def unless(what: str, then: str) -> None:
        lines.extend([f"  br i1 {what}, label %unready, label %{then}", f"{then}:"])

    if emitted.rows:
        lines += [
            *_words(version="ptr", laid="i64", repeated="ptr"),
            "  %now = load i64, ptr %version, align 8",
            "  %moved = icmp ne i64 %now, %laid",
            "  %graph = load i64, ptr %repeated, align 8",
            "  %by.graph = icmp ne i64 %graph, 0",
            "  %elsewhere = or i1 %moved, %by.graph",
        ]
        unless("%elsewhere", "same")
    if sizers:
        lines += [
            f"  %sized.at = getelementptr i64, ptr %ctx, i64 {emitted.context.own['sized']}",
            "  %sized = load i64, ptr %sized.at, align 8",
            "  %unsized = icmp eq i64 %sized, 0",
        ]
        unless("%unsized", "sized.already")
    for k in emitted.rows:
        lines += [
            f"  %total{k} = call i64 @count(ptr %ctx, i64 {k})",
            f"  %covered{k}.at = getelementptr i64, ptr %table, i64 {HEAD + ROW * k + COVERED}",
            f"  %covered{k} = load i64, ptr %covered{k}.at, align 8",
            f"  %other{k} = icmp ne i64 %total{k}, %covered{k}",
        ]
        unless(f"%other{k}", f"covered.{k}")
    for k in sizers:
        idle = f"%idle{k}.at"
        lines += [
            f"  {idle} = getelementptr i64, ptr %table, i64 {HEAD + ROW * k + IDLE}",
            f"  store i64 1, ptr {idle}, align 8",
        ]
    return [*lines, "  br label %use.call"]


def _counter(emitted: Emitted, counted: list[bool]) -> list[str]:
    numbers = [k for k, wanted in enumerate(counted) if wanted]
    cases = " ".join(f"i64 {k}, label %task{k}" for k in numbers)
    lines = ["define i64 @count(ptr %ctx, i64 %task) {", "entry:", f"  switch i64 %task, label %none [ {cases} ]"]
    for k in numbers:
        call = f'  %count{k} = call i64 @"{emitted.symbols[k]}.count"(ptr %ctx)'
        lines += [f"task{k}:", call, f"  ret i64 %count{k}"]
    return [*lines, "none:", "  ret i64 -1", "}", ""]


def _step(k: int, symbol: str, *, parallel: bool, blocks: bool) -> list[str]:
    """Launch a task, if it is among those wanted and has something to do.

    Args:
        k: its number.
        symbol: of the task; "" if only the device knows how many iterations there are.
        parallel: whether it has iterations.
        blocks: whether a block of threads runs each of them.
    """
    lines = [
        f"test{k}:",
        f"  %late{k} = icmp sge i64 {k}, %begin",
        f"  %early{k} = icmp slt i64 {k}, %end",
        f"  %wanted{k} = and i1 %late{k}, %early{k}",
        f"  br i1 %wanted{k}, label %count{k}, label %test{k + 1}",
        f"count{k}:",
        *_row(k),
        f"  %left{k} = icmp ne i64 %idle{k}, 0",
        f"  br i1 %left{k}, label %test{k + 1}, label %ready{k}",
        f"ready{k}:",
    ]
    count = threads = "1"
    if parallel:
        count, threads = f"%most{k}", f"%block{k}"
    if parallel and symbol:
        count, threads = f"%blocks{k}", f"%block{k}" if blocks else f"%threads{k}"
        lines += _total(k, symbol) + (_least(f"blocks{k}", f"%total{k}", f"%most{k}") if blocks else _shape(k))
    sizes = f"i32 %grid{k}, i32 1, i32 1, i32 %width{k}, i32 1, i32 1"
    return [
        *lines,
        f"  %grid{k} = trunc i64 {count} to i32",
        f"  %width{k} = trunc i64 {threads} to i32",
        f"  %code{k} = call i32 %launch(ptr %f{k}, {sizes}, i32 0, ptr %stream, ptr %params, ptr null)",
        f"  %fine{k} = icmp eq i32 %code{k}, 0",
        f"  br i1 %fine{k}, label %test{k + 1}, label %bad{k}",
        f"bad{k}:",
        f"  ret i32 %code{k}",
    ]


def _row(k: int) -> list[str]:
    """Load words of a task's row of the table."""
    lines = []
    for name, ty, at in (("f", "ptr", FUNCTION), ("block", "i64", BLOCK), ("most", "i64", MOST), ("idle", "i64", IDLE)):
        lines += [
            f"  %{name}{k}.at = getelementptr i64, ptr %table, i64 {HEAD + ROW * k + at}",
            f"  %{name}{k} = load {ty}, ptr %{name}{k}.at, align 8",
        ]
    return lines


def _least(name: str, a: str, b: str) -> list[str]:
    return [f"  %{name}.less = icmp ult i64 {a}, {b}", f"  %{name} = select i1 %{name}.less, i64 {a}, i64 {b}"]


def _total(k: int, symbol: str) -> list[str]:
    """How many iterations a task has; the next task if there are none."""
    return [
        f'  %total{k} = call i64 @"{symbol}.count"(ptr %ctx)',
        f"  %none{k} = icmp eq i64 %total{k}, 0",
        f"  br i1 %none{k}, label %test{k + 1}, label %launch{k}",
        f"launch{k}:",
    ]


def _shape(k: int) -> list[str]:
    """How many blocks of how many threads a task wants whose iterations are known.

    A block has whole warps, and no more than the multiprocessor's share of the iterations.
    """
    return [
        f"  %before{k} = sub i64 %total{k}, 1",
        f"  %share{k} = udiv i64 %before{k}, %spread",
        f"  %warps{k} = or i64 %share{k}, {_WARP - 1}",
        f"  %whole{k} = add i64 %warps{k}, 1",
        *_least(f"threads{k}", f"%whole{k}", f"%block{k}"),
        f"  %last{k} = udiv i64 %before{k}, %threads{k}",
        f"  %all{k} = add i64 %last{k}, 1",
        f"  %room{k} = mul i64 %most{k}, %block{k}",
        f"  %there{k} = udiv i64 %room{k}, %threads{k}",
        *_least(f"blocks{k}", f"%all{k}", f"%there{k}"),
    ]
