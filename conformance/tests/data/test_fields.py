"""Fields on the host: what they are, when they may be used, what reset does to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_reference")


def test_a_new_field_is_zero() -> None:
    assert qd.field(qd.f32, (2, 3)).to_numpy().tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_shape_may_be_a_number_a_list_or_a_vector() -> None:
    shapes = [qd.field(qd.f32, s).shape for s in (3, [3], (3,), qd.Vector([3]), np.array([3]))]
    assert shapes == [(3,)] * 5


@pytest.mark.parametrize("shape", [0, (2, 0), (-1,)])
def test_an_axis_shorter_than_one_is_refused(shape: object) -> None:
    with pytest.raises(qd.AdstackArgumentError, match="at least 1 long"):
        qd.field(qd.f32, shape)


def test_a_shape_of_floats_is_refused() -> None:
    with pytest.raises(TypeError, match="must be of integers"):
        qd.field(qd.f32, (2.0,))


def test_python_types_stand_for_the_default_types() -> None:
    qd.init(arch=qd.reference, default_fp=qd.f64, default_ip=qd.i64)
    types: list[object] = [qd.field(t, ()).dtype for t in (float, int, bool)]
    assert types == [qd.f64, qd.i64, qd.u1]


def test_what_is_no_type_is_refused() -> None:
    with pytest.raises(TypeError, match="can't be the element type"):
        qd.field("nonsense", (2,))


def test_an_element_type_may_be_a_vector_matrix_or_struct() -> None:
    vectors = qd.field(qd.math.vec3, (2,))
    matrices = qd.field(qd.math.mat2, (2,))
    structs = qd.field(qd.types.struct(a=qd.f32), (2,))
    assert isinstance(vectors, qd.MatrixField)
    assert (vectors.n, vectors.m, vectors.ndim) == (3, 1, 1)
    assert (matrices.n, matrices.m, matrices.ndim) == (2, 2, 2)
    assert isinstance(structs, qd.StructField)


def test_one_number_of_every_element_can_be_seen_as_a_field() -> None:
    m = qd.Matrix.field(2, 2, qd.f32)
    right = m.get_scalar_field(0, 1)
    qd.root.dense(qd.i, 3).place(m)
    m[1][0, 1] = 5
    assert (right.shape, right.offset, right.dtype) == ((3,), (0,), qd.f32)
    assert (right.parent(), right.snode) == (m.parent(), m.snode)
    assert right.to_numpy().tolist() == [0, 5, 0]
    right[2] = 7
    assert (right[2], m[2].to_list()) == (7, [[0, 7], [0, 0]])
    right.fill(2)
    assert m.to_numpy().tolist() == [[[0, 2], [0, 0]]] * 3
    right.from_numpy(np.array([1, 2, 3]))
    m.get_scalar_field(1, 1).copy_from(right)
    assert m[2].to_list() == [[0, 3], [0, 3]]
    assert np.asarray(right).tolist() == [1, 2, 3]
    assert str(right) == "[1. 2. 3.]"


def test_numpy_sees_matrices_of_one_column_as_vectors() -> None:
    x = qd.Matrix.field(3, 1, qd.f32, 2)
    for whole in (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3, 1)):
        x.from_numpy(whole)
        assert x.to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
        x.fill(0)
    shapes = [x.to_numpy(keep_dims=True).shape, x.to_numpy(copy=False).shape, np.asarray(x).shape]
    assert shapes == [(2, 3, 1), (2, 3), (2, 3)]
    assert qd.Vector.field(3, qd.f32, 2).to_numpy(keep_dims=True).shape == (2, 3, 1)
    assert [qd.Matrix.field(1, n, qd.f32, 2).to_numpy().shape for n in (1, 3)] == [(2, 1), (2, 1, 3)]


def test_what_a_component_of_a_field_can_not_do() -> None:
    v = qd.Vector.field(2, qd.f32)
    qd.root.bitmasked(qd.i, 3).place(v)
    second = v.get_scalar_field(1)
    with pytest.raises(qd.AdstackArgumentError, match=r"call fill\(\) in a kernel"):
        second.fill(1.0)
    with pytest.raises(qd.AdstackArgumentError, match=r"has the shape \(3,\), got \(2,\)"):
        second.from_numpy(np.zeros(2))
    with pytest.raises(IndexError, match=r"no number at \(2,\)"):
        v.get_scalar_field(2)
    with pytest.raises(IndexError, match="an index for each of their axes"):
        v.get_scalar_field(0, 0)
    with pytest.raises(qd.AdstackRuntimeTypeError, match="copy_from takes"):
        second.copy_from(3)
    with pytest.raises(AttributeError, match="a component of a field has no attribute 'norm'"):
        second.norm  # noqa: B018
    assert qd.Vector.field(2, qd.i32, 3).get_scalar_field(0).grad is None


def test_an_offset_shifts_the_domain() -> None:
    f = qd.field(qd.f32, (3,), offset=(-1,))
    f[-1], f[1] = 1, 3
    assert f.to_numpy().tolist() == [1, 0, 3]
    assert f.offset == (-1,)
    with pytest.raises(IndexError, match=r"\[-1, 2\)"):
        f[2]


@pytest.mark.parametrize("offset", [(1, 2), "a", (1.5,)])
def test_an_offset_has_one_integer_per_axis(offset: object) -> None:
    with pytest.raises(ValueError, match="one integer for each of 1 axes"):
        qd.field(qd.f32, (3,), offset=offset)


def test_an_offset_without_a_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a shape"):
        qd.field(qd.f32, offset=(1,))


def test_the_order_of_axes_in_memory_is_accepted() -> None:
    assert qd.field(qd.f32, (2, 3), order="ji").shape == (2, 3)


def test_real_fields_have_companions_which_are_not_placed_unless_asked_for() -> None:
    f = qd.field(qd.f32, (3,))
    assert (f.has_grad(), f.has_dual()) == (False, False)
    assert f.grad is not None
    with pytest.raises(qd.AdstackRuntimeError, match="has not been placed, check whether `needs_grad=True`"):
        f.grad[0]
    with pytest.raises(qd.AdstackRuntimeError, match="`needs_dual=True`"):
        f.dual.to_numpy()


def test_companions_that_are_asked_for_follow_their_primal() -> None:
    f = qd.field(qd.f32, (3,), offset=(1,), needs_grad=True, needs_dual=True)
    assert (f.has_grad(), f.has_dual()) == (True, True)
    assert (f.grad.shape, f.grad.offset, f.dual.shape) == ((3,), (1,), (3,))
    assert f.companions() == (f.grad, f.dual)


def test_integer_fields_have_no_companions() -> None:
    f = qd.field(qd.i32, (3,))
    assert (f.grad, f.dual, f.companions()) == (None, None, ())


@pytest.mark.parametrize("need", ["needs_grad", "needs_dual"])
def test_integer_fields_can_not_have_gradients(need: str) -> None:
    with pytest.raises(qd.QuadrantsRuntimeError, match="i32 is not supported for field with `needs_grad=True`"):
        qd.field(qd.i32, (3,), **{need: True})


def test_an_unplaced_field_can_not_be_used() -> None:
    f = qd.field(qd.f32, name="x")
    assert not f.is_placed
    for use in (lambda: f[0], lambda: f.fill(1), lambda: f.shape, f.to_numpy):
        with pytest.raises(qd.AdstackRuntimeError, match="field x has not been placed"):
            use()


def test_reset_drops_the_data() -> None:
    f = qd.field(qd.f32, (3,))
    f[0] = 1
    qd.reset()
    for use in (lambda: f[0], lambda: f.__setitem__(0, 1), lambda: f.shape, f.to_numpy, lambda: f.fill(1)):
        with pytest.raises(qd.AdstackRuntimeError, match=r"made before reset\(\) or init\(\)"):
            use()
    assert not f.is_placed


def test_places_say_what_they_are_of() -> None:
    f = qd.Vector.field(2, qd.f32, (3,), name="x", needs_grad=True)
    assert (f.place.shape, f.place.kind, f.place.role, f.place.label) == ((3, 2), "field", "primal", "x")
    assert (f.grad.place.role, f.grad.place.of) == ("grad", f.place.name)
    assert f.dual.label == "field x.dual"
    assert f.place.name != qd.field(qd.f32, (), name="x").place.name


def test_a_field_shows_its_elements_and_its_kind() -> None:
    f = qd.Vector.field(2, qd.f32, (1,), name="x")
    assert str(f) == "[[0. 0.]]"
    assert repr(f) == "<adstack field x: f32 of (2,), shape (1,)>"
    assert repr(qd.field(qd.i32)) == str(qd.field(qd.i32)) == "<adstack a field: i32, not placed>"


def test_layout_and_order_are_accepted_and_change_nothing() -> None:
    for layout in qd.Layout:
        v = qd.Vector.field(3, qd.f32, shape=(4, 5), layout=layout, order="ji")
        m = qd.Matrix.field(2, 2, qd.f32, shape=6, layout=layout, order="i")
        v[1, 2] = [1, 2, 3]
        assert (v.shape, m.shape, v.to_numpy()[1, 2].tolist()) == ((4, 5), (6,), [1, 2, 3])
    assert qd.field(qd.i32, shape=(2, 3, 4), order="kij").shape == (2, 3, 4)


@pytest.mark.parametrize("order", ["jk", "i", "iij", "ijk", ""])
def test_an_order_must_name_each_axis_once(order: str) -> None:
    with pytest.raises(qd.AdstackArgumentError, match="must name each of the axes i, j once"):
        qd.field(qd.f32, shape=(4, 5), order=order)


def test_a_layout_is_one_of_two() -> None:
    for make in (
        lambda: qd.Vector.field(3, qd.f32, shape=4, layout="SOA"),
        lambda: qd.types.struct(a=qd.f32).field(shape=4, layout=1),
    ):
        with pytest.raises(qd.AdstackArgumentError, match="is no layout"):
            make()


def test_what_a_launch_before_init_was_is_gone_with_its_fields() -> None:
    """Rules: grad.last-launch"""

    def made() -> tuple[Any, Any]:
        return tuple(qd.field(qd.f32, (2,), needs_grad=True) for _ in range(2))

    def squares(x: Any, y: Any) -> Any:
        @qd.kernel
        def kernel():  # type: ignore[no-untyped-def]
            for i in x:
                y[i] = x[i] * x[i]

        return kernel

    kernel = squares(*made())
    kernel()
    qd.init(arch=qd.reference)
    with pytest.raises(qd.AdstackRuntimeError, match=r"was made before reset\(\) or init\(\) and its data is gone"):
        kernel.grad()
    x, y = made()
    x.fill(3)
    y.grad.fill(1)
    squares(x, y).grad()
    assert x.grad.to_numpy().tolist() == [6, 6]


@pytest.mark.parametrize(
    "shape", [np.array(3), np.array([3]), np.int64(3), [np.array(3)], (3,), qd.Vector([3])], ids=lambda s: repr(s)[:20]
)
def test_a_number_of_numpy_is_a_shape_wherever_one_is_taken(shape: Any) -> None:
    qd.init(arch=qd.reference)
    made = (qd.field(qd.f32, shape), qd.ndarray(qd.f32, shape), qd.Vector.field(2, qd.f32, shape))
    assert [one.shape for one in made] == [(3,)] * 3
    for level in (qd.root.dense(qd.i, shape), qd.root.pointer(qd.i, shape), qd.root.dynamic(qd.i, shape)):
        assert level.shape == (3,)


@pytest.mark.parametrize("shape", [np.array(3.0), np.array("3"), np.array(None)])
def test_an_array_without_axes_that_holds_no_integer_is_no_shape(shape: Any) -> None:
    qd.init(arch=qd.reference)
    with pytest.raises(qd.AdstackRuntimeTypeError, match="must be of integers"):
        qd.field(qd.f32, shape)


def test_rows_of_an_element_that_differ_in_length_are_refused() -> None:
    qd.init(arch=qd.reference)
    with pytest.raises(qd.AdstackArgumentError, match="rows of a list must be equally long"):
        qd.Matrix.field(2, 2, qd.f32, 3)[0] = [[1.0], [1.0, 2.0]]


def test_an_order_is_a_text_that_names_the_axes() -> None:
    qd.init(arch=qd.reference)
    with pytest.raises(qd.AdstackArgumentError, match="order=4 must name each of the axes i once"):
        qd.field(qd.f32, 3, 4)


def test_a_type_of_the_language_takes_one_number_on_the_host() -> None:
    qd.init(arch=qd.reference)
    with pytest.raises(qd.AdstackTypeError, match=r"f32\(x\) takes one number on the host"):
        qd.f32(qd.field(qd.f32, shape=3))
