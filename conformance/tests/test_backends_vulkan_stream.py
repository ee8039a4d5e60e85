"""Launches recorded one behind the other: what becomes one dispatch, and that nobody can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from vulkan_kit import backend

import adstack as qd


@pytest.fixture
def dispatched() -> Iterator[Callable[[], int]]:
    """How many dispatches have been recorded since."""
    qd.init(arch=qd.vulkan, random_seed=3)
    stream = backend().stream
    stream.finish()
    before = stream.state.recorded
    yield lambda: stream.state.recorded - before
    qd.reset()


def test_launches_of_one_serial_task_are_one_dispatch(dispatched):
    x = qd.field(qd.i64, shape=())

    @qd.kernel
    def step(a: qd.i64):
        x[None] = x[None] * 3 + a

    want = 0
    for k in range(100):
        step(k)
        want = (want * 3 + k) % 2**64
    assert x[None] % 2**64 == want
    assert dispatched() == 2  # of at most 64 launches


def test_launches_of_several_tasks_stay_in_order(dispatched):
    x, y = qd.field(qd.i64, shape=()), qd.field(qd.i64, shape=8)

    @qd.kernel
    def step(a: qd.i64):
        x[None] = x[None] * 3 + a

    @qd.kernel
    def spread():
        for i in y:
            y[i] += x[None]
        x[None] += 1

    now, total = 0, 0
    for k in range(5):
        for a in range(k):
            step(a)
            now = now * 3 + a
        spread()
        total, now = total + now, now + 1
    assert x[None] == now
    assert y.to_numpy().tolist() == [total] * 8
    assert dispatched() == 4 + 2 * 5


def test_a_parallel_task_is_a_dispatch_each_time(dispatched):
    y = qd.field(qd.i32, shape=8)

    @qd.kernel
    def step():
        for i in y:
            y[i] = y[(i + 1) % 8] + 1 if i == 0 else y[i] * 2

    for _ in range(4):
        step()
    qd.sync()
    assert dispatched() == 4


def test_every_launch_draws_numbers_of_its_own(dispatched):
    x = qd.field(qd.f32, shape=20)

    @qd.kernel
    def draw(at: qd.i32):
        x[at] = qd.random()

    for k in range(20):
        draw(k)
    found = x.to_numpy()
    assert dispatched() == 1
    qd.init(arch=qd.reference, random_seed=3)
    x = qd.field(qd.f32, shape=20)
    for k in range(20):
        draw(k)
    assert len(set(found.tolist())) == 20
    assert (found == x.to_numpy()).all()


def test_local_arrays_start_with_zeros_in_every_launch(dispatched):
    x = qd.field(qd.i32, shape=12)

    @qd.kernel
    def count(at: qd.i32):
        v = qd.Vector([0, 0, 0, 0])
        k = 0
        while k < at:
            v[k % 4] += 1
            k += 1
        x[at] = v[0] * 1000 + v[1] * 100 + v[2] * 10 + v[3]

    for k in range(12):
        count(k)
    want = [sum(((k - j + 3) // 4) * 10 ** (3 - j) for j in range(4)) for k in range(12)]
    assert x.to_numpy().tolist() == want
    assert dispatched() == 1


def test_more_launches_than_a_batch_has_room_for(dispatched):
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def step():
        x[None] += 1

    for _ in range(1000):
        step()
    assert x[None] == 1000
    assert 1000 / 64 < dispatched() < 25


def test_what_the_host_writes_in_between_is_seen(dispatched):
    x, y = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=3)

    @qd.kernel
    def copy(at: qd.i32):
        y[at] = x[None]

    for k in range(3):
        x[None] = k + 5
        copy(k)
    assert (y.to_numpy() == np.arange(5, 8)).all()
    assert dispatched() == 3
