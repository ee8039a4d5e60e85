"""Blocks of threads are thread blocks, where that can't be seen, and one thread each elsewhere."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cuda_kit import ADDS, agree_on, assemble, compiled, device_code, planned, played
from reverse_kit import reversed_kernel
from teams_kit import N, exchanges, fields, histogram, large, memory_of, mirror, scan, tangent, total

import adstack as qd
from adstack.analysis import teams
from adstack.backends.cuda.codegen import BLOCK, HEAD, MOST, ROW, WORDS, emit_module
from adstack.backends.cuda.played.blocks import HostBlocks
from adstack.backends.cuda.toolchain import host_code
from adstack.errors import AdstackError
from adstack.ir.structure import Kernel

BARRIER = "bar.sync"


@pytest.fixture(autouse=True)
def _reference() -> None:
    qd.init(arch=qd.reference)


def threads_of(kernel: Kernel, *, host: bool = False, debug: bool = False) -> list[int]:
    """How many threads run a block, of the tasks whose iterations are blocks."""
    module = emit_module(planned(kernel, debug), debug=debug, adds=ADDS, host=host)
    return list(module.widths.values())


@pytest.mark.parametrize("size", [1, 16, 33, 128, 1024])
def test_results_are_those_of_threads_one_after_another(size: int) -> None:
    x, y = fields()
    kernel = scan(x, y, size)
    agree_on(kernel, [(memory_of(x, y), ())])
    assert threads_of(kernel, host=True) == [size]


@pytest.mark.parametrize(("size", "threads"), [(1, 32), (16, 32), (33, 64), (128, 128), (1024, 1024)])
def test_a_block_is_a_thread_block_of_whole_warps(size: int, threads: int, tmp_path) -> None:
    kernel = scan(*fields(), size)
    code = device_code(kernel)
    assert threads_of(kernel) == [threads]
    assert f".maxntid {threads}\n" in code
    assert code.count(BARRIER) == 7
    assert "bytes smem" in assemble(code, tmp_path, "-v")


def test_what_threads_share_is_in_the_memory_of_the_block() -> None:
    code = device_code(scan(*fields()))
    # the tile, and two values that threads tell each other
    assert [int(size) for size in re.findall(r"\.shared .*\[(\d+)\]", code)] == [64, 16, 64]
    assert "ld.shared" in code
    assert not re.search(r"\b(ld|st)\.(local|b32|b8)\b", code)  # what a thread keeps is in registers


def test_what_all_threads_of_a_block_add_is_combined_first(tmp_path) -> None:
    kernel, memory = total()
    code = device_code(kernel)
    assert "shfl.sync.down.b32" in code
    assert code.count("red.relaxed.gpu.global.add.u32") == 1
    assemble(code, tmp_path)
    agree_on(kernel, [(memory, ())])


def test_threads_update_integers_that_they_share(tmp_path) -> None:
    kernel, memory = histogram()
    assert threads_of(kernel, host=True) == [64]
    agree_on(kernel, [(memory, ())])
    code = device_code(kernel)
    assert re.findall(r"atom\.shared\.(\w+\.\w+)", code) == ["add.u32", "add.u32", "max.u32"]
    assemble(code, tmp_path)


def test_threads_read_from_fields_what_others_of_their_block_have_written(tmp_path) -> None:
    kernel, memory = exchanges()
    assert threads_of(kernel, host=True) == [100]
    agree_on(kernel, [(memory, ())])
    code = device_code(kernel)
    assert code.count(BARRIER) == 3
    assert "ld.global.nc" not in code
    assemble(code, tmp_path)


@pytest.mark.parametrize(
    ("make", "debug"),
    [(lambda: scan(*fields()), True), (lambda: large(qd.f64), False)],
    ids=["debug", "too much memory"],
)
def test_elsewhere_a_block_is_one_thread(make: Callable[[], Kernel], debug: bool, tmp_path) -> None:
    kernel = make()
    assert threads_of(kernel, debug=debug) == []
    code = device_code(kernel, debug=debug)
    assert BARRIER not in code
    assemble(code, tmp_path)


@pytest.mark.parametrize("of", [reversed_kernel, tangent], ids=["reverse", "forward"])
def test_derivatives_run_one_thread_for_each_block(of: Callable[[Kernel], Kernel]) -> None:
    kernel = mirror()
    assert BARRIER in device_code(kernel)
    assert BARRIER not in device_code(of(kernel))


def test_there_is_a_thread_block_for_each_block_as_far_as_there_may_be() -> None:
    module = emit_module(planned(scan(*fields())), debug=False, adds=ADDS, host=False)
    code, seen = host_code(module.launcher, ["run"], None, plain=True), []
    word = ctypes.c_void_p

    @ctypes.CFUNCTYPE(ctypes.c_int, word, *[ctypes.c_uint] * 7, word, word, word)
    def launch(*told: Any) -> int:
        seen.append((told[1], told[4]))
        return 0

    table, context = np.zeros(HEAD + ROW, np.int64), np.zeros(module.size, np.int64)
    table[WORDS["launch"]] = ctypes.cast(launch, word).value
    table[WORDS["spread"]] = 132
    run = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * 4)(code.symbols["run"])
    for most in (1000, 5):
        table[HEAD + BLOCK], table[HEAD + MOST] = 32, most
        assert run(context.ctypes.data, table.ctypes.data, 0, 1) == 0
    assert seen == [(-(-N // 16), 32), (5, 32)]


def test_a_barrier_that_is_missing_is_seen_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = fields()
    kernel, memory = scan(x, y), memory_of(x, y)
    wanted = {name: array.copy() for name, array in memory.items()}
    compiled(kernel)(wanted)
    monkeypatch.setattr(teams, "waits", lambda body, shared: frozenset())
    assert BARRIER not in device_code(kernel)
    compiled(kernel)(memory)
    assert (memory[y.place.name] != wanted[y.place.name]).any()


def test_a_barrier_to_which_not_all_threads_come_is_an_error_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = HostBlocks.wait

    def some(self: HostBlocks, e: Any) -> None:
        here, there = e.label("here"), e.label("there")
        e.split(e.w.let(f"icmp eq i64 {self.thread(e.w)}, 3"), here, there)
        e.enter(here)
        wait(self, e)
        e.jump(there)
        e.enter(there)

    monkeypatch.setattr(HostBlocks, "wait", some)
    x, y = fields()
    with pytest.raises(AdstackError, match="different barriers"):
        compiled(scan(x, y), device=played())(memory_of(x, y))
