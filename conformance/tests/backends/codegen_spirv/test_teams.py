"""Blocks of threads are workgroups, where that can't be seen, and one thread each elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from reverse_kit import reversed_kernel
from teams_kit import fields, histogram, memory_of, mirror, scan, scratch, tangent
from vulkan_kit import POOR, STRICT, agree_on, backend, tasks_of, validate

import adstack as qd
from adstack.backends.codegen_spirv.assembly.opcodes import Op, Storage
from adstack.backends.codegen_spirv.assembly.text import instructions
from adstack.backends.codegen_spirv.tasks import Shader, emit_program
from adstack.ir.structure import Kernel


@pytest.fixture(autouse=True)
def _reference() -> None:
    qd.init(arch=qd.reference)


def shaders(kernel: Kernel, **more: Any) -> list[Shader]:
    return emit_program(tasks_of(kernel, more.get("debug", False)), **more).shaders


def count(shader: Shader, op: Op) -> int:
    return sum(code is op for code, _ in instructions(shader.words))


@pytest.mark.parametrize("size", [1, 16, 128])
def test_results_are_those_of_threads_one_after_another(size: int) -> None:
    x, y = fields()
    kernel = scan(x, y, size)
    for device in (backend(threads=1024), backend()):
        agree_on(kernel, [(memory_of(x, y), ())], device=device)


def test_a_block_is_a_workgroup(tmp_path) -> None:
    kernel = scan(*fields())
    (shader,) = shaders(kernel)
    sizes = [operands[2] for code, operands in instructions(shader.words) if code is Op.ExecutionMode]
    assert sizes[0] == 16
    assert shader.local_size == 1
    assert count(shader, Op.ControlBarrier) == 7
    validate([shader.words], tmp_path)


def test_what_a_thread_keeps_for_itself_is_not_shared() -> None:
    (shader,) = shaders(scan(*fields()))
    classes = [operands[2] for code, operands in instructions(shader.words) if code is Op.Variable]
    # the tile, and two values that threads tell each other
    assert classes.count(Storage.Workgroup) == 3


def test_a_list_that_a_thread_fills_between_two_waits_is_its_own() -> None:
    kernel, memory = scratch()
    agree_on(kernel, [(memory, ())], device=backend(threads=1024))


def test_threads_update_integers_that_they_share(tmp_path) -> None:
    kernel, memory = histogram()
    (shader,) = shaders(kernel)
    assert [count(shader, op) for op in (Op.AtomicIAdd, Op.AtomicISub, Op.AtomicUMax)] == [1, 1, 1]
    validate([shader.words], tmp_path)
    agree_on(kernel, [(memory, ())], device=backend(threads=1024))


@pytest.mark.parametrize(
    "more",
    [
        {"debug": True},
        {"traits": POOR},
        {"traits": replace(STRICT, threads=8)},
        {"traits": replace(STRICT, shared=64)},
    ],
    ids=["debug", "loops that end early", "few threads", "little memory"],
)
def test_elsewhere_a_block_is_one_thread(more: dict[str, Any], tmp_path) -> None:
    (shader,) = shaders(scan(*fields()), **more)
    assert count(shader, Op.ControlBarrier) == 0
    assert shader.local_size == 64
    validate([shader.words], tmp_path)


@pytest.mark.parametrize("of", [reversed_kernel, tangent], ids=["reverse", "forward"])
def test_derivatives_run_one_thread_for_each_block(of: Callable[[Kernel], Kernel]) -> None:
    kernel = mirror()
    assert sum(count(shader, Op.ControlBarrier) for shader in shaders(kernel)) > 0
    assert sum(count(shader, Op.ControlBarrier) for shader in shaders(of(kernel))) == 0
