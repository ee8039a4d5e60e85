"""Branches in loops: the report shows a slot for each trip that takes them, where that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd


@qd.func
def rare(v, i, j):
    return qd.sin(v) if j % 10 == 0 else v


@qd.func
def two_values(v, i, j):
    w = v * 0.5
    if j % 10 == 0:
        v = qd.sin(v) * qd.cos(w)
    return v


@qd.func
def everywhere(v, i, j):
    v = qd.sin(v)
    if j % 10 == 0:
        v = qd.cos(v)
    return v


@qd.func
def divergent(v, i, j):
    return qd.sin(v) if (i + j) % 2 == 0 else qd.cos(v)


@qd.func
def computed(v, i, j):
    return qd.sin(v) if v > 0.5 else v


def depths(arch: Any, trip: Any, *, until: bool = False) -> tuple[list[int], list[str]]:
    """The capacities of a kernel's adstacks after 100 trips, or 100, 12 and 33 in a `while`; and their formulas."""
    qd.init(arch=arch, offline_cache=False)
    x, y = (qd.field(qd.f64, 3, needs_grad=True, name=name) for name in "xy")
    n = qd.field(qd.i32, 3, name="n")

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            if qd.static(until):
                c = 0
                while c < n[i]:
                    v = trip(v, i, c)
                    c += 1
            else:
                for j in range(100):
                    v = trip(v, i, j)
            y[i] = v

    x.fill(0.7)
    n.from_numpy(np.array([33, 12, 100], np.int32))
    y.grad.fill(1)
    k()
    k.grad()
    assert np.all(x.grad.to_numpy() != 0)
    stacks = list(k.grad.adstack_report())
    return [stack.capacity for stack in stacks], [stack.formula for stack in stacks]


@pytest.mark.parametrize("arch", [qd.reference, qd.cpu])
@pytest.mark.parametrize(
    ("trip", "wanted"),
    [(rare, [10]), (two_values, [10, 10]), (everywhere, [100]), (divergent, [100]), (computed, [100])],
    ids=["rare", "two values", "everywhere", "divergent", "what floats decide"],
)
def test_a_branch_has_a_slot_for_each_trip_that_takes_it(arch: Any, trip: Any, wanted: list[int]) -> None:
    assert depths(arch, trip)[0] == wanted


def test_a_pass_that_counts_trips_counts_branches_too() -> None:
    assert depths(qd.cpu, rare, until=True)[0] == [100, 10]


def test_the_formula_says_when_a_branch_is_taken() -> None:
    (formula,) = depths(qd.cpu, rare)[1]
    assert formula == "sum((1 if ((j % 10) == 0) else 0) for j in range(0, 100))"
