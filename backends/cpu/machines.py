"""What runs the code of this backend, as the rest of it sees that: this process' processor, or an emulated one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from adstack.backends.shared.compiler import Target

__all__ = ["Bits", "Code", "Machine", "Printer", "Running", "Workers"]


class Bits(Protocol):
    """Words behind a pointer, however many there are."""

    def __getitem__(self, several: slice, /) -> Sequence[int]: ...


Printer = Callable[[int, Bits], None]
"""Prints what a program says: the number of a site, and the bits of its values."""


@dataclass(frozen=True)
class Code:
    """Machine code in memory; it goes when this object goes.

    Attributes:
        library: keeps the code alive.
        entry: address of `run`, for code of this process.
        inside: address of `run`, for code of the machine.
    """

    library: object
    entry: int
    inside: int


class Running(Protocol):
    """A thread of the pool."""

    def join(self) -> None:
        """Wait until it has ended."""


class Workers(Protocol):
    """The code of the thread pool, loaded, and how its threads are started.

    Attributes:
        symbols: symbol -> address, for code of the machine, of `threads.ir`.
        parking: addresses of `wait`, `wake` and `finish` (see `threads.words`).
    """

    @property
    def symbols(self) -> Mapping[str, int]: ...

    @property
    def parking(self) -> Sequence[int]: ...

    def start(self, number: int, seen: int) -> Running:
        """Start a thread in `adstack_worker`; it has seen a generation."""

    def end(self) -> None:
        """Call `adstack_stop`."""


class Machine(Protocol):
    """What runs code.

    Attributes:
        target: what LLVM makes code for.
        made_for: texts that say what code is made for: it runs on nothing else.
        vector_bytes: the width of a vector register.
        attributes: what each function is told of it, as LLVM writes that.
    """

    @property
    def attributes(self) -> str: ...

    @property
    def target(self) -> Target: ...

    @property
    def made_for(self) -> tuple[str, ...]: ...

    @property
    def vector_bytes(self) -> int: ...

    def take(self, size: int, *, zeroed: bool = True) -> npt.NDArray[np.generic]:
        """So many bytes that it and this process see at the same address, or a MemoryError; aligned to a line."""

    def load(self, image: bytes) -> Code:
        """An object with a function `run`."""

    def workers(self) -> Workers:
        """The code of the thread pool."""

    def printer(self, context: int, print_: Printer) -> tuple[object, int]:
        """What code calls to print that runs in the context at an address: to be kept, and its address."""
