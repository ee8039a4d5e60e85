"""Torch tensors of the host in calls that machine code serves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both_ways_kit import Tensor
from calls_kit import by_machine_code, settled

import adstack as qd


@pytest.fixture(autouse=True)
def runtime() -> None:
    qd.init(arch=qd.cpu)


@qd.kernel
def fill(x: qd.types.ndarray(dtype=qd.f32, ndim=1), value: qd.f32):
    for i in x:
        x[i] = value


def test_tensors_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    settled(fill, Tensor(np.zeros(3, np.float32)), 1.0)
    for n in (3, 5, 0):
        tensor = Tensor(np.zeros(n, np.float32))
        by_machine_code(lambda tensor=tensor: fill(tensor, 2.0), monkeypatch)
        assert tensor.array.tolist() == [2.0] * n


def test_memory_that_a_tensor_gets_later_is_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = Tensor(np.zeros(3, np.float32))
    settled(fill, tensor, 1.0)
    before = tensor.array
    tensor.array = np.zeros(7, np.float32)
    by_machine_code(lambda: fill(tensor, 2.0), monkeypatch)
    assert before.tolist() == [1.0] * 3
    assert tensor.array.tolist() == [2.0] * 7


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), "dtype=f32"),
        (np.zeros((3, 3), np.float32), "ndim=1"),
        (np.zeros(6, np.float32)[::2], "neither C nor Fortran contiguous"),
    ],
)
def test_other_tensors_get_the_errors_of_python(array: Any, words: str) -> None:
    settled(fill, Tensor(np.zeros(3, np.float32)), 1.0)
    with pytest.raises(ValueError, match=words):
        fill(Tensor(array), 1.0)


def test_a_tensor_that_needs_a_gradient_is_left_to_python() -> None:
    settled(fill, Tensor(np.zeros(3, np.float32)), 1.0)
    tensor = Tensor(np.zeros(3, np.float32), requires_grad=True)
    fill(tensor, 4.0)
    assert tensor.array.tolist() == [4.0] * 3
