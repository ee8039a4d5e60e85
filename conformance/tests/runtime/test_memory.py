"""Buffers and their versions, on memory of the host and on memory that only a device can address."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.runtime.memory.buffers import Buffer
from adstack.runtime.protocol.words import VERSION
from adstack.runtime.reference_backend import ReferenceBackend, probe


class Remote(ReferenceBackend):
    """A backend whose memory the host can't address."""

    capabilities = type(ReferenceBackend.capabilities)("remote", "emulated", "far away")

    def __init__(self) -> None:
        super().__init__()
        self.freed: list[Any] = []

    def adopt(self, array: Any) -> Any:
        return None

    def host_view(self, storage: Any) -> Any:
        return None

    def free(self, storage: Any) -> None:
        self.freed.append(storage)


def test_new_memory_is_zero(backend: ReferenceBackend) -> None:
    assert Buffer(backend, qd.f32, (2, 2)).read().tolist() == [[0, 0], [0, 0]]


def test_a_version_is_never_given_twice(backend: ReferenceBackend) -> None:
    a, b = Buffer(backend, qd.f32, (2,)), Buffer(backend, qd.f32, (2,))
    seen = {a.version, b.version}
    for buffer in (a, b, a):
        buffer.touch()
        seen.add(buffer.version)
    assert len(seen) == 5


def test_writes_of_machine_code_are_counted_through_those_of_python(backend: ReferenceBackend) -> None:
    buffer = Buffer(backend, qd.f32, (2,))
    seen = {buffer.version}
    buffer.touch()
    seen.add(buffer.version)
    words = buffer.record()
    assert buffer.version in seen
    for written in range(1, 4):
        words[VERSION] += 1
        seen.add(buffer.version)
        buffer.touch()
        seen.add(buffer.version)
        assert buffer.written == written
    assert len(seen) == 8


def test_writing_changes_the_version_and_converts(backend: ReferenceBackend) -> None:
    buffer = Buffer(backend, qd.f32, (2,))
    before = buffer.version
    buffer.write(np.array([1e300, 2]))
    assert buffer.version != before
    assert buffer.read().tolist() == [float("inf"), 2]
    buffer.write(3)
    assert buffer.read().tolist() == [3, 3]


def test_dropped_memory_can_not_be_used(backend: ReferenceBackend) -> None:
    buffer = Buffer(backend, qd.f32, (2,))
    assert buffer.alive
    buffer.drop()
    buffer.drop()
    assert not buffer.alive
    for use in (buffer.view, buffer.read, lambda: buffer.write(1)):
        with pytest.raises(qd.AdstackRuntimeError, match="dropped by reset"):
            use()


def test_only_memory_of_its_own_is_given_back() -> None:
    remote = Remote()
    Buffer(remote, qd.f32, (2,)).drop()
    Buffer(remote, qd.f32, (2,), np.zeros(2, np.float32), shared=True).drop()
    assert len(remote.freed) == 1


def test_memory_of_a_device_is_copied() -> None:
    buffer = Buffer(Remote(), qd.f32, (2,))
    assert buffer.view() is None
    buffer.read()[0] = 5
    assert buffer.read().tolist() == [0, 0]
    buffer.write([1, 2])
    assert buffer.read().tolist() == [1, 2]


def test_too_much_memory_is_a_memory_error(backend: ReferenceBackend) -> None:
    for shape in ((2**62,), (2**40, 2**40)):
        with pytest.raises(MemoryError, match="no memory for f32"):
            Buffer(backend, qd.f32, shape)


def test_the_reference_is_always_available() -> None:
    assert probe() is ReferenceBackend.capabilities
    assert ReferenceBackend.capabilities.direct


def test_fields_in_memory_of_a_device_work_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adstack.runtime.reference_backend.open_device", lambda device: Remote())
    qd.init(arch=qd.reference)
    f, v = qd.field(qd.f32, (3,)), qd.Vector.field(2, qd.f32, (2,))
    f[1] = 2.5
    v[1][0] = 4
    assert (f[1], f.to_numpy().tolist(), v.to_numpy().tolist()) == (2.5, [0, 2.5, 0], [[0, 0], [4, 0]])
    with pytest.raises(ValueError, match="can't share its memory"):
        f.to_numpy(copy=False)


def test_array_arguments_are_copied_to_memory_of_a_device_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adstack.runtime.reference_backend.open_device", lambda device: Remote())
    qd.init(arch=qd.reference)

    @qd.kernel
    def double(a: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> None:
        for i in a:
            a[i] = a[i] * 2

    array = np.array([1, 2, 3], np.float32)
    double(array)
    assert array.tolist() == [2, 4, 6]


def test_reset_waits_and_gives_all_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    remote = Remote()
    waited = []
    monkeypatch.setattr(remote, "synchronize", lambda: waited.append(len(remote.freed)), raising=False)
    monkeypatch.setattr("adstack.runtime.reference_backend.open_device", lambda device: remote)
    qd.init(arch=qd.reference)
    data = [qd.field(qd.f32, (2,)), qd.ndarray(qd.f32, (2,), needs_grad=True)]
    assert data[0][0] == 0
    qd.sync()
    qd.reset()
    assert waited == [0, 0]
    assert len(remote.freed) == 3
