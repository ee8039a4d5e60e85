"""Ndarrays: shapes, gradients, what reset does to them."""

from __future__ import annotations

import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_reference")


def test_a_new_ndarray_is_zero() -> None:
    a = qd.ndarray(qd.i32, (2, 2))
    assert (a.shape, a.element_shape, a.dtype, a.to_numpy().tolist()) == ((2, 2), (), qd.i32, [[0, 0], [0, 0]])


def test_elements_may_be_vectors_and_matrices() -> None:
    arrays = [
        qd.Vector.ndarray(3, qd.f32, (2,)),
        qd.ndarray(qd.math.vec3, 2),
        qd.Matrix.ndarray(2, 2, qd.f32, (2,)),
    ]
    assert [a.element_shape for a in arrays] == [(3,), (3,), (2, 2)]
    assert [a.shape for a in arrays] == [(2,)] * 3


def test_an_axis_may_be_empty() -> None:
    assert qd.ndarray(qd.f32, (0,)).to_numpy().shape == (0,)
    with pytest.raises(ValueError, match="at least 0 long"):
        qd.ndarray(qd.f32, (-1,))


def test_a_gradient_is_there_if_asked_for() -> None:
    a = qd.ndarray(qd.f32, (2,), needs_grad=True)
    assert a.has_grad()
    assert a.grad is not None
    assert a.grad.to_numpy().tolist() == [0, 0]
    b = qd.ndarray(qd.f32, (2,))
    assert (b.has_grad(), b.grad, b.dual) == (False, None, None)


def test_integers_have_no_gradient() -> None:
    with pytest.raises(qd.QuadrantsRuntimeError, match="i32 is not supported for ndarray with `needs_grad=True`"):
        qd.ndarray(qd.i32, (2,), needs_grad=True)


def test_reset_drops_the_data() -> None:
    a = qd.ndarray(qd.f32, (2,))
    qd.reset()
    with pytest.raises(qd.AdstackRuntimeError, match=r"made before reset\(\)"):
        a[0]
    assert not a.is_placed


def test_a_captured_ndarray_is_a_place_like_a_field() -> None:
    a = qd.Vector.ndarray(2, qd.f32, (3,), needs_grad=True)
    assert a.grad is not None
    assert (a.place.shape, a.place.role, a.name, a.offset) == ((3, 2), "primal", "", (0,))
    assert (a.grad.place.role, a.grad.place.of) == ("grad", a.place.name)


def test_an_ndarray_shows_its_kind() -> None:
    assert repr(qd.Vector.ndarray(2, qd.f32, (3,))) == "<adstack ndarray: f32 of (2,), shape (3,)>"


def test_a_tensor_is_a_field_or_an_ndarray() -> None:
    assert isinstance(qd.tensor(qd.f32, (2,)), qd.Ndarray)
    assert qd.tensor(qd.f32, (2,)).grad is None
    assert isinstance(qd.tensor(qd.f32, (2,), backend=qd.Backend.FIELD, needs_grad=True), qd.Field)
    with pytest.raises(TypeError, match="no backend"):
        qd.tensor(qd.f32, (2,), backend="cpu")


def test_vectors_and_matrices_in_ndarrays_have_extents() -> None:
    v, m = qd.Vector.ndarray(3, qd.f32, 4), qd.Matrix.ndarray(2, 5, qd.i32, ())
    assert (v.n, v.m, m.n, m.m) == (3, 1, 2, 5)
    with pytest.raises(AttributeError, match="of numbers has no n"):
        qd.ndarray(qd.f32, 4).n  # noqa: B018 - to read it is the error
