"""Calls of others that fail where adstack makes them: LLVM's, the system's, the Vulkan driver's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite

import adstack
from adstack import backends

__all__ = ["Failing", "FailingDriver", "into_llvm", "into_the_system"]

_OURS = tuple(str(Path(str(package.__file__)).parent) for package in (adstack, backends))
_LLVM = str(Path(llvmlite.__file__).parent)
_ASKED = {"parse_assembly", "verify", "emit_object", "link", "create_lljit_compiler", "create_target_machine"}
"""What of llvmlite's raises RuntimeError when LLVM refuses it."""
_FILES = {"open", "lstat", "stat", "fstat", "mkdir", "replace", "rename", "unlink", "utime", "read", "write", "chmod"}
"""What the system may refuse."""
_NO_MEMORY = -1
_DRIVER = ("vkCreate", "vkAllocate", "vkQueueSubmit", "vkMapMemory", "vkBindBufferMemory")


def into_llvm(frame: Any, event: str, _: Any) -> bool:
    """Whether adstack asks LLVM for something."""
    code, caller = frame.f_code, frame.f_back
    if event != "call" or code.co_name not in _ASKED or not code.co_filename.startswith(_LLVM) or caller is None:
        return False
    return bool(caller.f_code.co_filename.startswith(_OURS))


def into_the_system(frame: Any, event: str, called: Any) -> bool:
    """Whether adstack asks the system for something, or lets Python's library do so."""
    if event != "c_call" or called.__name__ not in _FILES or isinstance(called.__self__, str):
        return False
    while frame is not None and not frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame is not None


class Failing:
    """While it is open, the call of this number, from 1 on, raises an error and does nothing.

    Attributes:
        failed: whether there were so many.
    """

    def __init__(self, number: int, which: Callable[[Any, str, Any], bool], error: Exception) -> None:
        self._left, self._which, self._error = number, which, error

    @property
    def failed(self) -> bool:
        return self._left <= 0

    def __enter__(self) -> Failing:
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _look(self, frame: Any, event: str, called: Any) -> None:
        if self._left > 0 and self._which(frame, event, called):
            self._left -= 1
            if not self._left:
                raise self._error


class FailingDriver:
    """The same of functions of the Vulkan driver that need memory: the call of this number finds none."""

    def __init__(self, number: int, device: Any) -> None:
        self._left, self._device, self._real = number, device, device.vk

    @property
    def failed(self) -> bool:
        return self._left <= 0

    def __enter__(self) -> FailingDriver:
        self._device.vk = self
        return self

    def __exit__(self, *_: object) -> None:
        self._device.vk = self._real

    def __getitem__(self, name: str) -> Callable[..., Any]:
        real: Callable[..., Any] = self._real[name]
        return (lambda *arguments: self._call(real, arguments)) if name.startswith(_DRIVER) else real

    def _call(self, real: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        self._left -= 1
        return _NO_MEMORY if self._left == 0 else real(*arguments)
