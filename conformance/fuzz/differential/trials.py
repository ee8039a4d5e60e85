"""What a subject makes of a program: its cells are run as those of any case are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adstack.conformance.harness.cells import Cell, Status, Subject
from adstack.conformance.harness.loading import Entry, load_entry
from adstack.conformance.harness.station import Settings, Shared, Station

from .casefile import case_text
from .grammar import Program

__all__ = ["Failure", "Laboratory", "Verdict"]

RECYCLED: Final = 150
"""Cases that one worker process runs, before another takes its place."""
_PLACES: Final = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?(e[+-]?\d+)?|'[^']*'|\"[^\"]*\"|\S*/\S*")
"""What differs in a message from program to program."""


@dataclass(frozen=True)
class Failure:
    """The way in which a program fails: what is reduced has to stay the same.

    Attributes:
        mode: of the case.
        status: what became of the cell.
        phrase: the first line of what was said, without numbers and names; "" of what is wrong.
    """

    mode: str
    status: Status
    phrase: str = ""


@dataclass(frozen=True)
class Verdict:
    """What became of a program on a subject.

    Attributes:
        failure: None if it passes all modes.
        message: what was said, or which numbers differ.
    """

    failure: Failure | None
    message: str = ""


class Laboratory:
    """Tries programs on a subject.

    Args:
        subject: which one.
        settings: how cells are run; their root is a folder that programs are written into, of this object alone.
        modes: what is asked, in this order; the first in which it fails counts.
        dtype: the type of all floats.
    """

    def __init__(self, subject: Subject, settings: Settings, modes: Sequence[str], dtype: str) -> None:
        self.subject, self.dtype = subject, dtype
        self._settings, self._modes = settings, tuple(modes)
        self._station = Station(settings, Shared())
        self._tried = 0
        (settings.root / "fuzz").mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(self, *exc: object) -> None:
        self._station.close()

    def examine(self, programs: Sequence[Program], modes: Sequence[str] = ()) -> list[Verdict]:
        """Run programs in all modes, or in some; gives the verdict on each.

        They are run together, and each alone if that does not tell of each.
        """
        if not programs:
            return []
        self._tried += 1
        if self._tried % RECYCLED == 0:
            self._station.close()
            self._station = Station(self._settings, Shared())
        name = f"programs_{self._tried}"
        path = self._written(programs, name)
        try:
            entry = load_entry(f"fuzz/{name}.py", f"fuzz/{name.replace('_', '-')}:{self.dtype}", self._settings.root)
            verdicts = self._verdicts(entry, len(programs), modes or self._modes)
        finally:
            path.unlink()
        return verdicts or [verdict for program in programs for verdict in self.examine([program], modes)]

    def _verdicts(self, entry: Entry, count: int, modes: Sequence[str]) -> list[Verdict]:
        """What became of each program of a case; none if the case failed in a way that does not tell."""
        verdicts = [Verdict(None)] * count
        for mode in modes:
            result = self._station.run(Cell(entry, self.subject, mode, seed=0))
            if result.status is Status.BROKEN and count == 1:
                continue  # the error bound exceeds the numbers, which cancel: nothing can be said of the subject
            failure = _failure(mode, result.status, result.message) if result.status.is_failure else None
            if failure is not None and count == 1:
                return [Verdict(failure, result.message)]
            if failure is not None and failure.phrase:
                return []
            for number, message in _by_run(result.message).items():
                if verdicts[number].failure is None:
                    verdicts[number] = Verdict(failure, message)
        return verdicts

    def _written(self, programs: Sequence[Program], name: str) -> Path:
        path = self._settings.root / "fuzz" / f"{name}.py"
        path.write_text(case_text(programs, name, "Random programs.", self.dtype, self._modes), "utf-8")
        return path


def _by_run(message: str) -> dict[int, str]:
    """What was said of each run of a case, by its position."""
    messages: dict[int, str] = {}
    for line in message.splitlines():
        match = re.match(r"run (\d+): ", line)
        number = int(match[1]) - 1 if match else 0
        messages[number] = f"{messages[number]}\n{line}" if number in messages else line
    return messages


def _failure(mode: str, status: Status, message: str) -> Failure:
    if status in (Status.WRONG_VALUE, Status.WRONG_GRADIENT):
        return Failure(mode, status)
    lines = [line for line in message.splitlines() if line.strip()]
    return Failure(mode, status, _PLACES.sub("_", lines[0])[:120] if lines else status.value)
