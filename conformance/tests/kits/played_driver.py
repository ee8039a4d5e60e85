"""A libcuda that a test plays, for the real cuda-bindings to load: a device with memory, and with kernels in Python.

A process has one libcuda, so what uses this one runs in a process of its own: see `run`. The library has one function,
by which the declarations ask for all others, and hands that question on to Python: functions are made as they are
asked for, with the parameters that CUDA's header says.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

NAME: Final = "libcuda.so.1"
SYMBOL, SLOT = "cuGetProcAddress_v2", "played"
_MACHINES: Final = {
    "x86_64": (62, b"\xff\x25\x0a\0\0\0" + b"\x90" * 10),  # jmp *[rip + 10]: the word after 16 bytes
    "aarch64": (183, struct.pack("<IIQ", 0x58000090, 0xD61F0200, 0)),  # ldr x16, the word after 16 bytes; br x16
}
"""Of a processor: its number in ELF, and 16 bytes of code that jump to where the word after them says."""
HANDLES: Final = {"CUcontext", "CUmodule", "CUfunction", "CUstream", "CUlinkState", "CUevent"}
HANDLES |= {"CUgraph", "CUgraphExec", "CUgraphNode"}
WORDS: Final = {"CUdeviceptr": "u64", "size_t": "u64", "unsigned long long": "u64", "cuuint64_t": "u64"}
WORDS |= {"unsigned char": "byte", "unsigned short": "short"}
TYPES: Final = {"u64": ctypes.c_uint64, "pointer": ctypes.c_uint64, "byte": ctypes.c_ubyte, "short": ctypes.c_ushort}


def library() -> bytes:
    """An ELF library that exports a function and the word that says where it goes on."""
    number, code = _MACHINES[platform.machine()]
    strings = b"".join(name.encode() + b"\0" for name in ("", NAME, SYMBOL, SLOT))
    where = [strings.index(name.encode() + b"\0") for name in (NAME, SYMBOL, SLOT)]
    text = 64 + 2 * 56
    slot, symbols = text + 16, text + 24
    names = bytes(24) + struct.pack("<IBBHQQ", where[1], 0x12, 0, 1, text, 16)
    names += struct.pack("<IBBHQQ", where[2], 0x11, 0, 1, slot, 8)
    table = struct.pack("<6I", 1, 3, 1, 0, 2, 0)  # a hash table of one bucket: symbol 1, then 2
    hashes = symbols + len(names)
    text_of_names = hashes + len(table)
    dynamic = -(-(text_of_names + len(strings)) // 8) * 8
    tags = [(14, where[0]), (4, hashes), (5, text_of_names), (6, symbols), (10, len(strings)), (11, 24), (0, 0)]
    size = dynamic + 16 * len(tags)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, number, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    head += struct.pack("<IIQQQQQQ", 1, 7, 0, 0, 0, size, size, 0x1000)
    head += struct.pack("<IIQQQQQQ", 2, 6, dynamic, dynamic, dynamic, 16 * len(tags), 16 * len(tags), 8)
    body = (head + code + bytes(8) + names + table + strings).ljust(dynamic, b"\0")
    return body + b"".join(struct.pack("<QQ", *tag) for tag in tags)


def run(program: str, folder: Path, **environment: str) -> str:
    """What a program prints that begins with `played = Played()`; AssertionError if it ends with an error.

    Args:
        program: its source.
        folder: where the library is written to.
        environment: variables it starts with.
    """
    (folder / NAME).write_bytes(library())
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    variables = {"LD_LIBRARY_PATH": str(folder), "PYTHONPATH": paths, "ADSTACK_CUDA_DEVICE": "0", **environment}
    source = f"from played_driver import Played\nplayed = Played({str(folder / NAME)!r})\n{program}"
    command = [sys.executable, "-W", "error", "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def header() -> str:
    """cuda.h, of the package nvidia-cuda-runtime."""
    files = importlib.metadata.files("nvidia-cuda-runtime") or []
    (file,) = (file for file in files if file.name == "cuda.h")
    return Path(str(file.locate())).read_text(errors="replace")


@cache
def prototypes() -> dict[str, list[str]]:
    """Function, by its name with and without a version -> kinds of its parameters."""
    parameters_of: dict[str, list[str]] = {}
    for name, parameters in re.findall(r"^CUresult CUDAAPI\s+(\w+)\(([^;]*?)\);", header(), re.MULTILINE | re.DOTALL):
        kinds = [_kind(parameter.strip()) for parameter in parameters.split(",")]
        parameters_of.setdefault(name, [] if parameters.strip() == "void" else kinds)
    exported = re.findall(r"#define (cu\w+)\s+(?:__CUDA_API_PT[SD][SZ]\()?(cu\w+)", header())
    return {
        **{versioned: parameters_of[name] for name, versioned in exported if name in parameters_of},
        **parameters_of,
    }


def _kind(parameter: str) -> str:
    ty = re.sub(r"\s*\w+$", "", parameter) if "*" not in parameter else "pointer"
    return "pointer" if ty in HANDLES or ty == "pointer" else WORDS.get(ty, "int")


ATTRIBUTES: Final = {16: 4, 39: 2048, 75: 9, 76: 0, 89: 1}
"""Of the device: 4 multiprocessors of 2048 threads, compute capability 9.0, managed memory by the page."""
MEMORY: Final = 80 << 30
_FIRST_OF_ALL: Final = ("cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuModuleLoadData", "cuModuleGetFunction")
_FIRST_OF_ALL += ("cuEventCreate", "cuGraphCreate", "cuGraphInstantiateWithFlags", "cuGraphAddKernelNode")
_FIRST_OF_ALL += ("cuGraphAddMemsetNode", "cuStreamCreate")
"""Functions whose first parameter tells where a new handle goes."""


class Played:
    """The driver's part.

    Args:
        path: of the library.

    Attributes:
        calls: what was called, with its arguments as numbers.
        asked: function -> versions and flags with which it was asked for.
        codes: what functions give instead of doing anything.
        told: kernel launches and nodes as (function, grid, block, first word), in order.
        zeroed: what nodes zero, as (address, pitch, bytes of an element, width, height).
        kernels: name -> what it does with its grid, its block and the address of its words. Others do nothing.
        limit: the bytes of the device's own heap.
        functions: that were asked for; others may be put in their place before.
    """

    def __init__(self, path: str) -> None:
        self.calls: list[tuple[str, list[int]]] = []
        self.asked: dict[str, list[tuple[int, int]]] = {}
        self.codes: dict[str, int] = {}
        self.told: list[tuple[int, int, int, int]] = []
        self.zeroed: list[tuple[int, ...]] = []
        self.kernels: dict[str, Callable[[int, int, int], None]] = {}
        self.limit = 8 << 20
        self.memory: dict[int, Any] = {}
        self.functions: dict[str, Any] = {}
        self._handles = 0x1000
        self._options: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._nodes: dict[int, tuple[int, ...]] = {}
        self._image = ctypes.create_string_buffer(b"machine code")
        looks = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)
        self._looks = looks(self._look)
        self._library = ctypes.CDLL(path)
        ctypes.c_void_p.in_dll(self._library, SLOT).value = _address(self._looks)

    def _look(self, symbol: int, out: int, version: int, flags: int, status: int | None) -> int:
        """What cuGetProcAddress does."""
        name = ctypes.string_at(symbol).decode()
        self.asked.setdefault(name, []).append((version, flags))
        function = self._looks if name == "cuGetProcAddress" else self._function(name)
        _put(out, ctypes.c_void_p, 0 if function is None else _address(function))
        if status:
            _put(status, ctypes.c_int, 0)
        return 0

    def _function(self, name: str) -> Any:
        if name not in self.functions and name in prototypes():
            kinds = [TYPES.get(kind, ctypes.c_uint) for kind in prototypes()[name]]

            def called(*args: int) -> int:
                self.calls.append((name, [*args]))
                return self.codes[name] if name in self.codes else self._act(name, *args) or 0

            self.functions[name] = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(called)
        return self.functions.get(name)

    def _act(self, name: str, *args: int) -> int | None:
        if name in _FIRST_OF_ALL:
            self._handles += 1
            _put(args[0], ctypes.c_int if name == "cuDeviceGet" else ctypes.c_void_p, self._handles)
        act: Callable[..., int | None] | None = getattr(self, "_" + name.removeprefix("cu").lower(), None)
        return None if act is None else act(*args)

    # ---- the device

    def _drivergetversion(self, out: int) -> None:
        _put(out, ctypes.c_int, 13000)

    def _devicegetcount(self, out: int) -> None:
        _put(out, ctypes.c_int, 1)

    def _devicegetname(self, out: int, size: int, device: int) -> None:
        ctypes.memmove(out, b"a played device\0", 16)

    def _devicetotalmem(self, out: int, device: int) -> None:
        _put(out, ctypes.c_size_t, MEMORY)

    def _devicegetattribute(self, out: int, attribute: int, device: int) -> None:
        _put(out, ctypes.c_int, ATTRIBUTES[attribute])

    def _ctxgetlimit(self, out: int, limit: int) -> None:
        _put(out, ctypes.c_size_t, self.limit)

    def _ctxsetlimit(self, limit: int, size: int) -> None:
        self.limit = size

    def _occupancymaxactiveblockspermultiprocessor(self, out: int, *rest: int) -> None:
        _put(out, ctypes.c_int, 8)

    # ---- memory

    def _memalloc(self, out: int, size: int) -> int:
        if size > MEMORY:
            return 2
        memory = np.full(size, 0xA5, np.uint8)
        self.memory[memory.ctypes.data] = memory
        _put(out, ctypes.c_uint64, memory.ctypes.data)
        return 0

    def _memallocmanaged(self, out: int, size: int, flags: int) -> int:
        result = self._memalloc(out, size)
        if result == 0:
            next(reversed(self.memory.values()))[:] = 0
        return result

    def _memfree(self, address: int) -> None:
        del self.memory[address]

    def _memhostalloc(self, out: int, size: int, flags: int) -> None:
        self._memalloc(out, size)

    def _memfreehost(self, address: int) -> None:
        self._memfree(address)

    def _memgetinfo(self, free: int, total: int) -> None:
        _put(free, ctypes.c_size_t, MEMORY // 2)

    def _memsetd8async(self, address: int, value: int, size: int, stream: int) -> None:
        ctypes.memset(address, value, size)

    def _memsetd16async(self, address: int, value: int, count: int, stream: int) -> None:
        ctypes.memmove(address, value.to_bytes(2, "little") * count, 2 * count)

    def _memsetd32async(self, address: int, value: int, count: int, stream: int) -> None:
        ctypes.memmove(address, value.to_bytes(4, "little") * count, 4 * count)

    def _memsetd2d32async(self, address: int, pitch: int, value: int, width: int, height: int, stream: int) -> None:
        for row in range(height):
            self._memsetd32async(address + row * pitch, value, width, stream)

    def _memcpyhtod(self, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def _memcpydtoh(self, target: int, source: int, size: int) -> None:
        ctypes.memmove(target, source, size)

    def _memcpydtodasync(self, target: int, source: int, size: int, stream: int) -> None:
        ctypes.memmove(target, source, size)

    def _memcpydtohasync(self, target: int, source: int, size: int, stream: int) -> None:
        ctypes.memmove(target, source, size)

    # ---- code

    def _linkcreate(self, count: int, names: int, values: int, out: int) -> None:
        self._handles += 1
        kinds = (ctypes.c_int * count).from_address(names)
        self._options = {kind: values + 8 * k for k, kind in enumerate(kinds)}
        _put(out, ctypes.c_void_p, self._handles)

    def _linkadddata(self, state: int, kind: int, text: int, size: int, name: int, *rest: int) -> int:
        assert ctypes.string_at(text, size).endswith(b"\0")
        log = b"" if b".nowhere" not in ctypes.string_at(text, size) else b"ptxas fatal: nowhere to be seen"
        ctypes.memmove(_word(self._options[5]), log + b"\0", len(log) + 1)  # CU_JIT_ERROR_LOG_BUFFER
        _put(self._options[6], ctypes.c_uint64, len(log))  # the size of the log is told where the option stood
        return 218 if log else 0

    def _linkcomplete(self, state: int, image: int, size: int) -> None:
        _put(image, ctypes.c_void_p, ctypes.addressof(self._image))
        _put(size, ctypes.c_size_t, 12)

    def _modulegetfunction(self, out: int, module: int, name: int) -> int:
        self._names[_word(out)] = ctypes.string_at(name).decode()
        return 500 if self.kernels and self._names[_word(out)] not in self.kernels else 0

    # ---- launches

    def _launchkernel(self, function: int, grid: int, y: int, z: int, block: int, *rest: int) -> None:
        self._do(self._tell(function, grid, block, rest[4]))

    def _launchkernelex(self, config: int, function: int, params: int, extra: int) -> None:
        shape = (ctypes.c_uint * 4).from_address(config)
        self._do(self._tell(function, shape[0], shape[3], params))

    def _graphaddkernelnode(self, out: int, graph: int, before: int, count: int, params: int) -> None:
        self._graphexeckernelnodesetparams(graph, _word(out), params)

    def _graphexeckernelnodesetparams(self, graph: int, node: int, params: int) -> None:
        numbers = (ctypes.c_uint * 6).from_address(params + 8)
        function, grid, block, words = self._tell(_word(params), numbers[0], numbers[3], _word(params + 40))
        kept = np.frombuffer(ctypes.string_at(words, 16)).copy()
        self.memory[-node] = kept
        self._nodes[node] = function, grid, block, kept.ctypes.data

    def _graphaddmemsetnode(self, out: int, graph: int, before: int, count: int, params: int, context: int) -> None:
        pitch, element = _word(params + 8), ctypes.c_uint.from_address(params + 20).value
        self.zeroed.append((_word(params), pitch, element, _word(params + 24), _word(params + 32)))
        self._nodes[_word(out)] = _word(params), element * _word(params + 24)

    def _graphlaunch(self, graph: int, stream: int) -> None:
        for node in self._nodes.values():
            if len(node) == 2:
                ctypes.memset(node[0], 0, node[1])
            else:
                self._do(node)

    def _tell(self, function: int, grid: int, block: int, params: int) -> tuple[int, ...]:
        self.told.append((function, grid, block, _word(_word(params))))
        return function, grid, block, _word(params)

    def _do(self, launch: tuple[int, ...]) -> None:
        """Run a kernel."""
        function, *shape, words = launch
        if self._names[function] in self.kernels:
            self.kernels[self._names[function]](*shape, words)

    # ---- errors

    def _geterrorstring(self, code: int, out: int) -> int:
        words = {2: b"out of memory", 700: b"an illegal memory access was encountered"}
        return self._said(words.get(code, b"an error"), out)

    def _said(self, words: bytes, out: int) -> int:
        self._words = ctypes.create_string_buffer(words)
        _put(out, ctypes.c_void_p, ctypes.addressof(self._words))
        return 0


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _put(at: int, kind: Any, value: int) -> None:
    kind.from_address(at).value = value


def _word(at: int) -> int:
    word: int = ctypes.c_uint64.from_address(at).value
    return word
