"""The process of another processor: started, linked into, called."""

from __future__ import annotations

import atexit
import ctypes
import os
import subprocess
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import _exit as end_process
from typing import Final

import llvmlite.binding as llvm

from adstack.backends.hostcall.symbols import python_symbols
from adstack.backends.shared.jit import accepted, emitted, module_of, runtime_library
from adstack.backends.shared.object_cache import ObjectCache
from adstack.errors import AdstackRuntimeError

from . import caller_ir, server_ir
from .arena import BASE, PAGE, Arena
from .channel import at
from .executables import elf
from .instructions import boot, functions
from .objects import link, room
from .thunks import Thunks

__all__ = ["GONE", "TRIPLE", "Guest", "Handler", "Linked", "Runtime", "object_of"]

TRIPLE: Final = "aarch64-unknown-linux-gnu"
STACK_BYTES: Final = 8 << 20
"""What a thread has."""
_MEMORY: Final = 4
"""The arena may become so many times as large as the machine's memory is, as far as addresses go."""
Handler = Callable[[int, int, int], None]
"""Hears what called code says: the first argument of the call, and two numbers."""
GONE: Final = -1
"""The first of the two numbers where the process is gone."""
_HANDLER: Final = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_ASK: Final = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * 5)
_HEAR: Final = ctypes.CFUNCTYPE(None, _HANDLER)


@dataclass(frozen=True)
class Runtime:
    """Code that is in the other process from the start, besides what `server_ir` has.

    Attributes:
        texts: LLVM assembly of modules, each of which may call what those before it define.
        stop: the symbol, and how many bytes behind it the word is that ends loops of called code.
        check, pause: see `caller_ir.caller`.
    """

    texts: tuple[str, ...]
    stop: tuple[str, int]
    check: str
    pause: str


@dataclass
class Linked:
    """Code in the other process; what it takes is free again when this goes.

    Attributes:
        symbols: symbol -> address, there.
        thunk: the address of a function of this process that calls the one that was asked for there, or 0.
    """

    symbols: Mapping[str, int]
    thunk: int = 0


class Guest:
    """A process that makes calls.

    Args:
        command: starts qemu-user; the program is appended.
        runtime: what is there from the start.
        handler: hears what called code says.
        cached: where machine code is kept.
    """

    def __init__(
        self, command: Sequence[str], runtime: Runtime, handler: Handler, cached: ObjectCache | None = None
    ) -> None:
        self.arena = Arena(_MEMORY * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        self.symbols = {name: self._put(code) for name, code in functions(at("workers")).items()}
        for module in (server_ir.SERVER, *runtime.texts):
            self.symbols |= self._placed(object_of(module, cached))[0]
        text = caller_ir.caller(runtime.check, self.symbols[runtime.stop[0]] + runtime.stop[1], runtime.pause)
        caller = runtime_library(text, ("adstack_ask", "adstack_hear"), cached, python_symbols(text))
        self._ask: Callable[..., int] = _ASK(caller["adstack_ask"])
        self._handler = _HANDLER(self._checked(handler))
        _HEAR(caller["adstack_hear"])(self._handler)
        self._thunks = Thunks(caller["adstack_ask"], cached)
        self._keep = caller
        self._stacks: list[int] = []
        self._process = self._start(command)
        self.word("child").value = self._process.pid
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self.arena.part)

    def _placed(self, image: bytes) -> tuple[dict[str, int], int, int]:
        """Link an object into the arena: symbol -> address, and where it stands: from one address, so many bytes."""
        size = -(-room(image) // PAGE) * PAGE
        start = self.arena.reserve(size)
        linked = link(image, start, self.symbols)
        ctypes.memmove(start, bytes(linked.data), len(linked.data))
        return linked.symbols, start, size

    def _put(self, code: bytes) -> int:
        """The address of code that may stand anywhere."""
        start = self.arena.reserve(PAGE)
        ctypes.memmove(start, code, len(code))
        return start

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        self.word("parent").value = os.getpid()
        stack = self._stack()
        mapped = self.word("mapped").value = -(-self.word("end").value // PAGE) * PAGE
        code = boot(BASE, mapped, stack, self.symbols["adstack_serve"])
        program = os.memfd_create("adstack-program")
        with os.fdopen(program, "wb", closefd=False) as file:
            file.write(elf(code))
        try:
            return subprocess.Popen([*command, f"/proc/self/fd/{program}"], stdin=self.arena.file, pass_fds=(program,))
        finally:
            os.close(program)

    def _checked(self, handler: Handler) -> Handler:
        """A handler that is also told that the other process is gone: code that was called may end it."""

        def hear(first: int, site: int, values: int) -> None:
            if site != GONE:
                handler(first, site, values)
            elif self.word("parent").value != os.getpid():
                _say("a forked process can't use the emulated processor of the one that it comes from")
                end_process(1)
            else:
                _follow(self._process.wait())

        return hear

    def _stack(self) -> int:
        """Where a stack begins, which grows down."""
        return self.arena.reserve(STACK_BYTES) + STACK_BYTES

    def word(self, name: str) -> ctypes.c_int64:
        """A word of the channel."""
        return ctypes.c_int64.from_address(at(name))

    def call(self, function: int, *arguments: int) -> int:
        """What a function of the other process gives, of up to four numbers."""
        return self._ask(function, *arguments, *(0,) * (4 - len(arguments)))

    def linked(self, image: bytes, entry: str = "") -> Linked:
        """Put code into the other process.

        Args:
            image: an object for its processor.
            entry: a function of it, of two numbers, that this process calls.
        """
        symbols, start, size = self._placed(image)
        linked = Linked(symbols, self._thunks.take(symbols[entry]) if entry else 0)
        weakref.finalize(linked, self.arena.empty, start, size)
        if entry:
            weakref.finalize(linked, self._thunks.put_back, linked.thunk)
        return linked

    def spawn(self, function: int, number: int) -> int:
        """Start a thread that runs a function of a number, and ends with it; the stack that it has."""
        stack = self._stacks.pop() if self._stacks else self._stack()
        workers = self.word("workers")
        workers.value += 1
        number = self.call(self.symbols["adstack_spawn"], stack, function, number)
        if number <= 0:
            raise AdstackRuntimeError(f"the emulated processor starts no thread: {os.strerror(-number)}")
        return stack

    def join(self, stacks: Sequence[int]) -> None:
        """Wait until all threads have ended, which had these stacks."""
        while self.word("workers").value:
            time.sleep(1e-4)
        self._stacks += stacks

    def end(self) -> None:
        """End the process."""
        if self.word("parent").value == os.getpid():
            self._process.kill()
            self._process.wait()


def object_of(text: str, cached: ObjectCache | None) -> bytes:
    """LLVM assembly as an object for any processor of the kind."""
    key = None if cached is None else cached.key(text, TRIPLE, *map(str, llvm.llvm_version_info))
    image = None if cached is None or key is None else cached.read(key)
    if image is None:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(opt=1, reloc="static", codemodel="small")
        with accepted(text):
            module = module_of(text)
        module.triple = TRIPLE
        image = emitted(machine, module)
        if cached is not None and key is not None:
            cached.write(key, image)
    return image


def _follow(code: int) -> None:
    """End as the other process did: what it ran would have ended this one."""
    _say(f"the emulated processor ended with {code}")
    if code < 0:
        os.kill(os.getpid(), -code)
    end_process(code)


def _say(text: str) -> None:
    """Write to standard error, whatever Python makes of that."""
    os.write(2, f"adstack: {text}\n".encode())
