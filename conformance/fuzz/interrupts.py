"""Interrupts at random moments of calls, gradients, tapes, graphs and compilations: nothing stays in force or breaks.

    python -m adstack.conformance.fuzz.interrupts cpu --count 10000 --seed 1

After each, memory is that of some moment of the program, and a fresh tape is right. With `--json`, the counts are added
to a file.
"""

from __future__ import annotations

import random
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

import adstack as qd

from .results import Results, standing

__all__ = ["Program", "at_random", "main", "unraised"]

_MEASURED: Final = 10
"""How often work is run to measure its time."""
_HEAD: Final = {"command": "python -m adstack.conformance.fuzz.interrupts ARCH --count COUNT --seed SEED --json FILE"}


class Program:
    """Kernels under whatever records them.

    Args:
        arch: the backend.
    """

    def __init__(self, arch: str) -> None:
        qd.init(arch=arch)
        self.x = x = qd.field(qd.f32, 4, needs_grad=True, needs_dual=True)
        self.loss = loss = qd.field(qd.f32, (), needs_grad=True, needs_dual=True)

        @qd.kernel
        def square() -> None:
            for i in x:
                x[i] = x[i] * x[i]

        @qd.kernel
        def total() -> None:
            for i in x:
                loss[None] += x[i] * x[i]

        self.square, self.total = square, total
        self.constant = qd.ad.no_grad(self._squared)

    def _squared(self) -> None:
        self.square()

    def call(self) -> None:
        """Two launches."""
        self.square()
        self.total()

    def gradient(self) -> None:
        """A launch, and its gradient."""
        self.total()
        self.total.grad()

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

    def compile(self) -> None:
        """A kernel and its gradient, compiled anew."""
        self.total.drop()
        self.tape()

    def check(self) -> None:
        """AssertionError unless memory is that of some moment of the program, and a fresh tape is right."""
        held = self.x.to_numpy().tolist()
        _hold(held in ([3.0] * 4, [9.0] * 4, [81.0] * 4), f"x is {held}")
        self.x.fill(3.0)
        self.tape()
        gradient, after = self.x.grad.to_numpy().tolist(), self.x.to_numpy().tolist()
        _hold((gradient, after) == ([108.0] * 4, [9.0] * 4), f"x.grad is {gradient}, and x {after}")
        self.x.fill(3.0)


def _hold(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


_KINDS: Final = ("call", "gradient", "tape", "without", "forward", "graph", "compile")


@contextmanager
def unraised() -> Iterator[None]:
    """A context in which Python does not report exceptions that it can't raise, as those of finalizers."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = hook


@contextmanager
def _alarmed() -> Iterator[None]:
    """Alarms interrupt."""
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _interrupted(work: Callable[[], object], after: float) -> bool:
    """Do work, with an interrupt after some seconds; whether it was raised."""
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        work()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False


def _seconds(work: Callable[[], object]) -> float:
    """How long work takes; the first time it may compile."""
    each = []
    for _ in range(_MEASURED):
        begun = time.perf_counter()
        work()
        each.append(time.perf_counter() - begun)
    return statistics.median(each)


def at_random(work: Callable[[], object], times: int) -> Iterator[bool]:
    """Do work so often, each time with an interrupt at a random moment; gives whether it was raised."""
    each, moments = _seconds(work), random.Random(times)
    with _alarmed():
        for _ in range(times):
            yield _interrupted(work, moments.uniform(1e-6, each))


def interrupts(arch: str, count: int, seed: int) -> Iterator[tuple[str, bool, str]]:
    """Interrupt so often, at random moments of what is chosen at random: (what, whether it was raised, what was wrong
    after it).
    """
    chosen, program, each = random.Random(seed), Program(arch), dict[str, float]()
    for _ in range(count):
        kind = chosen.choice(_KINDS)
        if kind not in each:
            each[kind] = _seconds(_work(program, kind))
        program.x.fill(3.0)
        with _alarmed():
            raised = _interrupted(_work(program, kind), chosen.uniform(1e-6, each[kind]))
        try:
            program.check()
        except (AssertionError, qd.AdstackError) as error:
            yield kind, raised, f"{type(error).__name__}: {error}"
            program = Program(arch)
        else:
            yield kind, raised, ""


def _work(program: Program, kind: str) -> Callable[[], None]:
    work: Callable[[], None] = getattr(program, kind)

    def begun() -> None:
        program.x.fill(3.0)
        work()

    return begun


@click.command()
@click.argument("arch")
@click.option("--count", default=1000, help="How many interrupts.")
@click.option("--seed", default=0, help="Another seed gives other moments.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="A file to add the counts to.")
def main(arch: str, count: int, seed: int, file: Path | None) -> None:
    """Interrupt a program at random moments; the exit status is 1 if anything was wrong after one."""
    results = None if file is None else Results(file, arch, standing(), _HEAD)
    counts = Counter[str](interrupts=count, raised=0, wrong=0)
    with unraised():
        for number, (kind, raised, wrong) in enumerate(interrupts(arch, count, seed)):
            counts.update({"raised": raised, kind: raised, "wrong": bool(wrong)})
            if wrong:
                click.echo(f"interrupt {number}, in {kind}: {wrong}")
    if results is not None:
        results.add(counts)
    totals = ", ".join(f"{counts[kind]} in {kind}" for kind in _KINDS)
    click.echo(f"{count} interrupts on {arch}: {counts['raised']} raised, {counts['wrong']} wrong; {totals}")
    raise SystemExit(bool(counts["wrong"]))


if __name__ == "__main__":
    main()
