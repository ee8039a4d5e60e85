"""Reading and writing fields and ndarrays from the host."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest

import adstack as qd

Make = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("on_reference")


@pytest.fixture(params=[qd.field, qd.ndarray])
def make(request: pytest.FixtureRequest) -> Make:
    maker: Make = request.param
    return maker


def test_elements_are_read_as_python_numbers(make: Make) -> None:
    for dtype, kind in ((qd.f32, float), (qd.f16, float), (qd.i8, int), (qd.u64, int), (qd.u1, bool)):
        assert type(make(dtype, (2,))[1]) is kind
        assert type(make(dtype, ())[None]) is kind


def test_what_is_written_is_read(make: Make) -> None:
    a = make(qd.f32, (4,))
    b = make(qd.f32, (2, 3))
    c = make(qd.f32, ())
    a[3], b[1, 2], c[None] = 1.5, 2.5, 3.5
    assert (a[3], b[1, 2], c[None], c[()]) == (1.5, 2.5, 3.5, 3.5)


def test_an_index_may_be_a_list_a_vector_or_numpy_integers(make: Make) -> None:
    a = make(qd.i32, (2, 3))
    a[1, 2] = 7
    assert a[[1, 2]] == a[qd.Vector([1, 2])] == a[np.int64(1), np.int8(2)] == 7


def test_a_float_is_rounded_to_the_element_type(make: Make) -> None:
    a = make(qd.f32, (2,))
    a[0], a[1] = 0.1, 1e300
    assert a[0] == float(np.float32(0.1))
    assert a[1] == float("inf")
    a[0] = 2**25 + 1
    assert a[0] == 2**25


def test_nan_is_stored(make: Make) -> None:
    a = make(qd.f64, (1,))
    a[0] = float("nan")
    assert a[0] != a[0]


@pytest.mark.parametrize("index", [-1, 4, (4,), np.int32(-1)])
def test_bounds_are_checked(make: Make, index: Any) -> None:
    a = make(qd.f32, (4,))
    with pytest.raises(IndexError, match="Accessing"):
        a[index]
    with pytest.raises(AssertionError, match="out of its bounds"):
        a[index] = 1


def test_a_negative_index_is_none_from_the_end(make: Make) -> None:
    a = make(qd.f32, (4,))
    with pytest.raises(IndexError, match=r"at \(-1,\): out of its bounds[^$]*at n - 1"):
        a[-1]


def test_bounds_of_an_array_of_vectors_are_those_of_its_axes() -> None:
    with pytest.raises(IndexError, match=r"out of its bounds \[0, 4\) x \[0, 3\)\n  do: use 0 to 2 for axis 1"):
        qd.Vector.field(2, qd.f32, shape=(4, 3))[1, np.int32(3)]


@pytest.mark.parametrize("index", [0, (0, 0, 0), None, (), slice(0, 1)])
def test_the_number_of_indices_is_checked(make: Make, index: Any) -> None:
    with pytest.raises(IndexError, match="Slicing is not supported"):
        make(qd.f32, (4, 4))[index]


def test_a_slice_is_refused(make: Make) -> None:
    with pytest.raises(IndexError, match="Slicing is not supported"):
        make(qd.f32, (4,))[1:2]


@pytest.mark.parametrize("index", [0.0, "a", 1.5])
def test_an_index_is_an_integer(make: Make, index: Any) -> None:
    with pytest.raises(TypeError, match="must be an integer"):
        make(qd.f32, (4,))[index]


@pytest.mark.parametrize("value", [2.0, 2.9, np.float32(2.5), np.array(2.25), np.float16(2.75)])
def test_a_float_in_an_integer_array_loses_its_fraction(make: Make, value: Any) -> None:
    for shape, index in (((2,), 0), ((2, 2), (0, 0))):
        a, b = make(qd.i32, shape), make(qd.u1, shape)
        a[index], b[index] = value, value / 10
        assert (a[index], b[index]) == (2, True)
        a[index], b[index] = -value, value * 0
        assert (a[index], b[index]) == (-2, False)


def test_what_an_integer_array_can_not_hold_is_refused(make: Make) -> None:
    for dtype, value in ((qd.u8, 256), (qd.u8, -1), (qd.i64, 2**63), (qd.i32, np.int64(2**40)), (qd.i64, 2.0**63)):
        with pytest.raises(ValueError, match="out of range"):
            make(dtype, (1,))[0] = value
        with pytest.raises(ValueError, match="out of range"):
            make(dtype, (1,)).from_numpy(np.array([value]))
    for value in (float("nan"), float("-inf")):
        with pytest.raises(ValueError, match="can't be stored"):
            make(qd.i32, (1,)).fill(value)
        with pytest.raises(ValueError, match="out of range"):
            make(qd.i32, (1,)).from_numpy(np.array([value]))


@hypothesis.given(
    hypothesis.strategies.floats(-(2.0**70), 2.0**70),
    hypothesis.strategies.sampled_from(["i8", "u8", "i32", "u64", "i64"]),
)
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
def test_a_float_is_stored_as_int_gives_it_or_refused_alone_and_in_an_array(value: float, dtype: str) -> None:
    a, b = qd.field(getattr(qd, dtype), 1), qd.field(getattr(qd, dtype), 1)
    if a.dtype.min <= int(value) <= a.dtype.max:
        a[0] = value
        b.from_numpy(np.array([value]))
        assert a[0] == b[0] == int(value)
    else:
        for store in (lambda: a.fill(value), lambda: b.from_numpy(np.array([value]))):
            with pytest.raises(ValueError, match="out of range"):
                store()


@pytest.mark.parametrize("value", ["1", None, [1], np.array([1, 2]), 1j])
def test_what_is_no_number_is_refused(make: Make, value: Any) -> None:
    with pytest.raises(TypeError, match="takes a number"):
        make(qd.f32, (1,))[0] = value


def test_numpy_numbers_and_booleans_are_numbers(make: Make) -> None:
    a = make(qd.f32, (4,))
    a[0], a[1], a[2], a[3] = np.float64(1.5), np.int8(2), True, np.array(4)
    assert a.to_numpy().tolist() == [1.5, 2, 1, 4]
    flags = make(qd.u1, (2,))
    flags[0], flags[1] = 3, False
    assert flags.to_numpy().tolist() == [True, False]


def test_vectors_are_live_views(make: Make) -> None:
    v = make(qd.math.vec3, (2,))
    v[0][1] = 5
    element = v[0]
    element[2] = 7
    v[0][0] = 1
    assert list(element) == [1, 5, 7]
    assert v.to_numpy().tolist() == [[1, 5, 7], [0, 0, 0]]


def test_matrices_are_live_views(make: Make) -> None:
    m = make(qd.types.matrix(2, 3, qd.f32), (2,))
    m[1][1, 2] = 6
    assert m[1].to_list() == [[0, 0, 0], [0, 0, 6]]


@pytest.mark.parametrize("value", [[1, 2, 3], (1, 2, 3), np.array([1.0, 2, 3]), "vector"])
def test_an_element_is_set_from_a_sequence(make: Make, value: Any) -> None:
    v = make(qd.math.vec3, (2,))
    v[1] = qd.Vector([1, 2, 3]) if isinstance(value, str) else value
    assert v.to_numpy().tolist() == [[0, 0, 0], [1, 2, 3]]


def test_a_number_sets_all_of_an_element(make: Make) -> None:
    v = make(qd.math.vec2, (2,))
    v[1] = 3
    assert v.to_numpy().tolist() == [[0, 0], [3, 3]]


@pytest.mark.parametrize("value", [[1, 2], [[1, 2, 3]], np.zeros((3, 1))])
def test_an_element_of_another_shape_is_refused(make: Make, value: Any) -> None:
    with pytest.raises(ValueError, match="has shape"):
        make(qd.math.vec3, (2,))[0] = value


def test_an_element_view_checks_its_bounds(make: Make) -> None:
    v = make(qd.math.vec3, (2,))
    storage = v[0].storage
    assert len(storage) == 3
    with pytest.raises(IndexError, match="Accessing"):
        storage[3]


def test_fill_sets_all_elements(make: Make) -> None:
    a, v = make(qd.i32, (2, 2)), make(qd.math.vec2, (2,))
    a.fill(3)
    v.fill([1, 2])
    assert a.to_numpy().tolist() == [[3, 3], [3, 3]]
    assert v.to_numpy().tolist() == [[1, 2], [1, 2]]
    a.fill(-1.5)
    assert a.to_numpy().tolist() == [[-1, -1], [-1, -1]]


def test_every_write_from_the_host_is_noticed(make: Make) -> None:
    a, v = make(qd.f32, (2,)), make(qd.math.vec2, (2,))
    b = make(qd.f32, (2, 2))
    for data, write in (
        (a, lambda: a.__setitem__(0, 1.0)),
        (a, lambda: a.__setitem__(0, 1)),
        (b, lambda: b.__setitem__((0, 1), 1)),
        (a, lambda: a.fill(2)),
        (a, lambda: a.from_numpy(np.ones(2))),
        (v, lambda: v[0].__setitem__(1, 3)),
    ):
        before = data.buffer.version
        write()
        assert data.buffer.version != before


def test_reading_does_not_count_as_a_change(make: Make) -> None:
    a = make(qd.f32, (2,))
    before = a.buffer.version
    assert (a[0], a.to_numpy()[1], str(a)) == (0, 0, "[0. 0.]")
    assert a.buffer.version == before


def test_to_numpy_copies_and_converts(make: Make) -> None:
    a = make(qd.f32, (2,))
    copy = a.to_numpy()
    copy[0] = 5
    assert a[0] == 0
    assert a.to_numpy(np.float64).dtype == np.float64
    assert np.asarray(a).dtype == np.float32
    assert np.asarray(a, np.int8).dtype == np.int8


def test_to_numpy_without_a_copy_shares_memory(make: Make) -> None:
    a = make(qd.f32, (2,))
    view = a.to_numpy(copy=False)
    view[1] = 3
    assert a[1] == 3
    assert a.buffer.shared
    with pytest.raises(ValueError, match="can't share"):
        a.to_numpy(np.float64, copy=False)


def test_from_numpy_checks_the_shape(make: Make) -> None:
    a, v = make(qd.f32, (2,)), make(qd.math.vec2, (3,))
    a.from_numpy(np.array([1.5, 2.5]))
    assert a.to_numpy().tolist() == [1.5, 2.5]
    v.from_numpy(np.arange(6).reshape(3, 2))
    assert v[2].to_list() == [4, 5]
    with pytest.raises(ValueError, match="does not match"):
        a.from_numpy(np.zeros(3))
    with pytest.raises(ValueError, match="does not match"):
        v.from_numpy(np.zeros(3))


def test_from_numpy_keeps_integers_integers(make: Make) -> None:
    a = make(qd.u8, (2,))
    a.from_numpy(np.array([1, 255]))
    assert a.to_numpy().tolist() == [1, 255]
    a.from_numpy(np.array([1.5, 2.0]))
    assert a.to_numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="out of range"):
        a.from_numpy(np.array([1, 256]))
    with pytest.raises(TypeError, match="takes numbers"):
        a.from_numpy(np.array(["a", "b"]))


def test_copy_from_takes_any_array_of_the_same_shape() -> None:
    f, n = qd.field(qd.f32, (2,)), qd.ndarray(qd.f64, (2,))
    n[1] = 2.5
    f.copy_from(n)
    assert f[1] == 2.5
    with pytest.raises(TypeError, match="from_numpy"):
        f.copy_from(np.zeros(2))
    with pytest.raises(ValueError, match="does not match"):
        f.copy_from(qd.field(qd.f32, (3,)))


def test_dlpack_shares_memory(make: Make) -> None:
    a = make(qd.f32, (2,))
    view = np.from_dlpack(a)
    a[1] = 4
    assert view[1] == 4
    assert "dltensor" in repr(a.to_dlpack())


def test_arrays_are_not_iterated_over(make: Make) -> None:
    with pytest.raises(TypeError, match="can't be iterated over"):
        list(make(qd.f32, (2,)))


class FakeTensor:
    """As much of a torch tensor as the conversions need."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.moved_to: Any = None

    def detach(self) -> FakeTensor:
        return self

    def cpu(self) -> FakeTensor:
        return self

    def numpy(self) -> Any:
        return self.array

    def to(self, device: Any) -> FakeTensor:
        self.moved_to = device
        return self


def test_torch_tensors_come_and_go(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = types.ModuleType("torch")
    torch.from_numpy = FakeTensor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    a = make(qd.f32, (2,))
    a.from_torch(FakeTensor(np.array([1.0, 2.0])))
    assert a.to_torch().array.tolist() == [1, 2]
    assert a.to_torch("cuda").moved_to == "cuda"
    shared = a.to_torch(copy=False)
    shared.array[0] = 9
    assert a[0] == 9


def test_torch_conversions_say_what_they_need(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    a = make(qd.f32, (2,))
    with pytest.raises(TypeError, match="takes a torch tensor, got int"):
        a.from_torch(3)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(qd.AdstackRuntimeError, match="torch can't be imported"):
        a.to_torch()


def test_the_least_and_the_greatest_integer_are_stored(make: Make) -> None:
    for dtype in (qd.i8, qd.u8, qd.i64, qd.u64):
        for shape, at in (((1,), 0), ((1, 1), (0, 0))):
            a = make(dtype, shape)
            for value in (dtype.min, dtype.max):
                a[at] = value
                assert a[at] == value
            for value in (dtype.min - 1, dtype.max + 1):
                with pytest.raises(ValueError, match="out of range"):
                    a[at] = value
        a.from_numpy(np.array([[dtype.max]]))
        assert a[0, 0] == dtype.max


def test_the_greatest_float_is_stored_and_what_rounds_beyond_is_infinite(make: Make) -> None:
    a = make(qd.f16, (2,))
    a[0], a[1] = 65504.0, 65520.0
    assert (a[0], a[1]) == (65504.0, float("inf"))


def test_a_copy_that_the_host_has_no_memory_for_is_an_error_of_memory() -> None:
    qd.init(arch=qd.reference)
    x = qd.field(qd.i8, 2**20, name="x")
    with pytest.raises(qd.AdstackMemoryError, match="the host has no memory for a copy of field x: Unable"):
        x.to_numpy(dtype=f"S{2**31 - 1}")
    assert str(x) == str(np.zeros(2**20, np.int8))


@pytest.mark.parametrize("make", [qd.field, qd.ndarray])
def test_a_whole_array_has_no_length_and_is_no_number(make: Any) -> None:
    x = make(qd.f32, 3)
    assert x, "it is there, though it has no length"
    with pytest.raises(TypeError, match=r"has no len\(\) on the host\n  do: write x.shape\[0\]"):
        len(x)
    for to in (float, int):
        with pytest.raises(TypeError, match=rf"is no number that {to.__name__}\(\) converts\n  do: name an element"):
            to(x)
