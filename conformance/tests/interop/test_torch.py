"""`adstack.torch` with torch played by numpy: what it asks torch for, and what it gives back."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from libraries_kit import Tensor, cubes, square, swing, swung, torch_played

import adstack as qd
from adstack.torch import wrap

pytestmark = pytest.mark.usefixtures("on_cpu")


@pytest.fixture
def torch(monkeypatch):
    module = torch_played()
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def pulled(torch, *adjoints):
    """The gradients of the arguments of the last call."""
    function, context = torch.calls[-1]
    gradients = function.backward(context, *map(Tensor, adjoints))
    assert gradients[0] is None  # the positions of what is written
    return [None if gradient is None else gradient.array.tolist() for gradient in gradients[1:]]


def test_outputs_are_made_and_gradients_returned_where_they_are_needed(torch):
    f = wrap(square, outputs={"y": lambda x, scale: torch.zeros_like(x)})
    y = f(Tensor([1.0, 2.0], requires_grad=True), 3.0)
    assert y.array.tolist() == [3.0, 12.0]
    assert torch.calls[-1][1].dirty == (y,)
    for _ in range(2):
        assert pulled(torch, [1.0, 10.0]) == [[6.0, 120.0], None, None]


def test_what_is_written_in_place_is_returned_and_kept_as_it_was(torch):
    x, v = Tensor([1.0, 2.0], requires_grad=True), Tensor([4.0, 8.0], requires_grad=True)
    results = wrap(swing)(x, v)
    assert results == (x, v) == torch.calls[-1][1].dirty
    assert x.array.tolist() == [3.0, 10.0]
    adjoints = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    wanted = swung(np.array([1.0, 2.0]), np.array([4.0, 8.0]), *adjoints)
    for _ in range(2):
        assert pulled(torch, *adjoints) == [one.tolist() for one in wanted]


def test_views_that_are_written_are_copied_back_by_torch(torch):
    base = np.zeros(4)
    x, views = Tensor([1.0, 2.0], requires_grad=True), (Tensor(base[::2]), Tensor(base[:2], view=True))
    for view, wanted in zip(views, ([2.0, 0.0, 8.0, 0.0], [2.0, 8.0, 8.0, 0.0]), strict=True):
        assert wrap(square)(x, view, 2.0) is view
        assert base.tolist() == wanted
        assert torch.calls[-1][1].dirty[0] is not view


def test_what_the_kernel_returns_comes_first(torch):
    total = wrap(cubes)(Tensor([1.0, 2.0], requires_grad=True))
    assert total.array == 9.0
    assert pulled(torch, 2.0) == [[6.0, 24.0]]


def test_nothing_is_kept_without_gradients(torch):
    f = wrap(square)
    f(Tensor([1.0]), y := Tensor([0.0]), Tensor(2.0))
    assert y.array == 2.0
    assert torch.calls[-1][1].saved_tensors == ()


def test_a_number_that_requires_grad_is_refused(torch):
    with pytest.raises(qd.AdstackRuntimeTypeError, match="scale of square is a number, which is a constant"):
        wrap(square)(Tensor([1.0]), Tensor([0.0]), Tensor(2.0, requires_grad=True))


def test_what_torch_can_not_follow_is_refused(torch):
    x = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    with pytest.raises(qd.AdstackRuntimeTypeError, match="writes y, which is a ndarray and no tensor"):
        wrap(square)(x, np.zeros(4), 2.0)
    halves = Tensor(x.array[:2]), Tensor(x.array[2:], view=True)
    for shared in (x, halves[0], Tensor(x.array[::2])):
        with pytest.raises(qd.AdstackArgumentError, match=r"y and x of square share memory(.|\n)*x\.clone\(\)"):
            wrap(square)(x, shared, 2.0)
    with pytest.raises(qd.AdstackArgumentError, match="share memory"):  # by a part of an element
        wrap(square)(Tensor(x.array[:1].view(np.float32)[1:]), Tensor(x.array[:1]), 2.0)
    wrap(square)(*halves, 2.0)
    assert x.array.tolist() == [1.0, 2.0, 2.0, 8.0]


def test_without_torch_an_error_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(qd.AdstackRuntimeError, match=r"torch can't be imported(.|\n)*pip install torch"):
        wrap(square)
