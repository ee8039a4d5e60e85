"""Machine code of this machine, in this process."""

from __future__ import annotations

import itertools
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import Final, Protocol

import llvmlite.binding as llvm

from .compiler import Recipe, Target, machine
from .compiling import accepted, compiled
from .object_cache import ObjectCache
from .room import room

__all__ = [
    "LEVEL",
    "PLAIN",
    "Library",
    "host",
    "host_target",
    "jit",
    "linked",
    "made_for",
    "runtime_library",
    "target_machine",
]

LEVEL: Final = 1
"""How hard LLVM's code generator tries."""
PLAIN: Final = Target(level=0, jit=True)
"""Any processor of this machine's kind, and no effort: for code that runs seldom or is written as it should run."""
_LINK_BYTES: Final = 8 << 20
_LINK_FACTOR: Final = 8
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
_counter = itertools.count()


class Library(Protocol):
    """Linked machine code: symbol -> address. The code goes when the library does."""

    def __getitem__(self, symbol: str, /) -> int: ...


def _fork_between_calls() -> None:
    """Let a process fork only while no thread is inside LLVM: a child would wait for that thread for ever.

    The fork has to hold llvmlite's own lock, and llvmlite makes no public name for that. Callbacks that it calls once
    it has taken the lock (`register_lock_callback`) are not enough: a thread that waits in one holds the lock, which is
    then taken for good in the child.
    """
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
def host_target() -> Target:
    """This machine, for LLVM's code generator."""
    name, features = host()
    return Target("", name, features, LEVEL, jit=True)


def target_machine() -> llvm.TargetMachine:
    """LLVM's code generator for this machine."""
    with accepted():
        return machine(host_target())


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
        image = compiled(text, Recipe(PLAIN), "compiling adstack's own code")
        if cached is not None and key is not None:
            cached.write(key, image)
    return linked(image, symbols, imports)
