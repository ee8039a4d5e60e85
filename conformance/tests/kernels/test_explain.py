"""What `Kernel.explain` says over what a task ranges, and of parameters."""

from __future__ import annotations

import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_reference")


def explained(kernel, *args):
    return kernel.explain(*args)


def test_a_bound_that_is_a_number_or_an_argument_is_shown_as_written():
    x = qd.field(qd.f32, 8, name="x")

    @qd.kernel
    def k(end: qd.i32):
        for i in range(2, end):
            x[i] = 1.0

    assert "parallel over i in 2 .. end" in explained(k, 5)


def test_a_bound_that_is_read_from_memory_names_the_place():
    x, n = qd.field(qd.f32, 8, name="x"), qd.field(qd.i32, 3, name="n")

    @qd.kernel
    def k():
        for i in range(n[1]):
            x[i] = 1.0

    assert "parallel over i in 0 .. n[1]" in explained(k)


def test_a_bound_that_is_computed_shows_the_operation():
    x = qd.field(qd.f32, 8, name="x")

    @qd.kernel
    def k(end: qd.i32):
        for i in range(end + 3):
            x[i] = 1.0

    assert "parallel over i in 0 .. add(end, 3)" in explained(k, 5)


def test_a_vector_parameter_shows_its_shape():
    x = qd.field(qd.f32, 8, name="x")

    @qd.kernel
    def k(v: qd.math.vec3):
        x[0] = v[1]

    assert "parameter v: f32 of shape (3,)" in explained(k, [1, 2, 3])


@pytest.mark.parametrize("arch", ["reference", "cpu", "vulkan"])
def test_after_a_launch_with_checkpoints_the_memory_is_that_which_it_took(arch):
    qd.init(arch=arch, ad_stack_heap_limit=65536)
    x, y = qd.field(qd.f32, 2, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = qd.sin(v) + 0.1 * v
            y[None] += v

    k.grad(20000)
    (row,) = k.grad.adstack_report(20000).tasks
    assert row.lanes is not None
    assert row.lanes >= 1
    assert row.needed is not None
    assert 12 <= row.needed <= 65536
    told = f"{row.lanes} threads at a time, {row.needed} bytes needed"
    assert told in explained(k, 20000)
    assert "snapshots" in explained(k, 20000)
    k.grad(5)
    assert not k.grad.adstack_report(5).checkpoints
    assert "40 bytes needed" in explained(k, 5)
    assert "snapshots" not in explained(k, 5)


def test_each_update_shows_how_its_sum_is_built_and_why_not_better():
    x, y = (qd.field(qd.f32, 8, name=name, needs_grad=True) for name in "xy")

    @qd.kernel
    def k():
        for i in range(1, 7):
            x[i] += y[i - 1] * y[i]

    k()
    assert "is added up as own\n" in explained(k)
    k.grad()
    wanted = "is added up as tiled: iterations 1 rows apart touch the same element"
    assert any(
        line.startswith("  reverse mode: y.grad") and line.endswith(wanted) for line in explained(k).splitlines()
    )
    assert k.grad.adstack_report().sums == {"tiled": 2}
