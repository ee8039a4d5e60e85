"""Depths are computed when something that decides them has changed, and only then; what can't be seen is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from graph_kit import squaring

import adstack as qd
from adstack.errors import AdstackMemoryError, AdstackOverflowError

ARCHES = [qd.reference, qd.cpu]


class Ragged:
    """A kernel whose threads run sums of trip counts: `lengths` decides, `n` as well."""

    def __init__(self, arch: Any, size: int = 8, **options: Any) -> None:
        qd.init(arch=arch, offline_cache=False, **options)
        self.x = qd.field(qd.f32, size, needs_grad=True, name="x")
        self.y = qd.field(qd.f32, size, needs_grad=True, name="y")
        self.n = qd.field(qd.i32, (), name="n")
        self.lengths = qd.field(qd.i32, size, name="lengths")
        x, y, n, lengths = self.x, self.y, self.n, self.lengths

        @qd.kernel
        def k():
            for i in x:
                v = x[i]
                for j in range(lengths[i]):
                    for _ in range(j):
                        v = v * v
                for _ in range(n[None]):
                    v = v * v
                y[i] = v

        self.kernel = k
        self.x.fill(1)
        self.y.grad.fill(1)
        self.n[None] = 2
        self.lengths.from_numpy(np.arange(size, dtype=np.int32) % 4)

    def capacities(self) -> list[int]:
        return sorted(row.capacity or 0 for row in self.kernel.grad.adstack_report())


@contextmanager
def counted(**expected: int) -> Iterator[None]:
    """What the counters of sizing must show for the launches inside."""
    before = qd.stats()
    yield
    after = qd.stats()
    assert {name: after[name] - before[name] for name in expected} == expected


@pytest.mark.parametrize("arch", ARCHES)
def test_an_unchanged_launch_computes_no_depth_and_a_changed_bound_one(arch: Any) -> None:
    data = Ragged(arch)
    data.kernel()
    with counted(size_evaluations=1, size_hits=0):
        data.kernel.grad()
    with counted(size_evaluations=0, size_reductions=0, size_hits=3):
        for _ in range(3):
            data.kernel()
            data.kernel.grad()
    data.n[None] = 5
    data.kernel()
    with counted(size_evaluations=1, size_hits=0):
        data.kernel.grad()
    assert data.capacities()[-1] == 5


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("how", ["element", "fill", "from_numpy", "kernel"])
def test_every_way_to_write_a_bound_is_seen(arch: Any, how: str) -> None:
    data = Ragged(arch)
    n = data.n

    @qd.kernel
    def write():
        n[None] = 9

    write()  # compiled, and served without Python from now on, where there is such a way
    n[None] = 2
    data.kernel()
    data.kernel.grad()
    if how == "element":
        n[None] = 9
    elif how == "fill":
        n.fill(9)
    elif how == "from_numpy":
        n.from_numpy(np.array(9, np.int32))
    else:
        write()
    data.kernel()
    with counted(size_evaluations=1, size_hits=0):
        data.kernel.grad()
    assert data.capacities()[-1] == 9


@pytest.mark.parametrize("arch", ARCHES)
def test_memory_that_others_write_too_is_looked_at_every_time(arch: Any) -> None:
    qd.init(arch=arch, offline_cache=False)
    x = qd.field(qd.f32, 4, needs_grad=True, name="x")
    y = qd.field(qd.f32, 4, needs_grad=True, name="y")

    @qd.kernel
    def k(lengths: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in x:
            v = x[i]
            for _ in range(lengths[i]):
                v = v * v
            y[i] = v

    lengths = np.array([1, 2, 3, 0], np.int32)
    x.fill(1)
    for longest in (3, 7):
        lengths[2] = longest
        y.grad.fill(1)
        x.grad.fill(0)
        k(lengths)
        with counted(size_hits=0):
            k.grad(lengths)
        assert x.grad.to_numpy().tolist() == [2.0, 4.0, 2.0**longest, 1.0]


@pytest.mark.parametrize("arch", ARCHES)
def test_scalar_arguments_are_part_of_what_is_compared(arch: Any) -> None:
    qd.init(arch=arch, offline_cache=False)
    x, y, k = squaring(qd.f32, 4)
    x.fill(1)
    for n, hits in ((3, 0), (3, 1), (6, 0), (3, 0)):
        y.grad.fill(1)
        x.grad.fill(0)
        k(n)
        with counted(size_hits=hits):
            k.grad(n)
        assert x.grad.to_numpy().tolist() == [2.0**n] * 4


@pytest.mark.parametrize("arch", ARCHES)
def test_after_an_overflow_depths_are_computed_afresh(arch: Any) -> None:
    data = Ragged(arch, ad_stack_size=3)
    data.n[None] = 5
    data.kernel()
    with pytest.raises(AdstackOverflowError, match=r"capacity 3[\s\S]*5"):
        data.kernel.grad()
    data.n[None] = 3
    data.kernel()
    data.x.grad.fill(0)
    data.y.grad.fill(1)
    data.kernel.grad()
    assert data.x.grad.to_numpy().tolist() == [2.0**3, 2.0**3, 2.0**4, 2.0**6] * 2


@pytest.mark.parametrize("arch", ARCHES)
def test_a_depth_that_can_not_be_counted_is_an_error_that_names_the_loop(arch: Any) -> None:
    qd.init(arch=arch, offline_cache=False)
    x = qd.field(qd.f32, 2, needs_grad=True, name="x")
    y = qd.field(qd.f32, 2, needs_grad=True, name="y")
    m = qd.field(qd.i64, (), name="m")

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(m[None]):
                for _ in range(m[None]):
                    for _ in range(m[None]):
                        v = v * v
            y[i] = v

    m[None] = 2**22
    with pytest.raises(AdstackMemoryError, match=r"more than 9223372036854775807 deep[\s\S]*for _ in range"):
        k.grad()


@pytest.mark.parametrize("arch", ARCHES)
def test_depths_that_an_earlier_task_of_the_launch_decides_are_computed_in_every_launch(arch: Any) -> None:
    qd.init(arch=arch, offline_cache=False)
    x = qd.field(qd.f32, 4, needs_grad=True, name="x")
    y = qd.field(qd.f32, 4, needs_grad=True, name="y")
    lengths = qd.field(qd.i32, 4, name="lengths")

    @qd.kernel
    def k():
        longest = 0
        for i in lengths:
            qd.atomic_max(longest, lengths[i])
        for i in x:
            v = x[i]
            for _ in range(longest):
                v = v * v
            y[i] = v

    x.fill(1)
    for longest in (2, 5, 5):
        lengths[1] = longest
        y.grad.fill(1)
        x.grad.fill(0)
        k()
        with counted(size_hits=0):
            k.grad()
        assert x.grad.to_numpy().tolist() == [2.0**longest] * 4
