"""What the tests of the cpu backend share: programs run on it and by the interpreter, compared to the bit."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
from interpreter_kit import read, same_bits

from adstack import interpreter
from adstack.backends.cpu import toolchain
from adstack.backends.cpu.runtime import CpuBackend, open_device
from adstack.backends.shared import compiling
from adstack.backends.shared.jit import jit
from adstack.errors import AdstackError
from adstack.ir.structure import Kernel, Program
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options
from adstack.transforms import pipeline
from adstack.transforms.memory.accumulate import accumulate
from adstack.transforms.rewriting.options import Options as PassOptions
from adstack.transforms.tasks.tasks import split

Array = npt.NDArray[Any]

WIDTHS = (1, 2, 8, 64)


@cache
def backend() -> CpuBackend:
    return open_device()


def tasks_of(source: str | Kernel | Program, debug: bool = False) -> Program:
    """A program as written (a text), or lowered as kernels are; its sums are planned."""
    options = PassOptions(debug=debug)
    if isinstance(source, str):
        source = read(source)
        program = split(source, options) if isinstance(source, Kernel) else source
    else:
        program = pipeline.lower(source, options) if isinstance(source, Kernel) else source
    for task in program.tasks:
        accumulate(task)
    return program


def compiled(
    source: str | Kernel | Program, lanes: int, *, debug: bool = False, threads: int = 0
) -> Callable[..., Sequence[Any]]:
    """A function of buffers and scalars that launches the program, on so many threads (0: on all)."""
    options = Options(cpu_lanes=lanes, debug=debug, offline_cache=False, cpu_max_num_threads=threads)
    executable = backend().compile(tasks_of(source, debug), options)

    def launch(buffers: dict[str, Array] | None = None, scalars: Sequence[Any] = ()) -> Sequence[Any]:
        memory = buffers or {}
        shapes = {name: array.shape for name, array in memory.items()}
        return backend().launch(executable, scalars, Bindings(dict(memory), shapes))

    return launch


def run_cpu(
    source: str | Kernel | Program,
    buffers: dict[str, Array] | None = None,
    scalars: Sequence[Any] = (),
    lanes: int = 8,
    *,
    debug: bool = False,
) -> Sequence[Any]:
    """Compile and launch once."""
    return compiled(source, lanes, debug=debug)(buffers, scalars)


def outcome(run: Callable[..., Sequence[Any]], buffers: dict[str, Array], scalars: Sequence[Any]) -> Any:
    """Results and memory, or the class of the error."""
    memory = {name: buffer.copy() for name, buffer in buffers.items()}
    try:
        return list(run(memory, scalars)), memory
    except AdstackError as error:
        return type(error)


Case = tuple[dict[str, Array], Sequence[Any]]


def agree(
    source: str | Kernel | Program,
    buffers: dict[str, Array] | None = None,
    scalars: Sequence[Any] = (),
    widths: Sequence[int] = WIDTHS,
    *,
    debug: bool = False,
) -> Any:
    """The interpreter and the cpu, over every number of lanes, leave the same bits, or fail alike; what they leave."""
    (left,) = agree_on(source, [(buffers or {}, scalars)], widths, debug=debug)
    return left


def agree_on(
    source: str | Kernel | Program, cases: Iterable[Case], widths: Sequence[int] = (8,), *, debug: bool = False
) -> list[Any]:
    """The same for several inputs of a program that is compiled once."""
    program = tasks_of(source, debug)
    launches = {lanes: compiled(program, lanes, debug=debug) for lanes in widths}
    run_options = interpreter.RunOptions(debug=debug)
    left = []
    for memory, scalars in cases:
        wanted = outcome(lambda b, s: interpreter.run(program, b, s, options=run_options), memory, scalars)
        for lanes, launch in launches.items():
            differences = differing(wanted, outcome(launch, memory, scalars), program)
            assert differences == [], f"with {lanes} lanes: {differences}"
        left.append(wanted)
    return left


def differing(wanted: Any, got: Any, program: Program) -> list[str]:
    """What of two outcomes is not the same."""
    if isinstance(wanted, type) or isinstance(got, type):
        kinds = [value if isinstance(value, type) else "a result" for value in (wanted, got)]
        return [] if wanted is got else ["{} became {}".format(*kinds)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))
        memory = [name for name in wanted[1] if not same_bits(wanted[1][name], got[1][name])]
        pairs = zip(wanted[0], got[0], program.returns, strict=True)
        values = [
            f"result {k}" for k, (a, b, to) in enumerate(pairs) if not same_bits(to.numpy.type(a), to.numpy.type(b))
        ]
    return memory + values


_numbers = count()
PIECES = """kernel @k(%a: i32, %b: i32) {
  place @x : f32[?, ?] ndarray
  place @y : f32[?, ?] ndarray
  place @sum : i64[1] field
  %one = const 1 : i32
  %zero = const 0 : i32
  %wide = const 1 : i64
  parallel_for (%i = %one to %a, %j = %zero to %b) {
    %v = load @x[%i, %j] : f32
    %w = add %v, %v : f32
    store @y[%i, %j], %w
    %o = atomic add @sum[%zero], %wide : i64
    yield
  }
  return
}
"""
_COUNT = """define i64 @count(ptr %ctx) {
  %n = call i64 @"task0.count"(ptr %ctx)
  ret i64 %n
}
"""
"""The function that counts is inlined where it is called: nobody else finds it."""


class Pieces:
    """The functions of the only task of a program, called one by one."""

    def __init__(self, lanes: int, text: str = PIECES) -> None:
        self.executable = backend().compile(tasks_of(text), Options(cpu_lanes=lanes, offline_cache=False))
        text = self.executable.module.text + _COUNT
        image = compiling.compiled(text, toolchain.recipe(text))
        builder = toolchain.llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        for symbol in ("task0", "count"):
            builder.export_symbol(symbol)
        self.library = builder.link(jit(), f"pieces{next(_numbers)}")
        self.task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(self.library["task0"])
        self.count = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.library["count"])

    def context(self, rows: int, columns: int, **memory: np.ndarray) -> int:
        context, slots = self.executable.context, self.executable.slots
        slots[list(context.params)] = rows, columns
        for name, array in memory.items():
            slots[context.pointers[name]] = array.ctypes.data
        for (name, axis), slot in context.extents.items():
            slots[slot] = memory[name].shape[axis]
        return int(slots.ctypes.data)
