"""The entry of a program: the function that runs its tasks one after another, as LLVM assembly."""

from __future__ import annotations

from adstack.analysis.accumulation import is_ordered
from adstack.analysis.iteration_space import known_extent
from adstack.analysis.loop_nests import contains_loop
from adstack.analysis.manager import Analyses
from adstack.backends.codegen_llvm.function.heap_table import Words
from adstack.backends.codegen_llvm.tasks import Emitted
from adstack.backends.shared.own_size import own_size
from adstack.ir.structure import Program, Task
from adstack.runtime.adstacks.heap import known, sized_ahead, touched
from adstack.runtime.assume import Assumed

from .fitting import conditions, unfit
from .grain import grain
from .sharing import is_shared

__all__ = ["entry_text"]

_SEATS = 1 << 62
"""Seats of a task whose threads need nothing of their own: as many as there may be threads."""


def entry_text(program: Program, emitted: Emitted, assumed: Assumed, analyses: Analyses, *, debug: bool) -> str:
    """`i64 run(ptr ctx, i64 from)`: zero what lives in one launch, then the tasks in order.

    It gives 0 at the end, or k + 1 where the heap is not ready for task k; called with that, it goes on there. One more
    than there are tasks stands for the first that is no sizer, if tasks from there on change memory and the heap is not
    laid out for the depths of later ones. A launch for which the entry was not made is left to that in the slot
    "unfit"; if there is none it gives UNFIT.
    """
    brief = all(task.kind == "serial" and not analyses.get(contains_loop, task.body) for task in program.tasks)
    attributes = "#0" if brief else "#1"  # beside a loop it is not worth LLVM's time
    slots = _slots(program, emitted, analyses)
    lines = [f"define i64 @run(ptr %ctx, i64 %from) {attributes} {{", "entry:"]
    for name, slot in slots.items():
        ty = "i64" if name == "sized" else "ptr"
        lines.append(f"  %{name}.at = getelementptr i64, ptr %ctx, i64 {slot}")
        lines.append(f"  %{name} = load {ty}, ptr %{name}.at, align 8")
    gate = _gate(program, emitted)
    if emitted.rows:
        entries = " ".join(f"i64 {number + 1}, label %task.{number}" for number in emitted.rows)
        entries += f" i64 {len(program.tasks) + 1}, label %gate.open" if gate else ""
        lines += [f"  switch i64 %from, label %start [ {entries} ]", "start:"]
    fits = conditions(program, emitted.context, assumed)
    lines += [*fits, "fit:"] if fits else []
    lines += _zeroed(program, emitted)
    for number, task in enumerate(program.tasks):
        lines += gate if number == sized_ahead(program) else []
        lines += [f"  br label %task.{number}", f"task.{number}:", *_call(number, task, emitted, analyses, debug=debug)]
        if debug:
            lines += [
                f"  %flag{number} = load i64, ptr %errors, align 8",
                f"  %failed{number} = icmp ne i64 %flag{number}, 0",
                f"  br i1 %failed{number}, label %over, label %after{number}",
                f"after{number}:",
            ]
    lines += ["  br label %over", "over:", "  ret i64 0"]
    lines += unfit(emitted.context) if fits else []
    if "stop" in slots:
        lines += ["stopped:", "  store atomic i64 0, ptr %stop monotonic, align 8", "  ret i64 0"]  # a handler raised
    return _declarations(emitted.text) + "\n".join([*lines, "}", ""])


def _gate(program: Program, emitted: Emitted) -> list[str]:
    """Behind the first sizers: go on if the heap is laid out for tasks that come after one that changes memory."""
    first = sized_ahead(program)
    heaps = {number: words.heap for number, words in emitted.rows.items()}
    lines, ready = list[str](), "true"
    for number in known(program, heaps, first):
        if touched(program.tasks[first:number]):
            compared, ready = _capacities_stand(f"gate.{number}", emitted.rows[number], ready)
            lines += compared
    closed = [f"  br i1 {ready}, label %gate.open, label %gate.closed", "gate.closed:"]
    return [*lines, *closed, f"  ret i64 {len(program.tasks) + 1}", "gate.open:"] if lines else []


def _declarations(text: str) -> str:
    """What the entry calls, unless the module declares it already."""
    wanted = {
        "@llvm.memset.p0.i64": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n",
        "@llvm.smax.i64": "declare i64 @llvm.smax.i64(i64, i64)\n",
    }
    return "".join(line for symbol, line in wanted.items() if f"declare {line.split()[1]} {symbol}(" not in text)


def _slots(program: Program, emitted: Emitted, analyses: Analyses) -> dict[str, int]:
    """The slots of the context that the entry reads."""
    context = emitted.context
    wanted = {
        "parallel": any(task.kind == "parallel" for task in program.tasks),
        "errors": True,
        "overflow": True,
        "heap": bool(emitted.rows),
        "rows": bool(emitted.rows),
        "sized": any(task.sizes for task in program.tasks),
        "stop": any(task.kind == "serial" and analyses.get(contains_loop, task.body) for task in program.tasks),
    }
    slots = {name: context.own[name] for name, is_wanted in wanted.items() if is_wanted}
    for place in program.places.values():
        if place.kind == "depths":
            slots["depths"] = context.pointers[place.name]
    return slots


def _zeroed(program: Program, emitted: Emitted) -> list[str]:
    """Zero what lives in one launch; an interrupted one may have left its reports."""
    lines: list[str] = []
    for place in program.places.values():
        if place.kind in ("temp", "result") and place.name in emitted.context.pointers:
            name, slot = f"%own{len(lines)}", emitted.context.pointers[place.name]
            lines.append(f"  {name}.at = getelementptr i64, ptr %ctx, i64 {slot}")
            lines.append(f"  {name} = load ptr, ptr {name}.at, align 8")
            lines.append(f"  call void @llvm.memset.p0.i64(ptr {name}, i8 0, i64 {own_size(place)}, i1 false)")
    return [*lines, "  store i64 0, ptr %errors, align 8", "  store [3 x i64] zeroinitializer, ptr %overflow, align 8"]


def _call(number: int, task: Task, emitted: Emitted, analyses: Analyses, *, debug: bool) -> list[str]:
    """Run a task: sizers only if something that they look at may have changed."""
    lines = []
    if task.sizes:
        lines = [
            f"  %stands{number} = icmp ne i64 %sized, 0",
            f"  br i1 %stands{number}, label %done.{number}, label %size.{number}",
            f"size.{number}:",
        ]
    symbol, words = emitted.symbols[number], emitted.rows.get(number)
    total = _total(number, task)
    if total.startswith("%"):
        lines.append(f'  {total} = call i64 @"{symbol}.count"(ptr %ctx)')
    if words is not None:
        lines += _ready(number, words, total)
    if task.kind == "parallel":
        lines += _share(number, task, emitted, debug=debug)
    else:
        lines += [f"  call void @{symbol}(ptr %ctx)", *_unless_stopped(number, task, analyses)]
    return [*lines, f"  br label %done.{number}", f"done.{number}:"]


def _share(number: int, task: Task, emitted: Emitted, *, debug: bool) -> list[str]:
    """Run a parallel task: with as many threads as there are seats, or here if it is short."""
    symbol, least = emitted.symbols[number], grain(task, emitted.lanes[number])
    seats = "1" if is_ordered(task) else f"%blocks{number}" if number in emitted.rows else str(_SEATS)
    total = _total(number, task)
    call = f"%parallel(ptr @{symbol}, ptr %ctx, i64 {total}, i64 {least}, i64 {seats})"
    if not debug and is_shared(task):
        call = f'@"{symbol}.share"(ptr %ctx, ptr %parallel, i64 {total}, i64 {seats})'
    return [
        f"  %stop{number} = call i32 {call}",
        f"  %stopped{number} = icmp ne i32 %stop{number}, 0",
        f"  br i1 %stopped{number}, label %over, label %ran.{number}",
        f"ran.{number}:",
    ]


def _total(number: int, task: Task) -> str:
    """How many iterations a task has."""
    if task.kind != "parallel":
        return "0"
    extent = known_extent(task.body.ops[-2], task.body.ops[:-2])
    return str(extent) if extent else f"%total{number}"


def _unless_stopped(number: int, task: Task, analyses: Analyses) -> list[str]:
    """Go on unless the task was told to end."""
    if not analyses.get(contains_loop, task.body):
        return []
    return [
        f"  %word{number} = load atomic i64, ptr %stop monotonic, align 8",
        f"  %halted{number} = icmp ne i64 %word{number}, 0",
        f"  br i1 %halted{number}, label %stopped, label %on.{number}",
        f"on.{number}:",
    ]


def _ready(number: int, words: Words, total: str) -> list[str]:
    """Give the task's number back unless the heap is as the task needs it: large enough, and laid out for its depths.

    A loop without iterations needs nothing.
    """
    lines: list[str] = []

    def word(name: str, at: int) -> str:
        lines.append(f"  %{name}{number}.at = getelementptr i64, ptr %rows, i64 {at}")
        lines.append(f"  %{name}{number} = load i64, ptr %{name}{number}.at, align 8")
        return f"%{name}{number}"

    blocks, block, covered = word("blocks", words.blocks), word("block", words.block), word("covered", words.covered)
    lines += [
        f"  %size{number}.at = getelementptr i64, ptr %heap, i64 1",
        f"  %size{number} = load i64, ptr %size{number}.at, align 8",
        f"  %need{number} = mul i64 {blocks}, {block}",
        f"  %fits{number} = icmp ule i64 %need{number}, %size{number}",
        f"  %covers{number} = icmp sle i64 {total}, {covered}",
        f"  %room{number} = and i1 %fits{number}, %covers{number}",
    ]
    compared, ready = _capacities_stand(str(number), words, f"%room{number}")
    lines += compared
    lines += [
        f"  br i1 {ready}, label %go.{number}, label %wait.{number}",
        f"wait.{number}:",
        f"  %total{number}.at = getelementptr i64, ptr %rows, i64 {words.total}",
        f"  store i64 {total}, ptr %total{number}.at, align 8",
        f"  ret i64 {number + 1}",
        f"go.{number}:",
    ]
    if total == "0":
        return lines
    return [
        f"  %none{number} = icmp sle i64 {total}, 0",
        f"  br i1 %none{number}, label %done.{number}, label %some.{number}",
        f"some.{number}:",
        *lines,
    ]


def _capacities_stand(where: str, words: Words, ready: str) -> tuple[list[str], str]:
    """Compare the depths that sizers computed with those that the heap is laid out for: the code, and its i1.

    `where` tells the code from the same elsewhere.
    """
    lines: list[str] = []
    for depth, group in {
        group.depth: k for k, group in enumerate(words.heap.groups) if group.depth is not None
    }.items():
        name = f"{where}.{depth}"
        lines += [
            f"  %depth{name}.at = getelementptr i64, ptr %depths, i64 {depth}",
            f"  %depth{name}.raw = load i64, ptr %depth{name}.at, align 8",
            f"  %depth{name} = call i64 @llvm.smax.i64(i64 %depth{name}.raw, i64 0)",
            f"  %capacity{name}.at = getelementptr i64, ptr %rows, i64 {words.capacities + group}",
            f"  %capacity{name} = load i64, ptr %capacity{name}.at, align 8",
            f"  %same{name} = icmp eq i64 %depth{name}, %capacity{name}",
            f"  %ready{name} = and i1 {ready}, %same{name}",
        ]
        ready = f"%ready{name}"
    return lines, ready
