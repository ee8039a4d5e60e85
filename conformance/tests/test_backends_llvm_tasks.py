"""The functions of a task: any piece of a loop may run at any time; the count says how many iterations there are."""

from __future__ import annotations

import ctypes
from itertools import count, pairwise
from random import Random

import numpy as np
import pytest
from cpu_kit import backend, tasks_of

from adstack.backends.codegen_llvm.function.context import Context
from adstack.backends.cpu import toolchain
from adstack.backends.shared.jit import jit
from adstack.runtime.options import Options

_numbers = count()

TEXT = """kernel @k(%a: i32, %b: i32) {
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

COUNT = """define i64 @count(ptr %ctx) {
  %n = call i64 @"task0.count"(ptr %ctx)
  ret i64 %n
}
"""
"""The function that counts is inlined where it is called: nobody else finds it."""


class Pieces:
    """The functions of the only task of a program, called one by one."""

    def __init__(self, lanes: int, text: str = TEXT) -> None:
        self.executable = backend().compile(tasks_of(text), Options(cpu_lanes=lanes, offline_cache=False))
        image = toolchain.target_machine().emit_object(toolchain.optimised(self.executable.module.text + COUNT))
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


@pytest.mark.parametrize("lanes", [1, 8, 64])
def test_any_pieces_of_a_loop_make_the_whole(lanes):
    pieces = Pieces(lanes)
    random = Random(lanes)
    for rows, columns in ((3, 5), (2, 70), (9, 64), (2, 1), (40, 7)):
        x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        y, total = np.zeros_like(x), np.zeros(1, np.int64)
        context = pieces.context(rows, columns, x=x, y=y, sum=total)
        count = (rows - 1) * columns
        assert pieces.count(context) == count
        cuts = sorted({0, count, *(random.randint(0, count) for _ in range(4))})
        ranges = list(pairwise(cuts))
        random.shuffle(ranges)
        for done, (begin, end) in enumerate(ranges):
            pieces.task(context, begin, end)
            assert np.count_nonzero(y) == sum(e - b for b, e in ranges[: done + 1])
        assert (y[1:] == 2 * x[1:]).all()
        assert not y[0].any()
        assert total[0] == count


@pytest.mark.parametrize(("rows", "columns"), [(1, 5), (0, 5), (-7, 5), (5, 0), (5, -1)])
def test_an_empty_box_counts_nothing(rows, columns):
    pieces = Pieces(8)
    nothing = np.zeros((0, 0), np.float32)
    assert pieces.count(pieces.context(rows, columns, x=nothing, y=nothing, sum=np.zeros(1, np.int64))) == 0


def test_every_part_of_a_context_has_a_slot_of_its_own():
    context = Context.of(tasks_of(TEXT))
    slots = [*context.params, *context.pointers.values(), *context.extents.values(), *context.own.values()]
    assert sorted(slots) == list(range(context.size))
    assert set(context.extents) == {("x", 0), ("x", 1), ("y", 0), ("y", 1)}
