"""Memory for copies of arrays of the host is kept as long as the array, within bounds, and no longer than it may be."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.backends.cuda import capability
from adstack.backends.cuda.emulator import Emulator
from adstack.backends.cuda.interface.errors import OUT_OF_MEMORY, DriverError
from adstack.errors import AdstackMemoryError
from adstack.runtime import state
from adstack.runtime.adstacks import budget
from adstack.runtime.memory import staging

BYTES = 4 * 64


class Counted(Emulator):
    """A device that lists what is asked of it.

    Attributes:
        asked: (what was done with memory, bytes or 0), in order.
        room: bytes that it gives out at most, all together.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, int]] = []
        self.room = 1 << 40

    def allocate(self, size: int, *, zeroed: bool = True) -> int:
        if self.device.memory - self.available() + size > self.room:
            raise DriverError("cuMemAlloc", OUT_OF_MEMORY, "out of memory")
        self.asked.append(("allocate", size))
        return super().allocate(size, zeroed=zeroed)

    def free(self, address: int) -> None:
        self.asked.append(("free", 0))
        super().free(address)

    def upload(self, address: int, array: Any) -> None:
        self.asked.append(("upload", array.nbytes))
        super().upload(address, array)

    def download(self, address: int, array: Any) -> None:
        self.asked.append(("download", array.nbytes))
        super().download(address, array)

    def zero(self, address: int, size: int) -> None:
        self.asked.append(("zero", size))
        super().zero(address, size)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    driver = Counted()
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    monkeypatch.setattr(capability, "opened", lambda device: driver)
    qd.init(arch=qd.cuda, offline_cache=False)
    yield driver
    qd.reset()


@qd.kernel
def shift(a: qd.types.ndarray(dtype=qd.f32, ndim=1), s: qd.f32):
    for i in a:
        a[i] += s


@qd.kernel
def copy(a: qd.types.ndarray(dtype=qd.f32, ndim=1), b: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in a:
        b[i] = a[i]


def kept() -> int:
    """Bytes that are kept and that no call has."""
    return state.current().staging.size


def warmed(device: Counted, array: np.ndarray) -> np.ndarray:
    """The array, after a first call with it."""
    shift(array, 1.0)
    device.asked.clear()
    return array


def test_a_call_takes_a_copy_to_the_device_and_one_back(device: Counted) -> None:
    array = warmed(device, np.zeros(64, np.float32))
    for _ in range(50):
        shift(array, 1.0)
    assert array.tolist() == [51.0] * 64
    assert device.asked == 50 * [("upload", BYTES), ("download", BYTES)]


def test_what_a_kernel_only_reads_is_not_copied_back(device: Counted) -> None:
    source, target = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    copy(source, target)
    device.asked.clear()
    source[:] *= 2
    copy(source, target)
    assert target.tolist() == source.tolist()
    assert device.asked == [("upload", BYTES), ("upload", BYTES), ("download", BYTES)]


def test_parts_of_one_array_share_what_is_kept_for_it(device: Counted) -> None:
    rows = np.zeros((8, 64), np.float32)
    warmed(device, rows[0])
    for row in rows:
        shift(row, 2.0)
    assert rows.sum(axis=1).tolist() == [64 * 3.0] + [64 * 2.0] * 7
    assert {what for what, _ in device.asked} == {"upload", "download"}
    assert kept() == BYTES


def test_it_goes_with_the_array(device: Counted) -> None:
    array = warmed(device, np.zeros(64, np.float32))
    before = device.available()
    assert kept() == BYTES
    del array
    assert kept() == 0
    assert device.asked == [("free", 0)]
    assert device.available() >= before + BYTES
    for _ in range(20):
        shift(np.zeros(64, np.float32), 1.0)
    assert kept() == 0
    assert device.available() >= before + BYTES


def test_an_array_that_ends_while_its_copy_is_in_use_leaves_nothing(device: Counted) -> None:
    array = np.zeros(64, np.float32)
    copied = state.current().staging.copied(array, qd.f32, array)
    assert kept() == 0
    del array
    gc.collect()
    assert ("free", 0) not in device.asked
    del copied
    assert kept() == 0
    assert device.asked.count(("free", 0)) == 1


def test_two_calls_at_once_have_two_copies(device: Counted) -> None:
    array, here = np.arange(64, dtype=np.float32), state.current().staging
    first = here.copied(array, qd.f32, array)
    second = here.copied(array * 2, qd.f32, array)
    assert first.read().tolist() == array.tolist()
    assert second.read().tolist() == (2 * array).tolist()
    del first, second
    assert kept() == 2 * BYTES


def test_what_is_kept_is_bounded(device: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "MOST", 4 * BYTES)
    qd.init(arch=qd.cuda, offline_cache=False)
    arrays = [np.zeros(64, np.float32) for _ in range(9)]
    for array in arrays:
        shift(array, 1.0)
        assert kept() <= 4 * BYTES
    assert kept() > 0


def test_it_goes_back_when_the_device_is_full(device: Counted) -> None:
    array = warmed(device, np.zeros(64, np.float32))
    assert (kept(), budget.current().spare) == (BYTES, BYTES)
    device.room = device.device.memory - device.available()
    x = qd.ndarray(qd.f32, 32)
    assert kept() == 0
    assert ("free", 0) in device.asked
    with pytest.raises(AdstackMemoryError):
        qd.ndarray(qd.f32, 1 << 12)
    del x
    shift(array, 1.0)
    assert array[5] == 2.0


def test_it_goes_back_where_a_kernel_needs_room(device: Counted) -> None:
    x = qd.field(qd.f32, 8)
    x.fill(1.0)

    @qd.kernel
    def double():
        for i in x:
            x[i] *= 2.0

    shift(np.zeros(1, np.float32), 1.0)
    array = warmed(device, np.zeros(1 << 12, np.float32))
    device.room = device.device.memory - device.available()
    double()
    assert kept() == 0
    assert x[3] == 2.0
    assert array[3] == 1.0


def test_it_goes_back_where_adstacks_need_room(device: Counted) -> None:
    array = warmed(device, np.zeros(1 << 12, np.float32))
    device.room = device.device.memory - device.available()
    assert kept() == array.nbytes
    heap = state.current().backend.heap  # type: ignore[attr-defined]
    assert heap.room(1 << 10, 8) == 8
    assert kept() == 0


def test_it_goes_back_when_the_runtime_ends(device: Counted) -> None:
    array = warmed(device, np.zeros(64, np.float32))
    here = state.current().staging
    assert here.size == BYTES
    qd.reset()
    assert here.size == 0
    assert ("free", 0) in device.asked
    assert array[1] == 1.0


def test_none_is_kept_where_memory_is_limited(device: Counted) -> None:
    qd.init(arch=qd.cuda, offline_cache=False, device_memory_GB=1 / 1024)
    array = np.zeros(64, np.float32)
    for _ in range(3):
        shift(array, 1.0)
    assert kept() == 0
    assert array[9] == 3.0


def test_launches_that_are_differentiated_later_keep_their_copies(device: Counted) -> None:
    loss = qd.field(qd.f32, (), needs_grad=True)
    y = qd.field(qd.f32, 64, needs_grad=True)

    @qd.kernel
    def weigh(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in a:
            loss[None] += a[i] * y[i] * y[i]

    array = np.ones(64, np.float32)
    y.fill(2.0)
    loss.grad[None] = 1.0
    for weight in (1.0, 3.0, 5.0):
        array[:] = weight
        weigh(array)
        y.grad.fill(0.0)
        weigh.grad(array)
        assert y.grad[7] == 4.0 * weight
    with qd.ad.Tape(loss):
        for weight in (1.0, 2.0):
            weights = np.full(64, weight, np.float32)
            weigh(weights)
    assert y.grad[7] == 4.0 * 3.0


PROGRAM = """
import numpy as np
import adstack as qd
qd.init(arch=qd.cuda)

@qd.kernel
def shift(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in a:
        a[i] += 1.0

array = np.zeros(8, np.float32)
shift(array)
print(array.sum())
"""


def test_a_process_ends_without_a_word(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    variables = {**os.environ, "ADSTACK_CUDA_DEVICE": "host"}
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False, env=variables)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["8.0"])
    assert "Exception" not in done.stderr
