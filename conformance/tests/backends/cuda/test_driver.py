"""What the backend asks NVIDIA's driver for, and what it makes of the answers; what is asked is never answered here."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda.bindings import driver as cuda

from adstack.backends.cuda import adds, bindings, native
from adstack.backends.cuda.commands.layout import NODE_PARAMS
from adstack.backends.cuda.emulator import Emulator
from adstack.backends.cuda.interface import errors
from adstack.backends.cuda.interface.errors import DriverError, failure
from adstack.backends.cuda.native import NativeDriver
from adstack.errors import AdstackMemoryError, AdstackRuntimeError

DEVICE = {
    "cuDeviceGet": cuda.CUdevice(0),
    "cuDeviceGetAttribute": 9,
    "cuDeviceGetName": b"a device" + bytes(248),
    "cuDeviceTotalMem": 128 << 30,
    "cuDriverGetVersion": 13000,
}


class Answers:
    """Calls of the driver by name, and what they give: a result, what raises an error, or a function of arguments."""

    def __init__(self, **answers: Any) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.answers = {**DEVICE, **answers}

    def __call__(self, name: str, *args: Any) -> Any:
        self.calls.append((name, *args))
        answer = self.answers.get(name, 4096)
        if isinstance(answer, DriverError):
            raise answer
        return answer(*args) if callable(answer) else answer


def use(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> Answers:
    driver = Answers(**answers)
    monkeypatch.setattr(native, "call", driver)
    return driver


def test_a_device_is_described_by_its_driver(monkeypatch):
    use(monkeypatch)
    device = NativeDriver(0).device
    assert (device.name, device.capability, device.memory, device.driver) == ("a device", (9, 9), 128 << 30, (13, 0))


def test_codes_are_those_of_the_header():
    words = {
        "INVALID_VALUE": errors.REFUSED,
        "OUT_OF_MEMORY": errors.OUT_OF_MEMORY,
        "NOT_INITIALIZED": errors.NOT_STARTED,
        "NOT_FOUND": errors.NOT_FOUND,
    }
    assert {name: int(getattr(cuda.CUresult, f"CUDA_ERROR_{name}")) for name in words} == words
    lost = {cuda.CUresult(code).name for code in errors.LOST}
    assert {"CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_LAUNCH_TIMEOUT", "CUDA_ERROR_UNKNOWN"} <= lost


def test_nodes_are_told_apart_as_the_header_lays_them_out():
    params = cuda.CUDA_KERNEL_NODE_PARAMS()
    params.func, params.kernelParams, params.sharedMemBytes, params.kern, params.ctx = 11, 12, 13, 14, 15
    params.gridDimX, params.gridDimY, params.gridDimZ = 1, 2, 3
    params.blockDimX, params.blockDimY, params.blockDimZ = 4, 5, 6
    (node,) = np.frombuffer(ctypes.string_at(params.getPtr(), NODE_PARAMS.itemsize), NODE_PARAMS)
    assert (node["grid"].tolist(), node["block"].tolist()) == ([1, 2, 3], [4, 5, 6])
    others = {name: int(node[name]) for name in ("function", "shared", "params", "extra", "kernel", "context")}
    assert others == {"function": 11, "shared": 13, "params": 12, "extra": 0, "kernel": 14, "context": 15}


@pytest.mark.parametrize("unknown", [KeyError(12345), ValueError("12345 is not a valid CUresult")])
def test_an_error_that_is_newer_than_the_declarations_is_told(monkeypatch, unknown):
    def fails(flags: int) -> None:
        raise unknown

    monkeypatch.setattr(bindings, "declarations", lambda: SimpleNamespace(cuInit=fails))
    with pytest.raises(DriverError, match=r"cuInit failed: .* \(CUDA error 12345\)"):
        bindings.call("cuInit", 0)


def test_a_code_that_is_newer_than_the_declarations_is_told():
    assert str(bindings.error_of("cuLaunchKernel", 12345)).endswith("does not know (CUDA error 12345)")


@pytest.mark.parametrize(("results", "answer"), [((0,), None), ((0, 7), 7), ((0, 7, 8), (7, 8))])
def test_what_a_function_gives_is_given(monkeypatch, results, answer):
    monkeypatch.setattr(bindings, "declarations", lambda: SimpleNamespace(cuSomething=lambda *args: results))
    assert bindings.call("cuSomething", 1, 2) == answer


def test_a_function_that_the_driver_lacks_has_no_address(monkeypatch):
    monkeypatch.setattr(bindings, "call", lambda *args: (0, None))
    with pytest.raises(DriverError, match="the driver has no cuNothing"):
        bindings.address("cuNothing")


def test_a_forked_process_is_told_to_be_started_otherwise(monkeypatch):
    use(monkeypatch, cuDevicePrimaryCtxRetain=DriverError("cuDevicePrimaryCtxRetain", 3, "not started"))
    with pytest.raises(DriverError) as caught:
        NativeDriver(0).enter()
    assert "spawn" in str(failure(caught.value, "running k"))
    assert isinstance(failure(caught.value, "running k"), AdstackRuntimeError)


class Heap:
    """The heap of a process on a device, which can be sized until a kernel has used it."""

    def __init__(self, size: int) -> None:
        self.size, self.used = size, False
        self.asked: list[int] = []
        self.answers = {"cuCtxGetLimit": lambda limit: self.size, "cuCtxSetLimit": self.resize}

    def resize(self, limit: int, size: int) -> None:
        assert limit == cuda.CUlimit.CU_LIMIT_MALLOC_HEAP_SIZE
        self.asked.append(size)
        if self.used:
            raise DriverError("cuCtxSetLimit", 1, "invalid value")
        self.size = size


WITH_HEAP = "declare ptr @malloc(i64)\ndefine void @k() {\n  %p = call ptr @malloc(i64 8)\n  ret void\n}"


def loaded(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Load a module; machine code of it is never made."""
    monkeypatch.setattr(NativeDriver, "link", lambda self, ptx: b"")
    NativeDriver(0).load(text, ["k"], None)


def test_the_heap_is_made_once_in_a_process_however_often_the_device_is_opened(monkeypatch):
    heap = Heap(8 << 20)
    use(monkeypatch, **heap.answers)
    for _ in range(3):
        loaded(monkeypatch, WITH_HEAP)
        heap.used = True
        loaded(monkeypatch, WITH_HEAP)
    assert heap.asked == [2 << 30]


def test_no_heap_is_made_for_kernels_that_take_nothing_of_it(monkeypatch):
    heap = Heap(8 << 20)
    use(monkeypatch, **heap.answers)
    loaded(monkeypatch, "define void @k() {\n  ret void\n}")
    assert heap.asked == []


def test_a_heap_that_others_use_already_is_left_as_it_is(monkeypatch):
    heap = Heap(8 << 20)
    heap.used = True
    driver = use(monkeypatch, **heap.answers)
    loaded(monkeypatch, WITH_HEAP)
    assert heap.asked == [2 << 30]
    assert heap.size == 8 << 20
    assert driver.calls[-1][0] == "cuModuleLoadData"


def test_a_device_that_fails_while_the_heap_is_made_is_told(monkeypatch):
    use(monkeypatch, cuCtxGetLimit=0, cuCtxSetLimit=DriverError("cuCtxSetLimit", 700, "lost"))
    with pytest.raises(DriverError, match="cuCtxSetLimit"):
        loaded(monkeypatch, WITH_HEAP)


def flushed(numbers):
    return np.where(np.abs(numbers) < 2.0**-126, np.copysign(np.float32(0), numbers), numbers)


def exact(old, value):
    return old + value, old


def flushing(old, value):
    return flushed(flushed(old) + flushed(value)), old


def forgetful(old, value):
    return flushing(old, value)[0], flushed(old)


def truncating(old, value):
    return (old.astype(np.float64) + value).astype(np.float32) * np.float32(1 - 2.0**-24), old


@pytest.mark.parametrize(
    ("adder", "least"), [(exact, 0), (flushing, adds.LEAST), (forgetful, None), (truncating, None)]
)
def test_memory_adds_f32_by_itself_as_far_as_it_does_so_to_the_bit(monkeypatch, adder, least):
    """The device's part is played here."""

    def download(self, address, array):
        with np.errstate(all="ignore"):
            array[:, 0], array[:, 1] = adder(adds.CASES[:, 0], adds.CASES[:, 1])

    use(monkeypatch)
    monkeypatch.setattr(NativeDriver, "link", lambda self, ptx: b"")
    monkeypatch.setattr(NativeDriver, "download", download)
    assert adds.float_adds(NativeDriver(0), None) == {**adds.ALWAYS, **({} if least is None else {"f32": least})}


def test_flushing_does_not_matter_where_what_is_added_is_large():
    """Every kind of number in memory, among them those that cancel nearly all, with numbers next to the least."""
    random = np.random.default_rng(5)
    value = np.float32(adds.LEAST) * random.uniform(1, 4, 200_000).astype(np.float32)
    value[:1000] = adds.LEAST
    value *= random.choice(np.array([-1, 1], np.float32), value.size)
    near = (value.view(np.uint32) ^ np.uint32(1 << 31)).view(np.int32) + random.integers(-3, 4, value.size, np.int32)
    anything = random.integers(0, 1 << 32, value.size, np.uint32).view(np.float32)
    subnormal = random.integers(0, 1 << 23, value.size, np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        for old in (near.view(np.float32), anything, subnormal, -subnormal):
            assert adds.same(flushing(old, value)[0], exact(old, value)[0]).all()
        small = np.float32(2.0**-125)
        assert not adds.same(flushing(subnormal, small)[0], exact(subnormal, small)[0]).all()


def test_more_bytes_than_64_bits_count_are_not_handed_to_the_driver(monkeypatch):
    driver = use(monkeypatch)
    device = NativeDriver(0)
    with pytest.raises(DriverError, match="more than any device has") as caught:
        device.allocate(2**64 + 16)
    assert isinstance(failure(caught.value, "an array"), AdstackMemoryError)
    assert not any(name.startswith("cuMemAlloc") for name, *_ in driver.calls)


@pytest.mark.parametrize("size", [0, 1, 40, 256])
def test_the_emulator_sees_what_is_written_behind_memory(size):
    host = Emulator()
    address = host.allocate(size)
    assert ctypes.string_at(address, size) == bytes(size)
    host.free(address)
    address = host.allocate(size)
    host.zero(address + size, 8)
    with pytest.raises(AssertionError, match="wrote behind"):
        host.free(address)
