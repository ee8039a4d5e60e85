"""What is dropped gives its memory back: on every backend, while launches are under way, and where memory is short."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from memory_kit import ARCHES, device_bytes

import adstack as qd
from adstack.errors import AdstackMemoryError
from adstack.runtime import state

KIB = 1024 // 4
"""Elements of f32."""
pytestmark = pytest.mark.usefixtures("host_plays_cuda")


@pytest.fixture
def host_plays_cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    yield
    qd.reset()


@pytest.fixture(params=ARCHES)
def arch(request: Any) -> Any:
    qd.init(arch=getattr(qd, request.param), offline_cache=False)
    return getattr(qd, request.param)


@qd.kernel
def fill(x: qd.types.ndarray(qd.f32, 1), value: qd.f32):
    for i in x:
        x[i] = value


@qd.kernel
def collect(x: qd.types.ndarray(qd.f32, 1), total: qd.types.ndarray(qd.f32, 1)):
    for i in x:
        total[i] += x[i]


def test_arrays_that_are_dropped_take_no_memory(arch: Any):
    for needs_grad in (False, True):
        fill(qd.ndarray(qd.f32, 4, needs_grad=needs_grad), 1.0)
    gc.collect()
    taken = device_bytes()
    before, most = taken(), 0
    for number in range(150):
        x = qd.ndarray(qd.f32, 16 * KIB, needs_grad=number % 2 == 0)
        fill(x, 1.0)
        if number % 25 == 0:
            most = max(most, taken() - before)
    del x
    gc.collect()  # an array and its gradient know each other
    assert most < 100 * 16 * 1024
    assert taken() == before


def test_fields_that_are_dropped_take_no_memory(arch: Any):
    taken = device_bytes()
    before = taken()
    for _ in range(100):
        x = qd.field(qd.f32, 16 * KIB)
        x[5] = 1.0
        assert x[5] == 1.0
    del x
    gc.collect()
    assert taken() == before


def test_copies_of_arguments_go_with_the_call(arch: Any):
    array = np.zeros(4 * KIB, np.float32)
    fill(array, 1.0)
    taken = device_bytes()
    before = taken()
    for number in range(50):
        fill(array, float(number))
    assert array[7] == 49.0
    assert taken() == before


def test_what_launches_under_way_use_is_not_given_to_others(arch: Any):
    total = qd.ndarray(qd.f32, 4 * KIB)
    for number in range(100):
        x = qd.ndarray(qd.f32, 4 * KIB)
        fill(x, float(number))
        collect(x, total)
        del x  # nobody has waited
        other = qd.ndarray(qd.f32, 4 * KIB)
        other.fill(-1.0)
        fill(other, -2.0)
        del other
    assert (total.to_numpy() == sum(range(100))).all()


def test_garbage_is_collected_before_memory_is_refused(arch: Any):
    qd.init(arch=arch, offline_cache=False, device_memory_GB=1 / 1024)
    gc.disable()
    try:
        for number in range(20):
            x: list[Any] = [qd.ndarray(qd.u8, 700_000)]
            x.append(x)
            x[0][3] = number
            assert x[0][3] == number
            del x
    finally:
        gc.enable()


def test_a_device_that_is_full_gives_back_what_is_garbage(arch: Any, monkeypatch: pytest.MonkeyPatch):
    backend: Any = state.current().backend
    taken = device_bytes()
    before = taken()

    def scarce(dtype: Any, shape: Any) -> Any:
        if taken() - before > 100_000:
            raise AdstackMemoryError("no memory")
        return allocate(dtype, shape)

    allocate = backend.allocate
    monkeypatch.setattr(backend, "allocate", scarce)
    gc.disable()
    try:
        for _ in range(5):
            x: list[Any] = [qd.ndarray(qd.u8, 150_000)]
            x.append(x)
            del x
        kept = qd.ndarray(qd.u8, 150_000)
        with pytest.raises(AdstackMemoryError):
            qd.ndarray(qd.u8, 150_000)
        assert kept[0] == 0
    finally:
        gc.enable()


def test_init_and_reset_leave_nothing(arch: Any):
    taken = device_bytes()
    before = taken() if arch in (qd.vulkan,) else None
    for _ in range(4):
        qd.init(arch=arch, offline_cache=False)
        taken = device_bytes()
        x, y = (qd.field(qd.f32, 64, needs_grad=True) for _ in range(2))
        n = qd.field(qd.i32, ())
        n[None] = 50

        @qd.kernel
        def run(x: qd.template(), y: qd.template(), n: qd.template()):
            for i in x:
                v = x[i]
                for _ in range(n[None]):
                    v = qd.sin(v)
                y[i] = v

        run(x, y, n)
        run.grad(x, y, n)
    qd.reset()
    gc.collect()
    if before is not None:
        assert taken() == before
