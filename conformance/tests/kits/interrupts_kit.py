"""Exceptions where interrupts come: at every point at which CPython runs signal handlers inside adstack's own code.

These are the beginnings of functions and the returns from functions in C (jumps backwards aside), which is what a
profiler is told of. An exception that a profiler raises comes from there.
"""

from __future__ import annotations

import itertools
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import adstack
import adstack as qd
from adstack import backends
from adstack.runtime.threads.interrupts import are_kept
from adstack.runtime.threads.recording import RECORDERS

__all__ = ["Program", "at_random", "everywhere", "unraised"]

_OURS = tuple(str(Path(str(package.__file__)).parent) for package in (adstack, backends))


@contextmanager
def unraised() -> Iterator[None]:
    """What can't be raised, as exceptions from generators that end, is not reported meanwhile."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = hook


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


def at_random(work: Callable[[], object], times: int) -> Iterator[bool]:
    """Do work so often, each time with an interrupt at a random moment; gives whether it was raised."""
    begun = time.perf_counter()
    for _ in range(10):
        work()
    each, moments = (time.perf_counter() - begun) / 10, random.Random(times)
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        for _ in range(times):
            interrupted = False
            try:
                signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-6, each))
                work()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted = True
            yield interrupted
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


class Program:
    """Two kernels under whatever records them."""

    def __init__(self, arch: str) -> None:
        qd.init(arch=arch)
        self.x = x = qd.field(qd.f32, 4, needs_grad=True, needs_dual=True)
        self.loss = loss = qd.field(qd.f32, (), needs_grad=True, needs_dual=True)

        @qd.kernel
        def square():
            for i in x:
                x[i] = x[i] * x[i]

        @qd.kernel
        def total():
            for i in x:
                loss[None] += x[i] * x[i]

        self.square, self.total = square, total
        self.constant = qd.ad.no_grad(self._squared)

    def _squared(self) -> None:
        self.square()

    def tape(self) -> None:
        """The gradient of x ** 4."""
        with qd.ad.Tape(self.loss):
            self.square()
            self.total()

    def without(self) -> None:
        """The gradient of a constant."""
        with qd.ad.Tape(self.loss):
            self.constant()
            self.total()

    def forward(self) -> None:
        """Forward mode along all of x."""
        with qd.ad.FwdMode(loss=self.loss, param=self.x, seed=[1.0] * 4):
            self.total()

    def graph(self) -> None:
        """A graph, launched."""
        with qd.graph() as graph:
            self.square()
            self.total()
        graph.launch()

    def check(self) -> None:
        """Nothing is in force, memory is that of some moment of the program, and a fresh tape is right."""
        assert RECORDERS.own() == []
        held = self.x.to_numpy().tolist()
        assert held in ([3.0] * 4, [9.0] * 4, [81.0] * 4)
        self.x.fill(3.0)
        self.tape()
        assert (self.x.grad.to_numpy().tolist(), self.x.to_numpy().tolist()) == ([108.0] * 4, [9.0] * 4)
        self.x.fill(3.0)
