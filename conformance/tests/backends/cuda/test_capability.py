"""What is there, what is not, and what would help."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from adstack.backends.cuda import capability, driver
from adstack.errors import AdstackMemoryError, AdstackRuntimeError, BackendUnavailableError
from adstack.runtime.protocol.backend import Capabilities, Unavailable
from adstack.runtime.protocol.registry import open_arch


class FakeLibrary:
    """A driver that gives error codes."""

    def __init__(self, **codes: int) -> None:
        self.codes = codes

    def cuGetErrorName(self, code: int, text: Any) -> int:  # noqa: N802 - as the driver calls it
        text._obj.value = b"CUDA_ERROR_NO_DEVICE" if code == 100 else None
        return 0

    def __getattr__(self, name: str):
        return lambda *args: self.codes.get(name, 0)


@pytest.fixture(autouse=True)
def device_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADSTACK_CUDA_DEVICE", raising=False)


def use(monkeypatch: pytest.MonkeyPatch, library: object) -> None:
    monkeypatch.setattr(capability, "library", lambda: library)
    monkeypatch.setattr(driver, "library", lambda: library)


def test_without_a_driver_it_says_what_to_install(monkeypatch):
    use(monkeypatch, None)
    found = capability.probe()
    assert isinstance(found, Unavailable)
    assert "libcuda" in found.reason
    assert "install the driver" in found.fix
    with pytest.raises(BackendUnavailableError, match="libcuda"):
        open_arch("cuda")


def test_a_driver_that_does_not_start_is_told(monkeypatch):
    use(monkeypatch, FakeLibrary(cuInit=100))
    found = capability.probe()
    assert isinstance(found, Unavailable)
    assert "cuInit failed: CUDA_ERROR_NO_DEVICE (CUDA error 100)" in found.reason
    assert "nvidia-smi" in found.fix


def test_a_device_that_is_not_there_is_told(monkeypatch):
    use(monkeypatch, FakeLibrary())
    found = capability.probe()
    assert isinstance(found, Unavailable)
    assert "there is no device 0: the driver shows 0" in found.reason


@pytest.mark.parametrize("choice", ["first", "-1", "1.5"])
def test_a_choice_that_names_no_device_is_told(monkeypatch, choice):
    use(monkeypatch, FakeLibrary())
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", choice)
    found = capability.probe()
    assert isinstance(found, Unavailable)
    assert choice in found.reason


@pytest.mark.parametrize(
    ("capability_", "version", "words"),
    [((6, 1), (12, 4), "compute capability 6.1"), ((8, 0), (11, 8), "CUDA 11.8")],
)
def test_what_is_too_old_is_told(monkeypatch, capability_, version, words):
    use(monkeypatch, FakeLibrary())
    monkeypatch.setattr(driver.Driver, "count", staticmethod(lambda: 1))

    def old(self, ordinal):
        self.device = driver.Device("old", capability_, 1 << 30, 10, 1024, version)

    monkeypatch.setattr(driver.Driver, "__init__", old)
    found = capability.probe()
    assert isinstance(found, Unavailable)
    assert words in found.reason


def test_the_host_can_play_the_device(monkeypatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    found = capability.probe()
    assert isinstance(found, Capabilities)
    assert found.kind == "emulated"
    assert not found.direct


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (2, AdstackMemoryError, "no memory left"),
        (700, AdstackRuntimeError, "end this process"),
        (1, AdstackRuntimeError, ""),
    ],
)
def test_errors_of_the_driver_become_errors_of_the_program(code, kind, words):
    error = driver.failure(driver.DriverError("cuSomething", code, "something"), "running k")
    assert type(error) is kind
    assert "running k" in str(error)
    assert words in str(error)


def test_importing_adstack_does_not_start_the_driver():
    program = "import adstack, sys; print([name for name in sys.modules if 'backends.cuda' in name])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=dict(os.environ), check=True
    )
    assert done.stdout.strip() == "[]"
