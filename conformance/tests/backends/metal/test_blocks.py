"""Blocks of threads are threadgroups, where that can't be seen, and one thread each elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from immediate_kit import agree_on, compiled
from metal_kit import backend, tasks_of, text_of
from reverse_kit import reversed_kernel
from teams_kit import exchanges, fields, histogram, large, memory_of, mirror, scan, tangent, total

import adstack as qd
from adstack.analysis import teams
from adstack.backends.codegen_msl.tasks import emit_program
from adstack.ir.structure import Kernel

BARRIER = "threadgroup_barrier("


@pytest.fixture(autouse=True)
def _reference() -> None:
    qd.init(arch=qd.reference)


@pytest.mark.parametrize("size", [1, 16, 33, 128, 1024])
def test_results_are_those_of_threads_one_after_another(size: int) -> None:
    x, y = fields()
    agree_on(backend(), tasks_of(scan(x, y, size)), [(memory_of(x, y), ())])


def test_a_block_is_a_threadgroup() -> None:
    emitted = emit_program(tasks_of(scan(*fields(), 33)))
    assert emitted.widths == {0: 33}
    assert "[[max_total_threads_per_threadgroup(33)]] kernel void" in emitted.text
    assert emitted.text.count(BARRIER) == 7
    shared = [line.strip() for line in emitted.text.splitlines() if line.startswith("    threadgroup ")]
    # the tile, and two values that threads tell each other
    assert shared == [
        "threadgroup int shared_array_tile[33];",
        "threadgroup bool told[33];",
        "threadgroup int told_1[33];",
    ]


def test_what_all_threads_of_a_block_add_is_combined_first() -> None:
    kernel, memory = total()
    program = tasks_of(kernel)
    text = emit_program(program).text
    assert text.count("simd_any(") == text.count("atomic_fetch_add_explicit(") == 1
    agree_on(backend(), program, [(memory, ())])


def test_threads_update_integers_that_they_share() -> None:
    kernel, memory = histogram()
    text = text_of(kernel)
    for update in (
        "add_explicit((threadgroup atomic_int*)",
        "sub_explicit((",
        "max_explicit((threadgroup atomic_uint*)",
    ):
        assert text.count(f"atomic_fetch_{update}") == 1
    agree_on(backend(), tasks_of(kernel), [(memory, ())])


def test_threads_read_from_fields_what_others_of_their_block_have_written() -> None:
    kernel, memory = exchanges()
    assert emit_program(tasks_of(kernel)).widths == {0: 100}
    agree_on(backend(), tasks_of(kernel), [(memory, ())])


@pytest.mark.parametrize(
    ("make", "debug"),
    [(lambda: scan(*fields()), True), (lambda: large(qd.f32), False)],
    ids=["debug", "too much memory"],
)
def test_elsewhere_a_block_is_one_thread(make: Callable[[], Kernel], debug: bool) -> None:
    assert BARRIER not in text_of(make(), debug=debug)


@pytest.mark.parametrize("of", [reversed_kernel, tangent], ids=["reverse", "forward"])
def test_derivatives_run_one_thread_for_each_block(of: Callable[[Kernel], Kernel]) -> None:
    assert BARRIER in text_of(mirror())
    assert BARRIER not in text_of(of(mirror()))


def test_a_barrier_that_is_missing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = fields()
    kernel, memory = scan(x, y, 128), memory_of(x, y)
    wanted = {name: array.copy() for name, array in memory.items()}
    compiled(backend(), tasks_of(kernel))(wanted)
    monkeypatch.setattr(teams, "waits", lambda body, shared: frozenset())
    compiled(backend(), tasks_of(kernel))(memory)
    assert (memory[y.place.name] != wanted[y.place.name]).any()
