"""Named types construct, convert, and describe themselves to the frontend."""

import importlib

import pytest
from symbolic import Term

import adstack as qd
from adstack.errors import AdstackTypeError
from adstack.ir.types import f16, f32, f64, i32, i64, u1, u8
from adstack.values.matrices import types
from adstack.values.matrices.matrix import Matrix, Vector
from adstack.values.specs import MatrixSpec


def test_long_names_are_the_short_ones():
    for long, short in (("float32", "f32"), ("int64", "i64"), ("uint1", "u1"), ("uint8", "u8"), ("float16", "f16")):
        assert getattr(types, long) is getattr(types, short)


def test_python_types_stand_for_the_defaults():
    assert [types.resolve(t, f64, i64) for t in (float, int, bool, f16)] == [f64, i64, u1, f16]
    with pytest.raises(AdstackTypeError, match="is not a scalar type"):
        types.resolve(str, f64, i64)


def test_kinds_of_types():
    assert [types.is_real(t) for t in (float, f16, int, i32)] == [True, True, False, False]
    assert [types.is_integral(t) for t in (float, f16, int, u8)] == [False, False, True, True]
    assert [types.is_signed(t) for t in (int, i32, u8, f32)] == [True, True, False, False]


def test_constructors_line_up_elements():
    vec4, mat = types.vector(4, f32), types.matrix(2, 2, i32)
    assert vec4(Vector([1, 2]), 3, [4]).to_list() == [1.0, 2.0, 3.0, 4.0]
    assert vec4(7).to_list() == [7.0] * 4
    assert vec4().to_list() == [0.0] * 4
    assert mat([[1, 2.5], [3, 4]]).to_list() == [[1, 2], [3, 4]]
    assert mat(1, 2, 3, 4).to_list() == [[1, 2], [3, 4]]
    assert mat([1, 2], [3, 4]).to_list() == [[1, 2], [3, 4]]
    assert mat(5).dtype is i32
    assert [e.dtype for e in vec4(Term(1)).entries] == [f32] * 4


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: types.vector(3, f32)(1, 2), r"types.vector\(3, f32\) takes 3 elements, got 2"),
        (lambda: types.matrix(2, 2, int)(1, 2, 3, 4, 5), r"types.matrix\(2, 2, int\) takes 4 elements, got 5"),
        (lambda: types.vector(2, f32)("a", 1), "takes numbers, vectors and matrices"),
        (lambda: types.vector(0, f32), "n must be a positive"),
        (lambda: types.matrix(2, -1, f32), "m must be a positive"),
        (lambda: types.vector(2, "f32"), "is not a scalar type"),
        (lambda: types.vector(2, f32).cast([1, 2, 3]), r"a 3-vector is no types.vector\(2, f32\)"),
        (lambda: types.matrix(2, 2, f32).cast([1, 2, 3, 4]), "a 4-vector is no"),
    ],
)
def test_misuse_is_refused(use, message):
    with pytest.raises(AdstackTypeError, match=message):
        use()


def test_cast_demands_the_shape_and_converts():
    assert types.vector(2, i32).cast([1.5, 2]).to_list() == [1, 2]
    assert types.matrix(1, 2, f32).cast(Matrix([[1, 2]])).dtype is f32
    assert types.vector(2, i32).cast(3).to_list() == [3, 3]


def test_types_are_values():
    assert types.vector(2, f32) == types.vector(2, f32)
    assert len({types.vector(2, f32), types.vector(2, f32), types.vector(2, f64), types.matrix(2, 1, f32)}) == 3
    m = types.matrix(2, 3, f32)
    assert (m.n, m.m, m.ndim) == (2, 3, 2)
    assert (types.vector(4, f32).n, types.vector(4, f32).m) == (4, 1)


def test_the_frontend_is_told_shape_and_type():
    assert types.vector(3, float).spec(f64, i32) == MatrixSpec(f64, (3,))
    assert types.matrix(2, 3, int).spec(default_ip=i64) == MatrixSpec(i64, (2, 3))


def test_fields_and_ndarrays_of_a_type():
    field = types.vector(3, f32).field(4)
    assert (field.shape, field.element_shape, field.dtype) == ((4,), (3,), f32)
    assert types.matrix(2, 3, f64).field((2, 2), needs_grad=True).grad.element_shape == (2, 3)
    array = types.matrix(2, 2, f32).ndarray((3,))
    assert (array.shape, array.element_shape) == ((3,), (2, 2))
    assert types.vector(2, i32).ndarray(5).element_shape == (2,)


def test_fields_and_ndarrays_of_vectors_and_matrices():
    assert Vector.field(2, f32, shape=3).element_shape == (2,)
    assert Matrix.field(2, 3, f32, 3).element_shape == (2, 3)
    assert Vector.ndarray(2, f32, 3).element_shape == (2,)
    assert Matrix.ndarray(2, 3, f32, 3, needs_grad=True).grad.element_shape == (2, 3)
    assert Vector.tensor(2, f32, 3).element_shape == (2,)
    assert Matrix.tensor(2, 3, f32, 3, needs_grad=True).grad.element_shape == (2, 3)
    with pytest.raises(AdstackTypeError, match="n must be a positive"):
        Vector.field(0, f32, 3)


@pytest.mark.parametrize("name", ["math", "simt", "types"])
def test_what_qd_gives_is_a_module_that_can_be_imported(name: str) -> None:
    module = importlib.import_module(f"adstack.{name}")
    inner = importlib.import_module(f"adstack.values.{name if name == 'simt' else f'matrices.{name}'}")
    assert module is getattr(qd, name)
    assert all(getattr(module, there) is getattr(inner, there) for there in inner.__all__)
    with pytest.raises(qd.AdstackAttributeError, match=f"qd.{name} has no attribute"):
        _ = module.nothing_like_this
