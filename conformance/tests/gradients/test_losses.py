"""What a tape takes as its loss, and how it says what it does not."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.gradients.tapes.losses import Loss

pytestmark = pytest.mark.usefixtures("on_reference")


def test_a_field_has_rank_0() -> None:
    with pytest.raises(qd.QuadrantsRuntimeError, match="must be a 0-D field"):
        qd.ad.Tape(qd.field(qd.f32, shape=1, needs_grad=True))
    with pytest.raises(qd.QuadrantsRuntimeError, match="must be a 0-D field"):
        qd.ad.Tape(qd.Vector.field(2, qd.f32, shape=(), needs_grad=True))


def test_an_ndarray_has_one_element() -> None:
    qd.ad.Tape(qd.ndarray(qd.f32, shape=(1,), needs_grad=True))
    qd.ad.Tape(qd.ndarray(qd.f32, shape=(), needs_grad=True))
    with pytest.raises(qd.QuadrantsRuntimeError, match="must be an ndarray with only one element"):
        qd.ad.Tape(qd.ndarray(qd.f32, shape=2, needs_grad=True))


@pytest.mark.parametrize("make", [lambda: qd.field(qd.f32, shape=()), lambda: qd.ndarray(qd.f32, shape=1)])
def test_it_has_a_gradient(make: Any) -> None:
    with pytest.raises(RuntimeError, match="Gradients of loss are not allocated, please set needs_grad=True"):
        qd.ad.Tape(make())


def test_it_is_not_just_anything() -> None:
    with pytest.raises(TypeError, match="must be a field, an ndarray or a torch tensor, got int"):
        qd.ad.Tape(3)


class FakeTensor:
    """What adstack uses of a torch tensor."""

    __module__ = "torch"

    def __init__(self, values: Any, requires_grad: bool = True) -> None:
        self.values, self.requires_grad, self.grad = np.array(values, np.float32), requires_grad, None
        self.device = types.SimpleNamespace(type="cpu")
        self.shape = self.values.shape

    def numel(self) -> int:
        return self.values.size

    def detach(self) -> FakeTensor:
        return self

    def clone(self) -> FakeTensor:
        return FakeTensor(self.values.copy())

    def fill_(self, value: float) -> FakeTensor:
        self.values.fill(value)
        return self

    def zero_(self) -> FakeTensor:
        return self.fill_(0)

    def item(self) -> float:
        return self.values.item()


def test_tensors_have_one_element_and_require_grad() -> None:
    with pytest.raises(RuntimeError, match="must be a tensor only contains one element"):
        Loss(FakeTensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match="please set requires_grad=True"):
        Loss(FakeTensor([1.0], requires_grad=False))


def test_a_tensor_is_set_to_zero_and_its_gradient_to_one() -> None:
    tensor = FakeTensor([5.0])
    loss = Loss(tensor)
    loss.start()
    assert tensor.values.tolist() == [0.0]
    for _ in range(2):
        loss.seed()
        assert tensor.grad.values.tolist() == [1.0]
        tensor.grad.values[0] = 7.0
    assert loss.value() == 0.0
