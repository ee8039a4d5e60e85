"""Tries every change and writes what came of it: `python -m adstack.tools.mutation --rows all --jobs 2`.

Exits with 1 if a change survives, with 2 if the tests fail without any change.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from .mutants import Mutant, mutants
from .run import ROOT, TESTS, Verdict, judged

RESULT = ROOT / "conformance" / "results" / "mutation.json"
CONTROL = "no row"


def chosen(rows: str, only: tuple[str, ...]) -> list[Mutant]:
    """The changes of the first `rows` rows, or of those named."""
    everything = list(mutants())
    names = list(dict.fromkeys(mutant.row for mutant in everything))
    unknown = [name for name in only if name not in names]
    if unknown:
        raise click.BadParameter(f"there is no row {unknown[0]!r}; there are {', '.join(names)}")
    wanted = only or (names if rows == "all" else names[: int(rows)])
    return [mutant for mutant in everything if mutant.row in wanted]


def control() -> Mutant:
    """The change that is none: the tests must pass."""
    return Mutant(CONTROL, "nothing", lambda: None)


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def summary(results: list[Verdict]) -> dict[str, Any]:
    """The file's content: counts, and per row what killed each change."""
    order = {(mutant.row, mutant.change): place for place, mutant in enumerate(mutants())}
    rows: dict[str, dict[str, str]] = {}
    for verdict in sorted(results, key=lambda verdict: order[verdict.mutant.row, verdict.mutant.change]):
        rows.setdefault(verdict.mutant.row, {})[verdict.mutant.change] = verdict.by if verdict.killed else "survived"
    killed = sum(verdict.killed for verdict in results)
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "rows": len(rows),
        "changes": len(results),
        "killed": killed,
        "survived": len(results) - killed,
        "changed": rows,
    }


class _Teller:
    """Says how it goes on the terminal that pytest does not see, and keeps the results."""

    def __init__(self, total: int) -> None:
        self.total, self.results = total, list[Verdict]()
        self.terminal = os.fdopen(os.dup(1), "w")
        self.broken = ""

    def __call__(self, verdict: Verdict) -> None:
        if verdict.mutant.row == CONTROL:
            self.broken = verdict.by
            return
        self.results.append(verdict)
        word = f"killed by {verdict.by}" if verdict.killed else "SURVIVED"
        at = f"{len(self.results)}/{self.total}"
        print(f"{at} {verdict.mutant.row}: {verdict.mutant.change}: {word}", file=self.terminal, flush=True)


@click.command(help=__doc__)
@click.option("--rows", default="all", help="how many rows of the table to change; all by default")
@click.option("--row", "only", multiple=True, help="only this row; may be given again")
@click.option("--jobs", default=2, help="changes tried at the same time")
@click.option("--json", "target", type=click.Path(path_type=Path), default=RESULT, help="the file to write")
def main(rows: str, only: tuple[str, ...], jobs: int, target: Path) -> None:
    """Try the changes, report survivors, write the file."""
    os.environ["CI"] = "1"  # hypothesis repeats itself
    found = chosen(rows, only)
    tell = _Teller(len(found))
    judged([control(), *found], jobs, tell, ROOT / "conformance" / "tests", TESTS)
    if tell.broken:
        click.echo(f"the tests fail without any change: {tell.broken}", err=True)
        sys.exit(2)
    counts = summary(tell.results)
    target.write_text(json.dumps(counts, indent=1) + "\n")
    click.echo(f"{counts['killed']} of {counts['changes']} changes to {counts['rows']} rows killed")
    sys.exit(counts["survived"] != 0)


if __name__ == "__main__":
    main()
