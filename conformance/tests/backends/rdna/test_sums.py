"""Sums that threads of a wave add up together, on the emulated processors: once for each element, in a fixed order.

Those of a workgroup, about the sum of a loop, are in `test_workgroups`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from rdna_kit import EACH

import adstack as qd
from adstack.backends.amdgpu import capability
from adstack.backends.rdna.processors import PROCESSORS

Array = np.ndarray


@pytest.fixture(params=PROCESSORS)
def lanes(request, monkeypatch):
    monkeypatch.setenv(capability.CHOICE, request.param)
    qd.init(arch=qd.amdgpu, offline_cache=False)
    return PROCESSORS[request.param].lanes


def by_pairs(values: Sequence[Array]) -> Array:
    """Every second one is added to the one before, until one is left."""
    left = list(values)
    while len(left) > 1:
        left = [a + b for a, b in zip(left[::2], left[1::2], strict=False)] + left[len(left) - len(left) % 2 :]
    return left[0]


def across(values: Array) -> Array:
    """Threads whose numbers differ by a half of the wave are added, by a quarter, and so on."""
    left = values
    while len(left) > 1:
        half = len(left) // 2
        left = left[:half] + left[half:]
    return left[0]


def added_by_waves(values: Array, owners: Array, active: Array, rows: int, lanes: int) -> Array:
    """What is in memory then: a wave adds to each element once."""
    memory = np.zeros(rows, values.dtype)
    for start in range(0, len(values), lanes):
        part = slice(start, start + lanes)
        mine, who, on = values[part], owners[part], active[part]
        for owner in dict.fromkeys(who[on]):
            chosen = mine[on & (who == owner)]
            memory[owner] += across(chosen) if len(chosen) == lanes else by_pairs(chosen)
    return memory


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("shape", [(1, 0), (1, 20), (5, 9), (2, 33)], ids=str)
def test_floats_are_added_in_a_fixed_order(lanes, shape, every, dtype):
    """A whole wave, a part of one, several elements in a wave, elements of several waves; all threads, or one in 3."""
    rows, columns = shape[0], shape[1] or lanes
    x = qd.field(getattr(qd, dtype), shape=(rows, columns))
    y = qd.field(getattr(qd, dtype), shape=rows)
    values = np.random.default_rng(1).standard_normal((rows, columns)).astype(x.to_numpy().dtype)
    x.from_numpy(values)

    @qd.kernel
    def k():
        for i, j in x:
            if j % every == 0:
                y[i] += x[i, j]

    k()
    owners, place = np.divmod(np.arange(rows * columns), columns)
    wanted = added_by_waves(values.ravel(), owners, place % every == 0, rows, lanes)
    assert y.to_numpy().tobytes() == wanted.tobytes()


KINDS: dict[str, Callable[..., Array]] = {
    "atomic_add": np.add,
    "atomic_min": np.minimum,
    "atomic_max": np.maximum,
    "atomic_and": np.bitwise_and,
    "atomic_or": np.bitwise_or,
    "atomic_xor": np.bitwise_xor,
    "atomic_mul": np.multiply,
}


@pytest.mark.parametrize("dtype", ["i8", "u16", "i32", "u64"])
@pytest.mark.parametrize("kind", KINDS)
def test_integers_of_every_size_are_combined(lanes, kind, dtype):
    update = getattr(qd, kind)
    x, y = qd.field(getattr(qd, dtype), shape=(11, 13)), qd.field(getattr(qd, dtype), shape=5)
    number = x.to_numpy().dtype
    values = np.random.default_rng(3).integers(0, np.iinfo(number).max, (11, 13), dtype=number)
    x.from_numpy(values)
    y.from_numpy(np.arange(5).astype(number) + number.type(1))

    @qd.kernel
    def k():
        for i, j in x:
            update(y[i % 5], x[i, j])

    k()
    wanted = np.arange(5).astype(number) + number.type(1)
    with np.errstate(over="ignore"):
        for i in range(11):
            for j in range(13):
                wanted[i % 5] = KINDS[kind](wanted[i % 5], values[i, j])
    assert y.to_numpy().tolist() == wanted.tolist()


@EACH
def test_gradients_of_what_rows_share_are_the_references(monkeypatch, processor):
    """The adjoint of what each row reads is a sum over the row, of threads that go round different numbers of times."""
    monkeypatch.setenv(capability.CHOICE, processor)
    left = []
    for arch in (qd.amdgpu, qd.reference):
        qd.init(arch=arch, offline_cache=False)
        a, b = (qd.field(qd.f64, shape=shape, needs_grad=True) for shape in (4, (4, 30)))
        a.from_numpy(np.array([1.0, 2.0, -1.0, 3.0]))

        @qd.kernel
        def k():
            for i, j in b:  # noqa: B023 - it is compiled before the next one is made
                s = 0.0
                for _ in range(j % 4):
                    s += a[i] * a[i]  # noqa: B023
                b[i, j] = s  # noqa: B023

        b.grad.fill(1.0)
        k.grad()
        left.append(a.grad.to_numpy().tolist())
    assert left[0] == left[1] == [2 * 43 * x for x in (1.0, 2.0, -1.0, 3.0)]
