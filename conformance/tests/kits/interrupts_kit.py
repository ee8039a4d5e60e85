"""Exceptions where interrupts come: at every point at which CPython runs signal handlers inside adstack's own code.

These are the beginnings of functions and the returns from functions in C (jumps backwards aside), which is what a
profiler is told of. An exception that a profiler raises comes from there.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import adstack
from adstack import backends
from adstack.conformance.fuzz import interrupts
from adstack.conformance.fuzz.interrupts import at_random, unraised
from adstack.runtime.threads.interrupts import are_kept
from adstack.runtime.threads.recording import RECORDERS

__all__ = ["Program", "at_random", "everywhere", "unraised"]

_OURS = tuple(str(Path(str(package.__file__)).parent) for package in (adstack, backends))


@contextmanager
def _raising(number: int, kind: type[BaseException]) -> Iterator[list[bool]]:
    """Raise at the point of this number, counted from 1; the list that comes is not empty once that has happened."""
    left, done = number, list[bool]()

    def look(frame: Any, event: str, _: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(_OURS) and not are_kept():
            left -= 1
            if left == 0:
                done.append(True)
                raise kind

    sys.setprofile(look)
    try:
        yield done
    finally:
        sys.setprofile(None)


def everywhere(work: Callable[[], object], kind: type[BaseException], step: int = 1) -> Iterator[int]:
    """Do work over and over, each time with an exception at another point, the last time with none; gives the points'
    numbers.
    """
    for number in itertools.count(1, step):
        try:
            with _raising(number, kind) as done:
                work()
        except kind:
            assert done
        if not done:
            return
        yield number


class Program(interrupts.Program):
    """Kernels under whatever records them."""

    def check(self) -> None:
        """Nothing is in force, memory is that of some moment of the program, and a fresh tape is right."""
        assert RECORDERS.own() == []
        super().check()
