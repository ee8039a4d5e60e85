"""Tasks for the host's processor: how many lanes each gets, and the function that runs them one after another."""

from __future__ import annotations

from dataclasses import dataclass

from adstack.backends.llvm.context import own_size
from adstack.backends.llvm.kept import KEPT
from adstack.backends.llvm.tasks import Emitted, emit_program
from adstack.backends.llvm.uniformity import varying_values
from adstack.ir.structure import Op, Program, Region, Task, Value
from adstack.ir.types import DType

from .grain import grain

__all__ = ["Module", "emit_module"]

_MOST_LANES = 64
_DEAR = frozenset({"for", "while", "call"})
"""Ops that make a body long."""
_MASKS_FROM = 64
"""Registers of so many bytes (AVX-512) come with masks that cost next to nothing."""
_REGISTERS = 24
"""Vectors that may be live at once before they spill; some registers are left for constants."""


@dataclass(frozen=True)
class Module:
    """LLVM text of a whole program; `run` is its entry."""

    emitted: Emitted
    text: str


def emit_module(program: Program, *, debug: bool, lanes: int, vector_bytes: int) -> Module:
    """Emit a program; `lanes` of 0 leaves the choice to this module."""
    chosen = [_lanes(task, lanes, vector_bytes, debug=debug) for task in program.tasks]
    masked = [vector_bytes >= _MASKS_FROM and _is_heavy(task) for task in program.tasks]
    emitted = emit_program(program, chosen, debug=debug, masked=masked)
    return Module(emitted, emitted.text + _entry(program, emitted, debug=debug))


# ---- lanes


def _lanes(task: Task, wanted: int, vector_bytes: int, *, debug: bool) -> int:
    if task.kind != "parallel" or _has_machine(task) or (debug and not wanted):
        return 1
    loop = task.body.ops[-2]
    extent = _known_extent(task, loop)
    best = wanted or _best_lanes(loop.regions[0], vector_bytes)
    return 1 if extent is not None and extent < best and not wanted else best


def _is_heavy(task: Task) -> bool:
    """Whether a second copy of the body, for one iteration, costs more to compile than masks cost to run."""
    return task.kind == "parallel" and any(op.name in _DEAR for op in task.body.walk())


def _has_machine(task: Task) -> bool:
    """Whether the task runs adstacks that count for themselves: one lane at a time."""
    return any(op.name.startswith("stack.") and op.name not in ("stack.alloca", *KEPT) for op in task.body.walk())


def _known_extent(task: Task, loop: Op) -> int | None:
    """How many iterations there are, if constants say so."""
    consts = [op for op in task.body.ops if op.name == "const" and op.result.dtype.is_integer]
    numbers = {op.result: int(op.attrs["value"]) for op in consts}
    total = 1
    for lo, hi in zip(loop.operands[::2], loop.operands[1::2], strict=True):
        if lo not in numbers or hi not in numbers:
            return None
        total *= max(0, numbers[hi] - numbers[lo])
    return total


def _best_lanes(body: Region, vector_bytes: int) -> int:
    """As many vectors side by side as hide the latency of a chain of operations without spilling."""
    varying = varying_values(body)
    results = (v for op in body.walk() for v in op.results if v in varying and isinstance(v.type, DType))
    per_vector = max(2, vector_bytes // max((v.dtype.size for v in results), default=4))
    vectors, live = 4, _live(body, varying)
    while vectors > 1 and live * vectors > _REGISTERS:
        vectors //= 2
    return min(_MOST_LANES, per_vector * vectors)


def _live(region: Region, varying: set[Value]) -> int:
    """The most vectors that are live at once, about: in nested regions those of the outer ones count too."""
    last = dict.fromkeys(region.args, 0)
    for position, op in enumerate(region.ops):
        last.update((v, position) for v in op.results)  # unused, they end where they begin
        for inner in (op, *(o for r in op.regions for o in r.walk())):
            last.update((v, position) for v in inner.operands)
    ending: dict[int, list[Value]] = {}
    for value, position in last.items():
        ending.setdefault(position, []).append(value)
    live = varying.intersection(region.args)
    most = len(live)
    for position, op in enumerate(region.ops):
        nested = max((_live(r, varying) for r in op.regions), default=0)
        live.update(v for v in op.results if v in varying)
        most = max(most, len(live) + nested)
        live.difference_update(ending.get(position, ()))
    return most


# ---- the entry


def _entry(program: Program, emitted: Emitted, *, debug: bool) -> str:
    """`void run(ptr ctx)`: zero what lives in one launch, then the tasks in order."""
    lines = ["define void @run(ptr %ctx) #0 {", "entry:"]
    context = emitted.context
    for place in program.places.values():
        if place.kind in ("temp", "result") and place.name in context.pointers:
            name = f"%own{len(lines)}"
            lines.append(f"  {name}.at = getelementptr i64, ptr %ctx, i64 {context.pointers[place.name]}")
            lines.append(f"  {name} = load ptr, ptr {name}.at, align 8")
            lines.append(f"  call void @llvm.memset.p0.i64(ptr {name}, i8 0, i64 {own_size(place)}, i1 false)")
    for name in ("parallel", "errors", "overflow"):
        lines.append(f"  %{name}.at = getelementptr i64, ptr %ctx, i64 {context.own[name]}")
        lines.append(f"  %{name} = load ptr, ptr %{name}.at, align 8")
    lines.append("  store i64 0, ptr %errors, align 8")  # an interrupted launch may have left its report
    lines.append("  store [3 x i64] zeroinitializer, ptr %overflow, align 8")
    for number, task in enumerate(program.tasks):
        lines += _call(number, task, emitted)
        if debug:
            lines += [
                f"  %flag{number} = load i64, ptr %errors, align 8",
                f"  %failed{number} = icmp ne i64 %flag{number}, 0",
                f"  br i1 %failed{number}, label %failed, label %after{number}",
                f"after{number}:",
            ]
    lines += ["  ret void"] + (["failed:", "  ret void"] if debug and program.tasks else [])
    if any(task.kind == "parallel" for task in program.tasks):
        lines += ["stopped:", "  ret void"]  # a signal handler raised
    declaration = ""
    if "@llvm.memset.p0.i64" not in emitted.text:
        declaration = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
    return declaration + "\n".join([*lines, "}", ""])


def _call(number: int, task: Task, emitted: Emitted) -> list[str]:
    symbol = emitted.symbols[number]
    if task.kind == "serial":
        return [f"  call void @{symbol}(ptr %ctx)"]
    least = grain(task, emitted.lanes[number])
    return [
        f'  %total{number} = call i64 @"{symbol}.count"(ptr %ctx)',
        f"  %few{number} = icmp sle i64 %total{number}, {least}",
        f"  %alone{number} = icmp eq ptr %parallel, null",
        f"  %here{number} = or i1 %few{number}, %alone{number}",
        f"  br i1 %here{number}, label %here.{number}, label %shared.{number}",
        f"here.{number}:",
        f"  call void @{symbol}(ptr %ctx, i64 0, i64 %total{number})",
        f"  br label %done.{number}",
        f"shared.{number}:",
        f"  %stop{number} = call i32 %parallel(ptr @{symbol}, ptr %ctx, i64 %total{number}, i64 {least})",
        f"  %stopped{number} = icmp ne i32 %stop{number}, 0",
        f"  br i1 %stopped{number}, label %stopped, label %done.{number}",
        f"done.{number}:",
    ]
