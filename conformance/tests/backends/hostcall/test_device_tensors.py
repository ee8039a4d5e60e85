"""Torch tensors in the memory of a device in calls that machine code serves; the host plays the device."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from calls_kit import by_machine_code, settled

import adstack as qd
from adstack.runtime import state

pytestmark = pytest.mark.usefixtures("on_cuda_host", "torch")


class Tensor:
    """A torch tensor on the device, as far as it is asked; its memory is an array's.

    Attributes:
        said: how often it has told all about itself.
    """

    __module__ = "torch"
    is_cuda = True
    grad = None

    def __init__(self, array: Any, requires_grad: bool = False, index: int = 0) -> None:
        self.array, self.requires_grad, self.said = array, requires_grad, 0
        self.device = SimpleNamespace(type="cuda", index=index)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def is_contiguous(self) -> bool:
        return bool(self.array.flags.c_contiguous)

    def detach(self) -> Tensor:
        return Tensor(self.array)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.said += 1
        data = (self.data_ptr(), False)
        about = {"shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": self.array.strides}
        return {**about, "version": 2}


class Torch:
    """The module; its stream is the default one unless told otherwise."""

    def __init__(self) -> None:
        self.stream = 0
        self._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda index: self.stream)
        self.cuda = SimpleNamespace(
            is_initialized=lambda: True, current_stream=lambda: SimpleNamespace(cuda_stream=self.stream)
        )


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Torch:
    module = Torch()
    monkeypatch.setitem(sys.modules, "torch", module)  # type: ignore[arg-type]
    return module


@qd.kernel
def fill(x: qd.types.ndarray(dtype=qd.f32, ndim=1), value: qd.f32):
    for i in x:
        x[i] = value


F32 = np.float32


def test_tensors_of_any_length_and_place_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    settled(fill, Tensor(np.zeros(3, F32)), 1.0)
    for n in (3, 5, 0, 1000):
        tensor = Tensor(np.zeros(n, F32))
        by_machine_code(lambda tensor=tensor: fill(tensor, 2.0), monkeypatch)
        assert tensor.array.tolist() == [2.0] * n
        assert tensor.said == 0


def test_memory_that_a_tensor_gets_later_is_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = Tensor(np.zeros(3, F32))
    settled(fill, tensor, 1.0)
    before, tensor.array = tensor.array, np.zeros(7, F32)
    by_machine_code(lambda: fill(tensor, 2.0), monkeypatch)
    assert before.tolist() == [1.0] * 3
    assert tensor.array.tolist() == [2.0] * 7


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (Tensor(np.zeros(3)), "dtype=f32"),
        (Tensor(np.zeros((3, 3), F32)), "ndim=1"),
        (Tensor(np.zeros(6, F32)[::2]), "not C-contiguous"),
    ],
)
def test_other_tensors_get_the_errors_of_python(tensor: Tensor, words: str) -> None:
    settled(fill, Tensor(np.zeros(3, F32)), 1.0)
    with pytest.raises(ValueError, match=words):
        fill(tensor, 1.0)


def test_a_tensor_that_gives_another_answer_or_none_is_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    settled(fill, Tensor(np.zeros(3, F32)), 1.0)
    tensor = Tensor(np.zeros(3, F32))

    answers = iter([RuntimeError("not now")])

    def refuses_once(_: object) -> bool:
        error = next(answers, None)
        if error is not None:
            raise error
        return True

    for number, answer in enumerate((refuses_once, lambda _: 1, lambda _: None)):
        with monkeypatch.context() as patch:
            patch.setattr(Tensor, "is_contiguous", answer)
            fill(tensor, float(number))
            assert tensor.array.tolist() == [number] * 3
    assert tensor.said == 1
    tensor.device = SimpleNamespace(type="cuda", index=None)
    fill(tensor, 7.0)
    assert tensor.array.tolist() == [7.0] * 3


def test_one_that_needs_a_gradient_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    settled(fill, Tensor(np.zeros(3, F32)), 1.0)
    tensor = Tensor(np.zeros(3, F32), requires_grad=True)
    tensor.grad = Tensor(np.zeros(3, F32))  # type: ignore[assignment]
    fill(tensor, 4.0)
    assert tensor.array.tolist() == [4.0] * 3


def test_a_stream_of_its_own_is_waited_for(torch: Torch, monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[tuple[int | None, int | None]] = []
    monkeypatch.setattr(state.current().backend.driver, "orders", orders)  # type: ignore[attr-defined]
    tensor = Tensor(np.zeros(3, F32))
    settled(fill, tensor, 1.0)
    assert orders == []
    for stream in (0x70, 0x71):
        torch.stream = stream
        fill(tensor, 2.0)
        assert orders == [(stream, None), (None, stream)]
        orders.clear()
    torch.stream = 0
    by_machine_code(lambda: fill(tensor, 3.0), monkeypatch)
    assert orders == []


def test_where_cupy_is_loaded_its_stream_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[tuple[int | None, int | None]] = []
    monkeypatch.setattr(state.current().backend.driver, "orders", orders)  # type: ignore[attr-defined]
    tensor = Tensor(np.zeros(3, F32))
    settled(fill, tensor, 1.0)
    stream = SimpleNamespace(ptr=0x90)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(get_current_stream=lambda: stream)))
    fill(tensor, 2.0)
    assert orders == [(0x90, None), (None, 0x90)]


def test_python_asks_a_tensor_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = Tensor(np.zeros(3, F32))
    torch = sys.modules["torch"]
    del torch._C  # so that Python serves all calls
    for number in range(4):
        fill(tensor, float(number))
    assert tensor.said == 1
    tensor.array = np.zeros(5, F32)
    fill(tensor, 2.0)
    fill(tensor, 3.0)
    assert (tensor.said, tensor.array.tolist()) == (2, [3.0] * 5)
    qd.init(arch=qd.cuda, offline_cache=False)
    fill(tensor, 1.0)
    assert tensor.said == 3


def test_what_a_kernel_with_a_gradient_reads_is_left_to_python() -> None:
    y = qd.field(qd.f32, (), needs_grad=True)
    x = qd.field(qd.f32, 3, needs_grad=True)
    x.fill(2.0)

    @qd.kernel
    def weigh(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in a:
            y[None] += a[i] * x[i]

    tensor = Tensor(np.ones(3, F32))
    for weight in (1.0, 2.0, 3.0):
        tensor.array[:] = weight
        weigh(tensor)
        x.grad.fill(0.0)
        y.grad[None] = 1.0
        weigh.grad(tensor)
        assert x.grad.to_numpy().tolist() == [weight] * 3
    tensor.array[:] = 9.0
    with pytest.raises(qd.AdstackDataAccessError, match="weigh"):
        weigh.grad(tensor)
