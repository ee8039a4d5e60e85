"""The HIP runtime, `libamdhip64`, as far as it is called, through ctypes.

Its interface in C is the same from ROCm 6 on, so that nothing has to be installed for it that fits the runtime's
version; the packages that declare all of it for Python, hip-python, are made for one version each.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from ctypes import c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from adstack.errors import AdstackError, AdstackMemoryError, AdstackRuntimeError

__all__ = [
    "PROTOTYPES",
    "WORDS",
    "Functions",
    "Properties",
    "call",
    "count",
    "library",
    "missing",
    "properties",
    "result",
    "tried",
    "version",
]

Functions: TypeAlias = Mapping[str, Callable[..., int]]
"""The runtime's functions by name: each gives a code, 0 if all is well."""

PROTOTYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "hipGetDeviceCount": (c_void_p,),
    "hipSetDevice": (c_int,),
    "hipGetDevicePropertiesR0600": (c_void_p, c_int),
    "hipRuntimeGetVersion": (c_void_p,),
    "hipHostMalloc": (c_void_p, c_size_t, c_uint),
    "hipHostGetDevicePointer": (c_void_p, c_void_p, c_uint),
    "hipHostFree": (c_void_p,),
    "hipMalloc": (c_void_p, c_size_t),
    "hipFree": (c_void_p,),
    "hipMemcpyHtoD": (c_void_p, c_void_p, c_size_t),
    "hipModuleLoadData": (c_void_p, c_void_p),
    "hipModuleUnload": (c_void_p,),
    "hipModuleGetFunction": (c_void_p, c_void_p, c_char_p),
    "hipModuleGetGlobal": (c_void_p, c_void_p, c_void_p, c_char_p),
    "hipModuleLaunchKernel": (c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p),
    "hipDeviceSynchronize": (),
}
"""Function -> types of its parameters, as hip_runtime_api.h has them; pointers and handles are addresses."""
WORDS: Final = ("hipGetErrorName", "hipGetErrorString")
"""Functions of a code, which give text."""

_NAMES: Final = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6")
_FOLDER: Final = "/opt/rocm"
_INSTALL: Final = "install ROCm 6 or later (its HIP runtime is enough), or set ROCM_PATH to where it is"
_OUT_OF_MEMORY: Final = 2
"""hipErrorOutOfMemory."""
_NO_DEVICE: Final = 100
"""hipErrorNoDevice."""


class Properties(ctypes.Structure):
    """hipDeviceProp_tR0600: the parts that are read, where they stand from ROCm 6 on."""

    _fields_ = (
        ("name", ctypes.c_char * 256),
        ("_before_multiprocessors", ctypes.c_byte * 132),
        ("multiprocessors", c_int),
        ("_before_threads", ctypes.c_byte * 232),
        ("threads", c_int),
        ("_before_architecture", ctypes.c_byte * 532),
        ("architecture", ctypes.c_char * 256),
        ("_rest", ctypes.c_byte * 56),
    )


@cache
def missing() -> tuple[str, str] | None:
    """What keeps the runtime from being called at all, and what would help; None if nothing does."""
    if platform.system() != "Linux":
        return f"AMD's devices are used through HIP on Linux, and this is {platform.system()}", "use arch=qd.vulkan"
    try:
        library()
    except OSError as error:
        return f"there is no HIP runtime: {error}", _INSTALL
    except AttributeError as error:
        return f"the HIP runtime is too old: {error}", _INSTALL
    return None


@cache
def library() -> Functions:
    """The runtime's functions. OSError if there is no such library, AttributeError if it lacks one of them."""
    loaded = _loaded()
    functions = {name: getattr(loaded, name) for name in (*PROTOTYPES, *WORDS)}
    for name, function in functions.items():
        function.argtypes = PROTOTYPES.get(name, (c_int,))
        function.restype = c_char_p if name in WORDS else c_int
    return functions


def _loaded() -> ctypes.CDLL:
    """The library: where the system's loader finds it, or else in ROCm's own folder."""
    *others, last = _places()
    return ctypes.CDLL(next((place for place in others if _opens(place)), last))


def _opens(place: str) -> bool:
    try:
        ctypes.CDLL(place)
    except OSError:
        return False
    return True


def _places() -> Iterator[str]:
    folder = Path(os.environ.get("ROCM_PATH") or _FOLDER) / "lib"
    yield from (str(folder / name) for name in _NAMES)
    yield from reversed(_NAMES)


def tried(name: str, *arguments: object) -> int:
    """Call a function; the code that it gives."""
    return library()[name](*arguments)


def call(name: str, *arguments: object) -> None:
    """Call a function of `PROTOTYPES`.

    Raises:
        AdstackMemoryError: there is no memory for what it does.
        AdstackRuntimeError: it failed; the message has its name, and HIP's name and number of the failure.
    """
    code = tried(name, *arguments)
    if code:
        raise _failure(name, code)


def result(name: str, *arguments: object) -> int:
    """The address or handle that a function writes to where its first argument points. Errors are those of `call`."""
    out = c_void_p()
    call(name, ctypes.byref(out), *arguments)
    return out.value or 0


def _failure(name: str, code: int) -> AdstackError:
    title, meaning = (_words(function, code) for function in WORDS)
    told = f"{name} failed: {title}, {meaning} (HIP error {code})"
    if code == _OUT_OF_MEMORY:
        do = "use smaller arrays, free those not needed, or end other programs that use the device"
        return AdstackMemoryError(told, do=do)
    return AdstackRuntimeError(told, do="run with debug=True to find accesses out of bounds; see what rocminfo says")


def _words(function: str, code: int) -> str:
    text: object = library()[function](code)
    return text.decode(errors="replace") if isinstance(text, bytes) else "no words for it"


def count() -> int:
    """How many devices there are. Errors are those of `call`."""
    out = c_int()
    code = tried("hipGetDeviceCount", ctypes.byref(out))
    if code not in (0, _NO_DEVICE):
        raise _failure("hipGetDeviceCount", code)
    return 0 if code else out.value


def version() -> str:
    """The runtime's version, as "6.4.43484". Errors are those of `call`."""
    out = c_int()
    call("hipRuntimeGetVersion", ctypes.byref(out))
    return f"{out.value // 10**7}.{out.value // 10**5 % 100}.{out.value % 10**5}"


def properties(number: int) -> Properties:
    """What a device is. Errors are those of `call`."""
    out = Properties()
    call("hipGetDevicePropertiesR0600", ctypes.byref(out), number)
    return out
