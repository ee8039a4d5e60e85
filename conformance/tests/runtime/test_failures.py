"""LLVM, the system's files and the Vulkan driver fail, call by call, while a kernel and its gradient are compiled: it
works, or it is an error of adstack's, and the next call works.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from failures_kit import Failing, FailingDriver, into_llvm, into_the_system

import adstack as qd
from adstack.errors import AdstackError, AdstackMemoryError, InternalError
from adstack.runtime import state

Failure = Callable[[int], AbstractContextManager[Any]]


def problem() -> Callable[[], float]:
    """What compiles a kernel and its gradient, as if for the first time; it gives a derivative."""
    x, y = (qd.field(qd.f32, 8, needs_grad=True) for _ in range(2))

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] * x[i]

    def work() -> float:
        x.fill(0.75)
        k()
        y.grad.fill(1.0)
        x.grad.fill(0.0)
        k.grad()
        return float(x.grad[3])

    return work


def outcomes(folder: Path, failure: Failure, step: int, monkeypatch: Any) -> list[type[AdstackError] | None]:
    """What came of a call in which the first, the second, ... such call failed; the next one was right."""
    came: list[type[AdstackError] | None] = []
    for number in itertools.count(1, step):
        monkeypatch.setenv("ADSTACK_CACHE_DIR", str(folder / str(number)))
        work, kind = problem(), None
        with failure(number) as failing:
            try:
                work()
            except AdstackError as error:
                kind = type(error)
        if not failing.failed:
            return came
        assert work() == 1.5
        came.append(kind)
    raise AssertionError


def _failing(which: Any, error: Exception) -> Failure:
    return lambda number: Failing(number, which, error)


@pytest.mark.parametrize("arch", ["cpu", "cuda"])
def test_what_llvm_refuses_is_an_error_and_can_be_compiled_afterwards(
    arch: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=arch)
    came = outcomes(tmp_path, _failing(into_llvm, RuntimeError("refused")), 3, monkeypatch)
    assert len(came) > 1
    assert set(came) == {InternalError}


def test_whatever_fails_of_the_cache_kernels_are_compiled(tmp_path: Path, monkeypatch: Any) -> None:
    qd.init(arch="cpu")
    came = outcomes(tmp_path, _failing(into_the_system, OSError(28, "No space left on device")), 19, monkeypatch)
    assert len(came) > 2
    assert set(came) == {None}


def test_a_driver_without_memory_is_an_error_and_works_afterwards(tmp_path: Path, monkeypatch: Any) -> None:
    qd.init(arch="vulkan")
    device: Any = state.current().backend
    came = outcomes(tmp_path, lambda number: FailingDriver(number, device.device), 1, monkeypatch)
    assert len(came) > 2
    assert set(came) == {AdstackMemoryError}
