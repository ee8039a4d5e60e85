"""Small memory that nobody needs any more serves again; what others may know the address of does not."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

import adstack as qd
from adstack.backends.cuda import capability
from adstack.backends.cuda.driver_error import OUT_OF_MEMORY, DriverError
from adstack.backends.cuda.emulator import Emulator
from adstack.backends.cuda.spare import Spare


class Counted(Emulator):
    """A device that lists what is asked of it.

    Attributes:
        taken: the sizes of memory that was handed out.
        freed: the addresses of what came back.
        is_full: whether there is no memory until some comes back.
    """

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[int] = []
        self.freed: list[int] = []
        self.is_full = False

    def allocate(self, size: int, *, zeroed: bool = True) -> int:
        if self.is_full:
            raise DriverError("cuMemAlloc", OUT_OF_MEMORY, "out of memory")
        self.taken.append(size)
        return super().allocate(size, zeroed=zeroed)

    def free(self, address: int) -> None:
        self.freed.append(address)
        self.is_full = False
        super().free(address)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    driver = Counted()
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    monkeypatch.setattr(capability, "opened", lambda device: driver)
    qd.init(arch=qd.cuda, offline_cache=False)
    yield driver
    qd.reset()


def test_arrays_that_are_copied_take_memory_once(device: Counted) -> None:
    @qd.kernel
    def shift(a: qd.types.ndarray(dtype=qd.f32, ndim=1), s: qd.f32):
        for i in range(a.shape[0]):
            a[i] += s

    array = np.zeros(16, np.float32)
    shift(array, 1.0)
    del device.taken[:]
    for _ in range(50):
        shift(array, 1.0)
    assert array.tolist() == [51.0] * 16
    assert len(device.taken) <= 1


def test_memory_that_serves_again_is_zero_and_has_one_owner(device: Counted) -> None:
    first = qd.ndarray(qd.f32, (64,))
    first.fill(7.0)
    del first
    gc.collect()
    del device.taken[:]
    second, third = qd.ndarray(qd.f32, (64,)), qd.ndarray(qd.f32, (64,))
    assert len(device.taken) == 1
    second.fill(1.0)
    third.fill(2.0)
    assert second.to_numpy().tolist() == [1.0] * 64
    assert third.to_numpy().tolist() == [2.0] * 64
    fourth = qd.ndarray(qd.f32, (64,))
    assert fourth.to_numpy().tolist() == [0.0] * 64


def test_memory_whose_address_is_out_goes_back_to_the_driver(device: Counted) -> None:
    array = qd.ndarray(qd.f32, (64,))
    assert array.__cuda_array_interface__["data"][0]
    del array
    gc.collect()
    del device.taken[:]
    qd.ndarray(qd.f32, (64,))
    assert device.taken == [256]


def test_where_the_driver_has_no_more_what_is_kept_goes_back_first(device: Counted) -> None:
    array = qd.ndarray(qd.f32, (64,))
    del array
    gc.collect()
    del device.freed[:]
    device.is_full = True
    assert qd.ndarray(qd.f32, (65,)).shape == (65,)
    assert len(device.freed) == 1


def test_what_is_kept_is_bounded(device: Counted) -> None:
    spare, large = Spare(device), 1 << 20
    pieces = [spare.allocate(large) for _ in range(10)] + [spare.allocate(large + 1)]
    del device.freed[:]
    for size, address in zip([large] * 10 + [large + 1], pieces, strict=True):
        spare.free(address, size)
    assert device.freed == pieces[8:]
    spare.drop()
    assert sorted(device.freed) == sorted(pieces)
