"""Memory of a device handed over as DLPack has it; the host plays the device, so numpy can take it."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.data import dlpack


def lent() -> int:
    """How many tensors others have of us."""
    return len(dlpack.LENT)


def tensor_in(capsule: Any) -> Any:
    """What a capsule that nobody has taken yet says of memory."""
    return dlpack.Managed.from_address(dlpack.POINTER(id(capsule), b"dltensor")).tensor


pytestmark = pytest.mark.usefixtures("on_cuda_host")


@pytest.mark.parametrize("dtype", [qd.f32, qd.f64, qd.f16, qd.i8, qd.u64, qd.u1], ids=str)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4), (3, 0)])
def test_others_see_and_write_the_memory(dtype, shape):
    x = qd.field(dtype, shape=shape) if 0 not in shape else qd.ndarray(dtype, shape)
    x.from_numpy((np.arange(np.prod(shape, dtype=int)) % 2).astype(dtype.numpy).reshape(shape))
    seen = np.from_dlpack(x)
    assert (seen.shape, seen.dtype) == (x.shape, dtype.numpy)
    assert (seen == x.to_numpy()).all()


def test_writes_of_others_are_seen_by_kernels():
    x, y = qd.Vector.ndarray(2, qd.f32, shape=3), qd.field(qd.f32, shape=())

    @qd.kernel
    def total(x: qd.types.ndarray(dtype=qd.types.vector(2, qd.f32), ndim=1)):
        for i in x:
            y[None] += x[i][0] * 10 + x[i][1]

    tensor = tensor_in(capsule := x.__dlpack__())
    assert capsule is not None
    there = (ctypes.c_float * 6).from_address(tensor.data)
    there[:] = [1, 2, 3, 4, 5, 6]
    total(x)
    assert y[None] == 90 + 12
    assert (tensor.ndim, tensor.shape[:2], tensor.strides[:2]) == (2, [3, 2], [2, 1])


def test_memory_lives_until_everybody_has_let_go_of_it():
    before = lent()
    x = qd.ndarray(qd.i32, (4,))
    x.fill(7)
    taken, unused = np.from_dlpack(x), x.__dlpack__()
    assert lent() == before + 2
    del x
    gc.collect()
    assert taken.tolist() == [7] * 4
    del unused
    gc.collect()
    assert lent() == before + 1
    del taken
    gc.collect()
    assert lent() == before


def test_a_stream_of_others_waits_for_what_was_launched(monkeypatch):
    x = qd.field(qd.f32, shape=3)
    backend = x.buffer.backend
    monkeypatch.setattr(backend.driver, "orders", [])
    for stream, waiting in ((None, []), (1, []), (-1, []), (2, [2]), (0x5000, [2, 0x5000])):
        x.__dlpack__(stream=stream)
        assert backend.driver.orders == [(None, one) for one in waiting]


@pytest.mark.parametrize("request_", [{"copy": True}, {"dl_device": (2, 0)}])
def test_a_copy_is_refused(request_):
    with pytest.raises(BufferError, match=r"device \(1, 0\) is shared, not copied"):
        qd.field(qd.f32, shape=3).__dlpack__(**request_)


def test_what_others_may_ask_for_is_served():
    assert qd.field(qd.f32, shape=3).__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)


def test_the_device_is_told():
    x = qd.field(qd.f32, shape=3)
    assert x.__dlpack_device__() == (1, 0)
    backend = x.buffer.backend
    backend.capabilities = dataclasses.replace(backend.capabilities, dlpack=(2, 3))
    assert x.__dlpack_device__() == (2, 3)
    capsule = x.__dlpack__()
    tensor = tensor_in(capsule)
    assert (tensor.device_kind, tensor.device_number) == (2, 3)


def test_memory_of_the_host_is_numpys_to_hand_over():
    qd.init(arch=qd.cpu)
    x = qd.field(qd.f32, shape=3)
    before = lent()
    np.from_dlpack(x)[1] = 5
    assert x[1] == 5
    assert lent() == before


class Producer:
    """Memory of a device that says no more of itself than DLPack does."""

    def __init__(self, data: Any, capsule: Any = None) -> None:
        self.data, self.capsule = data, capsule

    def __dlpack__(self, **request: Any) -> Any:
        return self.capsule or self.data.__dlpack__(**request)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()


def numbered(data: Any, number: int) -> None:
    """Have the device of some data say that it is one of CUDA's, with a number."""
    backend = data.buffer.backend
    backend.capabilities = dataclasses.replace(backend.capabilities, dlpack=(2, number))


@qd.kernel
def double(x: qd.types.ndarray()):
    for i in x:
        x[i] = 2 * x[i]


def test_a_kernel_works_in_the_memory_of_others():
    x, before = qd.ndarray(qd.f32, 3), lent()
    numbered(x, 3)
    x.fill(3)
    double(Producer(x))
    assert x.to_numpy().tolist() == [6, 6, 6]
    gc.collect()
    assert lent() == before


def test_memory_of_others_is_held_as_long_as_it_is_used():
    x, before = qd.ndarray(qd.f32, (2, 3)), lent()
    numbered(x, 3)
    received = dlpack.received(Producer(x))
    assert (received.device, received.shape, received.typestr, received.strides) == ((2, 3), (2, 3), "f4", (12, 4))
    assert lent() == before + 1
    del received
    gc.collect()
    assert lent() == before


def test_memory_of_another_device_is_refused():
    x = qd.ndarray(qd.f32, 3)
    numbered(x, 4)
    there = Producer(x, x.__dlpack__())
    numbered(x, 3)
    with pytest.raises(qd.AdstackArgumentError, match=r"DLPack's device \(2, 4\), and adstack uses \(2, 3\)"):
        double(there)
