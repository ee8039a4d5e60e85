"""`adstack.jax` with jax played by numpy: what it asks jax for, and what it gives back."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from libraries_kit import cubes, jax_played, picked, square, swing, swung

import adstack as qd
from adstack.jax import wrap

pytestmark = pytest.mark.usefixtures("on_cpu")


@pytest.fixture
def jax(monkeypatch):
    module = jax_played()
    monkeypatch.setitem(sys.modules, "jax", module)
    return module


def listed(arrays):
    return [array.tolist() for array in arrays]


def test_outputs_are_made_and_arguments_stay_as_they_are(jax):
    f, x = wrap(square, outputs={"y": lambda x, scale: np.zeros_like(x)}), np.array([1.0, 2.0])
    assert f(x, 3.0).tolist() == f(x, 3.0).tolist() == [3.0, 12.0]
    assert len(jax.functions) == 1
    _, gradients = jax.functions[-1].pull((x, np.zeros(2)), (True, False), (np.array([1.0, 10.0]),))
    assert listed(gradients) == [[6.0, 120.0], [0.0, 0.0]]
    assert x.tolist() == [1.0, 2.0]


def test_what_is_written_in_place_is_returned(jax):
    f, x, v = wrap(swing), np.array([1.0, 2.0]), np.array([4.0, 8.0])
    assert listed(f(x, v)) == [[3.0, 10.0], [1.75, -17.0]]
    adjoints = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for _ in range(2):
        _, gradients = jax.functions[-1].pull((x, v), (True, True), adjoints)
        assert listed(gradients) == listed(swung(x, v, *adjoints))
    assert listed((x, v)) == [[1.0, 2.0], [4.0, 8.0]]


def test_an_adjoint_that_is_zero_needs_not_be_there(jax):
    f, x, v = wrap(swing), np.array([1.0, 2.0]), np.array([4.0, 8.0])
    f(x, v)
    adjoint = np.array([1.0, 2.0])
    _, gradients = jax.functions[-1].pull((x, v), (True, False), (adjoint, None))
    assert gradients[0].tolist() == swung(x, v, adjoint, np.zeros(2))[0].tolist()


def test_what_the_kernel_returns_comes_first(jax):
    f, x = wrap(cubes), np.array([1.0, 2.0])
    assert f(x) == 9.0
    results, gradients = jax.functions[-1].pull((x,), (True,), (np.array(2.0),))
    assert listed((*results, *gradients)) == [9.0, [6.0, 24.0]]


def test_integers_and_numbers_that_jax_computes_have_no_adjoints(jax):
    index, x, y = np.array([1, 1], np.int32), np.array([2.0, 3.0]), np.zeros(2)
    assert wrap(picked)(index, x, y).tolist() == [9.0, 9.0]
    _, gradients = jax.functions[-1].pull((index, x, y), (False, True, False), (np.ones(2),))
    assert (gradients[0].dtype, gradients[1].tolist()) == (jax.dtypes.float0, [0.0, 12.0])

    scale = np.array(3.0)
    assert wrap(square)(x, y, scale).tolist() == [12.0, 27.0]
    with pytest.raises(qd.AdstackRuntimeTypeError, match="scale of square is a number, which is a constant"):
        jax.functions[-1].pull((x, y, scale), (True, False, True), (np.ones(2),))


def test_without_jax_an_error_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(qd.AdstackRuntimeError, match=r"jax can't be imported(.|\n)*pip install jax"):
        wrap(square)
