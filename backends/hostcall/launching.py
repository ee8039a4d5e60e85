"""The machine code that serves all kernels, and the lock of launches: one thread launches at a time."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple, Protocol, TypeVar

from adstack.backends.shared.jit import Library, runtime_library
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache
from adstack.errors import AdstackRuntimeError
from adstack.runtime.threads.guards import invalidate

from .ir import text
from .symbols import python_symbols

__all__ = [
    "LAUNCH_LOCK",
    "alone",
    "copier",
    "entries",
    "machine_code",
    "mover",
    "pause",
    "prepare",
    "repeat",
    "run",
]

_METHOD_FLAGS: Final = 0x80 | 0x02
"""METH_FASTCALL and METH_KEYWORDS."""
_BUILTINS: Final = ("adstack_call", "adstack_follow")
_ENTRIES: Final = ("adstack_begin", "adstack_end", "adstack_run", "adstack_repeat", "adstack_move", "adstack_copy")
_PAUSE_SECONDS: Final = 5e-5
_LAST_SECONDS: Final = 2.0
"""How long a process that exits waits for a launch of another thread."""
Result = TypeVar("Result")


class NewBuiltin(Protocol):
    """`PyCFunction_NewEx`: makes a builtin of a method and its `self`."""

    def __call__(self, method: object, own: object, module: None, /) -> Callable[..., object]: ...


class Method(ctypes.Structure):
    """CPython's `PyMethodDef`: what a builtin is called, the address of its code, how it takes arguments, its
    docstring.
    """

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def machine_code() -> tuple[Library, Mapping[str, Method], NewBuiltin]:
    """Compile the machine code that serves all kernels, or take it from the cache on disk.

    Returns:
        the loaded library; by name, the method definitions of its functions that serve calls; and CPython's function
        that makes a builtin of a method definition and a `self`.
    """
    code = text()
    library = runtime_library(code, (*_BUILTINS, *_ENTRIES), ObjectCache(default_folder()), python_symbols(code))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=LAUNCH_LOCK.after_fork)
    atexit.register(LAUNCH_LOCK.close)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))  # builtins may be called until the very end
    methods = {name: Method(b"kernel", library[name], _METHOD_FLAGS, None) for name in _BUILTINS}
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(methods))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.POINTER(Method), ctypes.py_object, ctypes.c_void_p]
    return library, methods, new


def prepare() -> None:
    """Load the machine code that serves all kernels, so that the first call need not wait for it."""
    entries()


class Entries(NamedTuple):
    """The functions of the machine code that Python calls.

    Attributes:
        acquire: takes the lock's word at an address for this thread, if it is free; gives the thread that holds it
            already, or 0.
        release: frees the word at an address if this thread holds the lock.
        run: runs a program; see `run`.
        repeat: does several steps; see `repeat`.
        copy: has a device make several moves of memory, see `copier`; gives 0, or the code of the first that failed.
    """

    acquire: Callable[[int], int]
    release: Callable[[int], None]
    run: Callable[[int, int, int], int]
    repeat: Callable[[int, int, int], None]
    copy: Callable[[int, int], int]


@cache
def entries() -> Entries:
    """The functions of the machine code that Python calls."""
    library = machine_code()[0]
    word, number = ctypes.c_void_p, ctypes.c_int64
    return Entries(
        ctypes.PYFUNCTYPE(number, word)(library["adstack_begin"]),
        ctypes.PYFUNCTYPE(None, word)(library["adstack_end"]),
        ctypes.PYFUNCTYPE(number, word, word, number)(library["adstack_run"]),
        ctypes.PYFUNCTYPE(None, word, word, number)(library["adstack_repeat"]),
        ctypes.PYFUNCTYPE(number, word, number)(library["adstack_copy"]),
    )


def run(entry: int, slots: int, from_: int = 0) -> int:
    """Run a program without the interpreter's lock; what a signal handler raises meanwhile is raised here.

    Args:
        entry: the address of the program's entry.
        slots: the address of its context.
        from_: 0 to run it from the start, or what an earlier call gave.

    Returns:
        0 at the end. Where the heap is not ready for a task, a number with which the program goes on once it is.
    """
    return entries().run(entry, slots, from_)


def repeat(steps: int, position: ctypes.c_int64, count: int) -> None:
    """Do several steps in a row: launches, and moves of memory.

    Args:
        steps: the address of a table with a row of `run.STEP` words per step.
        position: the first step to do. Afterwards, also if a signal handler has raised, it is that of the first step
            that stopped or reported something, or `count`.
        count: how many steps the table has.
    """
    entries().repeat(steps, ctypes.addressof(position), count)


def mover() -> int:
    """The address of what moves memory of the host, as rows of `run.MOVE` words say."""
    return machine_code()[0]["adstack_move"]


def copier() -> int:
    """The address of what has a device copy memory of its own: of rows of `run.MOVE` words, behind `run.COPIER`."""
    return machine_code()[0]["adstack_copy"]


class LaunchLock:
    """The lock of launches, which one thread at a time holds.

    Attributes:
        mutex: orders the threads that take the lock in Python.
        holder: the identifier of the thread that holds the lock, or 0. Machine code takes it by compare-and-swap.
        address: of `holder`.
        last: the identifier of the thread that ends the process, the only one that may launch from then on; or 0.
    """

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self.holder = ctypes.c_int64(0)
        self.address = ctypes.addressof(self.holder)
        self.last = 0

    def after_fork(self) -> None:
        """In a forked child: no thread holds the lock, and every call asks Python first."""
        self.mutex = threading.RLock()
        self.holder.value = self.last = 0
        invalidate()

    def close(self) -> None:
        """As the process exits: wait a moment for the thread that launches; from then on only this thread may.

        A launch that takes longer than `_LAST_SECONDS` is not waited for: the process ends in the middle of it.
        """
        self.last = threading.get_ident()
        deadline = time.monotonic() + _LAST_SECONDS
        while not self.try_acquire() and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)

    def try_acquire(self) -> bool:
        """Take the lock unless another thread holds it; whether this thread holds it now."""
        return entries().acquire(self.address) in (0, threading.get_ident())


LAUNCH_LOCK: Final = LaunchLock()


def alone(work: Callable[[], Result]) -> Result:
    """Do work as the one thread that launches, after any other has finished.

    Raises:
        AdstackRuntimeError: if this thread is in the middle of a launch.
        SystemExit: if another thread is ending the process.
    """
    me = threading.get_ident()
    if LAUNCH_LOCK.last and LAUNCH_LOCK.last != me:
        raise SystemExit  # which threads do not report: the process ends, and what this one would use goes with it
    if LAUNCH_LOCK.last and LAUNCH_LOCK.try_acquire():
        return work()
    if LAUNCH_LOCK.holder.value == me:
        raise AdstackRuntimeError(
            "a kernel was launched while another one runs on the same thread",
            do="don't launch kernels in signal handlers, or in what prints for kernels",
        )
    acquire, release, *_ = entries()
    address = LAUNCH_LOCK.address
    with LAUNCH_LOCK.mutex:
        try:
            while acquire(address):
                if LAUNCH_LOCK.last not in (0, me):
                    raise SystemExit
                time.sleep(_PAUSE_SECONDS)
            return work()
        finally:
            release(address)  # one call of machine code: no signal handler runs in between


def pause() -> None:
    """Wait a moment for another thread."""
    time.sleep(_PAUSE_SECONDS)
