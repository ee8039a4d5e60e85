"""Programs compiled for a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from adstack.backends.codegen_llvm.function.heap_table import Words
from adstack.backends.shared.buffers import words_of
from adstack.backends.shared.extents import Extent
from adstack.backends.shared.immediate import Executable, finished
from adstack.backends.shared.launch_words import Context
from adstack.backends.shared.layouts import Layouts
from adstack.ir.structure import Program
from adstack.runtime.adstacks.heap import Heap
from adstack.runtime.protocol.options import Options

from .codegen import Module
from .driver import Driver
from .toolchain import code_object

__all__ = ["Compiled", "build"]

_WORD = (1 << 64) - 1


@dataclass
class Compiled(Executable):
    """A compiled program with what its launches use.

    Attributes:
        module: where tasks find what they are told; the table about adstacks is behind their context.
        rows: which words of that table are about which task.
    """

    module: Module | None = None
    rows: dict[int, Words] = field(default_factory=dict)

    def tell(self, number: int, threads: int, table: Sequence[int]) -> int:
        """See `Executable.tell`: threads that have no lane are not started."""
        assert self.module is not None
        address, lanes, running, _, *rest = table
        words, row, base = words_of(self.words), self.rows[number], self.module.context.size
        words[self.module.context.own["heap"]] = address
        stride = self.layouts.uses[number].bytes // lanes
        words[base + row.blocks : base + row.taken] = lanes, stride, threads, 0
        words[base + row.bases : base + row.end] = [word & _WORD for word in rest]
        return running

    @property
    def heap_words(self) -> Sequence[int]:
        """See `Executable.heap_words`."""
        assert self.module is not None
        return [self.module.context.own["heap"]]


def build(driver: Driver, heap: Heap, program: Program, options: Options, module: Module) -> Compiled:
    """Compile a module, and give the program the memory that its launches use."""
    image = code_object(module.text, driver.processor, keep=options.offline_cache)
    context = _context(program, module)
    layouts = Layouts(program, module.rows, heap, options.ad_stack_heap_limit)
    block = driver.allocate(-(-max(context.size, 8) // 8) * 8)
    extents = [Extent.of(task) for task in program.tasks]
    pipelines = driver.load(image, module.symbols)
    parts = (program, module.text, context, module.sites, pipelines, extents, block, layouts)
    taken = context.size - 8 * len(program.tasks)  # how many lanes each task has taken
    counters = {module.context.size + row.taken: taken + 8 * number for number, row in module.rows.items()}
    inside = {module.context.pointers[name]: at for name, at in context.inside.items()}
    executable = Compiled(*parts, module=module, rows=module.rows, located=inside | counters, widths=module.widths)
    finished(executable, driver, options.random_seed, debug=options.debug)
    return executable


def _context(program: Program, module: Module) -> Context:
    """Which word of a launch is what: those of the module, behind them places that live for one launch, counters."""
    mine, laid = module.context, Context.of(program)
    shift = 8 * (module.size + -module.size % 32)
    first = min(laid.inside.values(), default=0)
    inside = {name: shift + at - first for name, at in laid.inside.items()}
    size = max(laid.size - first, 0) + shift
    return replace(
        laid,
        pointers={name: mine.pointers[name] for name in laid.pointers},
        extents=mine.extents,
        params=mine.params,
        own=mine.own,
        heaps={},
        depths={name: mine.pointers[name] for name in laid.depths},
        inside=inside,
        words=module.size,
        size=size + -size % 8 + 8 * len(program.tasks),
    )
