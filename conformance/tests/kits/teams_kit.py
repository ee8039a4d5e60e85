"""Kernels whose iterations are blocks of threads, for the tests of backends that run these side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd
from adstack.autodiff.forward import forward
from adstack.frontend import lower
from adstack.ir.structure import Kernel
from adstack.values.specs import Request

N = 300


def fields() -> tuple[Any, Any]:
    """What a scan reads, and what it writes."""
    return qd.field(qd.i32, shape=N), qd.field(qd.i32, shape=N)


def memory_of(x: Any, y: Any) -> dict[str, npt.NDArray[np.int32]]:
    """Memory for them."""
    values = np.random.default_rng(7).integers(-9, 9, N).astype(np.int32)
    return {x.place.name: values, y.place.name: np.zeros(N, np.int32)}


def lowered(body: Callable[[], None]) -> Kernel:
    """The kernel that a function is the body of."""
    return lower(Request(body, (), None, SimpleNamespace())).kernel


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

    return lowered(body)


def total() -> tuple[Kernel, dict[str, npt.NDArray[Any]]]:
    """A sum over all threads of blocks of 100; and memory for it."""
    x, out = qd.field(qd.i32, shape=N), qd.field(qd.i32, shape=())

    def body() -> None:
        qd.loop_config(block_dim=100)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(100, qd.i32)
            tile[t] = x[i]
            qd.simt.block.sync()
            out[None] += tile[99 - t]

    return lowered(body), {x.place.name: np.arange(N, dtype=np.int32), out.place.name: np.zeros((), np.int32)}


def exchanges() -> tuple[Kernel, dict[str, npt.NDArray[np.int32]]]:
    """Threads of blocks of 100 that read what others of their block have written to a field; and memory for it."""
    x, y = fields()

    def body() -> None:
        qd.loop_config(block_dim=100)
        for i in x:
            t = qd.simt.block.thread_idx()
            first = i - t
            for step in range(3):
                qd.simt.block.sync()
                here = x[first + (t * 31 + 1) % 100]
                qd.simt.block.sync()
                x[i] = here + step
            qd.simt.block.sync()
            y[i] = x[first + 99 - t]

    return lowered(body), memory_of(x, y)


def large(dtype: Any) -> Kernel:
    """4,096 numbers that the threads of a block share, and as many that they tell each other."""
    x, y = qd.field(dtype, shape=N), qd.field(dtype, shape=N)

    def body() -> None:
        qd.loop_config(block_dim=1024)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(4096, dtype)
            tile[t] = x[i]
            qd.simt.block.sync()
            a = tile[1023 - t] + x[i]
            for _ in qd.static(range(4)):
                a += qd.simt.subgroup.reduce_add(a)
            y[i] = a

    return lowered(body)


def mirror() -> Kernel:
    """Squares, mirrored in each block: something to differentiate."""
    x, y = qd.field(qd.f32, shape=N, needs_grad=True), qd.field(qd.f32, shape=N, needs_grad=True)

    def body() -> None:
        qd.loop_config(block_dim=16)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(16, qd.f32)
            tile[t] = x[i] * x[i]
            qd.simt.block.sync()
            y[i] = tile[15 - t]

    return lowered(body)


def tangent(kernel: Kernel) -> Kernel:
    """The kernel that computes tangents, too."""
    return forward(kernel, {name: replace(p, name=f"{name}.dual") for name, p in kernel.places.items()})


def histogram() -> tuple[Kernel, dict[str, npt.NDArray[Any]]]:
    """Counts, sums and extremes of values in each block, by atomic updates of shared elements; and memory for it."""
    x = qd.field(qd.i32, shape=N)
    counts, most = qd.field(qd.i32, shape=(5, 8)), qd.field(qd.u32, shape=(5, 8))

    def body() -> None:
        qd.loop_config(block_dim=64)
        for i in x:
            t = qd.simt.block.thread_idx()
            table = qd.simt.block.SharedArray(8, qd.i32)
            large = qd.simt.block.SharedArray(8, qd.u32)
            if t < 8:
                table[t] = 10
            qd.simt.block.sync()
            table[x[i]] += 1
            table[7] -= x[i]
            qd.atomic_max(large[x[i]], qd.cast(i, qd.u32))
            qd.simt.block.sync()
            if t < 8:
                counts[i // 64, t] = table[t]
                most[i // 64, t] = large[t]

    values = np.random.default_rng(7).integers(0, 8, N).astype(np.int32)
    memory = {x.place.name: values, counts.place.name: np.zeros((5, 8), np.int32)}
    return lowered(body), {**memory, most.place.name: np.zeros((5, 8), np.uint32)}


def scratch() -> tuple[Kernel, dict[str, npt.NDArray[np.int32]]]:
    """Threads of blocks of 16 that fill a list of their own between two waits, and index it; and memory for it."""
    x, y = fields()

    def body() -> None:
        qd.loop_config(block_dim=16)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(16, qd.i32)
            tile[t] = x[i]
            qd.simt.block.sync()
            own = qd.Vector.zero(qd.i32, 60)
            for j in range(90):
                own[(7 * j + t) % 60] += tile[(t + j) % 16] + j
            here = own[tile[t] % 60]
            qd.simt.block.sync()
            y[i] = here

    return lowered(body), memory_of(x, y)
