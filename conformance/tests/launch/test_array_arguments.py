"""What array parameters accept, and what they say when they don't."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.launch.arguments import Call
from adstack.launch.array_arguments import WithGradient
from adstack.launch.parameters import parameter
from adstack.values.specs import NdarraySpec

pytestmark = pytest.mark.usefixtures("on_reference")


def taken(annotation: Any, value: Any) -> Call:
    argument = parameter("a", annotation)
    assert argument is not None
    call = Call()
    argument.take(value, call)
    spec = argument.spec(value)
    assert isinstance(spec, NdarraySpec)
    assert [(spec.dtype, spec.ndim, spec.element_shape, spec.has_grad, spec.has_dual)] == call.key
    return call


ANY = qd.types.ndarray()


@pytest.mark.parametrize("annotation", [qd.types.ndarray, qd.types.NDArray, qd.types.ndarray(), qd.template()])
def test_a_bare_annotation_takes_any_array(annotation: Any) -> None:
    for value in (np.zeros((2, 3), np.int8), qd.ndarray(qd.i8, (2, 3))):
        assert taken(annotation, value).key == [(qd.i8, 2, (), False, False)]


def test_an_annotation_may_be_written_with_brackets() -> None:
    assert taken(qd.types.NDArray[qd.f32, 1], np.zeros(2, np.float32)).key == [(qd.f32, 1, (), False, False)]
    assert taken(qd.types.NDArray[qd.f32], np.zeros(2, np.float32)).key == [(qd.f32, 1, (), False, False)]
    assert repr(qd.types.NDArray[qd.f32, 1]) == "ndarray(dtype=f32, ndim=1, needs_grad=None)"


@pytest.mark.parametrize(
    ("wanted", "value", "words"),
    [
        ({"dtype": qd.f32}, np.zeros(2), "required array has dtype=f32, array with dtype=f64 is provided"),
        ({"ndim": 1}, np.zeros((2, 2)), "required array has ndim=1, array with ndim=2 is provided"),
        ({"needs_grad": True}, "ndarray", "required array has needs_grad=True"),
        ({"dtype": qd.math.vec3}, np.zeros((2, 2), np.float32), "element shape=.3,., array with element shape"),
        ({"dtype": qd.math.vec3, "ndim": 1}, np.zeros(3, np.float32), "required array has ndim=1"),
        ({"dtype": qd.math.vec3, "ndim": 1}, np.float32([])[0:0].sum(keepdims=True)[0:0], "element shape"),
        ({}, np.zeros(2, np.complex64), "dtype=one of numpy's"),
        ({}, np.zeros(2, ">f4"), "dtype=one of numpy's"),
    ],
)
def test_a_mismatch_is_a_value_error(wanted: dict[str, Any], value: Any, words: str) -> None:
    value = qd.ndarray(qd.f64, 2) if isinstance(value, str) else value
    with pytest.raises(ValueError, match=f"Invalid value for argument a - .*{words}"):
        taken(qd.types.ndarray(**wanted), value)


@pytest.mark.parametrize("value", [3, [1, 2], None, "field"])
def test_what_is_no_array_is_a_type_error(value: Any) -> None:
    argument = qd.field(qd.f32, (2,)) if value == "field" else value
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="Invalid value for argument a - expected an ndarray"):
        taken(ANY, argument)


def test_a_vector_dtype_takes_the_trailing_axes() -> None:
    spec = (qd.f32, 1, (3,), False, False)
    vectors = qd.types.ndarray(dtype=qd.math.vec3, ndim=1)
    assert taken(vectors, np.zeros((2, 3), np.float32)).key == [spec]
    assert taken(vectors, qd.Vector.ndarray(3, qd.f32, (2,))).key == [spec]
    assert taken(ANY, qd.Vector.ndarray(3, qd.f32, (2,))).key == [spec]


def test_elements_of_an_ndarray_must_be_those_demanded() -> None:
    data = qd.Vector.ndarray(3, qd.f32, (2,))
    for wanted in (qd.f32, qd.math.vec2):
        with pytest.raises(ValueError, match="element shape"):
            taken(qd.types.ndarray(dtype=wanted), data)


def test_gradients_come_along_unless_cut() -> None:
    data = qd.ndarray(qd.f32, (2,), needs_grad=True)
    assert list(taken(ANY, data).arrays) == ["a", "a.grad"]
    assert list(taken(qd.types.ndarray(needs_grad=True), data).arrays) == ["a", "a.grad"]
    cut = taken(qd.types.ndarray(needs_grad=False), data)
    assert (list(cut.arrays), cut.key[0][3]) == (["a"], False)


def test_memory_that_adstack_does_not_own_is_marked() -> None:
    call = taken(ANY, np.zeros(2))
    assert call.arrays["a"].shared
    assert not taken(ANY, qd.ndarray(qd.f32, (2,))).arrays["a"].shared


def test_strides_other_than_those_of_c_and_fortran_are_refused() -> None:
    with pytest.raises(ValueError, match="neither C nor Fortran contiguous"):
        taken(ANY, np.zeros(6)[::2])


def test_a_number_of_axes_is_a_number() -> None:
    with pytest.raises(TypeError, match="ndim of an ndarray annotation"):
        qd.types.ndarray(ndim="two")


class Device:
    def __init__(self, kind: str) -> None:
        self.type = kind

    def __str__(self) -> str:
        return self.type


class Tensor:
    """As much of a torch tensor as a kernel call needs."""

    __module__ = "torch"

    def __init__(self, array: Any, device: str = "cpu", requires_grad: bool = False) -> None:
        self.array, self.device, self.requires_grad = array, Device(device), requires_grad
        self.grad: Tensor | None = None

    def detach(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.array


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("torch")
    module.zeros_like = lambda t: Tensor(np.zeros_like(t.array))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)


@pytest.mark.usefixtures("torch")
def test_torch_tensors_share_memory_and_get_a_gradient() -> None:
    plain, differentiated = Tensor(np.zeros(2)), Tensor(np.zeros(2), requires_grad=True)
    assert list(taken(ANY, plain).arrays) == ["a"]
    call = taken(ANY, differentiated)
    assert differentiated.grad is not None
    assert call.arrays["a"].storage is differentiated.array
    assert call.arrays["a.grad"].storage is differentiated.grad.array
    assert list(taken(qd.types.ndarray(needs_grad=False), differentiated).arrays) == ["a"]


@pytest.mark.usefixtures("torch")
def test_torch_tensors_on_another_device_are_refused() -> None:
    with pytest.raises(ValueError, match="required array has device=cpu, array with device=cuda is provided"):
        taken(ANY, Tensor(np.zeros(2), device="cuda"))


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("arch", [qd.reference, qd.cpu, qd.vulkan])
def test_views_of_torch_tensors_are_what_they_show_or_refused(arch: Any) -> None:
    qd.init(arch=arch, offline_cache=False)

    @qd.kernel
    def k(x: qd.types.ndarray(qd.f32, 2)):
        for i, j in x:
            x[i, j] = x[i, j] * 2 + 10 * i + j

    for view in (lambda a: a[1:3], lambda a: a[2:].T, lambda a: a[3:4, 2:5], lambda a: a[:, :1][:1]):
        base, wanted = (np.arange(24, dtype=np.float32).reshape(4, 6) for _ in range(2))
        i, j = np.indices(view(wanted).shape)
        view(wanted)[...] = view(wanted) * 2 + 10 * i + j
        k(Tensor(view(base)))
        assert (base == wanted).all()
    for strided in (
        lambda a: a[::2],
        lambda a: a[:, 1::2],
        lambda a: a[::-1],
        lambda a: np.broadcast_to(a[:1], (3, 6)),
    ):
        base = np.arange(24, dtype=np.float32).reshape(4, 6)
        with pytest.raises(qd.AdstackArgumentError, match="neither C nor Fortran contiguous"):
            k(Tensor(strided(base)))
        assert (base == np.arange(24).reshape(4, 6)).all()


class Producer:
    """An array that speaks DLPack, and nothing else."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **request: Any) -> Any:
        return self.array.__dlpack__(**request)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("arch", [qd.reference, qd.cpu, qd.vulkan])
def test_what_speaks_dlpack_is_an_array(arch: Any) -> None:
    qd.init(arch=arch, offline_cache=False)

    @qd.kernel
    def double(x: qd.types.ndarray(), y: qd.template()):
        for i in x:
            x[i] = y[i] = 2 * x[i]

    array, other = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    double(Producer(array), Producer(other))
    double(Producer(array), Producer(other))
    assert array.tolist() == other.tolist() == [0, 4, 8]


def test_an_array_and_that_of_its_gradients_are_one_argument() -> None:
    call = taken(ANY, WithGradient(np.zeros(2), np.ones(2)))
    assert call.key == [(qd.f64, 1, (), True, False)]
    assert [call.arrays[name].read().tolist() for name in ("a", "a.grad")] == [[0, 0], [1, 1]]


def test_an_annotation_may_say_what_elements_are() -> None:
    def first(annotation: Any) -> Any:
        @qd.kernel
        def run(x: annotation) -> qd.f32:
            return x[1][0]

        return run

    rows, vectors = np.arange(6, dtype=np.float32).reshape(3, 2), qd.Vector.ndarray(2, qd.f32, 3)
    vectors.from_numpy(rows)
    for options in ({"element_dim": 1}, {"element_shape": (2,), "dtype": qd.f32}, {"dtype": qd.f32, "element_dim": 1}):
        run = first(qd.types.ndarray(**options))
        assert run(rows) == run(rows) == run(vectors) == 2
    assert first(qd.types.ndarray(dtype=qd.math.vec2, field_dim=1, element_dim=1))(rows) == 2
    with pytest.raises(qd.AdstackArgumentError, match="element_dim=1, array with element_dim=0"):
        first(qd.types.ndarray(element_dim=1))(qd.ndarray(qd.f32, 3))
    with pytest.raises(qd.AdstackArgumentError, match="element shape=2 axes"):
        first(qd.types.ndarray(element_dim=2))(np.zeros(3, np.float32))
    with pytest.raises(TypeError, match="element_dim=2 of the annotation of x is not that of"):
        first(qd.types.ndarray(dtype=qd.math.vec2, element_dim=2))(rows)
    for wrong in ({"element_dim": 3}, {"element_dim": 2, "element_shape": (2,)}):
        with pytest.raises(qd.AdstackTypeError, match="have 0, 1 or 2 axes, got element_dim="):
            qd.types.ndarray(**wrong)
