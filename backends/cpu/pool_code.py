"""The code of the thread pool in this process, and its threads: Python's, which enter it and stay there."""

from __future__ import annotations

import ctypes
import platform
import threading
from collections.abc import Mapping, Sequence
from typing import Final

from adstack.backends.hostcall.symbols import python_symbols
from adstack.backends.shared.jit import runtime_library
from adstack.backends.shared.object_cache import ObjectCache

from .machines import Running
from .threads.ir import text
from .threads.system import processor_kind, sleeps

__all__ = ["HostWorkers"]

_SYSTEM: Final = platform.system().lower()
_CALLED: Final = ("worker", "stop", "parallel", "finish", "poll", "outside")
_EXPORTS: Final = ("pool", *(f"adstack_{name}" for name in _CALLED))
_WINDOWS: Final = ("WaitOnAddress", "WakeByAddressSingle", "WakeByAddressAll", "QueryInterruptTimePrecise")
_PARK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)


class HostWorkers:
    """The code of the pool in this process.

    Args:
        cached: where its machine code is kept.
        system: "linux", "darwin" and "windows" let threads sleep in functions of the system, others in a condition of
            Python, which is slower.
        offered: addresses of such functions, by name; where they are left out, those of the system that runs this.
    """

    def __init__(
        self, cached: ObjectCache | None = None, system: str = _SYSTEM, offered: Mapping[str, int] | None = None
    ) -> None:
        sleep = ("adstack_wait", "adstack_wake") if sleeps(system) else ()
        code = text(system, processor_kind())
        imports = {**python_symbols(code), **(_of_windows() if offered is None else offered)}
        library = runtime_library(code, (*_EXPORTS, *sleep), cached, imports)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))  # a worker may outlive the interpreter
        self.symbols: Mapping[str, int] = {name: library[name] for name in (*_EXPORTS, *sleep)}
        self._worker = ctypes.CFUNCTYPE(None, ctypes.c_int32)(library["adstack_worker"])
        self._end = ctypes.CFUNCTYPE(None)(library["adstack_stop"])
        self.keep, parking = ((), [library[name] for name in sleep]) if sleep else _conditions()
        self.parking: Sequence[int] = [*parking, library["adstack_finish"]]

    def start(self, number: int, seen: int) -> Running:
        """Start a thread in `adstack_worker`; it has seen a generation."""
        thread = threading.Thread(target=self._work, args=(seen,), name=f"adstack-{number}", daemon=True)
        thread.start()
        return thread

    def _work(self, seen: int) -> None:
        self._worker(seen)

    def end(self) -> None:
        """Call `adstack_stop`."""
        self._end()


def _of_windows() -> dict[str, int]:
    """Functions of Windows that no library has which Python loads by itself; none on other systems."""
    if _SYSTEM != "windows":
        return {}
    library = ctypes.CDLL("KernelBase")
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in _WINDOWS}


def _conditions() -> tuple[tuple[object, ...], list[int]]:
    """Sleeping and waking by a condition of Python: the functions (wait, wake), to be kept, and their addresses."""
    condition = threading.Condition()

    def wait(word: int, expected: int) -> None:
        with condition:
            if ctypes.c_int32.from_address(word).value == expected:
                condition.wait()

    def wake(word: int, count: int) -> None:
        with condition:
            condition.notify_all()

    functions = _PARK(wait), _PARK(wake)
    return functions, [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
