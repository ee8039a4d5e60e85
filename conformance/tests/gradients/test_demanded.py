"""Gradients that an annotation demands, of arrays that have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd


@pytest.mark.usefixtures("on_reference")
def test_an_array_of_numpy_that_is_to_have_a_gradient_is_taken_where_nobody_differentiates() -> None:
    """Rules: grad.demanded"""
    loss = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def total(a: qd.types.ndarray(dtype=qd.f32, ndim=1, needs_grad=True)):
        for i in a:
            loss[None] += 2 * a[i]

    numbers = np.ones(3, np.float32)
    for _ in range(2):
        total(numbers)
    assert loss[None] == 12
    for differentiate in (lambda: total.grad(numbers), lambda: _taped(loss, lambda: total(numbers))):
        with pytest.raises(
            qd.AdstackRuntimeError, match=r"argument a is to have a gradient .*\n(.*\n)*  do: pass qd.nd"
        ):
            differentiate()
    array = qd.ndarray(qd.f32, 3, needs_grad=True)
    _taped(loss, lambda: total(array))
    assert array.grad.to_numpy().tolist() == [2, 2, 2]


def _taped(loss: Any, launch: Any) -> None:
    with qd.ad.Tape(loss):
        launch()
