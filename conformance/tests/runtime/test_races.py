"""Races in debug mode: every backend finds what there is, says the same of it, and changes nothing else."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import adstack as qd
from adstack.errors import AdstackMemoryError, AdstackOutOfBoundsError, AdstackRaceError
from adstack.runtime import state

READ, WRITE, ATOMIC = range(3)
ITERATIONS, STEPS, ELEMENTS = 4, 3, 4


MARKING = ["cpu", "cuda", "vulkan"]


@pytest.fixture(params=["reference", *MARKING])
def arch(request, monkeypatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=request.param, debug=True, offline_cache=False)
    yield request.param
    qd.reset()


def narrowed(monkeypatch):
    """Let the backend update no more than 32 bits atomically."""
    backend = state.current().backend
    monkeypatch.setattr(backend, "capabilities", replace(backend.capabilities, wide_atomics=False))


def touching():
    """A kernel whose iterations touch elements as tables say."""
    array = qd.types.ndarray(dtype=qd.i32, ndim=2)

    @qd.kernel
    def touch(x: qd.types.ndarray(dtype=qd.i32, ndim=1), how: array, where: array):
        for i in range(ITERATIONS):
            for j in range(STEPS):
                e = where[i, j]
                if how[i, j] == READ:
                    how[i, j] = x[e]
                elif how[i, j] == WRITE:
                    x[e] = 1
                elif how[i, j] == ATOMIC:
                    x[e] += 1

    return touch


def races(how, where):
    """Whether two iterations conflict, pair by pair."""
    touches = [[(how[i][j], where[i][j]) for j in range(STEPS) if how[i][j] <= ATOMIC] for i in range(ITERATIONS)]
    harmless = {(READ, READ), (ATOMIC, ATOMIC)}
    return any(
        e == f and (a, b) not in harmless
        for one, other in itertools.combinations(touches, 2)
        for (a, e), (b, f) in itertools.product(one, other)
    )


@pytest.mark.parametrize("narrow", [False, True])
def test_two_iterations_that_conflict_are_found_and_no_others(arch, narrow, monkeypatch):
    if narrow:
        narrowed(monkeypatch)
    touch = touching()
    table = st.lists(st.integers(0, 7), min_size=STEPS, max_size=STEPS)

    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    @given(*(st.lists(table, min_size=ITERATIONS, max_size=ITERATIONS) for _ in range(2)))
    def check(how, where):
        where = [[e % ELEMENTS for e in row] for row in where]
        tables = np.zeros(ELEMENTS, np.int32), np.array(how, np.int32), np.array(where, np.int32)
        with pytest.raises(AdstackRaceError) if races(how, where) else nullcontext():
            touch(*tables)

    check()


def test_the_same_race_is_reported_each_time(arch):
    x = qd.field(qd.f32, shape=1000)

    @qd.kernel
    def shift(by: qd.i32):
        for i in range(900):
            x[i] = x[i + by]

    messages = set()
    for _ in range(3):
        with pytest.raises(AdstackRaceError) as caught:
            shift(7)
        messages.add(caught.value.message)
        shift(0)
    (message,) = messages
    assert " at (7): iteration (7) writes it here, iteration (0) reads it at " in message
    line = shift.function.__code__.co_firstlineno + 3
    assert message.endswith(f"{__file__}:{line}:20")
    assert caught.value.loc.line == line


@pytest.mark.parametrize("arch", MARKING, indirect=True)
def test_narrow_marks_tell_the_iterations(arch, monkeypatch):
    narrowed(monkeypatch)
    x, y = qd.field(qd.f32, shape=(4, 6)), qd.field(qd.f32, shape=6)

    @qd.kernel
    def k():
        for j in y:
            y[j] = y[(j + 1) % 6]
        for i, j in qd.ndrange((1, 3), (2, 5)):
            x[i, j] = x[i + 1, j]

    with pytest.raises(AdstackRaceError, match=r" at \(0\): iteration \(.\) .* here, iteration \(.\)"):
        k()


def test_random_numbers_are_those_of_the_reference(arch):
    def drawn(arch):
        qd.init(arch=arch, debug=True, offline_cache=False)
        x, y, z = (qd.field(qd.i32, shape=6) for _ in range(3))

        @qd.kernel
        def k():
            for i in x:
                x[(i + 1) % 6] = qd.random(qd.i32)
            for i in y:
                y[5 - i] = qd.random(qd.i32)
            z[0] = qd.random(qd.i32)
            for i in range(5):
                z[(i + 1) % 6] = qd.random(qd.i32)

        k()
        k()
        return np.stack([one.to_numpy() for one in (x, y, z)])

    assert np.array_equal(drawn(arch), drawn("reference"))


def test_a_graph_looks_for_races_too(arch):
    x, by = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=())

    @qd.kernel
    def shift():
        for i in range(4):
            x[i] = x[i + by[None]]

    with qd.graph() as g:
        shift()
    g.launch()
    g.launch()
    by[None] = 1
    with pytest.raises(AdstackRaceError):
        g.launch()


def test_gradients_that_race_are_found(arch):
    x, y = qd.field(qd.f32, shape=8, needs_grad=True), qd.field(qd.f32, shape=8, needs_grad=True)
    numbers = qd.field(qd.i32, shape=4)
    numbers.from_numpy(np.arange(4, dtype=np.int32))

    @qd.kernel
    def k(n: qd.i32):
        for i in range(4):
            y[n * numbers[i]] = x[i] * 2.0  # which memory decides, so that nothing is proven beforehand

    y.grad.fill(1.0)
    k(2)
    k.grad(2)
    assert np.array_equal(x.grad.to_numpy(), [2, 2, 2, 2, 0, 0, 0, 0])
    with pytest.raises(AdstackRaceError):
        k(0)
    with pytest.raises(AdstackRaceError):
        k.grad(0)


def test_what_runs_out_of_its_place_is_out_of_bounds(arch):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            x[i] = x[i + 1]

    with pytest.raises(AdstackOutOfBoundsError, match=r"field_\d+ at \(8\)"):
        k()


@pytest.mark.parametrize("arch", MARKING, indirect=True)
def test_no_room_for_marks_is_said(arch):
    qd.init(arch=arch, debug=True, offline_cache=False, device_memory_GB=1e-4)
    x = qd.field(qd.i32, shape=20000)

    @qd.kernel
    def k():
        for i in range(19999):
            x[i] = x[i + 1]

    with pytest.raises(AdstackMemoryError, match="looking for races takes 4 words of 64 bits for each of 20000 el"):
        k()


def test_calls_that_have_raced_once_or_not_are_looked_at_each_time(arch):
    """Machine code that serves calls without Python would not look."""
    x, by = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=())
    a, b = qd.ndarray(qd.f32, shape=8), qd.ndarray(qd.f32, shape=8)
    array = qd.types.ndarray(dtype=qd.f32, ndim=1)

    @qd.kernel
    def shift():
        for i in range(4):
            x[i] = x[i + by[None]]

    @qd.kernel
    def copy(source: array, target: array):
        for i in range(7):
            target[i] = source[i + 1]

    for _ in range(3):
        for _ in range(3):
            shift()
            copy(a, b)
        by[None] = 1
        with pytest.raises(AdstackRaceError):
            shift()
        with pytest.raises(AdstackRaceError):
            copy(b, b)
        by[None] = 0
