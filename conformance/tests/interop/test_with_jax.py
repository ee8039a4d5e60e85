"""`adstack.jax` with jax itself, whose `check_grads` compares derivatives with differences."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from libraries_kit import cubes, picked, square, swing

import adstack as qd
from adstack.jax import wrap

pytestmark = [
    pytest.mark.library("jax"),
    pytest.mark.usefixtures("on_cpu"),
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture
def jax():
    import_module("jax.test_util")
    return import_module("jax")


def checked(jax, function, *args):
    jax.test_util.check_grads(function, args, order=1, modes=["rev"], rtol=2e-2, atol=2e-2)


def test_derivatives_are_those_of_differences_compiled_or_not(jax):
    zeros, x = jax.numpy.zeros_like, jax.numpy.linspace(0.5, 2.0, 4)
    f, step = wrap(square, outputs={"y": lambda x, scale: zeros(x)}), wrap(swing)
    index, pick = np.array([1, 1, 3], np.int32), wrap(picked, outputs={"y": lambda index, x: zeros(x[:3])})
    for function in (lambda x: f(x, 3.0), lambda x: pick(index, x), lambda x: step(*step(x, x))):
        checked(jax, function, x)
    checked(jax, jax.jit(step), x, x)


def test_what_is_returned_is_a_value_to_map_over(jax, capfd):
    total, x = wrap(cubes), jax.numpy.arange(6.0).reshape(2, 3)
    assert jax.vmap(total)(x).tolist() == [9.0, 216.0]
    assert jax.vmap(jax.grad(total))(x).tolist() == [[0.0, 3.0, 12.0], [27.0, 48.0, 75.0]]


def test_arrays_of_jax_are_read_in_place_and_never_written(jax):
    x, y = jax.numpy.arange(3.0), np.zeros(3, np.float32)
    square(x, y, 2.0)
    assert y.tolist() == [0.0, 2.0, 8.0]
    with pytest.raises(qd.AdstackArgumentError, match="read-only"):
        square(y, x, 2.0)


def test_a_kernel_of_fields_is_no_function_of_its_arguments(jax):
    scale = qd.field(qd.f32, shape=(), name="scale")

    @qd.kernel
    def scaled(x: qd.types.ndarray()):
        for i in x:
            x[i] *= scale[None]

    with pytest.raises(qd.AdstackRuntimeError, match="scaled reads scale"):
        wrap(scaled)(jax.numpy.ones(2))
