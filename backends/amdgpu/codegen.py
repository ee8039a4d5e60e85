"""Programs as modules of kernels, in LLVM IR: one text for every processor."""

from __future__ import annotations

from dataclasses import dataclass

from adstack.backends.codegen_llvm.function.context import Context
from adstack.backends.codegen_llvm.function.heap_table import Words, table
from adstack.backends.codegen_llvm.tasks import emit_program
from adstack.backends.shared.sites import Site
from adstack.ir.structure import Program

from .threads import MOST_THREADS, Threads, kernel

__all__ = ["Module", "emit_module"]


@dataclass(frozen=True)
class Module:
    """Text of a whole program.

    Attributes:
        text: without the target triple and the data layout, which the toolchain puts in front.
        context: where tasks find their arguments; the table about adstacks follows it.
        rows: which words of that table are about which task.
        size: of both, in words: what a kernel is handed.
        sites: what may be reported.
        symbols: of the kernels, one per task.
        widths: of tasks whose iterations are blocks of threads that run side by side, how many threads a block has.
    """

    text: str
    context: Context
    rows: dict[int, Words]
    size: int
    sites: list[Site]
    symbols: list[str]
    widths: dict[int, int]


def emit_module(program: Program, *, debug: bool) -> Module:
    """Emit a verified program; with `debug`, checks are emitted."""
    size = Context.of(program).size + max((words.end for words in table(program).values()), default=0)
    emitted = emit_program(program, [1] * len(program.tasks), debug=debug, target=Threads(debug=debug))
    widths = {k: emitted.widths[symbol] for k, symbol in enumerate(emitted.symbols) if symbol in emitted.widths}
    kernels = [
        kernel(symbol, size, (widths[k],) * 2 if k in widths else (1, MOST_THREADS if task.kind == "parallel" else 1))
        for k, (symbol, task) in enumerate(zip(emitted.symbols, program.tasks, strict=True))
    ]
    text = "\n".join([emitted.text, *kernels])
    return Module(text, emitted.context, emitted.rows, size, emitted.sites, emitted.symbols, widths)
