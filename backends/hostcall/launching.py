"""The machine code that serves all kernels, and the right to launch: one thread at a time."""

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

__all__ = ["TURN", "alone", "entries", "machine_code", "mover", "pause", "prepare", "repeat", "run"]

_METHOD_FLAGS: Final = 0x80 | 0x02
"""METH_FASTCALL and METH_KEYWORDS."""
_BUILTINS: Final = ("adstack_call", "adstack_follow")
_ENTRIES: Final = ("adstack_begin", "adstack_end", "adstack_run", "adstack_repeat", "adstack_move")
_PAUSE_SECONDS: Final = 5e-5
_LAST_SECONDS: Final = 2.0
"""How long a process that exits waits for a launch of another thread."""
Result = TypeVar("Result")


class NewBuiltin(Protocol):
    """`PyCFunction_NewEx`: makes a builtin of a method and its `self`."""

    def __call__(self, method: object, own: object, module: None, /) -> Callable[..., object]: ...


class Method(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def machine_code() -> tuple[Library, Mapping[str, Method], NewBuiltin]:
    """(machine code, how Python calls the functions that serve calls, the function that makes a builtin of one)."""
    code = text()
    library = runtime_library(code, (*_BUILTINS, *_ENTRIES), ObjectCache(default_folder()), python_symbols(code))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=TURN.forget)
    atexit.register(TURN.end)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))  # builtins may be called until the very end
    methods = {name: Method(b"kernel", library[name], _METHOD_FLAGS, None) for name in _BUILTINS}
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(methods))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.POINTER(Method), ctypes.py_object, ctypes.c_void_p]
    return library, methods, new


def prepare() -> None:
    """Have the machine code that serves all kernels."""
    entries()


class Entries(NamedTuple):
    """What Python calls: take the word, give it back, run a program, do several steps."""

    begin: Callable[[int], int]
    end: Callable[[int], None]
    run: Callable[[int, int, int], int]
    repeat: Callable[[int, int, int], None]


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
    )


def run(entry: int, slots: int, from_: int = 0) -> int:
    """Run a program's entry without the interpreter's lock; what a signal handler raises meanwhile is raised here.

    Gives 0 at the end, or a number to go on with once the heap is ready: see `codegen`.
    """
    return entries().run(entry, slots, from_)


def repeat(steps: int, position: ctypes.c_int64, count: int) -> None:
    """Do what a table of `run.STEP` words describes, from a position on.

    The position is that of the first step that stopped or reported something then, or how many there are: also when
    what a signal handler raises comes through here.
    """
    entries().repeat(steps, ctypes.addressof(position), count)


def mover() -> int:
    """The address of what moves memory of the host, as rows of `run.MOVE` words say."""
    return machine_code()[0]["adstack_move"]


class Turn:
    """Who may launch: one thread at a time, in Python (the mutex) as in machine code (the word)."""

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self.word = ctypes.c_int64(0)
        self.address = ctypes.addressof(self.word)
        self.ender = 0

    def forget(self) -> None:
        """In a forked child: whoever launched is not there, and every call asks Python whether it may launch."""
        self.mutex = threading.RLock()
        self.word.value = self.ender = 0
        invalidate()

    def end(self) -> None:
        """As the process exits: wait a moment for the thread that launches; from then on only this thread may.

        A launch that takes longer is not waited for: the process ends in the middle of it.
        """
        self.ender = threading.get_ident()
        last = time.monotonic() + _LAST_SECONDS
        while self.is_taken() and time.monotonic() < last:
            time.sleep(_PAUSE_SECONDS)

    def is_taken(self) -> bool:
        """Whether another thread launches; if not, the word is this thread's from now on."""
        return entries().begin(self.address) not in (0, threading.get_ident())


TURN: Final = Turn()


def alone(work: Callable[[], Result]) -> Result:
    """Do work as the one thread that launches, after any other has finished."""
    me = threading.get_ident()
    if TURN.ender and TURN.ender != me:
        raise SystemExit  # which threads do not report: the process ends, and what this one would use goes with it
    if TURN.ender and not TURN.is_taken():
        return work()
    if TURN.word.value == me:
        raise AdstackRuntimeError(
            "a kernel was launched while another one runs on the same thread",
            do="don't launch kernels in signal handlers, or in what prints for kernels",
        )
    begin, end, *_ = entries()
    address = TURN.address
    with TURN.mutex:
        try:
            while begin(address):
                if TURN.ender not in (0, me):
                    raise SystemExit
                time.sleep(_PAUSE_SECONDS)
            return work()
        finally:
            end(address)  # one step of machine code: no signal comes in between


def pause() -> None:
    """Wait a moment for another thread."""
    time.sleep(_PAUSE_SECONDS)
