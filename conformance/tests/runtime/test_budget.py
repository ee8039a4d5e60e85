"""`device_memory_GB`: fields, arrays and adstacks together stay within it, or an error says what takes how much."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.errors import AdstackMemoryError
from adstack.runtime.adstacks.budget import Budget, current
from adstack.runtime.adstacks.heap import Heap, HeapLimit

MIB = 1 / 1024
"""In the units of the option."""
ARCHES = pytest.mark.parametrize("arch", ["reference", "cpu"])


@ARCHES
def test_fields_and_arrays_of_a_size_within_it_are_made_and_the_next_one_is_refused(arch: str):
    qd.init(arch=arch, device_memory_GB=MIB)
    x = qd.field(qd.f32, 1024 * 100)
    x.fill(1.0)
    a = qd.ndarray(qd.f64, 1024 * 50)
    with pytest.raises(AdstackMemoryError) as caught:
        qd.ndarray(qd.f32, (1024, 100))
    text = str(caught.value)
    assert "memory for f32 of shape (1024, 100) takes 409600 bytes" in text
    assert "of the 1048576 bytes that device_memory_GB allows, 819200 are taken by fields and arrays" in text
    assert "raise device_memory_GB" in text
    assert a.shape == (1024 * 50,)
    assert x[7] == 1.0


@ARCHES
def test_memory_that_was_given_back_counts_no_more(arch: str):
    qd.init(arch=arch, device_memory_GB=MIB)
    for _ in range(2):
        array = qd.ndarray(qd.u8, 900_000)
        array.fill(1)
        del array
        gc.collect()
    qd.reset()
    qd.init(arch=arch, device_memory_GB=MIB)
    qd.ndarray(qd.u8, 1024 * 1024)


@ARCHES
def test_memory_of_numpy_that_the_device_addresses_does_not_count(arch: str):
    qd.init(arch=arch, device_memory_GB=MIB)

    @qd.kernel
    def fill(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in a:
            a[i] = 2.0

    array = np.zeros(1024 * 1024, np.float32)
    fill(array)
    assert (array == 2.0).all()


def chain(steps: int, threads: int) -> tuple[Any, Any, Any]:
    """A kernel whose gradient keeps a value of every step."""
    x, y = (qd.field(qd.f32, threads, needs_grad=True) for _ in range(2))
    x.fill(0.5)
    y.grad.fill(1.0)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for _ in range(steps):
                s = 0.5 * s * s + 0.25 * s + 0.1
            y[i] = s

    k()
    return k, x, y


@ARCHES
def test_adstacks_take_what_data_leaves_and_loops_run_again_where_that_is_too_little(arch: str):
    qd.init(arch=arch)
    k, x, _ = chain(1500, 8)
    k.grad()
    want = x.grad.to_numpy()
    qd.init(arch=arch, device_memory_GB=4096 / 2**30)
    k, x, _ = chain(1500, 8)
    k.grad()
    assert x.grad.to_numpy().tobytes() == want.tobytes()
    assert "checkpointed" in str(k.grad.adstack_report())
    assert sum(one.taken for one in (*current().buffers, *current().heaps)) <= 4096


def test_the_heap_counts_too():
    qd.init(arch=qd.cpu, device_memory_GB=MIB, cpu_max_num_threads=1, cpu_lanes=1)
    k, *_ = chain(200_000, 1)
    k.grad()
    with pytest.raises(AdstackMemoryError, match=r"by fields and arrays, 8\d{5} by the adstack heap"):
        qd.ndarray(qd.u8, 500_000)


def test_an_error_about_adstacks_says_what_leaves_so_little():
    qd.init(arch=qd.reference, device_memory_GB=MIB)
    filler = qd.ndarray(qd.u8, 2**20 - 100)
    error = HeapLimit("k", "k.0", 4000, 0)
    assert error.limit == 100
    assert "device_memory_GB leaves 100 for them" in str(error)
    assert "raise device_memory_GB, or make less data" in str(error)
    assert "ad_stack_heap_limit is 50" in str(HeapLimit("k", "k.0", 4000, 50))
    assert filler.shape


def test_without_the_option_nothing_is_watched():
    qd.init(arch=qd.reference)
    qd.ndarray(qd.u8, 100)
    assert current().limit == 0
    assert len(current().buffers) == 0
    assert current().heap_limit(0) == 0
    assert current().heap_limit(70) == 70


def test_a_runtime_that_has_ended_leaves_no_limit():
    qd.init(arch=qd.reference, device_memory_GB=1000 / 2**30)
    assert current().heap_limit(0) == 1000
    qd.reset()
    assert current().heap_limit(0) == 0


def test_the_smaller_of_two_limits_counts_and_a_heap_grows_up_to_it():
    budget = Budget(1000)
    assert budget.heap_limit(0) == 1000
    assert budget.heap_limit(300) == 300
    qd.init(arch=qd.reference, device_memory_GB=1000 / 2**30)
    heap = Heap(bytearray, lambda storage: None)
    assert heap.room(300, 10) == 3
    assert heap.taken == 900
    with pytest.raises(AdstackMemoryError, match="900 by the adstack heap"):
        current().admit(200, "a field")
    heap.drop()
    current().admit(200, "a field")
