"""Programs made ready to run on a device: compiled, or taken from the cache, and loaded."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.backends.shared.leftovers import Leftovers
from adstack.backends.shared.object_cache import ObjectCache
from adstack.backends.shared.outside import only_guards
from adstack.backends.shared.reports import OVERFLOW
from adstack.backends.shared.sites import record_words
from adstack.ir.ops import ATOMIC
from adstack.ir.structure import Program
from adstack.runtime.adstacks.heap import Heap
from adstack.runtime.protocol.options import Options
from adstack.runtime.threads.processes import foreign

from .adds import adds_pairs
from .adstacks import Layouts
from .codegen import BLOCK, FUNCTION, HEAD, MOST, ROW, TABLE, WORDS, Module, emit_module
from .commands.lists import Commands
from .executable import Executable, pinned_words
from .interface.driver import Driver
from .interface.errors import DriverError
from .layout import OwnMemory
from .overlap import can_overlap
from .toolchain import host_code

__all__ = ["THREADS", "adds_floats", "build", "emitted"]

Array = npt.NDArray[np.int64]
THREADS: Final = 256
"""Threads of a block where there are iterations enough for all of the device."""
_BLOCKS: Final = 2**31 - 1
"""Blocks that a grid may have."""


def emitted(driver: Driver, program: Program, options: Options, adds: Mapping[str, float]) -> Module:
    """The text of a program for a device, or the host that plays one; `adds` is how its memory adds floats."""
    local = driver.device.local_bytes if options.ad_stack_storage == "stack" else None
    capability = (0, 0) if driver.host else driver.device.capability
    able = {"waits": can_overlap(capability), "pairs": adds_pairs(capability)}
    return emit_module(program, debug=options.debug, adds=adds, host=driver.host, local=local, **able)


def build(
    driver: Driver,
    commands: Commands,
    program: Program,
    options: Options,
    module: Module,
    cached: ObjectCache | None,
    heap: Heap,
    leftovers: Leftovers,
) -> Executable:
    """Compile a module's text, or take it from the cache, and load it; what it had goes to `leftovers`."""
    loaded = driver.load(module.text, module.symbols, cached)
    launcher = host_code(module.launcher, ["run", "count", "enter"], cached, plain=True)
    claims = any(words.heap.claims is not None for words in module.rows.values())
    layout = OwnMemory.of(program, module.sites, claims=claims)
    own = driver.allocate(layout.size)
    guards = only_guards(module.sites, debug=options.debug) and layout.prints is None
    outside = pinned_words(driver, record_words(module.sites)) if guards else None
    overflow = pinned_words(driver, OVERFLOW) if _overflows(module, guarded=guards) else None
    if layout.prints is not None:
        driver.upload(own + layout.prints, np.array([0, layout.print_words], np.int64))
    table, resident = _table(driver, commands, module, loaded)
    table[WORDS["own"]], table[WORDS["zeroed"]] = own, layout.zeroed
    slots = _slots(module, layout, own, options.random_seed)
    slots[module.context.own[TABLE]] = table.ctypes.data
    if outside is not None:
        slots[module.context.own["errors"]] = outside.ctypes.data
    if overflow is not None:
        slots[module.context.own["overflow"]] = overflow.ctypes.data
    layouts = Layouts(program, module.rows, slots[module.context.size :], heap, options.ad_stack_heap_limit)
    parts = (loaded, launcher, table, resident, slots, own, layout, layouts, heap)
    executable = Executable(program, options, module, *parts, outside=outside, overflow=overflow)
    end = partial(_release, driver, loaded, own, executable.pinned)
    weakref.finalize(executable, leftovers.add, end).atexit = False  # a process that ends gives back everything
    return executable


def _overflows(module: Module, *, guarded: bool) -> bool:
    """Whether adstacks may overflow in launches that report nothing else that is looked at when each is over."""
    kinds = {site.kind for site in module.sites}
    return "stack" in kinds and (guarded or kinds == {"stack"})


def _slots(module: Module, layout: OwnMemory, own: int, seed: int) -> Array:
    """The context, and the table about adstacks behind it, filled where they are the same in every launch.

    Args:
        module: the program's text.
        layout: of the program's own memory.
        own: its address.
        seed: of random numbers.
    """
    context, slots = module.context, np.zeros(module.size, np.int64)
    for name, offset in layout.places.items():
        slots[context.pointers[name]] = own + offset
    for name, at in (("errors", layout.errors), ("overflow", layout.overflow), ("print", layout.prints)):
        slots[context.own[name]] = own + (at or 0)
    for number, words in module.rows.items():
        slots[context.size + words.taken] = own + layout.taken + 8 * number
    slots[context.own["seed"]] = seed & (2**63 - 1)
    return slots


def _release(driver: Driver, loaded: object, own: int, pinned: Sequence[int]) -> None:
    """Give back what an executable had, once nothing runs; a device that has failed, or that is another
    process's, takes nothing back.
    """
    if foreign("CUDA") is not None:
        return
    with suppress(DriverError):
        driver.enter()
        driver.synchronize()
        driver.free(own)
        for address in pinned:
            driver.free_pinned(address)
        driver.unload(loaded)


def _table(driver: Driver, commands: Commands, module: Module, loaded: object) -> tuple[Array, Array]:
    """What the launcher is told (see `codegen`), and how many blocks of each task the device runs at once."""
    table, resident = np.zeros(HEAD + ROW * len(module.symbols), np.int64), np.zeros(len(module.symbols), np.int64)
    functions = commands.functions()
    table[: len(functions)] = functions
    table[WORDS["spread"]] = driver.device.multiprocessors
    threads = THREADS if driver.device.warp > 1 else 1
    for k, symbol in enumerate(module.symbols):
        row = table[HEAD + ROW * k : HEAD + ROW * (k + 1)]
        function, block = driver.function(loaded, symbol), module.widths.get(symbol, threads)
        resident[k] = max(1, driver.resident(function, block)) * driver.device.multiprocessors
        row[FUNCTION], row[BLOCK] = function, block
        row[MOST] = resident[k] if not module.counted[k] or module.gathers[k] else _BLOCKS
    return table, resident


def adds_floats(program: Program) -> bool:
    """Whether it matters how memory adds floats."""
    atomics = (op for task in program.tasks for op in task.body.walk() if op.opdef is ATOMIC)
    return any(op.attrs["kind"] == "add" and op.attrs["place"].dtype.is_float for op in atomics)
