"""The opened device: waiting for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from vulkan_kit import backend

import adstack as qd


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What has been asked of the semaphore since."""
    qd.init(arch=qd.vulkan)
    device, log = backend().device, []
    for name in ("vkWaitSemaphores", "vkGetSemaphoreCounterValue"):

        def call(*args: Any, name: str = name, really: Any = device.vk[name]) -> int:
            log.append(name)
            return int(really(*args))

        monkeypatch.setitem(device.vk, name, call)
    yield log
    qd.reset()


def stepped() -> Any:
    """A field that launches under way count up to 1."""
    x = qd.field(qd.i32, ())

    @qd.kernel
    def step():
        x[None] += 1

    step()
    return x


def test_a_driver_that_needs_the_processor_is_left_alone(calls: list[str]):
    assert backend().device.spin_seconds == 0
    assert stepped()[None] == 1
    assert "vkGetSemaphoreCounterValue" not in calls


def test_a_device_of_its_own_is_watched_until_it_is_done(calls: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backend().device, "spin_seconds", 60.0)
    assert stepped()[None] == 1
    assert calls[-2:] == ["vkGetSemaphoreCounterValue", "vkWaitSemaphores"]
    assert calls.count("vkWaitSemaphores") == 1


def test_polling_ends(calls: list[str], monkeypatch: pytest.MonkeyPatch):
    device = backend().device
    x = stepped()
    monkeypatch.setattr(device, "spin_seconds", 0.02)
    monkeypatch.setitem(device.vk, "vkGetSemaphoreCounterValue", lambda *_: calls.append("looked") or 0)
    device.counter[0] = 0
    start = time.perf_counter()
    assert x[None] == 1
    assert time.perf_counter() - start >= 0.02
    assert calls[-2:] == ["looked", "vkWaitSemaphores"]


def test_a_device_that_is_lost_while_it_is_watched_is_an_error(calls: list[str], monkeypatch: pytest.MonkeyPatch):
    device = backend().device
    x = stepped()
    with monkeypatch.context() as lost:
        lost.setattr(device, "spin_seconds", 1.0)
        lost.setitem(device.vk, "vkGetSemaphoreCounterValue", lambda *_: -4)
        with pytest.raises(RuntimeError, match="the device was lost"):
            qd.sync()
    assert calls == []
    assert x[None] == 1
