"""Every call of NVIDIA's driver as the cuda backend makes it: `python -m adstack.tools.device.driver`.

Each check says "ok" or what is wrong. What may leave a process without its device runs in one of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.backends.cuda import bindings
from adstack.backends.cuda.interface.driver import Launch, Zero
from adstack.backends.cuda.interface.errors import OUT_OF_MEMORY, DriverError
from adstack.backends.cuda.native import NativeDriver

__all__ = ["ALONE", "CHECKS", "PUT", "main"]

PUT: Final = """.version 8.1
.target sm_70
.address_size 64
.visible .entry put(.param .align 8 .b8 ctx[16])
{
    .reg .b64 %at, %value, %k;
    .reg .b32 %t, %b, %n;
    ld.param.u64 %at, [ctx];
    ld.param.u64 %value, [ctx+8];
    mov.u32 %t, %tid.x;
    mov.u32 %b, %ctaid.x;
    mov.u32 %n, %ntid.x;
    mad.lo.u32 %t, %b, %n, %t;
    cvt.u64.u32 %k, %t;
    add.s64 %value, %value, %k;
    shl.b64 %k, %k, 3;
    add.s64 %at, %at, %k;
    st.global.u64 [%at], %value;
    ret;
}
"""
"""Thread k writes `value + k` to word k from the address `at` on; it is handed both, in this order."""
WORDS: Final = 256


class Bench:
    """A device with memory and a kernel on it."""

    def __init__(self) -> None:
        self.device = NativeDriver(0)
        self.device.enter()
        self.at = self.device.allocate(8 * WORDS)
        self.module = self.device.load_image(self.device.link(PUT))
        self.put = self.device.function(self.module, "put")

    def words(self, value: int, at: int = 0) -> npt.NDArray[np.int64]:
        """What the kernel is handed."""
        return np.array([self.at + 8 * at, value], np.int64)

    def read(self, count: int = WORDS) -> list[int]:
        """What is in memory."""
        array = np.full(count, -1, np.int64)
        self.device.download(self.at, array)
        return [int(word) for word in array]


def same(read: object, wanted: object) -> None:
    """AssertionError if something else was read."""
    assert read == wanted, f"{str(read)[:200]} where {str(wanted)[:200]} is right"


def copies(bench: Bench) -> None:
    """Arrays of any shape, of one element too, go there and back, to each other and to pinned memory."""
    device = bench.device
    for array in (np.array(3.5), np.array([7]), np.arange(12.0, dtype=np.float16).reshape(3, 4)):
        back = np.zeros_like(array)
        device.upload(bench.at, array)
        device.copy(bench.at, bench.at + 1024, array.nbytes)
        device.download(bench.at + 1024, back)
        same(back.tolist(), array.tolist())
    pinned = device.pinned(64)
    device.upload(bench.at, np.arange(8))
    device.send(bench.at, pinned, 64)
    device.synchronize()
    same(np.frombuffer(ctypes.string_at(pinned, 64), np.int64).tolist(), [*range(8)])
    device.free_pinned(pinned)


def fills(bench: Bench) -> None:
    """Elements of 1, 2, 4 and 8 bytes are repeated; zeros."""
    for element in (b"a", b"ab", b"abcd", b"abcdabcd", b"abcdefgh"):
        bench.device.zero(bench.at, 8 * WORDS)
        bench.device.fill(bench.at, 6, element)
        array = np.empty(64, np.uint8)
        bench.device.download(bench.at, array)
        same(array.tobytes(), (element * 6).ljust(64, b"\0"))


def launches(bench: Bench) -> None:
    """By Python, and by machine code through the address that the backend hands it."""
    bench.device.launch(Launch(bench.put, 4, 64, bench.words(100)))
    same(bench.read(), [*range(100, 100 + WORDS)])
    word, number = ctypes.c_void_p, ctypes.c_uint
    launch, use, context, zero, fetch = bench.device.functions()
    direct = ctypes.CFUNCTYPE(ctypes.c_int, word, *[number] * 7, word, word, word)(launch)
    handed = bench.words(500)
    pointers = np.array([handed.ctypes.data], np.uint64)
    same(ctypes.CFUNCTYPE(ctypes.c_int, word)(use)(context), 0)
    size, read = ctypes.c_size_t, np.zeros(WORDS, np.int64)
    same(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_ubyte, size, word)(zero)(bench.at, 0, 2048, None), 0)
    bench.device.synchronize()  # launches may overlap, and this kernel does not wait for what is before it
    same(direct(bench.put, 4, 1, 1, 32, 1, 1, 0, None, pointers.ctypes.data, None), 0)
    same(ctypes.CFUNCTYPE(ctypes.c_int, word, ctypes.c_uint64, size)(fetch)(read.ctypes.data, bench.at, 2048), 0)
    same(read.tolist(), [*range(500, 628), *[0] * 128])


def graphs(bench: Bench) -> None:
    """Nodes in order, told other words by Python, launched again; a graph that is gone."""
    first, second = (Launch(bench.put, 1, 32, bench.words(value, at)) for value, at in ((10, 0), (1000, 16)))
    graph = bench.device.graph([Zero(bench.at, 8 * WORDS), first, second])
    bench.device.fill(bench.at, 8 * WORDS, b"\xff")
    graph.launch()
    same(bench.read(64), [*range(10, 26), *range(1000, 1032), *[0] * 16])
    graph.set(1, Launch(bench.put, 1, 32, bench.words(20)))
    graph.launch()
    same(bench.read(64), [*range(20, 36), *range(1000, 1032), *[0] * 16])
    del graph
    bench.device.synchronize()


def streams(bench: Bench) -> None:
    """A stream waits for the default one, and the other way round."""
    flag = int(bindings.declarations().CUstream_flags.CU_STREAM_NON_BLOCKING)
    stream = bindings.call("cuStreamCreate", flag)
    bench.device.fill(bench.at, 8, b"abcdefgh")
    bench.device.order(None, int(stream))
    bindings.call("cuMemcpyDtoDAsync", bench.at + 64, bench.at, 64, stream)
    bench.device.order(int(stream), None)
    array = np.empty(128, np.uint8)
    bench.device.download(bench.at, array)
    same(array.tobytes(), b"abcdefgh" * 16)
    bindings.call("cuStreamDestroy", stream)


def threads(bench: Bench) -> None:
    """Each thread makes the context its own."""
    errors: list[str] = []

    def work(number: int) -> None:
        try:
            bench.device.enter()
            bench.device.launch(Launch(bench.put, 1, 32, bench.words(number, 32 * number)))
            bench.device.synchronize()
        except DriverError as error:
            errors.append(str(error))

    several = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    same(errors, [])
    same(bench.read(), [number + k for number in range(8) for k in range(32)])


def code(bench: Bench) -> None:
    """What the assembler says is told; kernels that are not there; how many blocks run at once; the heap of threads."""
    wrong = PUT.replace("st.global.u64", "st.nowhere.u64")
    fails(lambda: bench.device.link(wrong), 218, "assembling a kernel (ptxas", "CUDA_ERROR_INVALID_PTX")
    fails(lambda: bench.device.function(bench.module, "nothing"), 500, "CUDA_ERROR_NOT_FOUND")
    same(bench.device.resident(bench.put, 256), bench.device.device.threads // 256)
    bench.device.make_heap()
    limit = bindings.call("cuCtxGetLimit", bindings.declarations().CUlimit.CU_LIMIT_MALLOC_HEAP_SIZE)
    assert limit >= 256 << 20, limit


def errors(bench: Bench) -> None:
    """Calls that fail are named, with CUDA's words."""
    fails(lambda: bench.device.allocate(1 << 45), OUT_OF_MEMORY, "cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY, out of")
    fails(lambda: bench.device.check(700), 700, "CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access")
    fails(lambda: bench.device.check(123456), 123456, "does not know")
    fails(lambda: bindings.address("cuNothing"), 500, "cuGetProcAddress")
    assert 0 < bench.device.available() <= bench.device.device.memory


def fails(action: Callable[[], object], number: int, *words: str) -> None:
    """AssertionError if it does not fail with this code and these words."""
    code, said = 0, "nothing failed"
    try:
        action()
    except DriverError as error:
        code, said = error.code, str(error)
    assert code == number, said
    assert all(word in said for word in words), said


CHECKS: Final = (copies, fills, launches, graphs, streams, threads, code, errors)

_OPEN: Final = """
import os, numpy as np, adstack as qd
qd.init(arch=qd.cuda, offline_cache=False)
x = qd.field(qd.i32, 1000)
@qd.kernel
def bump(n: qd.i32):
    for i in x:
        x[i] += n
@qd.kernel(graph=True)
def two(n: qd.i32):
    for i in x:
        x[i] += n
    for i in range(n):
        x[i] -= n
for _ in range(4):
    bump(1)
    two(1)
"""
_RIGHT: Final = "assert x.to_numpy().tolist() == [4, *[8] * 999], x.to_numpy()[:4]\n"
ALONE: Final = {
    "the process ends while launches run, and with graphs": _OPEN,
    "results": _OPEN + _RIGHT,
    "the declarations' default stream is the thread's": _OPEN + _RIGHT,
    "a child that was forked is told so": _OPEN
    + """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python's own, of a fork among threads, from 3.12 on
child = os.fork()
if not child:
    try:
        bump(1)
    except qd.AdstackRuntimeError as error:
        os._exit(0 if "forked" in str(error) else 3)
    os._exit(4)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    + _RIGHT,
    "reset and init again": _OPEN + "qd.reset()\n" + _OPEN + _RIGHT,
    "a device that is lost": """
import numpy as np
from adstack.backends.cuda.interface.errors import DriverError
from adstack.backends.cuda.interface.driver import Launch
from adstack.tools.device.driver import Bench
bench = Bench()
bench.device.launch(Launch(bench.put, 1, 32, np.array([8, 1])))
try:
    bench.device.synchronize()
except DriverError as error:
    assert error.is_lost and "CUDA_ERROR_ILLEGAL_ADDRESS" in str(error), error
else:
    raise AssertionError("nothing failed")
""",
}
"""Programs that run in processes of their own, which must end with status 0 and say nothing."""


def alone(name: str) -> None:
    """AssertionError with what a program says, if it says anything or fails."""
    stream = {"CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM": "1"} if "stream" in name else {}
    command = [sys.executable, "-c", ALONE[name]]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **stream}, timeout=60, check=False
    )
    assert not done.returncode, f"status {done.returncode}: {done.stderr[-1500:]}"
    same(done.stdout + done.stderr, "")


def outcome(check: Callable[[], None]) -> str:
    """Say "ok", or what is wrong."""
    try:
        check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is wrong
        return f"wrong: {type(error).__name__}: {error}"
    return "ok"


def main() -> int:
    """Print what came of the checks, as JSON; 0 if nothing is wrong."""
    if (absent := bindings.missing()) is not None:
        print(*absent)
        return 1
    bench = Bench()
    declared = bindings.declarations().CUDA_VERSION
    results = {"device": str(bench.device.device), "declarations": f"CUDA {declared // 1000}.{declared % 1000 // 10}"}
    results |= {check.__name__: outcome(partial(check, bench)) for check in CHECKS}
    results |= {name: outcome(partial(alone, name)) for name in ALONE}
    print(json.dumps(results, indent=1))
    return int(any(said.startswith("wrong") for said in results.values()))


if __name__ == "__main__":
    sys.exit(main())
