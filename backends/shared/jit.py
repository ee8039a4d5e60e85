"""Machine code of this machine, in this process."""

from __future__ import annotations

import itertools
import os
import platform
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Final, Protocol

import llvmlite.binding as llvm

from adstack.backends.shared.room import room
from adstack.errors import InternalError

from .object_cache import ObjectCache

__all__ = [
    "LEVEL",
    "Library",
    "accepted",
    "emitted",
    "generator",
    "host",
    "jit",
    "linked",
    "made_for",
    "module_of",
    "parsed",
    "pass_builder",
    "room_for_text",
    "runtime_library",
    "target_machine",
]

LEVEL: Final = 1
"""How hard LLVM's code generator tries."""
_TEXT_BYTES: Final = 8 << 20
_BYTES_PER_LETTER: Final = 400
_LINK_BYTES: Final = 2 << 20
_LINK_FACTOR: Final = 8
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
_counter = itertools.count()


class Library(Protocol):
    """Linked machine code: symbol -> address. The code goes when the library does."""

    def __getitem__(self, symbol: str, /) -> int: ...


def _fork_between_calls() -> None:
    """Let a process fork only while no thread is inside LLVM: a child would wait for that thread for ever."""
    lock = llvm.ffi.lib._lock
    leave = partial(lock.__exit__, None, None, None)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.__enter__, after_in_parent=leave, after_in_child=leave)


_fork_between_calls()


@cache
def host() -> tuple[str, str]:
    """The processor's name and features, as LLVM writes them."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def made_for() -> tuple[str, ...]:
    """What machine code kept on disk is for: machines of several kinds may share a home folder."""
    return llvm.get_process_triple(), *host()


@cache
def target_machine() -> llvm.TargetMachine:
    """LLVM's code generator for this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = host()
    return generator(LEVEL, name, features)


def generator(level: int, name: str = "", features: str = "") -> llvm.TargetMachine:
    """A code generator for this kind of machine.

    Args:
        level: how hard it tries, from 0 to 3.
        name: the processor, as LLVM calls it; "" for any.
        features: what the processor can do besides, as LLVM writes it.
    """
    with accepted():
        target = llvm.Target.from_default_triple()
        return target.create_target_machine(cpu=name, features=features, opt=level, jit=True)


MOST_LIBRARIES: Final = 16
"""How many libraries one linker takes. What it keeps of each, 9 KiB, it keeps until all of them are gone."""


@dataclass
class _Linker:
    """What links objects now, and how many it has linked."""

    jit: llvm.LLJIT | None = None
    libraries: int = 0

    def next(self) -> llvm.LLJIT:
        """For one library more."""
        if self.jit is None or self.libraries == MOST_LIBRARIES:
            self.jit, self.libraries = jit(), 0
        self.libraries += 1
        return self.jit


_LINKER: Final = _Linker()


def jit() -> llvm.LLJIT:
    """What links objects into this process; it lives as long as one of them.

    On x86-64 by RuntimeDyld, which takes less time; elsewhere by JITLink: on arm64 the other gives up where code is
    more than 4 GiB from what it calls.
    """
    elsewhere = platform.machine().lower() not in ("x86_64", "amd64")
    return llvm.create_lljit_compiler(target_machine(), use_jit_link=elsewhere, suppress_errors=True)


def room_for_text(text: str, what: str = "compiling a kernel") -> None:
    """Raise AdstackMemoryError if LLVM may find too little memory to make code of a module: it would end the process.

    What it takes was measured: 0.04 to 0.16 KiB a letter, and a MiB.
    """
    room(_TEXT_BYTES + _BYTES_PER_LETTER * len(text), what)


def module_of(text: str) -> llvm.ModuleRef:
    """A module, parsed, in a context of its own: what LLVM makes for it would otherwise stay in the process's.

    Disposing of a module whose context is gone ends the process, and the garbage collector disposes of both in any
    order where a cycle has led to them. The finalizer's reference keeps the context out of what is collected then.
    """
    context = llvm.create_context()
    module = llvm.parse_assembly(text, context=context)
    weakref.finalize(module, _dropped, context).atexit = False
    return module


def _dropped(context: llvm.ContextRef) -> None:
    """Nobody needs a module any more: its context is disposed of once the module, which refers to it, is."""


def parsed(text: str) -> llvm.ModuleRef:
    """A module, parsed and verified, with memory for what comes then. AdstackMemoryError where that is short."""
    room_for_text(text)
    with accepted(text):
        module = module_of(text)
        module.verify()
    return module


@contextmanager
def accepted(text: str = "") -> Iterator[None]:
    """A block in which LLVM must do what it is asked for; otherwise InternalError, with the code, `text`."""
    try:
        yield
    except RuntimeError as error:
        raise InternalError(f"LLVM refuses the code generated for it: {error}\n{text}") from error


def emitted(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> bytes:
    """An object with the machine code of a module, which is used up."""
    with accepted():
        image: bytes = machine.emit_object(module)
    return image


def pass_builder(machine: llvm.TargetMachine) -> llvm.PassBuilder:
    """What runs passes over one module, for a machine.

    It serves no second one: a run leaves callbacks in it that point to what the run had on its stack.
    """
    return llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())


def linked(image: bytes, symbols: Sequence[str], imports: Mapping[str, int] = _NOTHING) -> Library:
    """An object file as a library, whose code goes when it goes.

    Args:
        image: the contents of the object file.
        symbols: names of functions to look up.
        imports: name -> address, of functions that the code calls.

    Raises:
        AdstackMemoryError: if there is no memory for that.
        InternalError: if LLVM refuses the object.
    """
    room(_LINK_BYTES + _LINK_FACTOR * len(image), "linking machine code")
    with accepted():
        builder = llvm.JITLibraryBuilder().add_object_img(image)
        for symbol in symbols:
            builder.export_symbol(symbol)
        for symbol, address in imports.items():
            builder.import_symbol(symbol, address)
        library: Library = builder.add_current_process().link(_LINKER.next(), f"adstack{next(_counter)}")
    return library


def runtime_library(
    text: str, symbols: Sequence[str], cached: ObjectCache | None, imports: Mapping[str, int] = _NOTHING
) -> Library:
    """A backend's own code, written as it should run, as a library.

    Args:
        text: LLVM's assembly.
        symbols: names of functions to look up.
        cached: where machine code is kept; None to compile it anew.
        imports: name -> address, of functions that the code calls.

    Raises:
        AdstackMemoryError: if there is no memory for that.
        InternalError: if LLVM refuses the text.
    """
    key = None if cached is None else cached.key(text, *made_for(), *map(str, llvm.llvm_version_info))
    image = None if cached is None or key is None else cached.read(key)
    if image is None:
        room_for_text(text, "compiling adstack's own code")
        target_machine()  # knows the target from here on
        with accepted(text):
            module = module_of(text)
        image = emitted(generator(0), module)
        if cached is not None and key is not None:
            cached.write(key, image)
    return linked(image, symbols, imports)
