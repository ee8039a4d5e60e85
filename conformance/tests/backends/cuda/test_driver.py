"""Every call of the driver is as CUDA's own header says: its name and version, the number and kinds of arguments."""

from __future__ import annotations

import ctypes
import importlib.metadata
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adstack.backends.cuda import adds, driver, graph_calls
from adstack.backends.cuda import header as cuda_header
from adstack.backends.cuda.driver import Driver
from adstack.backends.cuda.driver_error import DriverError
from adstack.backends.cuda.graph_calls import Launch, Zero
from adstack.errors import AdstackMemoryError, AdstackRuntimeError

HANDLES = {"CUcontext", "CUmodule", "CUfunction", "CUstream", "CUlinkState", "CUevent"}
HANDLES |= {"CUgraph", "CUgraphExec", "CUgraphNode"}
WORDS = {"CUdeviceptr": "u64", "size_t": "u64", "unsigned long long": "u64", "unsigned char": "byte"}


@pytest.fixture(scope="module")
def header() -> str:
    files = importlib.metadata.files("nvidia-cuda-runtime") or []
    (found,) = (file for file in files if file.name == "cuda.h")
    return Path(str(found.locate())).read_text(errors="replace")


@pytest.fixture(scope="module")
def prototypes(header: str) -> dict[str, list[str]]:
    """Exported name -> kinds of its parameters."""
    versions = dict(re.findall(r"#define (cu\w+)\s+(?:__CUDA_API_PT[SD][SZ]\()?(cu\w+)", header))
    found: dict[str, list[str]] = {}
    for name, parameters in re.findall(r"^CUresult CUDAAPI\s+(\w+)\(([^;]*?)\);", header, re.MULTILINE | re.DOTALL):
        kinds = [kind(parameter.strip()) for parameter in parameters.split(",")]
        found.setdefault(versions.get(name, name), [] if parameters.strip() == "void" else kinds)
    return found


def kind(parameter: str) -> str:
    ty = re.sub(r"\s*\w+$", "", parameter) if "*" not in parameter else "pointer"
    return "pointer" if ty in HANDLES or ty == "pointer" else WORDS.get(ty, "int")


def passed(argument: Any) -> str:
    """The kind of an argument, as ctypes passes it."""
    if argument is None or isinstance(
        argument, (bytes, ctypes.Array, ctypes.c_void_p, type(ctypes.byref(ctypes.c_int())))
    ):
        return "pointer"
    if isinstance(argument, (int, ctypes.c_int)):
        return "int"
    return {ctypes.c_uint64: "u64", ctypes.c_size_t: "u64", ctypes.c_ubyte: "byte"}[type(argument)]


class Recorder:
    """A driver whose calls do nothing, or fail."""

    def __init__(self, **codes: int) -> None:
        self.calls: list[tuple[str, list[str]]] = []
        self.codes = codes

    def __getattr__(self, name: str):
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*args: Any) -> int:
            self.calls.append((name, [passed(argument) for argument in args]))
            return self.codes.get(name, 0)

        return call


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = Recorder()
    monkeypatch.setattr(driver, "library", lambda: made)
    return made


def test_every_call_is_as_the_header_says(recorder, prototypes, monkeypatch):
    Driver.count()
    device = Driver(0)
    device.enter()
    array = np.zeros(3)
    address = device.allocate(10)
    device.zero(address, 10)
    device.upload(address, array)
    device.download(address, array)
    device.available()
    module = device.load(device.link(".version 8.1"), heap=True)
    function = device.function(module, "task0")
    device.resident(function, 128)
    device.launch(function, 5, address)
    device.synchronize()
    launch = Launch(function, 1, 32, np.zeros(3, np.int64))
    graph = device.graph([Zero(address, 8), launch, launch])
    graph.set(1, launch)
    graph.launch()
    del graph
    device.order(5, None)
    device.order(None, 7)
    device.unload(module)
    device.free(address)
    monkeypatch.setattr(driver.ctypes, "memset", lambda *args: None)  # there is no such memory
    device.pinned(24)
    device.send(address, 64, 24)
    with pytest.raises(DriverError):
        device.check(1)
    assert len({name for name, _ in recorder.calls}) > 32
    for name, kinds in recorder.calls:
        assert kinds == prototypes[name], name


@pytest.mark.parametrize(
    ("name", "made"),
    [("KERNEL_NODE_PARAMS_v2", graph_calls.KernelParams), ("MEMSET_NODE_PARAMS", graph_calls.MemsetParams)],
)
def test_structures_are_those_of_the_header(header, name, made):
    (body,) = re.findall(rf"struct CUDA_{name}_st \{{(.*?)\n\}}", header, re.DOTALL)
    sizes = {"unsigned int": 4, "size_t": 8, "CUdeviceptr": 8}
    types = [re.sub(r"\s*\w+$", "", line.strip()) for line in re.findall(r"^\s*([^;/]+);", body, re.MULTILINE)]
    offset, offsets = 0, []
    for ty in types:
        size = sizes.get(ty, 8)
        offset = -(-offset // size) * size
        offsets.append(offset)
        offset += size
    found = []
    for field, ty in made._fields_:
        start, count = getattr(made, field).offset, getattr(ty, "_length_", 1)
        found += [start + k * ctypes.sizeof(ty) // count for k in range(count)]
    assert found == offsets
    assert ctypes.sizeof(made) == -(-offset // 8) * 8


def test_numbers_are_those_of_the_header(header):
    numbers = dict(re.findall(r"^\s*(CU\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)", header, re.MULTILINE))
    wanted = {
        "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": cuda_header.ATTRIBUTES["multiprocessors"],
        "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR": cuda_header.ATTRIBUTES["threads"],
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": cuda_header.ATTRIBUTES["major"],
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR": cuda_header.ATTRIBUTES["minor"],
        "CU_JIT_ERROR_LOG_BUFFER": cuda_header.ERROR_LOG,
        "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES": cuda_header.ERROR_LOG_BYTES,
        "CU_JIT_TARGET_FROM_CUCONTEXT": cuda_header.TARGET_FROM_CONTEXT,
        "CU_JIT_INPUT_PTX": cuda_header.PTX,
        "CU_LIMIT_MALLOC_HEAP_SIZE": cuda_header.HEAP_LIMIT,
        "CU_EVENT_DISABLE_TIMING": cuda_header.NO_TIMING,
        "CUDA_ERROR_INVALID_VALUE": cuda_header.REFUSED,
        "CUDA_ERROR_OUT_OF_MEMORY": cuda_header.OUT_OF_MEMORY,
        "CUDA_ERROR_NOT_INITIALIZED": cuda_header.NOT_STARTED,
    }
    assert {name: int(numbers[name], 0) for name in wanted} == wanted
    assert {
        int(numbers[f"CUDA_ERROR_{name}"]) for name in ("ILLEGAL_ADDRESS", "LAUNCH_TIMEOUT", "UNKNOWN")
    } <= cuda_header.LOST


def test_code_that_the_driver_does_not_take_is_told(monkeypatch):
    made = Recorder(cuLinkAddData_v2=218)
    monkeypatch.setattr(driver, "library", lambda: made)
    with pytest.raises(DriverError, match="assembling a kernel"):
        Driver(0).link("nonsense")
    assert made.calls[-1][0] == "cuLinkDestroy"


def test_a_forked_process_is_told_to_be_started_otherwise(monkeypatch):
    made = Recorder(cuDevicePrimaryCtxRetain=3)
    monkeypatch.setattr(driver, "library", lambda: made)
    with pytest.raises(DriverError) as found:
        Driver(0).enter()
    assert "spawn" in str(driver.failure(found.value, "running k"))
    assert isinstance(driver.failure(found.value, "running k"), AdstackRuntimeError)


class WithHeap(Recorder):
    """A process on a device whose heap can be sized until a kernel has used it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.used = size, False
        self.asked: list[int] = []

    def __getattr__(self, name: str):
        acts = {"cuDeviceTotalMem_v2": self._total, "cuCtxGetLimit": self._found, "cuCtxSetLimit": self._set}
        return acts.get(name) or super().__getattr__(name)

    def _total(self, memory: Any, handle: Any) -> int:
        memory._obj.value = 128 << 30
        return 0

    def _found(self, found: Any, limit: int) -> int:
        found._obj.value = self.size
        return 0

    def _set(self, limit: int, size: Any) -> int:
        self.asked.append(size.value)
        if self.used:
            return 1
        self.size = size.value
        return self.codes.get("cuCtxSetLimit", 0)


def test_the_heap_is_made_once_in_a_process_however_often_the_device_is_opened(monkeypatch):
    made = WithHeap(8 << 20)
    monkeypatch.setattr(driver, "library", lambda: made)
    for _ in range(3):
        device = Driver(0)
        device.load(b"", heap=True)
        made.used = True
        device.load(b"", heap=True)
    assert made.asked == [2 << 30]


def test_no_heap_is_made_for_kernels_that_take_nothing_of_it(monkeypatch):
    made = WithHeap(8 << 20)
    monkeypatch.setattr(driver, "library", lambda: made)
    Driver(0).load(b"")
    assert made.asked == []


def test_a_heap_that_others_use_already_is_left_as_it_is(monkeypatch):
    made = WithHeap(8 << 20)
    made.used = True
    monkeypatch.setattr(driver, "library", lambda: made)
    Driver(0).load(b"", heap=True)
    assert made.size == 8 << 20
    assert made.calls[-1][0] == "cuModuleLoadData"


def test_a_device_that_fails_while_the_heap_is_made_is_told(monkeypatch):
    made = WithHeap(8 << 20)
    made.codes["cuCtxSetLimit"] = 700
    monkeypatch.setattr(driver, "library", lambda: made)
    with pytest.raises(DriverError, match="cuCtxSetLimit"):
        Driver(0).load(b"", heap=True)


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
def test_memory_adds_f32_by_itself_as_far_as_it_does_so_to_the_bit(recorder, monkeypatch, adder, least):
    """The device's part is played here."""

    def download(self, address, array):
        with np.errstate(all="ignore"):
            array[:, 0], array[:, 1] = adder(adds.CASES[:, 0], adds.CASES[:, 1])

    monkeypatch.setattr(Driver, "download", download)
    monkeypatch.setattr(Driver, "load", lambda self, image: ctypes.c_void_p(1))
    assert adds.float_adds(Driver(0), None) == {**adds.ALWAYS, **({} if least is None else {"f32": least})}


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
    made = Recorder()
    monkeypatch.setattr(driver, "library", lambda: made)
    device = Driver(0)
    with pytest.raises(DriverError, match="more than any device has") as found:
        device.allocate(2**64 + 16)
    assert isinstance(driver.failure(found.value, "an array"), AdstackMemoryError)
    assert not any(name.startswith("cuMemAlloc") for name, *_ in made.calls)
