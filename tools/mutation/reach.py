"""Which tests run which function, and how long each takes: what a change to a function runs, quickest first.

In a fork, every function that is to be changed notes that it ran; then each test runs once, as without a change.
"""

from __future__ import annotations

import ast
import builtins
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import pytest

from .edits import Edit, located, span
from .patches import patch
from .run import CPU, FORK, Wrong

__all__ = ["Quickest", "Reach"]

_NOTE: Final = "adstack_mutation_note"
_TESTS_PER_WRITE: Final = 20


@dataclass
class Reach:
    """What was measured.

    Attributes:
        seconds: by test, of processor time; of tests that passed.
        rows: by row, the tests that run its function.
        failed: the tests that fail without any change.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    rows: dict[str, list[str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Test:
    """What came of one test: its seconds, the rows whose functions it ran, whether it failed."""

    name: str
    seconds: float
    rows: list[str]
    failed: bool


class Quickest:
    """Which tests a change runs: what killed it the last time, then those that run its function, the quickest first.

    Args:
        edits: the changes.
        reference: the folder of their files.
        file: keeps what was measured, for the next run of the same sources.
        hints: what killed a change the last time, by row and change.
    """

    def __init__(
        self, edits: Sequence[Edit], reference: Path, file: Path | None, hints: Mapping[tuple[str, str], str]
    ) -> None:
        self.edits, self.reference, self.file, self.hints = edits, reference, file, hints
        self.reach = Reach()
        if file is not None and file.is_file():
            self.reach = Reach(**json.loads(file.read_text()))
        self._ranks: dict[str, int] = {}
        self._rows: dict[str, set[str]] = {}

    def ready(self, items: Sequence[pytest.Item]) -> None:
        """Measure what the file does not have: new tests, or all tests where there are new functions."""
        rows = {edit.row for edit in self.edits}
        if not rows <= self.reach.rows.keys():
            self.reach = Reach(rows={row: [] for row in sorted(rows)})
        known = {*self.reach.seconds, *self.reach.failed}
        unknown = [item for item in items if item.nodeid not in known]
        for test in _measured(self.edits, self.reference, unknown) if unknown else ():
            self._add(test)
        self._write()
        seconds = {test: took for test, took in self.reach.seconds.items() if 2 * took <= CPU}
        self._ranks = {test: rank for rank, test in enumerate(sorted(seconds, key=seconds.__getitem__), 1)}
        self._rows = {row: set(tests) for row, tests in self.reach.rows.items()}

    def _add(self, test: _Test) -> None:
        if test.failed:
            self.reach.failed.append(test.name)
            return
        self.reach.seconds[test.name] = test.seconds
        for row in test.rows:
            self.reach.rows[row].append(test.name)
        if len(self.reach.seconds) % _TESTS_PER_WRITE == 0:
            self._write()

    def _write(self) -> None:
        if self.file is not None:
            self.file.write_text(json.dumps(vars(self.reach), indent=1) + "\n")

    def order(self, item: pytest.Item, mutant: Wrong) -> int | None:
        """The place of a test among those that a change runs; None if it does not run, or fails without a change.

        A test that takes more than half of the time that there is gets none: it may fail for want of time alone.
        """
        rank = self._ranks.get(item.nodeid)
        if rank is None or item.nodeid not in self._rows[mutant.row]:
            return None
        return 0 if item.nodeid == self.hints.get((mutant.row, mutant.change)) else rank


def _noting_all(edits: Sequence[Edit], reference: Path) -> Callable[[], set[str]]:
    """What has the functions of these edits note their rows in a set, from then on, and returns that set."""
    rows = {edit.row: edit for edit in edits}
    patches = [patch(_noting(edit, reference), reference) for edit in rows.values()]

    def apply() -> set[str]:
        noted: set[str] = set()
        setattr(builtins, _NOTE, noted.add)
        for each in patches:
            each()
        return noted

    return apply


def _noting(edit: Edit, reference: Path) -> Edit:
    """The function of an edit, which notes the row when it begins."""
    source = located(edit.file, reference).read_text()
    first, last = span(source, edit.where)
    old = dedent("".join(source.splitlines(keepends=True)[first:last]))
    (function,) = ast.parse(old).body
    assert isinstance(function, ast.FunctionDef)
    at = 0 if ast.get_docstring(function) is None else 1
    function.body.insert(at, ast.parse(f"{_NOTE}({edit.row!r})").body[0])
    return Edit(edit.file, edit.where, "notes that it ran", old, ast.unparse(function) + "\n", edit.row)


def _measured(edits: Sequence[Edit], reference: Path, items: Sequence[pytest.Item]) -> Iterator[_Test]:
    """Run each test once, in a fork; each as soon as it has run."""
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_watched, args=(_noting_all(edits, reference), items, sender))
    child.start()
    sender.close()
    try:
        yield from (receiver.recv() for _ in items)
    except EOFError:
        raise RuntimeError("a test ends the process without any change: see which one with pytest") from None
    child.join()


def _watched(apply: Callable[[], set[str]], items: Sequence[pytest.Item], sender: Connection) -> None:
    """In the fork."""
    failed: set[str] = set()
    for item in items[:1]:
        item.config.pluginmanager.register(_Failures(failed))
    noted = apply()
    for item, following in zip(items, [*items[1:], None], strict=True):
        noted.clear()
        start = time.process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        seconds = round(time.process_time() - start, 4)
        sender.send(_Test(item.nodeid, seconds, sorted(noted), item.nodeid in failed))
    sender.close()


class _Failures:
    """A pytest plugin that remembers what fails."""

    def __init__(self, failed: set[str]) -> None:
        self.failed = failed

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest for the setup, the call and the end of each test."""
        if report.failed:
            self.failed.add(report.nodeid)
