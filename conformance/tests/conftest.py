"""What all tests share: a fresh runtime for each, and hypothesis without deadlines, repeatable where CI is set."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec

import hypothesis
import pytest
from nightly_kit import BY_NIGHT
from process_kit import unmeasured

import adstack as qd
from adstack.backends.vulkan.driver.instance import LAYER, validation_layer
from adstack.runtime.protocol.backend import Unavailable
from adstack.runtime.protocol.registry import probe

# The verifier sees what comes into the passes and what leaves them; by night, and where passes are tested, all between.
os.environ["ADSTACK_VERIFY"] = "1" if BY_NIGHT else "ends"
os.environ["ADSTACK_ANNOUNCE"] = "0"

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
    answer = probe("vulkan")
    if isinstance(answer, Unavailable):
        return f"vulkan is unavailable: {answer.reason}; {answer.fix}"
    return "" if shutil.which("spirv-val") else "there is no spirv-val; install spirv-tools"


@cache
def _without_layer() -> str:
    """The same for tests to which Vulkan's validation layer listens; it is asked for where there is a driver."""
    return "" if validation_layer() else f"there is no {LAYER}; on Debian, install vulkan-validationlayers"


@cache
def _without_emulator() -> str:
    """The same for tests of an emulated processor."""
    answer = probe("cpu:aarch64")
    return f"{answer.reason}; {answer.fix}" if isinstance(answer, Unavailable) else ""


@cache
def _without_clang() -> str:
    """The same for tests in which the host plays a device by way of clang."""
    answer = probe("metal:host")
    return f"{answer.reason}; {answer.fix}" if isinstance(answer, Unavailable) else ""


_BY_CLANG = ("metal", "codegen_msl", "rdna")
"""Folders of tests whose programs clang compiles."""


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that measures its process in one of its own; what that printed is the message of its failure."""
    if pyfuncitem.get_closest_marker("alone") is None or "ADSTACK_TEST_ALONE" in os.environ:
        return None
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", pyfuncitem.nodeid]
    done = subprocess.run(
        command,
        cwd=pyfuncitem.config.rootpath,
        env=unmeasured() | {"ADSTACK_TEST_ALONE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)
    return True


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Say of tests that need a device or a library which is not there that they were skipped, and why."""
    for item in items:
        for mark in item.iter_markers("library"):
            (library,) = mark.args
            if find_spec(library) is None:
                item.add_marker(pytest.mark.skip(reason=f"there is no {library}; install the extra [{library}]"))
        if item.get_closest_marker("browser") and not shutil.which("chromium"):
            item.add_marker(pytest.mark.skip(reason="there is no chromium; on Debian, install chromium"))
        if item.path.parent.name == "qemu" and _without_emulator():
            item.add_marker(pytest.mark.skip(reason=_without_emulator()))
        if (item.path.parent.name in _BY_CLANG or item.get_closest_marker("clang")) and _without_clang():
            item.add_marker(pytest.mark.skip(reason=_without_clang()))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """The same for Vulkan, not before: a process forked from one that has asked the driver can't use the device."""
    if item.path.parent.name in _ON_VULKAN:
        listens = item.get_closest_marker("validation_layer") is not None
        missing = _without_vulkan() or (_without_layer() if listens else "")
        if missing:
            pytest.skip(missing)
