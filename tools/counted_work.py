"""What `adstack.tools.instructions` counts, in a process under callgrind: `python -m adstack.tools.counted_work`."""

from __future__ import annotations

import ctypes
import gc
import importlib
import mmap
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import adstack as qd

from .bench.asv.catalogue import importable

__all__ = ["Counter", "main", "works"]

# Valgrind takes these for a request of the program that it runs, and every processor for nothing: rax holds the address
# of the request's six words, and rdx the answer (valgrind.h, for amd64).
_REQUEST: Final = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")
_CALLGRIND: Final = ord("C") << 24 | ord("T") << 16
ZERO, DUMP_AT, START, STOP = 1, 3, 4, 5
"""Requests of callgrind (callgrind.h)."""
CALLS: Final = 200


class Counter:
    """Tells callgrind what to count; without it, nothing happens."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(_REQUEST)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self._ask = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)

    def tell(self, request: int, word: int = 0) -> None:
        """Make a request, with a word of its own."""
        words = (ctypes.c_uint64 * 6)(_CALLGRIND + request, word)
        self._ask(ctypes.addressof(words))

    def count(self, name: str, work: Callable[[], object]) -> None:
        """Count the instructions of a piece of work, under this name."""
        label = ctypes.create_string_buffer(name.encode())
        self.tell(ZERO)
        work()
        self.tell(DUMP_AT, ctypes.addressof(label))


def works() -> Iterator[tuple[str, Callable[[], object]]]:
    """Names, and work that is to be done in this order: first calls compile."""
    with importable():
        kernels = importlib.import_module("benchmarks.kernels")
        qd.init(arch="cpu", offline_cache=False, cpu_max_num_threads=1)
        for name in ("recurrence", "many"):
            kernel, args = getattr(kernels, name)(qd, 16, needs_grad=True)
            yield f"first call of {name}", partial(kernel, *args)
            yield f"first gradient of {name}", partial(kernel.grad, *args)
        for name in ("nop", "args"):
            kernel, args = getattr(kernels, name)(qd)
            called = _often(kernel, args)
            called()
            yield f"{CALLS} calls of {name}", called
        tapes = _often(kernels.tape(qd, 100), (), 10)
        tapes()
        yield "10 tapes of 100", tapes


def _often(kernel: Callable[..., object], args: tuple[object, ...], calls: int = CALLS) -> Callable[[], None]:
    def called() -> None:
        for _ in range(calls):
            kernel(*args)

    return called


def main() -> None:
    """Do all works once, each counted."""
    counter = Counter()
    gc.disable()  # it comes when some number of objects is reached, in whatever work is counted then
    counter.tell(START)
    for name, work in works():
        counter.count(name, work)
    counter.tell(STOP)


if __name__ == "__main__":
    main()
