"""Calls leave nothing behind, however many there are: of arguments of every kind, of elements, and of gradients."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from memory_kit import ARCHES

import adstack as qd

FEW, SEVERAL = 60, 300
"""Objects that may be there after so many calls which were not there before: of caches; of what is kept for gradients,
which is looked through now and then. If each call left one, there would be 400 at least.
"""
CALLS = {"reference": 400, "vulkan": 2000, "cuda": 2000, "cpu": 10000}
Step = Callable[[int], object]


@dataclass
class Body:
    """Numbers, a vector and an array."""

    x: qd.types.ndarray(dtype=qd.f32, ndim=1)
    at: qd.types.vector(2, qd.f32)
    mass: qd.f32


@pytest.fixture(params=ARCHES)
def arch(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=getattr(qd, request.param), offline_cache=False)
    yield request.param
    qd.reset()


def vectors() -> Step:
    y = qd.field(qd.f32, shape=())

    @qd.kernel
    def add(v: qd.types.vector(3, qd.f32), s: qd.f32):
        y[None] += v.dot(v) * s

    return lambda k: add(qd.Vector([1.0, float(k), 2.0]), float(k))


def dataclasses() -> Step:
    x = qd.ndarray(qd.f32, 4)

    @qd.kernel
    def push(body: Body):
        for i in body.x:
            body.x[i] += body.at[0] * body.mass

    return lambda k: push(Body(x, qd.Vector([float(k), 1.0]), 0.5))


def returned() -> Step:
    x = qd.field(qd.f32, shape=4)

    @qd.kernel
    def first(k: qd.i32) -> qd.f32:
        return x[k % 4]

    return first


def host_arrays() -> Step:
    array = np.zeros(4, np.float32)

    @qd.kernel
    def fill(a: qd.types.ndarray(qd.f32, 1), value: qd.f32):
        for i in a:
            a[i] = value

    return lambda k: fill(array, float(k))


def elements() -> Step:
    x, v = qd.field(qd.f32, shape=(3, 3)), qd.Vector.field(2, qd.f32, shape=3)

    def step(k: int) -> None:
        x[k % 3, 1] = x[1, k % 3] + 1.0
        v[k % 3] = [v[1][0], float(k)]

    return step


def gradients() -> Step:
    """By hand, each of a launch that writes what the one before needs."""
    x, y = (qd.field(qd.f32, shape=4, needs_grad=True) for _ in range(2))

    @qd.kernel
    def square(t: qd.i32):
        for i in x:
            y[i] = x[i] * x[i]
            x[i] = 0.5 * y[i]

    def step(k: int) -> None:
        square(k % 7)
        square.grad(k % 7)

    return step


def tapes() -> Step:
    x, y = qd.field(qd.f32, shape=4, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def total(s: qd.f32):
        for i in x:
            y[None] += x[i] * s

    def step(k: int) -> None:
        with qd.ad.Tape(loss=y):
            total(float(k))

    return step


@pytest.mark.parametrize("make", [vectors, dataclasses, returned, host_arrays, elements, gradients, tapes])
def test_many_calls_leave_nothing(arch: str, make: Callable[[], Step]):
    step, differentiates = make(), make in (gradients, tapes)
    count = min(CALLS[arch], 2000) if differentiates else CALLS[arch]
    for k in range(300 if arch == "reference" else 1200):  # what is learned, or remembered of so many, is there by then
        step(k)
    there = [blocks()]
    for _ in range(3):  # now and then a cache grows; what calls leave is left each time
        for k in range(count):
            step(k)
        there.append(blocks())
    more = [after - before for before, after in pairwise(there)]
    assert min(more) < (SEVERAL if differentiates else FEW), more


def blocks() -> int:
    """How many objects there are, as Python's allocator counts them."""
    qd.sync()
    gc.collect()
    return sys.getallocatedblocks()
