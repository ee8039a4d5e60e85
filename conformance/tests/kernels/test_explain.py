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
    qd.init(arch=arch, ad_stack_heap_limit=16384)
    x, y = qd.field(qd.f32, 2, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = qd.sin(v) + 0.1 * v
            y[None] += v

    k.grad(5000)
    (row,) = k.grad.adstack_report(5000).tasks
    assert row.lanes is not None
    assert row.lanes >= 1
    assert row.needed is not None
    assert 12 <= row.needed <= 16384
    line = f"{row.lanes} threads at a time, {row.needed} bytes needed"
    assert line in explained(k, 5000)
    assert "snapshots" in explained(k, 5000)
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


def test_what_is_added_up_alike_at_one_line_is_counted_and_tasks_that_size_adstacks_are_left_out():
    x, y = (qd.field(qd.f32, 8, name=name, needs_grad=True) for name in "xy")
    trips = qd.field(qd.i32, 8)

    @qd.kernel
    def k():
        for i in range(1, 7):
            s = y[i - 1] + y[i] + y[i + 1]
            for _ in range(trips[i]):
                s = qd.sin(s)
            x[i] = s

    k()
    k.grad()
    assert k.grad.adstack_report().sums == {"tiled": 3}
    (line,) = (line for line in explained(k).splitlines() if "added up" in line)
    assert line.startswith("  reverse mode: y.grad at test_explain.py:")
    assert line.endswith(", 3 times, is added up as tiled: iterations 2 rows apart touch the same element")


def test_an_update_without_use_of_its_old_value_says_that_another_one_uses_it():
    count, at = qd.field(qd.i32, 4, name="count"), qd.field(qd.i32, 8)

    @qd.kernel
    def k():
        for i in range(8):
            at[i] = qd.atomic_add(count[0], 1)
            qd.atomic_max(count[1], i)

    taken, largest = (line for line in explained(k).splitlines() if "added up" in line)
    assert taken.endswith("is added up as atomic: the old value is used")
    assert largest.endswith("is added up as atomic: the old value of another update of the memory is used")


@pytest.mark.parametrize("options", [{"arch": "cpu", "deterministic": True}, {"arch": "vulkan"}], ids=["cpu", "vulkan"])
def test_what_elements_collect_is_said_to_be_gathered_and_what_they_can_not_says_why(options):
    qd.init(**options)
    x, y = (qd.field(qd.f32, 8, name=name, needs_grad=True) for name in "xy")

    @qd.kernel
    def k(n: qd.i32):
        for i in range(1, 7):
            x[i] = y[i - 1] + y[i + 1]
        for i in range(1, n):
            x[i] += y[i - 1] + y[i + 1]

    k(3)
    k.grad(3)
    assert k.grad.adstack_report(3).sums["gathered"] == 1
    lines = [line for line in explained(k, 3).splitlines() if "y.grad at" in line]
    assert [line for line in lines if line.endswith("is added up as gathered")]
    refused = "it is not gathered: the bounds of the loop may be at the ends of their type"
    assert [line for line in lines if line.endswith(refused)] or options["arch"] == "cpu"
