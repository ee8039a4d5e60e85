"""Results as they come, a line of JSON each: a run that is interrupted loses nothing, and goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..harness.cells import Cell, Result, Status
from .summary import cell_record

__all__ = ["Log"]


class Log:
    """A file of results."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text("utf-8") if path.exists() else ""
        if text and not text.endswith("\n"):  # the process was killed while it wrote
            path.write_text(f"{text}\n", "utf-8")

    def add(self, result: Result) -> None:
        """Append a result, by one write."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(cell_record(result), allow_nan=False) + "\n")

    def complete(self, cells: Sequence[Cell], run: Callable[[list[Cell]], list[Result]]) -> list[Result]:
        """The result of each cell: what the file has, and what `run` gives for the others."""
        known = {_name_of(found): found for found in self.records()}
        missing = [cell for cell in cells if _name(cell) not in known]
        made = {_name(result.cell): result for result in run(missing)}
        return [made.get(_name(cell)) or _result(cell, known[_name(cell)]) for cell in cells]

    def records(self) -> list[dict[str, Any]]:
        """Every line that was written to its end; none if there is no file."""
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        return [found for found in map(_parsed, lines) if found is not None]


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        return None
    return found


def _name(cell: Cell) -> tuple[Any, ...]:
    return cell.subject.name, cell.entry.id, cell.mode, cell.seed


def _name_of(found: dict[str, Any]) -> tuple[Any, ...]:
    return found["subject"], found["case"], found["mode"], found["seed"]


def _result(cell: Cell, found: dict[str, Any]) -> Result:
    given = {name: found[name] for name in ("exactness", "ulp", "message", "seconds", "output")}
    return Result(cell, Status(found["status"]), **given)
