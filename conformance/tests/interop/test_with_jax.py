"""`adstack.jax` with jax itself, whose `check_grads` compares derivatives with differences."""

from dataclasses import dataclass
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


@qd.kernel
def divided(x: qd.types.ndarray(), by: qd.f32):
    for i in x:
        x[i] = x[i] / by


@qd.kernel
def weighed(x: qd.types.ndarray(), weights: qd.types.vector(2, qd.f32)):
    for i in x:
        x[i] = weights[0] * x[i] + weights[1]


@dataclass
class Scale:
    by: qd.f32


@dataclass
class Inside:
    x: qd.types.ndarray(qd.f32, 1)


@qd.kernel
def scaled_by(x: qd.types.ndarray(), scale: Scale):
    for i in x:
        x[i] *= scale.by


@qd.kernel
def doubled(inside: Inside):
    for i in inside.x:
        inside.x[i] *= 2


@qd.kernel
def both_ends(x: qd.types.ndarray()) -> (qd.f32, qd.f32):
    return x[0], x[1]


def test_numbers_are_told_apart_by_their_bits(jax):
    f, x = wrap(divided), jax.numpy.ones(2)
    assert [f(x, by).tolist() for by in (0.0, -0.0)] == [[np.inf] * 2, [-np.inf] * 2]


def test_vectors_and_dataclasses_by_value_are_what_they_were_at_the_call(jax):
    f, x, weights = wrap(weighed), jax.numpy.ones(2), qd.Vector([2.0, 1.0])
    assert f(x, weights).tolist() == f(x, [2.0, 1.0]).tolist() == f(x, np.array([2.0, 1.0])).tolist() == [3.0, 3.0]
    weights[0] = 4.0
    assert [f(x, w).tolist() for w in (weights, [2.0, 1.0])] == [[5.0, 5.0], [3.0, 3.0]]
    scale, g = Scale(2.0), wrap(scaled_by)
    _, pull = jax.vjp(lambda x: g(x, scale), x)
    scale.by = 5.0
    assert pull(x)[0].tolist() == [2.0, 2.0]
    assert g(x, scale).tolist() == [5.0, 5.0]


def test_what_jax_can_not_see_into_is_refused(jax):
    with pytest.raises(qd.AdstackRuntimeTypeError, match="argument inside of doubled has an array in it"):
        wrap(doubled)(Inside(jax.numpy.ones(2)))
    with pytest.raises(qd.AdstackRuntimeTypeError, match="argument x of divided has elements of jax's own type"):
        wrap(divided)(jax.random.key(0), 1.0)
    with pytest.raises(qd.AdstackRuntimeTypeError, match=r"argument by of divided is a set, .* can't be hashed"):
        wrap(divided)(jax.numpy.ones(2), {1.0})
    with pytest.raises(qd.AdstackRuntimeTypeError, match="both_ends returns several things"):
        wrap(both_ends)(jax.numpy.ones(2))


def test_what_passes_through_memory_that_is_only_added_to_has_its_gradient(jax):
    index, ones = np.array([1, 1], np.int32), jax.numpy.ones(2)
    assert jax.grad(lambda y: wrap(picked)(index, ones, y).sum())(ones).tolist() == [1.0, 1.0]
    assert jax.grad(lambda y: wrap(square)(ones, y, 2.0).sum())(ones).tolist() == [0.0, 0.0]


def test_a_gradient_is_not_differentiated_again(jax):
    slope, x = jax.grad(wrap(cubes)), jax.numpy.ones(2)
    for function in (jax.jacrev(slope), jax.jit(jax.jacfwd(slope)), jax.hessian(wrap(cubes))):
        with pytest.raises(qd.AdstackRuntimeError, match="cubes has no second derivatives through jax"):
            function(x)
    at = jax.lax.stop_gradient
    assert jax.grad(lambda x: (x * slope(at(x))).sum())(x).tolist() == [3.0, 3.0]


@qd.data_oriented
class Spring:
    def __init__(self) -> None:
        self.stiffness = 2.0

    @qd.kernel
    def energy(self, x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[i] = self.stiffness * x[i] * x[i]


@pytest.mark.filterwarnings("ignore")
def test_an_attribute_that_changes_before_the_derivative_is_noticed(jax):
    spring, x = Spring(), jax.numpy.ones(2)
    f = wrap(spring.energy, outputs={"y": jax.numpy.zeros_like})
    _, pull = jax.vjp(f, x)
    slope = jax.jit(jax.grad(lambda x: f(x).sum()))
    assert slope(x).tolist() == [4.0, 4.0]
    spring.stiffness = 5.0
    assert slope(x).tolist() == jax.vmap(slope)(x[None])[0].tolist() == [10.0, 10.0]
    with pytest.raises(Exception, match="the derivative of energy needs what is compiled in"):
        pull(x)
    spring.stiffness = 2.0
    assert pull(x)[0].tolist() == [4.0, 4.0]
