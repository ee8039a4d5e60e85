"""Launches recorded one behind the other: what becomes one dispatch, and that nobody can tell."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType
from typing import Any

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
    drawn = x.to_numpy()
    assert dispatched() == 1
    qd.init(arch=qd.reference, random_seed=3)
    x = qd.field(qd.f32, shape=20)
    for k in range(20):
        draw(k)
    assert len(set(drawn.tolist())) == 20
    assert (drawn == x.to_numpy()).all()


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


def kernels_of(x: Any, y: Any, r: Any) -> tuple[Any, ...]:
    """Some kernels of every kind on a number, an array and random numbers."""

    @qd.kernel
    def step(a: qd.i64):
        x[None] = x[None] * 3 + a

    @qd.kernel
    def spread():
        for i in y:
            y[i] += x[None] + i

    @qd.kernel
    def some(n: qd.i32, a: qd.i64):
        for i in range(n):
            y[i] = y[i] * 5 - a

    @qd.kernel
    def mixed(a: qd.types.ndarray(dtype=qd.i64, ndim=1), by: qd.i64):
        x[None] += by
        for i in a:
            a[i] = a[i] * 3 + x[None] + i

    @qd.kernel
    def drawn(at: qd.i32):
        r[at] = qd.random(qd.u32)

    return step, spread, some, mixed, drawn


@qd.kernel
def total(a: qd.types.ndarray(dtype=qd.i64, ndim=1)) -> qd.i64:
    s = qd.i64(0)
    for _ in range(1):
        for i in range(a.shape[0]):
            s += a[i] * (i + 1)
    return s


def session(arch: Any, seed: int, turns: int) -> list[Any]:
    """What a program of launches, reads, writes and frees in a drawn order sees."""
    qd.init(arch=arch, random_seed=9)
    draw, seen = random.Random(seed), []
    x, y, r = qd.field(qd.i64, ()), qd.field(qd.i64, 70), qd.field(qd.u32, 8)
    arrays = [qd.ndarray(qd.i64, n) for n in (1, 5, 130)]
    kernels = step, spread, some, mixed, drawn = kernels_of(x, y, r)

    def fresh() -> None:
        arrays[draw.randrange(3)] = qd.ndarray(qd.i64, draw.randint(1, 200))

    def write() -> None:
        array = draw.choice(arrays)
        array[draw.randrange(array.shape[0])] = draw.randrange(1000)

    actions: list[tuple[int, Callable[[], Any]]] = [
        (12, lambda: step(draw.randrange(100))),
        (6, spread),
        (6, lambda: some(draw.randint(-2, 70), draw.randrange(9))),
        (12, lambda: mixed(draw.choice(arrays), draw.randrange(9))),
        (4, lambda: drawn(draw.randrange(8))),
        (1, lambda: seen.append(total(draw.choice(arrays)))),
        (1, lambda: seen.append(x[None])),
        (1, lambda: seen.append(draw.choice(arrays).to_numpy().tolist())),
        (1, lambda: seen.append(y.to_numpy().tolist())),
        (1, lambda: x.fill(draw.randrange(5))),
        (2, write),
        (2, fresh),
        (1, qd.sync),
    ]
    weights, choices = zip(*actions, strict=True)
    for action in draw.choices(choices, weights, k=turns):
        for _ in range(draw.choice((1, 1, 2, 5))):
            action()
    assert arch is qd.reference or all(isinstance(k.__call__, BuiltinFunctionType) for k in kernels)
    return [*seen, x[None], y.to_numpy().tolist(), r.to_numpy().tolist(), *(a.to_numpy().tolist() for a in arrays)]


@pytest.mark.parametrize(("dtype", "values"), [(qd.f32, [1.5]), (qd.f64, [2.5, -1.0, 4.0]), (qd.i64, [7, 8])])
def test_the_host_writes_few_elements_without_waiting(
    monkeypatch: pytest.MonkeyPatch, dtype: Any, values: list[float]
) -> None:
    """In their place among the launches."""
    qd.init(arch=qd.vulkan)
    x = qd.Vector.field(len(values), dtype, shape=3) if len(values) > 1 else qd.field(dtype, shape=3)

    @qd.kernel
    def double():
        for i in x:
            x[i] = 2 * x[i] + 1

    double()
    device, waits = type(backend().stream.device), list[object]()
    with monkeypatch.context() as patched:
        patched.setattr(device, "wait", lambda *args: waits.append(args))
        x[1] = values if len(values) > 1 else values[0]
        double()
        x[2] = values if len(values) > 1 else values[0]
    assert waits == []
    written = np.array(values)
    want = np.array([0 * written + 3, 2 * written + 1, written])
    assert x.to_numpy().reshape(want.shape).tolist() == want.tolist()


@pytest.mark.parametrize("dtype", [qd.i8, qd.i16, qd.f64])
def test_what_the_host_writes_is_there_however_often_and_of_whatever_type(dtype: Any) -> None:
    """A device writes a multiple of four bytes."""
    qd.init(arch=qd.vulkan)
    x, y = qd.field(dtype, shape=50), qd.field(dtype, shape=50)

    @qd.kernel
    def add():
        for i in x:
            y[i] += x[i]

    add()
    for k in range(50):
        x[k] = k
        if k % 20 == 19:
            add()
    assert x.to_numpy().tolist() == list(range(50))
    assert y.to_numpy().tolist() == [2 * k if k < 20 else k if k < 40 else 0 for k in range(50)]


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_launches_reads_writes_and_frees_gives_what_the_reference_gives(seed: int) -> None:
    assert session(qd.vulkan, seed, 400) == session(qd.reference, seed, 400)
