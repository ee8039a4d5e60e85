"""Programs compiled for a device."""

from __future__ import annotations

from adstack.backends.codegen_msl.tasks import Emitted
from adstack.backends.shared.extents import Extent
from adstack.backends.shared.immediate import Executable, finished
from adstack.backends.shared.layouts import Layouts
from adstack.ir.structure import Program
from adstack.runtime.adstacks.heap import Heap
from adstack.runtime.protocol.options import Options

from .driver import Driver

__all__ = ["build"]


def build(driver: Driver, heap: Heap, program: Program, options: Options, emitted: Emitted) -> Executable:
    """Compile a source, and give the program the memory that its launches use."""
    context = emitted.context
    pipelines = driver.load(emitted.text, emitted.names, keep=options.offline_cache)
    layouts = Layouts(program, context.heaps, heap, options.ad_stack_heap_limit)
    block = driver.allocate(-(-max(context.size, 8) // 8) * 8)
    extents = [Extent.of(task) for task in program.tasks]
    parts = (program, emitted.text, context, emitted.sites, pipelines, extents, block, layouts)
    executable = Executable(*parts, widths=emitted.widths)
    finished(executable, driver, options.random_seed, debug=options.debug)
    return executable
