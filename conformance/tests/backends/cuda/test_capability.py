"""What is there, what is not, and what would help."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from adstack.backends.cuda import bindings, capability
from adstack.backends.cuda.interface.driver import Device
from adstack.backends.cuda.interface.errors import DriverError, failure
from adstack.backends.cuda.native import NativeDriver
from adstack.errors import AdstackMemoryError, AdstackRuntimeError, BackendUnavailableError
from adstack.runtime.protocol.backend import Capabilities, Unavailable
from adstack.runtime.protocol.registry import open_arch


@pytest.fixture(autouse=True)
def device_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADSTACK_CUDA_DEVICE", raising=False)


def use(monkeypatch: pytest.MonkeyPatch, devices: int = 0) -> None:
    """Let there be a driver with devices."""
    monkeypatch.setattr(capability, "missing", lambda: None)
    monkeypatch.setattr(capability, "count", lambda: devices)


def without(monkeypatch: pytest.MonkeyPatch, **modules: object) -> Unavailable:
    """What is said where the package is another, or is not there; a module that is an error raises it."""

    def imported(name: str) -> object:
        module = modules[name.rpartition(".")[2]]
        if isinstance(module, Exception):
            raise module
        return module

    monkeypatch.setattr(bindings, "importlib", SimpleNamespace(import_module=imported))
    monkeypatch.setattr(bindings, "declarations", lambda: imported("cuda.bindings.driver"))
    monkeypatch.setattr(capability, "missing", bindings.missing.__wrapped__)
    answer = capability.probe()
    assert isinstance(answer, Unavailable)
    return answer


def fails() -> None:
    raise RuntimeError("Failed to dlopen libcuda.so.1")


VERSION = SimpleNamespace(__version__="13.0.3")


def test_without_a_driver_it_says_what_to_install(monkeypatch):
    answer = without(monkeypatch, bindings=VERSION, driver=SimpleNamespace(cuDriverGetVersion=fails))
    assert "libcuda" in answer.reason
    assert "install the driver" in answer.fix
    with pytest.raises(BackendUnavailableError, match="libcuda"):
        open_arch("cuda")


@pytest.mark.parametrize(
    ("module", "reason", "fix"),
    [
        (ModuleNotFoundError("No module named 'cuda'"), "cuda-bindings is not installed", "'adstack[cuda]'"),
        (ImportError("libstdc++.so.6: no such file"), "can't be imported: libstdc++.so.6", "--force-reinstall"),
        (SimpleNamespace(__version__="11.8.7"), "11.8.7 is too old", "--upgrade"),
        (SimpleNamespace(__version__="12.9.0"), "12.9.0 is too old", "--upgrade"),
    ],
)
def test_without_the_package_that_declares_the_driver_it_says_what_to_install(monkeypatch, module, reason, fix):
    answer = without(monkeypatch, bindings=module)
    assert reason in answer.reason
    assert fix in answer.fix


def test_a_driver_that_does_not_start_is_told(monkeypatch):
    def count() -> int:
        raise DriverError("cuInit", 100, "CUDA_ERROR_NO_DEVICE")

    use(monkeypatch)
    monkeypatch.setattr(capability, "count", count)
    answer = capability.probe()
    assert isinstance(answer, Unavailable)
    assert "cuInit failed: CUDA_ERROR_NO_DEVICE (CUDA error 100)" in answer.reason
    assert "nvidia-smi" in answer.fix


def test_a_device_that_is_not_there_is_told(monkeypatch):
    use(monkeypatch)
    answer = capability.probe()
    assert isinstance(answer, Unavailable)
    assert "there is no device 0: the driver shows 0" in answer.reason


def test_a_device_is_chosen_by_number_before_the_environment(monkeypatch):
    use(monkeypatch, 3)

    def numbered(self, ordinal):
        self.device = Device(f"number {ordinal}", (9, 0), 1 << 36, 10, 1024, (13, 0))

    monkeypatch.setattr(NativeDriver, "__init__", numbered)
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "1")
    assert [capability.probe(device).device for device in ("", "0", "2")] == ["number 1", "number 0", "number 2"]
    assert capability.probe("2").dlpack == (2, 2)
    assert capability.probe("3").reason == "there is no device 3: the driver shows 3"
    assert capability.device_names() == ["number 0", "number 1", "number 2"]


@pytest.mark.parametrize("choice", ["first", "-1", "1.5"])
def test_a_choice_that_names_no_device_is_told(monkeypatch, choice):
    use(monkeypatch)
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", choice)
    answer = capability.probe()
    assert isinstance(answer, Unavailable)
    assert choice in answer.reason


@pytest.mark.parametrize(
    ("capability_", "version", "words"),
    [((6, 1), (12, 4), "compute capability 6.1"), ((8, 0), (11, 8), "CUDA 11.8")],
)
def test_what_is_too_old_is_told(monkeypatch, capability_, version, words):
    use(monkeypatch, 1)

    def old(self, ordinal):
        self.device = Device("old", capability_, 1 << 30, 10, 1024, version)

    monkeypatch.setattr(NativeDriver, "__init__", old)
    answer = capability.probe()
    assert isinstance(answer, Unavailable)
    assert words in answer.reason


def test_the_host_can_play_the_device(monkeypatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    answer = capability.probe()
    assert isinstance(answer, Capabilities)
    assert answer.kind == "emulated"
    assert not answer.direct


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (2, AdstackMemoryError, "no memory left"),
        (700, AdstackRuntimeError, "end this process"),
        (1, AdstackRuntimeError, ""),
    ],
)
def test_errors_of_the_driver_become_errors_of_the_program(code, kind, words):
    error = failure(DriverError("cuSomething", code, "something"), "running k")
    assert type(error) is kind
    assert "running k" in str(error)
    assert words in str(error)


def test_importing_adstack_imports_nothing_of_cuda():
    program = "import adstack, sys; print([name for name in sys.modules if 'cuda' in name])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=dict(os.environ), check=True
    )
    assert done.stdout.strip() == "[]"
