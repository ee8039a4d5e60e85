"""The report on adstacks: which value, where, how deep, why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd


def rows_of(kernel: Any, *args: Any) -> list[Any]:
    return list(kernel.grad.adstack_report(*args))


def prepare() -> tuple[Any, Any, Any]:
    qd.init(arch=qd.reference)
    x = qd.field(qd.f32, shape=4, needs_grad=True, name="x")
    y = qd.field(qd.f32, shape=4, needs_grad=True, name="y")
    n = qd.field(qd.i32, shape=(), name="n")
    return x, y, n


def test_a_recurrence_keeps_one_value_as_deep_as_its_loop() -> None:
    x, y, n = prepare()

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = qd.sin(v) * 0.9
            y[i] = v

    (row,) = rows_of(k)
    assert (row.variable, row.dtype, row.slot_bytes) == ("v", qd.f32, 4)
    assert row.formula == "max(n[None], 0)"
    assert [name for name, _ in row.why] == ["cos"]
    text = str(row)
    assert "v (line" in text
    assert "needed by cos (line" in text


def test_a_static_loop_has_a_depth_in_numbers() -> None:
    x, y, _ = prepare()

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(5):
                v = v * v
            y[i] = v

    (row,) = rows_of(k)
    assert (row.formula, row.capacity, row.bytes) == ("5", 5, 20)


def test_what_no_formula_bounds_is_counted() -> None:
    x, y, _ = prepare()

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            while v < 10.0:
                v = v * v + 1.0
            y[i] = v

    (row,) = rows_of(k)
    assert row.formula == "counted"


def test_sums_keep_nothing() -> None:
    x, y, n = prepare()

    @qd.kernel
    def k():
        for i in x:
            s = 0.0
            for j in range(n[None]):
                s += x[j] * 2.0
            y[i] = s

    assert rows_of(k) == []


def ragged(n: Any, x: Any, y: Any, lengths: Any) -> Any:
    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for j in range(lengths[i]):
                for _ in range(j):
                    v = qd.sin(v) * 0.9
            if n[None] > 100:
                for _ in range(n[None]):
                    v = qd.cos(v)
            y[i] = v

    return k


def test_depths_are_those_of_the_memory_as_it_is_and_nothing_is_launched() -> None:
    x, y, n = prepare()
    lengths = qd.field(qd.i32, shape=4, name="lengths")
    lengths.from_numpy(np.array([3, 0, 5, 2], np.int32))
    n[None] = 7
    k = ragged(n, x, y, lengths)
    x.grad.fill(1)
    report = k.grad.adstack_report(use=True)
    inner = next(row for row in report if row.formula.endswith("sum(max(k, 0) for k in range(0, lengths[i]))"))
    assert (inner.capacity, inner.used, inner.bytes) == (10, 10, 40)
    gated = next(row for row in report if "100" in row.formula)
    assert (gated.capacity, gated.used) == (0, 0)
    (task,) = report.tasks
    assert task.stride == sum(row.bytes for row in report)
    assert x.grad.to_numpy().tolist() == [1, 1, 1, 1]
    n[None] = 200
    assert {row.capacity for row in k.grad.adstack_report()} >= {200}


@pytest.mark.parametrize("arch", ["reference", "cpu", "vulkan"])
def test_of_a_kernel_whose_launches_keep_what_it_needs_the_report_says_what_that_is(arch: str) -> None:
    qd.init(arch=getattr(qd, arch))
    x, y = (qd.field(qd.f32, shape=4, needs_grad=True, name=name) for name in "xy")

    @qd.kernel
    def noisy():
        for i in x:
            v = x[i] * qd.random(qd.f32)
            for _ in range(3):
                v = qd.sin(v)
            y[i] = v

    @qd.kernel
    def twice():
        for i in x:
            x[i] = x[i] * x[i]
        for i in x:
            x[i] = qd.sin(x[i])

    report = noisy.grad.adstack_report()
    assert [row.formula for row in report] == ["3"]
    assert [line.split(" (")[0] for line in report.kept] == ["a launch logs random numbers"]
    assert str(report).endswith(report.kept[0])
    assert twice.grad.adstack_report().kept == ("a launch copies x before it writes it: 16 bytes",)
    assert noisy.grad.stages()["tasks"]


def test_after_a_launch_the_report_tells_what_was_needed_and_what_was_allocated() -> None:
    for arch in (qd.reference, qd.cpu):
        qd.init(arch=arch)
        x = qd.field(qd.f32, shape=300, needs_grad=True, name="x")
        y = qd.field(qd.f32, shape=300, needs_grad=True, name="y")
        n = qd.field(qd.i32, shape=(), name="n")
        lengths = qd.field(qd.i32, shape=300, name="lengths")
        lengths.from_numpy(np.arange(300, dtype=np.int32) % 40)
        k = ragged(n, x, y, lengths)
        k()
        k.grad()
        (task,) = k.grad.adstack_report().tasks
        assert task.use is not None
        assert task.stride == task.use.stride
        assert task.lanes is not None
        assert task.needed == task.stride * task.lanes
        assert task.slack is not None
        assert 1 <= task.slack < 1.05
        assert "last launch" in str(task)
