"""What `Kernel.explain` says over what a task ranges, and of parameters."""

from __future__ import annotations

import pytest

import adstack as qd


@pytest.fixture(autouse=True)
def reference():
    qd.init(arch=qd.reference)


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
