"""Reverse modes with adstacks that machine code records: Python lays them out anew where something has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from adstack_calls_kit import ARRAY, AdstackCalls, Powers
from vulkan_kit import backend

import adstack as qd
from adstack.backends.vulkan.launches import Launches


@pytest.fixture
def powers(monkeypatch: pytest.MonkeyPatch) -> Powers:
    """The kernels, served by machine code."""

    def launching(note: Callable[[str], None]) -> None:
        for name in ("launch", "relaunch"):
            monkeypatch.setattr(Launches, name, _noted(getattr(Launches, name), note))

    program = Powers(launching)
    program.settled()
    return program


def _noted(launch: Callable[..., Any], note: Callable[[str], None]) -> Callable[..., Any]:
    def noted(own: Launches, executable: Any, *rest: Any) -> Any:
        note(executable.program.name)
        return launch(own, executable, *rest)

    return noted


@pytest.fixture(autouse=True)
def runtime() -> Iterator[None]:
    qd.init(arch=qd.vulkan)
    yield
    qd.reset()


class TestAdstackCalls(AdstackCalls):
    arch = "vulkan"
    at_once = False


def test_more_iterations_get_rows_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    @qd.kernel
    def power(x: ARRAY, y: ARRAY):
        for i in x:
            v = x[i]
            for _ in range(40):
                v = v * v * 0.5
            y[i] = v * x[i]

    def gradient(pair: tuple[Any, Any]) -> list[float]:
        x, y = pair
        x.grad.fill(0)
        y.grad.fill(1)
        power(x, y)
        power.grad(x, y)
        return x.grad.to_numpy().tolist()

    pairs = [tuple(qd.ndarray(qd.f32, n, needs_grad=True) for _ in range(2)) for n in (70, 200, 3, 200)]
    for x, _ in pairs:
        x.from_numpy(np.linspace(1.9, 2.1, x.shape[0], dtype=np.float32))
    wanted = [gradient(pair) for pair in pairs]
    lanes: list[int] = []
    relaunch = Launches.relaunch

    def noted(own: Launches, executable: Any, launcher: Any) -> None:
        relaunch(own, executable, launcher)
        lanes.extend(use.blocks for use in executable.layouts.uses.values())

    monkeypatch.setattr(Launches, "relaunch", noted)
    for _ in range(2):
        lanes.clear()
        assert [gradient(pair) for pair in pairs] == wanted
    assert lanes == [70, 200, 3, 200]


def test_a_heap_that_grows_has_a_new_version(powers: Powers) -> None:
    version = backend().common.heap.version.value
    powers.check(2, (powers.by_argument, 60), 60)
    assert backend().common.heap.version.value > version
