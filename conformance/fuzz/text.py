"""Mutated programs must run, or be refused with an error of adstack's: no plain exception, no defect, no crash.

    python -m adstack.conformance.fuzz.text --count 10000 --seed 1

A finding is printed with its number; `--only NUMBER` with the same seed runs that mutant alone, in this process, and
shows the whole traceback. Programs that do not end are stopped: a mutated loop may have lost its end.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import click

from .mutants import Mutant, mutant
from .trial import FINDINGS, Outcome, serve, tried

__all__ = ["Finding", "examine", "main"]

RESPONSE_SECONDS: Final = 30.0
"""A worker that has not answered after this time is stuck in machine code, and is ended."""
RECYCLED: Final = 400
"""Mutants that one process runs before a new one takes its place, so that what they leave behind does not add up."""


@dataclass(frozen=True)
class Finding:
    """A mutant, and what came of it."""

    mutant: Mutant
    outcome: Outcome

    def __str__(self) -> str:
        changes = "; ".join(self.mutant.changes)
        head = f"mutant {self.mutant.number} ({self.mutant.id}: {changes}): {self.outcome.kind}"
        return f"{head}\n{self.outcome.detail}\n"


class Worker:
    """A process that tries mutants; it is replaced when it dies, hangs, or has done its part."""

    def __init__(self, arch: str) -> None:
        self.arch, self.left = arch, 0
        self._process: Any = None

    def run(self, one: Mutant) -> Outcome:
        """Try a mutant there."""
        if self.left == 0:
            self.close()
            context = get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=serve, args=(theirs, self.arch), daemon=True)
            self._process.start()
            theirs.close()
            self.left = RECYCLED
        self.left -= 1
        try:
            self._pipe.send(one)
            if self._pipe.poll(RESPONSE_SECONDS):
                outcome: Outcome = self._pipe.recv()
                return outcome
        except (EOFError, OSError):
            self._process.join()
            self.left = 0
            return Outcome("crashed", f"the process ended with {self._process.exitcode}")
        self.left = 0
        return Outcome("stopped", "no answer")

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()


def examine(count: int, *, seed: int, arch: str = "reference", jobs: int = 1) -> Iterator[Finding]:
    """What came of the mutants 0 .. count - 1, as they end."""

    def share(first: int) -> Iterator[Finding]:
        worker = Worker(arch)
        try:
            for number in range(first, count, jobs):
                one = mutant(seed, number)
                yield Finding(one, worker.run(one))
        finally:
            worker.close()

    if jobs == 1:
        yield from share(0)
        return
    with ThreadPoolExecutor(jobs) as pool:
        shares = [share(first) for first in range(jobs)]
        while shares:
            several = list(pool.map(lambda one: list(islice(one, 16)), shares))
            shares = [one for one, outcomes in zip(shares, several, strict=True) if outcomes]
            for outcomes in several:
                yield from outcomes


@click.command()
@click.option("--count", default=1000, help="How many mutants.")
@click.option("--seed", default=0, help="Another seed gives other mutants.")
@click.option("--arch", default="reference", help="Where they run, in debug mode.")
@click.option("--jobs", default=1, help="Processes at a time.")
@click.option("--only", type=int, help="Run this mutant alone, and show everything.")
@click.option("--keep", type=click.Path(path_type=Path), help="A folder for the files of mutants with findings.")
def main(count: int, seed: int, arch: str, jobs: int, only: int | None, keep: Path | None) -> None:
    """Run mutated programs; the exit status is 1 if any met a defect."""
    if only is not None:
        one = mutant(seed, only)
        click.echo(Finding(one, tried(one, arch)))
        return
    kinds: Counter[str] = Counter()
    for finding in examine(count, seed=seed, arch=arch, jobs=jobs):
        kinds[finding.outcome.kind] += 1
        if finding.outcome.kind in FINDINGS:
            click.echo(finding)
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"mutant_{seed}_{finding.mutant.number}.py").write_text(finding.mutant.text)
    click.echo(", ".join(f"{kinds[kind]} {kind}" for kind in sorted(kinds)))
    sys.exit(any(kinds[kind] for kind in FINDINGS))


if __name__ == "__main__":
    main()
