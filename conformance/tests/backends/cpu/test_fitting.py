"""Launches whose extents and arguments say that all is inside run code without guards; others run code with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd
from adstack.kernels import kernel as lang
from adstack.runtime.assume import assumed


@pytest.fixture
def cpu():
    yield lambda **options: qd.init(arch=qd.cpu, offline_cache=False, **options)
    qd.reset()


def array(values):
    filled = qd.ndarray(qd.f32, shape=(len(values),))
    filled.from_numpy(np.array(values, np.float32))
    return filled


def shifted():
    @qd.kernel
    def shift(x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f32, ndim=1), n: qd.i32):
        for i in range(n):
            y[i] = x[i + 1] + 1

    return shift


def executable(kernel: lang.Kernel, *args):
    specialisation, _, _ = kernel.prepared(args, {})
    return specialisation.plan.compiled.executable


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 70), st.integers(1, 70), st.integers(-2, 72)), min_size=1, max_size=6))
def test_every_launch_is_as_it_should_be(launches):
    qd.init(arch=qd.cpu, offline_cache=False, cpu_lanes=8)
    shift = shifted()
    for long, wide, n in launches:
        x, y = array(range(long)), array([-1] * wide)
        outside = n > 0 and (n + 1 > long or n > wide)
        if outside:
            with pytest.raises(IndexError, match="outside its extents"):
                shift(x, y, n)
        else:
            shift(x, y, n)
        wanted = [(i + 2.0 if i + 1 < long else 1.0) if i < n else -1.0 for i in range(wide)]
        assert y.to_numpy().tolist() == wanted
    qd.reset()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-3, 9) | st.sampled_from([2**31 - 1, 2**31 - 2, -(2**31)]), min_size=1, max_size=6))
def test_an_argument_may_be_the_row_of_a_step(times):
    """One step of a simulation: it reads one row of a field and writes the next one."""
    qd.init(arch=qd.cpu, offline_cache=False, cpu_lanes=8)
    rows, columns = 6, 20
    x = qd.field(qd.f32, shape=(rows, columns))

    @qd.kernel
    def step(t: qd.i32):
        for i in range(columns):
            x[t + 1, i] = x[t, i] + 2

    wanted = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    x.from_numpy(wanted)
    for t in times:
        row = wanted[t] if 0 <= t < rows else np.zeros(columns, np.float32)
        if t >= 0 and t + 1 < rows:
            step(t)
        else:
            with pytest.raises(IndexError, match="outside its extents"):
                step(t)
        if 0 <= t + 1 < rows:
            wanted[t + 1] = row + 2
        assert x.to_numpy().tolist() == wanted.tolist()
    qd.reset()


ENDS = st.sampled_from([-(2**31), -(2**31) + 1, -(2**30) - 1, -(2**30), 2**30 - 1, 2**30, 2**31 - 2, 2**31 - 1])
INDEX = st.integers(-3, 9) | ENDS


def wrapped(number):
    """A number as an i32."""
    return (number + 2**31) % 2**32 - 2**31


def reads(size, n, m):
    """What `picks` reads, by the index of its loop: indices of x, None for what is outside."""
    indices = {i: [wrapped(n + i - 1), wrapped(m - 2)] for i in range(3)}
    return {i: [j if 0 <= j < size else None for j in both] for i, both in indices.items()}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.lists(st.tuples(INDEX, INDEX), min_size=1, max_size=6))
def test_an_argument_may_be_an_index(size, launches):
    qd.init(arch=qd.cpu, offline_cache=False, cpu_lanes=8)
    x, y = array(range(1, size + 1)), array([0] * 3)

    @qd.kernel
    def picks(
        x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f32, ndim=1), n: qd.i32, m: qd.i32
    ):
        for i in range(3):
            y[i] = x[n + i - 1] + 10 * x[m - 2]

    for n, m in launches:
        indices = reads(size, n, m)
        if any(j is None for both in indices.values() for j in both):
            with pytest.raises(IndexError, match="outside its extents"):
                picks(x, y, n, m)
        else:
            picks(x, y, n, m)
        values = [[0 if j is None else j + 1 for j in both] for both in indices.values()]
        assert y.to_numpy().tolist() == [a + 10.0 * b for a, b in values]
    qd.reset()


def test_launches_whose_argument_is_inside_have_code_without_guards(cpu):
    cpu()
    x = qd.field(qd.f32, shape=(5, 8))

    @qd.kernel
    def step(t: qd.i32):
        for i in range(8):
            x[t + 1, i] = x[t, i] + 1

    for t in range(4):
        step(t)
    assert x.to_numpy()[4].tolist() == [4.0] * 8
    compiled = executable(step, 0)
    assert not compiled.others
    assert "outside" not in compiled.module.text
    for t in (-1, 4):
        with pytest.raises(IndexError, match="outside its extents"):
            step(t)
    assert list(compiled.others) == [(False, True)]
    assert x.to_numpy()[:, 0].tolist() == [1.0, 1.0, 2.0, 3.0, 4.0]


def test_code_with_all_guards_is_made_when_it_is_needed(cpu):
    cpu()
    shift, x, y = shifted(), array(range(9)), array([0] * 8)
    for _ in range(3):
        shift(x, y, 8)
    compiled = executable(shift, x, y, 8)
    assert assumed(compiled.program).inside
    assert not compiled.others
    for _ in range(2):
        with pytest.raises(IndexError, match=r"ndarray x at \(9\), outside its extents \(9\), in iteration \(8\)"):
            shift(x, y, 9)
    assert list(compiled.others) == [(False, True)]
    shift(x, y, 8)
    assert y.to_numpy().tolist() == [*map(float, range(2, 10))]


def test_launches_of_either_kind_stay_in_machine_code(cpu):
    cpu()
    shift, x, y = shifted(), array(range(9)), array([0] * 8)
    for n in (8, 9, 8, 9):
        if n == 9:
            with pytest.raises(IndexError):
                shift(x, y, n)
        else:
            shift(x, y, n)
    assert type(shift.__call__).__name__ == "builtin_function_or_method"
    compiled = executable(shift, x, y, 8)
    assert compiled.slots[compiled.context.own["unfit"]]


def test_a_gradient_that_is_unfit_has_room_for_its_adstacks(cpu):
    cpu()
    x, y = (qd.ndarray(qd.f32, shape=(n,), needs_grad=True) for n in (20, 16))

    @qd.kernel
    def powers(x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f32, ndim=1), n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n):
                s = s * s
            y[i] = s

    x.fill(1.0)
    for _ in range(2):
        with pytest.raises(IndexError):
            powers(x, y, 3)
        y.grad.fill(1.0)
        x.grad.fill(0.0)
        with pytest.raises(IndexError):
            powers.grad(x, y, 3)
        assert x.grad.to_numpy().tolist() == [8.0] * 16 + [0.0] * 4


def test_without_guards_there_is_nothing_to_look_for(cpu):
    cpu(bounds="off")
    shift, x, y = shifted(), array(range(9)), array([0] * 8)
    shift(x, y, 8)
    assert "guarded" not in shift.stages(x, y, 8)["guard"]
    assert "unfit" not in executable(shift, x, y, 8).module.text
