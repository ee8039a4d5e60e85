"""Blocks of threads are workgroups, where that can't be seen, and one thread each elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from reverse_kit import reversed_kernel
from vulkan_kit import POOR, STRICT, agree_on, backend, tasks_of, validate

import adstack as qd
from adstack.autodiff.forward import forward
from adstack.backends.codegen_spirv.assembly.opcodes import Op, Storage
from adstack.backends.codegen_spirv.assembly.text import instructions
from adstack.backends.codegen_spirv.tasks import Shader, emit_program
from adstack.frontend import lower
from adstack.ir.structure import Kernel
from adstack.values.specs import Request

N = 300


@pytest.fixture(autouse=True)
def _reference() -> None:
    qd.init(arch=qd.reference)


def tangent(kernel: Kernel) -> Kernel:
    """The kernel that computes tangents, too."""
    return forward(kernel, {name: replace(p, name=f"{name}.dual") for name, p in kernel.places.items()})


def scan(x: Any, y: Any, size: int = 16) -> Kernel:
    """Sums of the elements before each one of a block, and what a subgroup makes of them."""

    def body() -> None:
        qd.loop_config(block_dim=size)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(size, qd.i32)
            tile[t] = x[i]
            qd.simt.block.sync()
            step = 1
            while step < size:
                before = 0
                if t >= step:
                    before = tile[t - step]
                qd.simt.block.sync()
                tile[t] += before
                qd.simt.block.sync()
                step *= 2
            if qd.simt.subgroup.any_true(tile[t] % 7 == 0):
                tile[t] *= 2
            total = qd.simt.subgroup.reduce_add(tile[t])
            y[i] = tile[t] + 1000 * total

    return lower(Request(body, (), None, SimpleNamespace())).kernel


def shaders(kernel: Kernel, **more: Any) -> list[Shader]:
    return emit_program(tasks_of(kernel, more.get("debug", False)), **more).shaders


def count(shader: Shader, op: Op) -> int:
    return sum(code is op for code, _ in instructions(shader.words))


def fields() -> tuple[Any, Any]:
    return qd.field(qd.i32, shape=N), qd.field(qd.i32, shape=N)


@pytest.mark.parametrize("size", [1, 16, 128])
def test_results_are_those_of_threads_one_after_another(size: int) -> None:
    x, y = fields()
    kernel = scan(x, y, size)
    values = np.random.default_rng(7).integers(-9, 9, N).astype(np.int32)
    memory = {x.place.name: values, y.place.name: np.zeros(N, np.int32)}
    for device in (backend(threads=1024), backend()):
        agree_on(kernel, [(memory, ())], device=device)


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
    x, y = qd.field(qd.f32, shape=N, needs_grad=True), qd.field(qd.f32, shape=N, needs_grad=True)

    def body() -> None:
        qd.loop_config(block_dim=16)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(16, qd.f32)
            tile[t] = x[i] * x[i]
            qd.simt.block.sync()
            y[i] = tile[15 - t]

    kernel = lower(Request(body, (), None, SimpleNamespace())).kernel
    assert sum(count(shader, Op.ControlBarrier) for shader in shaders(kernel)) > 0
    assert sum(count(shader, Op.ControlBarrier) for shader in shaders(of(kernel))) == 0
