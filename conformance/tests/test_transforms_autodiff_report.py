"""The report on adstacks: which value, where, how deep, why."""

from __future__ import annotations

from typing import Any

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
    assert row.capacity == "max(n[None], 0)"
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
    assert row.capacity == "5"


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
    assert row.capacity == "(counted)"


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
