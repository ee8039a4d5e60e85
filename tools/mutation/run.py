"""Tests are collected once; then each change has a fork of the process, in which it is made and the tests run.

So a change costs little more than the tests that run until one fails. What a test file computes from the table while it
is imported is still right: only what it does with the table counts.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import re
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any, Final, Protocol
from unittest import mock

import pytest

from adstack import inspection
from adstack.ir.functions import builtin
from adstack.ir.ops import TABLE
from adstack.ir.types import FLOATS
from adstack.transforms.math import library  # noqa: F401  (what transcendental rows mean)

from .mutants import Mutant

__all__ = ["FORK", "ROOT", "TESTS", "Order", "Verdict", "Wrong", "file_of", "judged", "speaks_of"]

ROOT: Final = Path(__file__).resolve().parents[2]
# The quickest killers first.
TESTS: Final = (
    "ir/test_opdef",
    "ir/test_ops",
    "ir/test_types",
    "ir/test_arithmetic",
    "values/matrices/test_types",
    "interpreter/test_scalar",
    "interpreter/test_atomics",
    "ir/test_*",
    "values/test_atomics",
    "values/test_scalars",
    "frontend/test_emission",
    "frontend/test_mem2reg",
    "transforms/test_cse",
    "transforms/test_fold",
    "analysis/test_facts",
    "interpreter/test_*",
)
LIMIT: Final = 3600.0
"""Seconds that a change may take."""
CPU: Final = 20
"""Seconds of work that a test may take; the machine may be busy with other things."""
MOST_BYTES: Final = 16 << 30
"""What a fork may take: a wrong capacity must not take the machine's memory."""
BROKEN: Final = ("NameError", "UnboundLocalError", "ImportError", "AttributeError: module")
"""What says nothing of the tests: the change made no program."""
_PROBE: Final = inspection.probe
"""Finds out in this process what a backend is."""
FORK: Final = multiprocessing.get_context("fork")
"""How processes start here: with all that was collected."""


class Wrong(Protocol):
    """What was changed, and how."""

    @property
    def row(self) -> str:
        """The operation or function that was changed."""

    @property
    def change(self) -> str:
        """What was changed of it, in a word or two."""


@dataclass(frozen=True)
class Verdict:
    """What came of one change: whether a test failed, and which, or why there is none to name; what it failed with."""

    mutant: Wrong
    killed: bool
    by: str
    how: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether the change makes no program."""
        return self.how.startswith(BROKEN)


Order = Callable[[pytest.Item, Wrong], "int | None"]
"""The place of a test among those that a change runs; None if it does not run."""


def file_of(item: pytest.Item) -> str:
    """The test's file as `TESTS` names it: below the folder of the tests, without its ending."""
    return item.nodeid.partition("::")[0].removesuffix(".py")


def speaks_of(item: pytest.Item, mutant: Wrong) -> int:
    """0 for a likely killer: it looks at the whole table, or has the row among its parameters; 1 for another."""
    parameters = re.split(r"[\[\] -]", item.name)[1:]
    return int(mutant.row.split()[-1] not in parameters and (bool(parameters) or file_of(item) not in TESTS[:3]))


def judged(
    mutants: Iterable[Mutant],
    jobs: int,
    tell: Callable[[Verdict], None],
    folder: Path,
    tests: Sequence[str],
    order: Order = speaks_of,
    ready: Callable[[Sequence[pytest.Item]], None] = lambda items: None,
) -> None:
    """Tries each change on the tests of `folder`, `jobs` at a time, and tells what comes of it.

    The tests run in the order that `order` gives, those without a place left out, up to the first that fails; `ready`
    is called with all tests before the first change is tried.
    """
    _warm()
    files = [str(path) for path in _files(folder, tests)]
    options = ["-q", "--timeout=0", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={folder}"]
    with _Silence(), mock.patch.object(inspection, "probe", _probed_apart):
        status = pytest.main([*options, *files], plugins=[_Session(mutants, jobs, tell, order, ready)])
    if status != pytest.ExitCode.OK:
        raise RuntimeError(f"the tests can't be collected: pytest ended with {int(status)}")


@cache
def _probed_apart(arch: str) -> inspection.Capabilities | inspection.Unavailable:
    """What a backend is here, found out in a process of its own: forks of one that has opened a device can't use it."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:
        return apart.submit(_PROBE, arch).result()


def _files(folder: Path, patterns: Sequence[str]) -> dict[Path, None]:
    return {path.resolve(): None for pattern in patterns for path in sorted(folder.glob(f"{pattern}.py"))}


def _warm() -> None:
    """Builds the library's functions once, not in every fork: they are IR, which no change of a meaning touches."""
    for row, dtype in itertools.product(TABLE.values(), FLOATS):
        if row.transcendental:
            builtin(f"{row.name}.{dtype}")


class _Session:
    """A pytest plugin that runs the collected tests once per change, each time in a fork."""

    def __init__(
        self,
        mutants: Iterable[Mutant],
        jobs: int,
        tell: Callable[[Verdict], None],
        order: Order,
        ready: Callable[[Sequence[pytest.Item]], None],
    ) -> None:
        self.waiting: Iterator[Mutant] = iter(mutants)
        self.jobs, self.tell, self.order, self.ready = jobs, tell, order, ready
        self.running: dict[Connection, tuple[Mutant, ForkProcess, float]] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Keeps `jobs` forks at work until no change is left."""
        gc.freeze()  # or else forks would copy what they only look through
        self.ready(session.items)
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
            receiver, sender = FORK.Pipe(duplex=False)
            places = [(place, item) for item in items if (place := self.order(item, mutant)) is not None]
            ordered = [item for _, item in sorted(places, key=lambda pair: pair[0])]
            child = FORK.Process(target=_tested, args=(mutant, ordered, sender))
            child.start()
            sender.close()
            self.running[receiver] = mutant, child, time.monotonic() + LIMIT
        return True

    def _ready(self) -> list[Connection]:
        """The processes that have an answer, or no time left."""
        ready = [receiver for receiver in wait(list(self.running), timeout=1) if isinstance(receiver, Connection)]
        late = [receiver for receiver, (_, _, end) in self.running.items() if time.monotonic() > end]
        return list({*ready, *late})


def _verdict(mutant: Mutant, receiver: Connection) -> Verdict:
    try:
        first, how = receiver.recv() if receiver.poll() else ("no test: it took too long", "")
    except EOFError:
        first, how = "no test: the process died", ""
    return Verdict(mutant, bool(first), first, how)


class _Witness:
    """A pytest plugin that remembers the first failure, and what failed."""

    def __init__(self) -> None:
        self.first = self.how = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for the setup, the call and the end of each test."""
        if report.failed and not self.first:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.first = report.nodeid
            self.how = str(report.longrepr if crash is None else crash.message).partition("\n")[0]


def _tested(mutant: Mutant, items: list[pytest.Item], sender: Connection) -> None:
    """In the fork: make the change, run the tests up to the first that fails, and say which."""
    witness = _Witness()
    for item in items[:1]:
        item.config.pluginmanager.register(witness)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGPROF, _too_long)
    with tempfile.TemporaryDirectory() as folder:  # nothing compiled by the right program, nor for it
        os.environ["ADSTACK_CACHE_DIR"] = folder
        mock.patch.object(inspection, "probe", _PROBE).start()
        there = _there(items)
        mutant.apply()
        _run(there, witness)
    sender.send((witness.first, witness.how))
    sender.close()


def _there(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests whose parameters name no backend that is missing in this fork: a device may be its parent's alone."""
    missing = {arch for arch in inspection.ARCHES if isinstance(inspection.probe(arch), inspection.Unavailable)}
    return [item for item in items if missing.isdisjoint(re.split(r"[\[\] -]", item.name)[1:])]


def _run(items: list[pytest.Item], witness: _Witness) -> None:
    for item, following in itertools.zip_longest(items, items[1:]):
        signal.setitimer(signal.ITIMER_PROF, CPU)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if witness.first:
            break


def _too_long(number: int, frame: object) -> None:
    # what is not Python does not come here: the next signal ends the process
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, CPU)
    raise TimeoutError(f"more than {CPU} seconds of work")


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
