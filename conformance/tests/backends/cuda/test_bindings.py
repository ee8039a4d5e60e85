"""The real cuda-bindings, calling a libcuda that is played: what arrives there is what cuda.h says.

Programs here run in processes of their own, see `played_driver`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from played_driver import prototypes, run

OPENED = """
import json
import numpy as np
from adstack.backends.cuda import bindings
from adstack.backends.cuda.interface.driver import Launch, Zero
from adstack.backends.cuda.interface.errors import DriverError
from adstack.backends.cuda.native import NativeDriver, count

assert bindings.missing() is None and count() == 1
device = NativeDriver(0)
device.enter()
"""


def told(program: str, folder: Path) -> Any:
    """What a program with a device leaves in `result`."""
    return json.loads(run(f"{OPENED}{program}\nprint(json.dumps(result))", folder).splitlines()[-1])


def test_every_call_arrives_as_the_header_says(tmp_path):
    """Memory is the host's here, so that addresses are known; what is handed on by structures is read there."""
    program = """
at = device.allocate(10)
pinned = device.pinned(24)
module = device.load_image(b"machine code")
function = device.function(module, "k")
begin = len(played.calls)
device.zero(at, 5)
for element in (b"a", b"ab", b"abcd", b"abcdabcd", b"abcdefgh"):
    device.fill(at, 1, element)
device.copy(at, at + 8, 8)
device.copy(at, at, 0)
device.send(at, pinned, 8)
device.resident(function, 128)
device.launch(Launch(function, 3, 64, np.array([77, 8])))
graph = device.graph([Zero(at, 12), Launch(function, 5, 32, np.array([78])), Launch(function, 6, 32, np.array([79]))])
graph.set(1, Launch(function, 5, 32, np.array([80])))
graph.launch()
made = int(graph._executable)
del graph
device.order(5, None)
device.order(None, 7)
device.synchronize()
device.unload(module)
device.free_pinned(pinned)
device.free(at)
names = {at: "at", at + 4: "at + 4", at + 8: "at + 8", pinned: "pinned", function: "function", made: "graph"}
names |= {int(device._event): "event", int(module): "module"}
calls = [[name, *[names.get(arg, arg) for arg in args]] for name, args in played.calls[begin:]]
launches, zeroed = ([[names[told[0]], *told[1:]] for told in several] for several in (played.told, played.zeroed))
result = calls, launches, zeroed
"""
    calls, launches, zeroed = told(program, tmp_path)
    assert calls[:9] == [
        ["cuMemsetD8Async", "at", 0, 5, 0],
        ["cuMemsetD8Async", "at", ord("a"), 1, 0],
        ["cuMemsetD16Async", "at", int.from_bytes(b"ab", "little"), 1, 0],
        ["cuMemsetD32Async", "at", int.from_bytes(b"abcd", "little"), 1, 0],
        ["cuMemsetD32Async", "at", int.from_bytes(b"abcd", "little"), 2, 0],
        ["cuMemsetD2D32Async", "at", 8, int.from_bytes(b"abcd", "little"), 1, 1, 0],
        ["cuMemsetD2D32Async", "at + 4", 8, int.from_bytes(b"efgh", "little"), 1, 1, 0],
        ["cuMemcpyDtoDAsync", "at + 8", "at", 8, 0],
        ["cuMemcpyDtoHAsync", "pinned", "at", 8, 0],
    ]
    assert calls[9][2:] == ["function", 128, 0]
    assert calls[10][:-2] == ["cuLaunchKernel", "function", 3, 1, 1, 64, 1, 1, 0, 0]
    assert [call[0] for call in calls[11:]] == [
        *("cuGraphCreate", "cuGraphAddMemsetNode", "cuGraphAddKernelNode", "cuGraphAddKernelNode"),
        *("cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams", "cuGraphLaunch", "cuGraphExecDestroy"),
        *("cuGraphDestroy", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventRecord"),
        *("cuStreamWaitEvent", "cuCtxSynchronize", "cuModuleUnload", "cuMemFreeHost", "cuMemFree"),
    ]
    assert [call[4] for call in calls[12:15]] == [0, 1, 1]  # how many nodes come right before one
    assert calls[17:19] == [["cuGraphLaunch", "graph", 0], ["cuGraphExecDestroy", "graph"]]
    assert calls[20][2:] == [2]  # an event without times
    assert calls[21:] == [
        *(["cuEventRecord", "event", 5], ["cuStreamWaitEvent", 0, "event", 0]),
        *(["cuEventRecord", "event", 0], ["cuStreamWaitEvent", 7, "event", 0]),
        *(["cuCtxSynchronize"], ["cuModuleUnload", "module"], ["cuMemFreeHost", "pinned"], ["cuMemFree", "at"]),
    ]
    shapes = [(3, 64, 77), (5, 32, 78), (6, 32, 79), (5, 32, 80)]
    assert launches == [["function", *shape] for shape in shapes]
    assert zeroed == [["at", 12, 1, 12, 1]]
    assert all(len(call) - 1 == len(prototypes()[call[0]]) for call in calls)


def test_arrays_of_any_shape_go_to_the_device_and_come_back(tmp_path):
    """Those with one element are numbers as well, which must not be taken for addresses."""
    program = """
result = []
for shape in ((), 1, (2, 3)):
    array, back = np.full(shape, 7.5), np.zeros(shape)
    at = device.allocate(array.nbytes)
    device.upload(at, array)
    device.download(at, back)
    result.append(back.tolist())
"""
    assert told(program, tmp_path) == [7.5, [7.5], [[7.5] * 3] * 2]


def test_what_the_assembler_says_of_code_that_it_does_not_take_is_told(tmp_path):
    program = """
result = [device.link(".version 8.1").decode()]
try:
    device.link(".version 8.1\\nst.nowhere.u64")
except DriverError as error:
    result += [str(error), error.code, played.calls[-1][0]]
"""
    image, message, code, last = told(program, tmp_path)
    assert image == "machine code"
    assert message.startswith("assembling a kernel (ptxas fatal: nowhere to be seen) failed: cuLinkAddData failed")
    assert "CUDA_ERROR_INVALID_PTX" in message
    assert (code, last) == (218, "cuLinkDestroy")


def test_a_call_that_fails_is_named_with_what_its_code_means(tmp_path):
    program = """
result = []
for code in (2, 700, 12345):
    played.codes["cuMemAlloc"] = code
    for action in (lambda: device.allocate(8), lambda: device.check(code)):
        try:
            action()
        except DriverError as error:
            result.append(str(error))
"""
    unknown = "an error that cuda-bindings does not know (CUDA error 12345)"
    lost = "CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access was encountered (CUDA error 700)"
    memory = "CUDA_ERROR_OUT_OF_MEMORY, out of memory (CUDA error 2)"
    meanings = [meaning for meaning in (memory, lost, unknown) for _ in range(2)]
    calls = ["cuMemAlloc", "cuLaunchKernel"] * 3
    assert told(program, tmp_path) == [f"{call} failed: {words}" for call, words in zip(calls, meanings, strict=True)]


def test_other_threads_run_while_the_driver_is_called(tmp_path):
    """Its part is played by a function of C that sleeps for as many microseconds as it is handed."""
    program = """
import ctypes, threading, time

played.functions["cuInit"] = ctypes.CDLL(None).usleep
from adstack.backends.cuda import bindings

turns = [bindings.call("cuInit", 1)]

def count():
    while len(turns) < 20:
        turns.append(time.sleep(0.001))

thread = threading.Thread(target=count)
thread.start()
bindings.call("cuInit", 900_000)
print(len(turns))
thread.join()
"""
    assert int(run(program, tmp_path)) == 20


def test_machine_code_calls_what_the_driver_gives_for_cuda_12(tmp_path):
    program = """
functions = device.functions()
names = ["cuLaunchKernelEx", "cuCtxSetCurrent", "cuMemsetD8Async", "cuMemcpyDtoH"]
result = [played.asked[name][-1] for name in names], functions[2] == int(device._context), 0 in functions
"""
    assert told(program, tmp_path) == [[[12010, 1]] * 4, True, False]  # of the stream that all threads share


def test_programs_run_on_a_device_as_far_as_one_can_that_runs_no_kernels(tmp_path):
    """From finding the device to graphs, with machine code that launches; then the process ends as it should."""
    program = """
import adstack as qd

qd.init(arch=qd.cuda, offline_cache=False)
x, total = qd.field(qd.f32, 100, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
y = qd.field(qd.i32, 100)

@qd.kernel
def run(n: qd.i32) -> qd.f32:
    for i in x:
        v = x[i]
        for _ in range(n):
            v = v * v
        total[None] += v
    return total[None]

@qd.kernel(graph=True)
def two(n: qd.i32):
    for i in y:
        y[i] += 1
    for i in range(n):
        y[i] += 1

for n in range(4):
    run(n)
    run.grad(n, seed=1.0)
for n in (5, 5, 5, 6):
    two(n)
qd.sync()
x.from_numpy(np.arange(100, dtype=np.float32))
result = x.to_numpy().tolist() == list(range(100)), len(played.told), sorted({name for name, _ in played.calls})
"""
    kept, launches, calls = told(program, tmp_path)
    assert kept
    assert launches > 16
    assert {"cuLaunchKernelEx", "cuLaunchKernel", "cuGraphLaunch", "cuGraphExecKernelNodeSetParams"} <= {*calls}


def test_sparse_memory_is_managed_where_it_is_large(tmp_path):
    program = """
result = []
for size in (8, 4 << 20):
    at, by_page = device.allocate_by_page(size)
    result += [played.calls[-1][0], by_page]
    device.free(at)
"""
    assert told(program, tmp_path) == ["cuMemsetD8Async", False, "cuMemAllocManaged", True]
