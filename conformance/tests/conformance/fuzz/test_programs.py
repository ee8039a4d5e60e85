"""Random kernels: reproducible, covering every op and type, in bounds, without races, of the size asked for."""

from __future__ import annotations

import warnings
from random import Random

import numpy as np
import pytest
from hypothesis import given

from adstack.conformance.fuzz.programs import kernels, random_buffers, random_kernel, random_params, sized_kernel
from adstack.conformance.fuzz.values import random_number
from adstack.interpreter import RunOptions, run
from adstack.ir.arithmetic import representable
from adstack.ir.ops import ATOMICS, TABLE
from adstack.ir.text.printer import print_ir
from adstack.ir.types import ALL

NOT_DRAWN = {"call", "random", "print", *(name for name in TABLE if name.startswith("stack."))}


def drawn():
    for seed in range(150):
        yield from random_kernel(seed, 100).body.walk()


def test_every_op_but_those_with_effects_of_their_own_is_drawn():
    assert {op.name for op in drawn()} == set(TABLE) - NOT_DRAWN


def test_every_type_and_every_kind_of_atomic_is_drawn():
    ops = list(drawn())
    assert {value.type for op in ops for value in op.results} >= set(ALL)
    assert {op.attrs["kind"] for op in ops if op.name == "atomic"} == set(ATOMICS)


def test_a_seed_stands_for_one_kernel_and_its_inputs():
    kernel = random_kernel(5)
    assert print_ir(kernel) == print_ir(random_kernel(5)) != print_ir(random_kernel(6))
    first, second, other = random_buffers(kernel, 1), random_buffers(kernel, 1), random_buffers(kernel, 2)
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)
    assert any(first[name].tobytes() != other[name].tobytes() for name in first)
    assert random_params(kernel, 1) == random_params(kernel, 1)


def test_buffers_have_the_types_and_ranks_of_their_places():
    kernel = random_kernel(8, 200)
    buffers = random_buffers(kernel, 0)
    for place in kernel.places.values():
        assert (buffers[place.name].dtype, buffers[place.name].ndim) == (place.dtype.numpy, place.rank)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_random_numbers_are_values_of_their_type(dtype):
    random = Random(0)
    numbers = [random_number(random, dtype) for _ in range(2000)]
    if dtype.is_float:
        assert all(representable(x, dtype) for x in numbers)
        assert any(x != x for x in numbers)
    else:
        assert (min(numbers), max(numbers)) == (dtype.min, dtype.max)


def run_fresh(kernel, seed, **options):
    buffers = random_buffers(kernel, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        returned = run(kernel, buffers, random_params(kernel, seed), options=RunOptions(**options))
    return buffers, returned


def bits_of(outcome):
    """All of memory and the returned numbers, with every NaN alike."""
    buffers, returned = outcome
    arrays = [np.where(a != a, a.dtype.type(0), a).tobytes() + (a != a).tobytes() for a in buffers.values()]
    return arrays, [repr(x) for x in returned]


@pytest.mark.parametrize("seed", range(60))
def test_kernels_stay_in_bounds_and_have_no_race(seed):
    run_fresh(random_kernel(seed, 120, traps=False), seed, debug=True)


@pytest.mark.parametrize("seed", range(30))
def test_results_do_not_depend_on_how_many_iterations_run_together(seed):
    """parallel.unordered: without a race, the order of the iterations does not show."""
    kernel = random_kernel(1000 + seed, 120)
    assert bits_of(run_fresh(kernel, seed)) == bits_of(run_fresh(kernel, seed, lanes=1))


@given(kernels(40))
def test_drawn_kernels_run(kernel):
    run_fresh(kernel, 0)


@pytest.mark.parametrize("size", [100, 1000, 10000])
def test_a_sized_kernel_has_about_the_size_asked_for(size):
    count = sum(1 for _ in sized_kernel(size).body.walk())
    assert size <= count <= size * 1.02 + 30
