"""Launches recorded while they run, and repeated without Python between them.

The context of a launch is saved, and copied back before it runs again: its arguments, and where its memory
is. Sizers run every time, so that adstacks are as deep as they must be.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adstack.backends.hostcall import launching
from adstack.backends.hostcall.run import STEP
from adstack.runtime.adstacks.heap import HeapLimit
from adstack.runtime.protocol.backend import Bindings

from .executable import Executable
from .pool import pool

__all__ = ["Graph", "Graphs"]


@dataclass
class Part:
    """One launch.

    Attributes:
        words: the context as it was.
    """

    executable: Executable
    words: npt.NDArray[np.int64]
    bindings: Bindings


class Graph:
    """Launches that can be done again.

    Attributes:
        parts: what they are.
        last: of each executable, its last part.
        steps: what machine code reads.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.last = {id(part.executable): part for part in parts}
        self.threads = {one.options.cpu_max_num_threads for one in self._executables if one.is_parallel}
        rows = [[self._words(part).get(name, 0) for name in STEP] for part in parts]
        self.steps = np.array(rows, np.int64).reshape(-1, len(STEP))

    @property
    def _executables(self) -> list[Executable]:
        return [part.executable for part in self.last.values()]

    def _words(self, part: Part) -> dict[str, int]:
        executable = part.executable
        return {
            "run": executable.code.entry,
            "ctx": executable.address,
            "kept": part.words.ctypes.data,
            "size": len(part.words),
            "launch_slot": executable.address + 8 * executable.context.own["launch"],
            "errors": executable.errors.ctypes.data,
            "overflow": executable.overflow.ctypes.data,
            "release": int(executable.is_long),
        }

    def repeat(self, launches: int) -> None:
        """Launch all of it; the number of launches stands at an address."""
        position, count = ctypes.c_int64(0), len(self.parts)
        for executable in self._executables:
            executable.settled = False  # its depths need not be those that stand
        for threads in self.threads:
            pool().start(threads)
        try:
            while True:
                launching.repeat(self.steps.ctypes.data, position, count, launches)
                at = position.value
                if at == count:
                    break
                made, code = self.parts[at].executable, int(self.steps[at, STEP["code"]])
                made.shapes = self.parts[at].bindings.shapes
                if code:
                    made.go_on(code)
                made.report()
                position.value += 1
        except HeapLimit as short:
            short.launch = position.value
            raise
        finally:
            for part in self.last.values():
                made, done = part.executable, position.value == count
                made.bound = part.bindings if done and not made.takes_arrays else None
                made.shapes = part.bindings.shapes


class _Keeping(threading.local):
    """What a thread keeps of its launches, if they are wanted."""

    parts: list[Part] | None = None


class Graphs:
    """Makes graphs of the launches of a thread."""

    def __init__(self) -> None:
        self._keeping = _Keeping()

    def note(self, executable: Executable, bindings: Bindings) -> None:
        """A launch is over, which ran in the version for many lanes."""
        if self._keeping.parts is not None:
            self._keeping.parts.append(Part(executable, executable.slots.copy(), bindings))

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """Run, and keep what was launched; None if that was not a launch of each of these."""
        parts = self._keeping.parts = []
        try:
            run()
        finally:
            self._keeping.parts = None
        same = [id(part.executable) for part in parts] == [id(one) for one in executables]
        return Graph(parts) if same else None
