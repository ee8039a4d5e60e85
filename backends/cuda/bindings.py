"""NVIDIA's driver, `libcuda`, by way of its own declarations: `cuda.bindings`, which is imported when first used."""

from __future__ import annotations

import importlib
import re
from functools import cache
from types import ModuleType
from typing import Any, Final, TypeAlias

from .interface.errors import NOT_FOUND, DriverError

__all__ = ["Handle", "Missing", "address", "call", "declarations", "error_of", "missing"]

Handle: TypeAlias = Any
"""A handle or a structure of the driver's: the bindings declare no types for checkers."""
Missing = tuple[str, str]
"""A reason, and what would help."""

_OLDEST: Final = (12, 9, 1)
"""The first version of cuda-bindings that lets other threads run while the driver is called."""
_INSTALL: Final = "pip install 'adstack[cuda]'"
_DRIVER: Final = (
    "install the driver, for CUDA 12.1 or later; of CUDA's other parts only the Python package cuda-bindings is needed"
)
_INTERFACE: Final = 12010
"""The version of CUDA, 1000 * major + 10 * minor, whose cuda.h declares the functions that machine code calls."""


@cache
def missing() -> Missing | None:
    """What keeps the driver from being called at all, if anything does."""
    try:
        version = str(importlib.import_module("cuda.bindings").__version__)
        if tuple(map(int, re.findall(r"\d+", version)[:3])) < _OLDEST:
            return f"the Python package cuda-bindings {version} is too old", f"{_INSTALL} --upgrade"
        declarations().cuDriverGetVersion()
    except ModuleNotFoundError:
        return "the Python package cuda-bindings is not installed", _INSTALL
    except ImportError as error:
        return f"the Python package cuda-bindings can't be imported: {error}", f"{_INSTALL} --force-reinstall"
    except RuntimeError:  # what cuda-bindings raises where there is no library, or one that lacks cuGetProcAddress
        return "NVIDIA's driver (libcuda) is not installed, or too old", _DRIVER
    return None


@cache
def declarations() -> ModuleType:
    """The module `cuda.bindings.driver`: functions, enumerations and structures by the names of cuda.h."""
    return importlib.import_module("cuda.bindings.driver")


def call(name: str, *args: object) -> Handle:
    """Call a function of the driver.

    Args:
        name: as in cuda.h, without a version behind it.
        args: its parameters but those for results.

    Returns:
        The result, or a tuple of several; None if there is none.

    Raises:
        DriverError: the call failed.
    """
    try:
        results = getattr(declarations(), name)(*args)
    except (KeyError, ValueError) as error:  # a code of a driver that is newer than its declarations
        code = int(str(error).split()[0])
        raise DriverError(name, code, "an error that cuda-bindings does not know") from error
    if results[0]:
        raise error_of(name, results[0])
    if len(results) == 1:
        return None
    return results[1] if len(results) == 2 else results[1:]


def error_of(name: str, code: int) -> DriverError:
    """The failure of a call that gave a code of CUDA's."""
    driver = declarations()
    try:
        result = driver.CUresult(code)
    except ValueError:
        return DriverError(name, int(code), "an error that cuda-bindings does not know")
    said, words = driver.cuGetErrorString(result)
    meaning = "" if said or words is None else words.decode()
    return DriverError(name, int(code), ", ".join(filter(None, (result.name, meaning))))


@cache
def address(name: str) -> int:
    """Where machine code finds a function of the driver, as CUDA 12.1 declares it.

    What it queues on stream 0 goes to the default stream that all threads share, whatever stream the declarations take
    for the default one (CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM): each of the two waits for the other.
    """
    flag = declarations().CUdriverProcAddress_flags.CU_GET_PROC_ADDRESS_LEGACY_STREAM
    pointer, _ = call("cuGetProcAddress", name.encode(), _INTERFACE, int(flag))
    if not pointer:
        raise DriverError("cuGetProcAddress", NOT_FOUND, f"the driver has no {name}")
    return int(pointer)
