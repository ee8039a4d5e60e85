"""Launches through HIP, which a test plays: the calls that a device would see, and what is said where they fail."""

from __future__ import annotations

import gc
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from played_hip import Device, PlayedHip

import adstack as qd
from adstack import inspection
from adstack.backends.amdgpu import capability, hip, native, toolchain
from adstack.backends.amdgpu.hip import Properties
from adstack.backends.amdgpu.threads import Threads
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of, select
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.station import Settings
from adstack.conformance.subjects.backends import backend_subject
from adstack.runtime.protocol.backend import Capabilities, Unavailable
from adstack.runtime.threads import processes

PLAYED = """
import os, sys
from played_hip import PlayedHip
from adstack.backends.amdgpu import capability, hip
os.environ[capability.CHOICE] = capability.DEFAULT
played = PlayedHip()
hip.missing, hip.library = (lambda: None), (lambda: played.functions)
capability.missing = hip.missing
from adstack.conformance.harness.worker import main
main(*sys.argv[1:])
"""
"""A worker whose device is a played one."""
CASES = (
    *("adstack-machine/*", "heap/*", "data/*", "threads/*", "memory/*", "errors/*", "structs/*", "parallel/*"),
    *("simt/*", "programs/*", "gradients/*"),
)
"""Of each pattern, a few cases run."""
EACH = 3


@pytest.fixture
def play(monkeypatch):
    """Play the runtime, for the devices that are given; it is asked at the end whether something is left."""
    made = []

    def played(*devices, choice=capability.DEFAULT):
        runtime = PlayedHip(*devices)
        made.append(runtime)
        monkeypatch.setattr(hip, "library", lambda: runtime.functions)
        for module in (hip, capability):
            monkeypatch.setattr(module, "missing", lambda: None)
        monkeypatch.setenv(capability.CHOICE, choice)
        return runtime

    yield played
    qd.reset()
    gc.collect()
    for runtime in made:
        assert (runtime.host, runtime.device, runtime.modules, runtime.raised) == ({}, {}, {}, [])


def cubes(count=100):
    """A kernel with a gradient, and fields of so many elements."""
    x, y = (qd.field(qd.f32, shape=shape, needs_grad=True) for shape in (count, ()))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(i % 3 + 1):
                v = v * x[i]
            y[None] += v

    x.from_numpy(np.linspace(-1, 1, count, dtype=np.float32))
    y.grad[None] = 1.0
    return k, x, y


def gradients():
    k, x, _ = cubes()
    k()
    k.grad()
    return x.grad.to_numpy()


def of_an_array():
    """A kernel whose threads have local arrays, in memory that they take while they run."""
    qd.init(arch=qd.amdgpu)
    y = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in y:
            a = qd.Vector([0] * 20, qd.i32)
            for j in range(20):
                a[j] = i + j
            y[i] = a[i * 4]

    k()
    assert y.to_numpy().tolist() == [0, 5, 10, 15, 20]


def failure_of(program):
    """What a program is told of a failure; None if there is none."""
    try:
        program()
    except (qd.AdstackRuntimeError, qd.BackendUnavailableError) as error:
        return str(error)
    return None


def test_gradients_are_the_references_and_nothing_is_left(play):
    runtime = play()
    qd.init(arch=qd.amdgpu, offline_cache=False)
    first = gradients()
    assert runtime.groups
    assert all(threads <= 256 for _, threads in runtime.groups)
    assert {(1, 64), (1, 100)} <= set(runtime.groups)  # of a hundred iterations: apart, and where they add up
    qd.init(arch=qd.reference)
    assert first.tobytes() == gradients().tobytes()


def test_threads_that_add_up_are_in_large_workgroups(play):
    runtime = play(Device(multiprocessors=6))
    qd.init(arch=qd.amdgpu, offline_cache=False)
    y = qd.field(qd.i64, shape=())

    @qd.kernel
    def k(n: qd.i32):
        for i in range(n):
            y[None] += i

    for count in (10, 300, 2000):
        k(count)
    assert y[None] == sum(count * (count - 1) // 2 for count in (10, 300, 2000))
    assert runtime.groups[:3] == [(1, 10), (1, 256), (2, 256)]


def test_blocks_of_threads_are_workgroups(play):
    runtime = play(Device(multiprocessors=6))
    qd.init(arch=qd.amdgpu, offline_cache=False)
    x = qd.field(qd.i32, shape=300)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=128)
        for i in x:
            t = qd.simt.block.thread_idx()
            tile = qd.simt.block.SharedArray(128, qd.i32)
            tile[t] = i
            qd.simt.block.sync()
            x[i] = tile[t ^ 1]

    k()
    assert x.to_numpy().tolist() == [i ^ 1 for i in range(300)]
    assert runtime.groups[-1] == (3, 128)


def test_cases_pass(monkeypatch, play):
    play()
    subject = replace(backend_subject("amdgpu"), command=(sys.executable, "-c", PLAYED))
    assert (subject.kind, subject.device) == ("native", "AMD Played")
    there = [select(collect(), [pattern]) for pattern in CASES]
    entries = [entry for found in there for entry in found[:: len(found) // EACH][:EACH]]
    monkeypatch.setenv("PYTHONPATH", str(sys.modules["played_hip"].__file__).rpartition("/")[0], prepend=":")
    results = run_cells(cells_of(entries, [subject]), Settings(inspection.budget, 120.0))
    assert [(result.cell.entry.id, result.message) for result in results if result.status.value != "pass"] == []


@pytest.mark.parametrize("architecture", ["gfx1100", "gfx942"])
def test_a_device_is_chosen_by_its_number(play, architecture):
    runtime = play(Device("First", "gfx900"), Device("Second", architecture), choice="1")
    there = inspection.probe("amdgpu")
    assert isinstance(there, Capabilities)
    assert (there.kind, there.device, there.details["processor"]) == ("native", "Second", architecture)
    assert inspection.device_names("amdgpu") == ["First (gfx900)", f"Second ({architecture})"]
    runtime.chosen = 0
    qd.init(arch=qd.amdgpu, offline_cache=False)
    k, _, y = cubes(3)
    k()
    assert (y[None], runtime.chosen) == (2.0, 1)


def test_init_chooses_a_device_by_its_number(play):
    runtime = play(Device("First", "gfx1100"), Device("Second", "gfx1100"), choice="")
    qd.init(arch=qd.amdgpu, device=1, offline_cache=False)
    k, _, _ = cubes(3)
    k()
    assert runtime.chosen == 1


@pytest.mark.parametrize(
    ("choice", "devices", "reason"),
    [
        ("", [Device()], "not been seen on a device"),
        ("2", [Device()], "there is no device 2: HIP shows 1"),
        ("first", [Device()], "ADSTACK_AMDGPU_DEVICE='first' is no device"),
        ("0", [Device("Old", "gfx803")], "Old is a gfx803, and code is made and checked for gfx90a, gfx942, gfx1030"),
    ],
)
def test_why_there_is_none_is_said(play, choice, devices, reason):
    play(*devices, choice=choice)
    there = inspection.probe("amdgpu")
    assert isinstance(there, Unavailable)
    assert reason in there.reason
    assert there.fix
    with pytest.raises(qd.BackendUnavailableError, match=reason.partition(":")[0]):
        qd.init(arch=qd.amdgpu)


def test_a_runtime_without_devices_says_so(play):
    runtime = play()
    runtime.devices = ()
    assert inspection.device_names("amdgpu") == []
    assert inspection.probe("amdgpu").reason == "there is no device 0: HIP shows 0"
    runtime.fails["hipGetDeviceCount"] = ([runtime.calls["hipGetDeviceCount"] + 1], 3)
    assert "hipGetDeviceCount failed: hipError3, what 3 means (HIP error 3)" in inspection.probe("amdgpu").reason


class TestWithoutRuntime:
    @pytest.fixture(autouse=True)
    def anew(self, monkeypatch):
        for function in (hip.missing, hip.library):
            function.cache_clear()
        monkeypatch.setenv(capability.CHOICE, capability.DEFAULT)
        yield
        for function in (hip.missing, hip.library):
            function.cache_clear()

    def test_no_library(self, monkeypatch, tmp_path):
        monkeypatch.setattr(hip, "platform", SimpleNamespace(system=lambda: "Linux"))
        monkeypatch.setenv("ROCM_PATH", str(tmp_path))
        monkeypatch.setattr(hip.ctypes, "CDLL", self.no_library)
        there = inspection.probe("amdgpu")
        assert there.reason == "there is no HIP runtime: libamdhip64.so: no such file"
        assert "install ROCm 6" in there.fix

    @staticmethod
    def no_library(name):
        raise OSError(f"{name}: no such file")

    def test_one_that_is_too_old(self, monkeypatch):
        monkeypatch.setattr(hip, "platform", SimpleNamespace(system=lambda: "Linux"))
        monkeypatch.setattr(hip.ctypes, "CDLL", lambda name: SimpleNamespace(hipGetDeviceCount=None))
        assert "the HIP runtime is too old" in inspection.probe("amdgpu").reason

    def test_another_system(self, monkeypatch):
        monkeypatch.setattr(hip, "platform", SimpleNamespace(system=lambda: "Darwin"))
        assert "and this is Darwin" in inspection.probe("amdgpu").reason


def test_what_is_read_of_a_device_stands_where_the_runtime_writes_it():
    """Offsets of hipDeviceProp_tR0600, as a compiler lays out what hip_runtime_api.h of ROCm 6, 7 and 10 declares."""
    places = {name: getattr(Properties, name).offset for name in ("name", "multiprocessors", "threads", "architecture")}
    assert places == {"name": 0, "multiprocessors": 388, "threads": 624, "architecture": 1160}
    assert native.ctypes.sizeof(Properties) == 1472


CALLS = (
    *("hipSetDevice", "hipGetDevicePropertiesR0600", "hipHostMalloc", "hipHostGetDevicePointer", "hipMalloc"),
    *("hipModuleLoadData", "hipModuleGetFunction", "hipModuleGetGlobal", "hipMemcpyHtoD", "hipModuleLaunchKernel"),
    "hipDeviceSynchronize",
)


@pytest.mark.parametrize("name", CALLS)
def test_every_call_may_fail(play, monkeypatch, tmp_path, name):
    """Each call of a function fails once: the error says which, nothing is left, and what comes after it works."""
    monkeypatch.setattr(Threads, "array_bytes", 64)
    monkeypatch.setattr(toolchain, "default_folder", lambda: tmp_path)
    runtime, number = play(), 0
    while not number or runtime.calls[name] >= number:
        qd.reset()
        runtime.calls.clear()
        number += 1
        runtime.fails = {name: ([number], 719)}
        said = failure_of(of_an_array)
        assert (said is None) == (runtime.calls[name] < number)
        assert said is None or f"{name} failed: hipErrorLaunchFailure, what 719 means (HIP error 719)" in said
    assert number > 1


def test_a_device_without_memory_says_so(play):
    runtime = play()
    qd.init(arch=qd.amdgpu, offline_cache=False)
    runtime.fails = {"hipHostMalloc": (range(100), 2)}
    with pytest.raises(qd.AdstackMemoryError, match="hipHostMalloc failed: hipErrorOutOfMemory"):
        qd.field(qd.f32, shape=10)[0] = 1.0
    driver = native.NativeDriver(0)
    with pytest.raises(qd.AdstackMemoryError, match="no memory for"):
        driver.allocate(1 << 60)


def test_what_was_launched_has_finished_when_a_later_launch_fails(play):
    runtime = play()
    qd.init(arch=qd.amdgpu, offline_cache=False)
    x, y = (qd.field(qd.i32, shape=100) for _ in range(2))

    @qd.kernel
    def k():
        for i in x:
            x[i] = i
        for i in y:
            y[i] = x[99 - i]

    k()
    x.fill(0)
    runtime.fails = {"hipModuleLaunchKernel": ([runtime.calls["hipModuleLaunchKernel"] + 2], 719)}
    with pytest.raises(qd.AdstackRuntimeError, match="hipModuleLaunchKernel failed"):
        k()
    assert x.to_numpy().tolist() == list(range(100))


def test_any_thread_uses_the_device_that_was_chosen(play):
    runtime = play(Device(), Device(), choice="1")
    qd.init(arch=qd.amdgpu, offline_cache=False)
    k, _, y = cubes(3)

    def work():
        runtime.chosen = 0
        k()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert (y[None], runtime.chosen) == (2.0, 1)


def test_a_process_that_was_forked_is_told(play, monkeypatch):
    play()
    driver = native.NativeDriver(0)
    monkeypatch.setattr(processes, "foreign", lambda api: ("this process was forked", "start processes by spawn"))
    monkeypatch.setattr(native, "foreign", processes.foreign)
    monkeypatch.setattr(capability, "foreign", processes.foreign)
    with pytest.raises(qd.AdstackRuntimeError, match="was forked"):
        driver.allocate(8)
    assert inspection.probe("amdgpu").reason == "this process was forked"
