"""Tries every change and writes what came of it: `python -m adstack.tools.mutation --target autodiff`.

The target `operations` is the table of operations and the casts, `autodiff` the table of derivatives and reverse mode.
Exits with 1 if a change survives, with 2 if the tests fail without any change.
"""

from __future__ import annotations

import difflib
import fnmatch
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

import click

from adstack.conformance.harness.records import Record

from . import autodiff
from .edits import Edit, StaleEditError
from .mutants import Mutant, mutants
from .run import ROOT, TESTS, Verdict, Wrong, judged

RESULTS: Final = {"operations": "mutation.json", "autodiff": "mutation-autodiff.json"}
CONTROL: Final = "no row"


def chosen(rows: str, only: tuple[str, ...], everything: Sequence[Wrong]) -> list[Wrong]:
    """The changes of the first `rows` rows, or of those named, maybe by patterns."""
    names = list(dict.fromkeys(mutant.row for mutant in everything))
    unknown = [name for name in only if not fnmatch.filter(names, name)]
    if unknown:
        near = fnmatch.filter(names, f"*{unknown[0]}*")[:3] or difflib.get_close_matches(unknown[0], names, cutoff=0.4)
        advice = f"; near ones are {', '.join(near)}" if near else ""
        raise click.BadParameter(f"none of {len(names)} rows is {unknown[0]!r}{advice}; `*` stands for anything")
    first = names if rows == "all" else names[: int(rows)]
    wanted = {name for pattern in only for name in fnmatch.filter(names, pattern)} if only else {*first}
    return [mutant for mutant in everything if mutant.row in wanted]


def control() -> Mutant:
    """The change that is none: the tests must pass."""
    return Mutant(CONTROL, "nothing", lambda: None)


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def summary(results: list[Verdict], everything: Sequence[Wrong], commit: str) -> Record:
    """The file's content: counts, and per row what killed each change."""
    order = {(mutant.row, mutant.change): place for place, mutant in enumerate(everything)}
    rows: dict[str, dict[str, str]] = {}
    for verdict in sorted(results, key=lambda verdict: order[verdict.mutant.row, verdict.mutant.change]):
        rows.setdefault(verdict.mutant.row, {})[verdict.mutant.change] = verdict.by if verdict.killed else "survived"
    killed = sum(verdict.killed for verdict in results)
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": commit,
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
        self.broken: list[str] = []

    def __call__(self, verdict: Verdict) -> None:
        if verdict.mutant.row == CONTROL:
            self.broken += [f"the tests fail without any change: {verdict.by}"] if verdict.killed else []
            return
        if verdict.is_broken:
            self.broken.append(f"{verdict.mutant.row}: {verdict.mutant.change}: makes no program: {verdict.how}")
        self.results.append(verdict)
        word = f"killed by {verdict.by}" if verdict.killed else "SURVIVED"
        at = f"{len(self.results)}/{self.total}"
        print(f"{at} {verdict.mutant.row}: {verdict.mutant.change}: {word}", file=self.terminal, flush=True)


def _hints(target: Path) -> dict[tuple[str, str], str]:
    """What killed each change when the file was written."""
    rows = json.loads(target.read_text())["changed"] if target.is_file() else {}
    return {(row, change): by for row, changes in rows.items() for change, by in changes.items()}


def _tried(target: str, chosen_edits: list[Wrong], jobs: int, file: Path) -> _Teller:
    os.environ["CI"] = "1"  # hypothesis repeats itself
    tell = _Teller(len(chosen_edits))
    folder = ROOT / "conformance" / "tests"
    if target == "autodiff":
        edits = [mutant for mutant in chosen_edits if isinstance(mutant, Edit)]
        mutated = autodiff.mutants_of(edits)
        judged(mutated, jobs, tell, folder, autodiff.TESTS, autodiff.order(_hints(file)))
        killers = {verdict.by for verdict in tell.results}
        judged([control()], 1, tell, folder, autodiff.TESTS, lambda item, _: 0 if item.nodeid in killers else None)
    else:
        mutated = [mutant for mutant in chosen_edits if isinstance(mutant, Mutant)]
        judged([control(), *mutated], jobs, tell, folder, TESTS)
    return tell


@click.command(help=__doc__)
@click.option("--target", type=click.Choice(list(RESULTS)), default="operations", help="what is changed")
@click.option("--rows", default="all", help="how many rows to change; all by default")
@click.option("--row", "only", multiple=True, help="only this row, or those of a pattern; may be given again")
@click.option("--jobs", default=2, help="changes tried at the same time")
@click.option("--json", "file", type=click.Path(path_type=Path), help="the file to write")
def main(target: str, rows: str, only: tuple[str, ...], jobs: int, file: Path | None) -> None:
    """Try the changes, report survivors, write the file."""
    file = file.absolute() if file else ROOT / "conformance" / "results" / RESULTS[target]
    everything: Sequence[Wrong] = autodiff.edits() if target == "autodiff" else list(mutants())
    commit = _commit()
    chosen_edits = chosen(rows, only, everything)
    try:
        tell = _tried(target, chosen_edits, jobs, file)
    except StaleEditError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    if tell.broken:
        click.echo("\n".join(tell.broken), err=True)
        sys.exit(2)
    counts = summary(tell.results, everything, commit)
    file.write_text(json.dumps(counts, indent=1) + "\n")
    click.echo(f"{counts['killed']} of {counts['changes']} changes to {counts['rows']} rows killed")
    sys.exit(counts["survived"] != 0)


if __name__ == "__main__":
    main()
