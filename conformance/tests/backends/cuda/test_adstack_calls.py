"""Reverse modes with adstacks that machine code queues, with the host playing the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from adstack_calls_kit import AdstackCalls, Powers

import adstack as qd
from adstack.backends.cuda.executable import Executable


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=qd.cuda)


@pytest.fixture
def powers(monkeypatch: pytest.MonkeyPatch) -> Powers:
    """The kernels, served by machine code."""
    run = Executable.run

    def launching(note: Callable[[str], None]) -> None:
        def noted(executable: Executable, *rest: Any, **more: Any) -> None:
            note(executable.name)
            run(executable, *rest, **more)

        monkeypatch.setattr(Executable, "run", noted)

    program = Powers(launching)
    program.settled()
    return program


class TestAdstackCalls(AdstackCalls):
    arch = "cuda"
    at_once = True  # the host is a device that has finished by then
