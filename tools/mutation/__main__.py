"""Tries every change and writes what came of it: `python -m adstack.tools.mutation --target autodiff`.

The target `operations` is the table of operations and the casts; `autodiff` the table of derivatives and reverse mode,
by edits written by hand; `rooms` what operators do to reverse mode, planning, sizing, the adstack heap, records of
launches and the generators. The file is written as verdicts come, and keeps those on changes that are not tried.
Exits with 1 if a change survives that is not known to change nothing, with 2 if the tests fail without any change.
"""

from __future__ import annotations

import difflib
import fnmatch
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from . import autodiff, rooms
from .edits import Edit, StaleEditError
from .ledger import Ledger
from .mutants import Mutant, mutants
from .page import by_hand
from .reach import Quickest
from .run import ROOT, TESTS, Verdict, Wrong, judged, speaks_of

RESULTS: Final = {
    "operations": "mutation.json",
    "autodiff": "mutation-autodiff.json",
    "rooms": "mutation-rooms.json",
}
CONTROL: Final = "no row"
_FOLDER: Final = ROOT / "conformance" / "tests"


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


class _Teller:
    """Says how it goes on the terminal that pytest does not see, and keeps the results."""

    def __init__(self, total: int, ledger: Ledger, *, by_hand: bool) -> None:
        self.total, self.ledger, self.by_hand, self.results = total, ledger, by_hand, list[Verdict]()
        self.terminal = os.fdopen(os.dup(1), "w")
        self.broken: list[str] = []

    def __call__(self, verdict: Verdict) -> None:
        if verdict.mutant.row == CONTROL:
            self.broken += [f"the tests fail without any change: {verdict.by}"] if verdict.killed else []
            return
        if verdict.is_broken and self.by_hand:
            self.broken.append(f"{verdict.mutant.row}: {verdict.mutant.change}: makes no program: {verdict.how}")
        self.results.append(verdict)
        self.ledger.add(verdict)
        word = f"killed by {verdict.by}" if verdict.killed else "SURVIVED"
        at = f"{len(self.results)}/{self.total}"
        print(f"{at} {verdict.mutant.row}: {verdict.mutant.change}: {word}", file=self.terminal, flush=True)


def _everything(target: str) -> Sequence[Wrong]:
    if target == "operations":
        return list(mutants())
    return autodiff.edits() if target == "autodiff" else rooms.room_edits()


def _candidates(target: str, everything: Sequence[Wrong]) -> Mapping[str, int]:
    """How many changes there could be, by what is changed."""
    if target == "autodiff":
        return Counter(by_hand(mutant.row) for mutant in everything)
    return rooms.candidates() if target == "rooms" else {}


def _tried(target: str, chosen_edits: list[Wrong], jobs: int, ledger: Ledger, reach: Path | None) -> _Teller:
    os.environ["CI"] = "1"  # hypothesis repeats itself
    tell = _Teller(len(chosen_edits), ledger, by_hand=target != "rooms")
    if target == "operations":
        mutated = [mutant for mutant in chosen_edits if isinstance(mutant, Mutant)]
        judged([control(), *mutated], jobs, tell, _FOLDER, TESTS, speaks_of)
        return tell
    edited = [mutant for mutant in chosen_edits if isinstance(mutant, Edit)]
    mutated = autodiff.mutants_of(edited)
    if target == "autodiff":
        tests: Sequence[str] = autodiff.TESTS
        judged(mutated, jobs, tell, _FOLDER, tests, autodiff.order(ledger.killers))
    else:
        quickest = Quickest(edited, ROOT / "reference", reach, ledger.killers)
        tests = list(dict.fromkeys(test for edit in edited for test in rooms.room_of(edit.row).tests))
        judged(mutated, jobs, tell, _FOLDER, tests, quickest.order, quickest.ready)
        tell.broken += [f"without any change fails {test}" for test in quickest.reach.failed]
    killers = {verdict.by for verdict in tell.results}
    judged([control()], 1, tell, _FOLDER, tests, lambda item, _: 0 if item.nodeid in killers else None)
    return tell


@click.command(help=__doc__)
@click.option("--target", type=click.Choice(list(RESULTS)), default="operations", help="what is changed")
@click.option("--rows", default="all", help="how many rows to change; all by default")
@click.option("--row", "only", multiple=True, help="only this row, or those of a pattern; may be given again")
@click.option("--go-on", is_flag=True, help="leave out changes that the file says were noticed, or change nothing")
@click.option("--reach", type=click.Path(path_type=Path), help="keeps which tests run what, for another run (rooms)")
@click.option("--jobs", default=2, help="changes tried at the same time")
@click.option("--json", "file", type=click.Path(path_type=Path), help="the file to write")
def main(
    target: str, rows: str, only: tuple[str, ...], go_on: bool, reach: Path | None, jobs: int, file: Path | None
) -> None:
    """Try the changes, report survivors, write the file."""
    file = file.absolute() if file else ROOT / "conformance" / "results" / RESULTS[target]
    everything = _everything(target)
    chosen_edits = chosen(rows, only, everything)
    ledger = Ledger(file, everything, _commit(), _candidates(target, everything))
    if go_on:
        settled = {*ledger.killers, *ledger.reasons}
        chosen_edits = [edit for edit in chosen_edits if (edit.row, edit.change) not in settled]
    try:
        tell = _tried(target, chosen_edits, jobs, ledger, reach)
    except StaleEditError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    ledger.write()
    _report(ledger, tell)


def _report(ledger: Ledger, tell: _Teller) -> None:
    """Say what came of it, and exit."""
    for row, change in ledger.noticed_after_all():
        tell.broken.append(f"{row}: {change}: is said to change nothing, and {ledger.killers[row, change]} noticed it")
    if tell.broken:
        click.echo("\n".join(tell.broken), err=True)
        sys.exit(2)
    counts = ledger.record()
    click.echo(f"{counts['killed']} of {counts['changes']} changes to {counts['rows']} rows killed")
    sys.exit(counts["survived"] != 0)


if __name__ == "__main__":
    main()
