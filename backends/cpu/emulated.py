"""An emulated aarch64 processor under qemu-user, as what runs the code of this backend."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.backends.qemu.guest import TRIPLE, Guest, Runtime
from adstack.backends.shared.compiler import Target
from adstack.backends.shared.jit import LEVEL
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache

from .machines import Code, Printer, Running, Workers
from .threads.check import CHECK
from .threads.ir import text
from .threads.system import PAUSES, now, processor_kind
from .threads.words import WORDS
from .vectors import attributes

__all__ = ["PROCESSORS", "Emulated", "Processor", "qemu", "qemu_version"]

_PROGRAMS: Final = ("qemu-aarch64", "qemu-aarch64-static")


@dataclass(frozen=True)
class Processor:
    """A processor that is emulated.

    Attributes:
        name, features: for LLVM.
        model: for qemu.
        vector_bytes: the width of a vector register.
    """

    name: str
    features: str
    model: str
    vector_bytes: int = 16


PROCESSORS: Final[Mapping[str, Processor]] = {
    "aarch64": Processor("neoverse-n1", "", "max,sve=off"),
    **{
        f"aarch64-sve{128 * quarters}": Processor("neoverse-v1", "", f"max,sve-max-vq={quarters}", 16 * quarters)
        for quarters in (1, 2, 4)
    },
}
"""By the name that a user gives: with NEON's registers, and with those of SVE, of so many bits."""


def qemu() -> str | None:
    """The program that emulates aarch64, if it is installed."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


@cache
def qemu_version(program: str) -> str:
    """Its version."""
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    numbers = re.search(r"version ([\d.]+)", output)
    return numbers[1] if numbers else "of an unknown version"


class Emulated:
    """A `Machine`, see there. Its process is started with the first use.

    Args:
        name: of one of `PROCESSORS`.
    """

    def __init__(self, name: str) -> None:
        self.processor = processor = PROCESSORS[name]
        program = qemu()
        assert program is not None, "a backend is opened only where its probe has found qemu"
        self.target = Target(TRIPLE, processor.name, processor.features, LEVEL, "static", "small")
        self.vector_bytes = processor.vector_bytes
        self.attributes = attributes(processor.vector_bytes, scalable=True)
        self.made_for = (TRIPLE, processor.name, processor.features, str(processor.vector_bytes))
        self._printers: dict[int, Printer] = {}
        runtime = Runtime((_PYTHON, text("linux", "arm64")), ("pool", 8 * WORDS["stop"]), _check(), _pause())
        command = [program, "-cpu", processor.model]
        self.guest = Guest(command, runtime, self._hear, ObjectCache(default_folder()))

    def take(self, size: int, *, zeroed: bool = True) -> npt.NDArray[np.generic]:
        """So many bytes of the memory that is shared, or a MemoryError."""
        return self.guest.arena.take(size, zeroed=zeroed)

    def load(self, image: bytes) -> Code:
        """An object with a function `run`."""
        library = self.guest.linked(image, "run")
        return Code(library, library.thunk, library.symbols["run"])

    def workers(self) -> Workers:
        """The code of the thread pool, which is there from the start."""
        return _Workers(self.guest)

    def printer(self, context: int, print_: Printer) -> tuple[object, int]:
        """What code calls to print: it is the same for all, and the context tells whose text it is."""
        self._printers[context] = print_
        return None, self.guest.symbols["adstack_say"]

    def _hear(self, context: int, site: int, values: int) -> None:
        self._printers[context](site, ctypes.cast(values, _WORDS_AT))


class _Workers:
    """The code of the pool in the other process, and its threads."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self.symbols: Mapping[str, int] = guest.symbols
        self.parking: Sequence[int] = [guest.symbols[f"adstack_{name}"] for name in ("wait", "wake", "finish")]

    def start(self, number: int, seen: int) -> Running:
        """Start a thread in `adstack_worker`; it has seen a generation."""
        return _Thread(self._guest, self._guest.spawn(self.symbols["adstack_worker"], seen))

    def end(self) -> None:
        """Call `adstack_stop`."""
        self._guest.call(self.symbols["adstack_stop"])


@dataclass(frozen=True)
class _Thread:
    """A thread of the other process, and where its stack begins."""

    guest: Guest
    stack: int

    def join(self) -> None:
        """Wait until it has ended, and all others with it."""
        self.guest.join([self.stack])


def _check() -> str:
    """What a call of the other process looks at while it waits: signals, and the interpreter's lock."""
    declared = re.findall(r"^declare .*@Py\w+\(.*\)$", text("linux", processor_kind()), re.MULTILINE)
    looked = "@looked = internal global i64 0"
    return "\n".join((*declared, looked, CHECK.replace("$looked$", "@looked"), now("linux")))


def _pause() -> str:
    return PAUSES[processor_kind()]


_WORDS_AT: Final = ctypes.POINTER(ctypes.c_int64)
_PYTHON: Final = """
define ptr @PyEval_SaveThread() {
  ret ptr null
}
define void @PyEval_RestoreThread(ptr %thread) {
  ret void
}
define i32 @PyGILState_Ensure() {
  ret i32 0
}
define void @PyGILState_Release(i32 %state) {
  ret void
}
define ptr @PyGILState_GetThisThreadState() {
  ret ptr null
}
define ptr @PyThreadState_GetUnchecked() {
  ret ptr null
}
define i32 @PyErr_CheckSignals() {
  ret i32 0
}
"""
"""No thread over there is one of Python: none holds its lock, and signals are looked after here."""
