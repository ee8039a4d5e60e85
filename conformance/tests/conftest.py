"""What all tests share: a fresh runtime for each, and hypothesis without deadlines, repeatable where CI is set."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from functools import cache

import hypothesis
import pytest

import adstack as qd
from adstack.runtime.protocol.backend import Unavailable
from adstack.runtime.protocol.registry import probe

# Every pass is checked: the verifier runs before the first and after each one.
os.environ["ADSTACK_VERIFY"] = "1"

# A shell starts its background jobs with SIGINT ignored, and so would be the processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Deadlines measure the machine; the first call of a kernel compiles it.
_DEV = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("dev", _DEV)
hypothesis.settings.register_profile("ci", _DEV, derandomize=True, print_blob=True, database=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True)
def fresh_runtime() -> Iterator[None]:
    """No field, option or compiled kernel of a test is seen by the next."""
    yield
    qd.reset()


@pytest.fixture
def on_reference() -> None:
    """The test runs on the interpreter."""
    qd.init(arch=qd.reference)


@pytest.fixture
def on_cpu() -> None:
    """The test runs on the CPU."""
    qd.init(arch=qd.cpu)


@pytest.fixture
def on_vulkan() -> None:
    """The test runs on a Vulkan device."""
    qd.init(arch=qd.vulkan)


@pytest.fixture
def on_cuda_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs on the CUDA backend, whose device is played by the host."""
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=qd.cuda, offline_cache=False)


_ON_VULKAN = ("vulkan", "codegen_spirv")
"""Folders of tests that run on a Vulkan device, or hand SPIR-V to its validator: CI has a driver that needs no GPU."""


@cache
def _without_vulkan() -> str:
    """What is missing here for them, and what would help; "" if nothing is."""
    found = probe("vulkan")
    if isinstance(found, Unavailable):
        return f"vulkan is unavailable: {found.reason}; {found.fix}"
    return "" if shutil.which("spirv-val") else "there is no spirv-val; install spirv-tools"


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Say of tests that need a device which is not there that they were skipped, and why."""
    for item in items:
        if item.path.parent.name in _ON_VULKAN and _without_vulkan():
            item.add_marker(pytest.mark.skip(reason=_without_vulkan()))
