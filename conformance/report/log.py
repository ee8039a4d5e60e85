"""Results as they come, a line of JSON each: a run that is interrupted loses nothing, and goes on where it was.

A file may have anything in it: a line that was cut short when a process was killed, lines of other programs, results of
another version of the suite or of another device. Only results of these very cells are used, and what else there is
does not stop a run: it is said once, and stays where it is.
"""

from __future__ import annotations

import errno
import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..harness.cells import Cell, Result, Status
from ..harness.identity import identity
from ..harness.records import Record
from .summary import cell_record

__all__ = ["Log"]

_TEXTS: Final = ("subject", "case", "mode", "status", "exactness", "message", "output")
_STATES: Final = frozenset(status.value for status in Status)
_SHOWN: Final = 5
"""Lines that are named of those that are no results."""


class Log:
    """A file of results. OSError if it can't be read or made, or is no regular file.

    Args:
        path: the file; the folder is made if it is missing.
        tell: is called with a sentence about what of the file is not used, or can't be written.
    """

    def __init__(self, path: Path, tell: Callable[[str], None] = lambda text: None) -> None:
        self.path, self.tell = path, tell
        self._full = False
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        data = path.read_bytes() if path.exists() else b""
        if data and not data.endswith(b"\n"):  # the process was killed while it wrote
            self._append(b"\n")

    def _append(self, data: bytes) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.write(data)

    def add(self, result: Result) -> None:
        """Append a result, by one write; a full disk ends the log and not the run."""
        line = {**cell_record(result), "identity": identity(result.cell.subject), "details": result.details}
        try:
            self._append(json.dumps(line, allow_nan=False).encode() + b"\n")
        except OSError as error:
            if not self._full:
                self.tell(f"{self.path} can't be written ({error.strerror}): results from here on may be missing in it")
            self._full = True

    def complete(self, cells: Sequence[Cell], run: Callable[[list[Cell]], list[Result]]) -> list[Result]:
        """The result of each cell: what the file has, and what `run` gives for others; it may end early."""
        records = {_name_of(record): record for record in self.records()}
        asked = {_name(cell): cell for cell in cells}
        valid = {name: one for name, one in records.items() if name in asked and _holds(one, asked[name])}
        others = sum(name in asked for name in records) - len(valid)
        if others:
            self.tell(
                f"{self.path}: {others} {_plural(others, 'result')} of another version or device: run again, not used"
            )
        missing = [cell for cell in cells if _name(cell) not in valid]
        new = {_name(result.cell): result for result in run(missing)}
        old = {_name(cell): _result(cell, valid[_name(cell)]) for cell in cells if _name(cell) in valid}
        both = {**old, **new}
        return [both[_name(cell)] for cell in cells if _name(cell) in both]

    def records(self) -> list[Record]:
        """Every line that is a result; none if there is no file. The others are told of."""
        lines = self.path.read_bytes().split(b"\n") if self.path.exists() else []
        records = [_parsed(line) for line in lines]
        strange = [k + 1 for k, line in enumerate(lines) if line.strip() and records[k] is None]
        if strange:
            names = ", ".join(map(str, strange[:_SHOWN])) + (", ..." if len(strange) > _SHOWN else "")
            self.tell(f"{self.path}: {len(strange)} {_plural(len(strange), 'line')} no result: skipped ({names})")
        return [record for record in records if record is not None]


def _plural(count: int, what: str) -> str:
    return f"{what} is" if count == 1 else f"{what}s are"


def _parsed(line: bytes) -> Record | None:
    """The result that a line tells, or None if it tells none."""
    # A number may have more digits than Python reads, a list be nested deeper than it follows.
    with suppress(ValueError, RecursionError):
        record = json.loads(line)
        if isinstance(record, dict) and _is_result(record):
            return record
    return None


def _is_result(record: Record) -> bool:
    """Whether it has everything that a `Result` is made of, of the right types."""
    texts = all(isinstance(record.get(name), str) for name in _TEXTS)
    numbers = _is_number(record.get("seconds")) and (record.get("ulp", "") is None or _is_number(record.get("ulp")))
    explained = isinstance(record.get("details", {}), dict)
    return texts and numbers and explained and type(record.get("seed")) is int and record["status"] in _STATES


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _name(cell: Cell) -> tuple[object, ...]:
    return cell.subject.name, cell.entry.id, cell.mode, cell.seed


def _name_of(record: Record) -> tuple[object, ...]:
    return record["subject"], record["case"], record["mode"], record["seed"]


def _holds(record: Record, cell: Cell) -> bool:
    """Whether a result is of this very code and device."""
    return record.get("identity") == identity(cell.subject)


def _result(cell: Cell, record: Record) -> Result:
    fields = {name: record[name] for name in ("exactness", "ulp", "message", "seconds", "output")}
    return Result(cell, Status(record["status"]), **fields, details=record.get("details", {}))
