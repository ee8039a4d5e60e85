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

from adstack.backends.hostcall.calls import launch_record
from adstack.backends.hostcall.entry import Entry
from adstack.backends.hostcall.steps import Launch, Pairs, Steps
from adstack.runtime.adstacks.heap import HeapLimit
from adstack.runtime.protocol.backend import Bindings

from .executable import Executable
from .pool import pool

__all__ = ["Graph", "Graphs"]


@dataclass
class Part:
    """One launch.

    Attributes:
        entry: as machine code launches it.
        pairs: the words of the context as they were.
    """

    executable: Executable
    entry: Entry
    pairs: Pairs
    bindings: Bindings

    def show(self) -> None:
        """What is reported from now on is about this launch."""
        self.executable.shapes = self.bindings.shapes


class Graph:
    """Launches that can be done again.

    Attributes:
        parts: what they are.
        last: of each executable, its last part.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.last = {id(part.executable): part for part in parts}
        self.threads = {one.options.cpu_max_num_threads for one in self._executables if one.is_parallel}
        self._steps = Steps([Launch(part.entry, launch_record(part.entry), part.pairs, part.show) for part in parts])

    @property
    def _executables(self) -> list[Executable]:
        return [part.executable for part in self.last.values()]

    def repeat(self) -> None:
        """Launch all of it."""
        position, count = ctypes.c_int64(0), len(self.parts)
        for executable in self._executables:
            executable.settled = False  # its depths need not be those that stand
        for threads in self.threads:
            pool().start(threads)
        try:
            self._steps.run(position, count)
        except HeapLimit as short:
            short.launch = position.value
            raise
        finally:
            for part in self.last.values():
                executable, done = part.executable, position.value == count
                executable.bound = part.bindings if done and not executable.takes_arrays else None
                part.show()


class _Keeping(threading.local):
    """What a thread keeps of its launches, if they are wanted."""

    parts: list[Part] | None = None


class Graphs:
    """Makes graphs of the launches of a thread.

    Args:
        entry: makes the entry of a program.
    """

    def __init__(self, entry: Callable[[Executable], Entry]) -> None:
        self._keeping, self._entry = _Keeping(), entry

    def note(self, executable: Executable, bindings: Bindings) -> None:
        """A launch is over, which ran in the version for many lanes."""
        if self._keeping.parts is not None:
            at = range(executable.address, executable.address + executable.slots.nbytes, 8)
            pairs = np.array([*zip(at, executable.slots.tolist(), strict=True)], np.int64)
            self._keeping.parts.append(Part(executable, self._entry(executable), pairs, bindings))

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """Run, and keep what was launched; None if that was not a launch of each of these."""
        parts = self._keeping.parts = []
        try:
            run()
        finally:
            self._keeping.parts = None
        same = [id(part.executable) for part in parts] == [id(one) for one in executables]
        return Graph(parts) if same else None
