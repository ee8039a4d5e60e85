"""Tests are collected once; then each change has a fork of the process, in which it is made and the tests run.

So a change costs little more than the tests that run until one fails. What a test file computes from the table while it
is imported is still right: only what it does with the table counts.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

import adstack  # noqa: F401  (brings the library)
from adstack.ir.functions import builtin
from adstack.ir.ops import TABLE
from adstack.ir.types import FLOATS

from .mutants import Mutant

__all__ = ["ROOT", "TESTS", "Verdict", "Wrong", "judged"]

ROOT: Final = Path(__file__).resolve().parents[2]
# The quickest killers first.
TESTS: Final = (
    "test_ir_opdef",
    "test_ir_ops",
    "test_ir_types",
    "test_ir_arithmetic",
    "test_lang_types",
    "test_interpreter_scalar",
    "test_interpreter_atomics",
    "test_ir_*",
    "test_lang_atomics",
    "test_lang_scalars",
    "test_lang_frontend_emission",
    "test_lang_frontend_promote",
    "test_transforms_cse",
    "test_transforms_fold",
    "test_transforms_facts",
    "test_interpreter_*",
)
LIMIT: Final = 900.0
_FORK: Final = multiprocessing.get_context("fork")


class Wrong(Protocol):
    """What was changed, and how."""

    @property
    def row(self) -> str: ...
    @property
    def change(self) -> str: ...


@dataclass(frozen=True)
class Verdict:
    """What came of one change: whether a test failed, and which, or why there is none to name."""

    mutant: Wrong
    killed: bool
    by: str


def judged(
    found: Iterable[Mutant], jobs: int, tell: Callable[[Verdict], None], folder: Path, tests: Sequence[str]
) -> None:
    """Tries each change on the tests of `folder`, `jobs` at a time, and tells what comes of it."""
    _warm()
    files = [str(path) for path in _files(folder, tests)]
    options = ["-q", "--timeout=60", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={folder}"]
    with _Silence():
        status = pytest.main([*options, *files], plugins=[_Session(found, jobs, tell)])
    if status != pytest.ExitCode.OK:
        raise RuntimeError(f"the tests can't be collected: pytest ended with {int(status)}")


def _files(folder: Path, patterns: Sequence[str]) -> dict[Path, None]:
    return {path: None for pattern in patterns for path in sorted(folder.glob(f"{pattern}.py"))}


def _warm() -> None:
    """Builds the library's functions once, not in every fork: they are IR, which no change of a meaning touches."""
    for row, dtype in itertools.product(TABLE.values(), FLOATS):
        if row.transcendental:
            builtin(f"{row.name}.{dtype}")


class _Session:
    """A pytest plugin that runs the collected tests once per change, each time in a fork."""

    def __init__(self, found: Iterable[Mutant], jobs: int, tell: Callable[[Verdict], None]) -> None:
        self.waiting: Iterator[Mutant] = iter(found)
        self.jobs, self.tell = jobs, tell
        self.running: dict[Connection, tuple[Mutant, ForkProcess, float]] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Keeps `jobs` forks at work until no change is left."""
        while self._start(session.items) or self.running:
            for receiver in self._ready():
                mutant, child, _ = self.running.pop(receiver)
                self.tell(_verdict(mutant, receiver))
                child.kill()
                child.join()
        return True

    def _start(self, items: list[pytest.Item]) -> bool:
        while len(self.running) < self.jobs:
            mutant = next(self.waiting, None)
            if mutant is None:
                return False
            receiver, sender = _FORK.Pipe(duplex=False)
            child = _FORK.Process(target=_tested, args=(mutant, items, sender))
            child.start()
            sender.close()
            self.running[receiver] = mutant, child, time.monotonic() + LIMIT
        return True

    def _ready(self) -> list[Connection]:
        """Those that have something to say, or no time left."""
        ready = [receiver for receiver in wait(list(self.running), timeout=1) if isinstance(receiver, Connection)]
        late = [receiver for receiver, (_, _, end) in self.running.items() if time.monotonic() > end]
        return list({*ready, *late})


def _verdict(mutant: Mutant, receiver: Connection) -> Verdict:
    try:
        first = str(receiver.recv()) if receiver.poll() else "no test: it took too long"
    except EOFError:
        first = "no test: the process died"
    return Verdict(mutant, bool(first), first)


class _Witness:
    """A pytest plugin that remembers the first failure."""

    def __init__(self) -> None:
        self.first = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for the setup, the call and the end of each test."""
        if report.failed and not self.first:
            self.first = report.nodeid


def _tested(mutant: Mutant, items: list[pytest.Item], sender: Connection) -> None:
    """In the fork: make the change, run the tests up to the first that fails, and say which."""
    witness = _Witness()
    items[0].config.pluginmanager.register(witness)
    mutant.apply()
    ordered = sorted(items, key=lambda item: not _speaks_of(item, mutant.row))
    for item, following in zip(ordered, [*ordered[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if witness.first:
            break
    sender.send(witness.first)
    sender.close()


def _speaks_of(item: pytest.Item, row: str) -> bool:
    """Whether the test is a likely killer: it looks at the whole table, or has the row among its parameters."""
    parameters = re.split(r"[\[\]-]", item.name)[1:]
    return row.split()[-1] in parameters or (not parameters and item.path.stem in TESTS[:3])


class _Silence:
    """pytest's own report goes nowhere: what it says of a session without tests, or of a fork, is of no use."""

    def __enter__(self) -> None:
        self.kept = [os.dup(fd) for fd in (1, 2)]
        null = os.open(os.devnull, os.O_WRONLY)
        for fd in (1, 2):
            os.dup2(null, fd)
        os.close(null)

    def __exit__(self, *_: object) -> None:
        for fd, kept in zip((1, 2), self.kept, strict=True):
            os.dup2(kept, fd)
            os.close(kept)
