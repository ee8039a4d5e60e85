"""Play random histories.

    python -m adstack.conformance.fuzz.histories cpu --count 10000 --seed 1

A history that differs is printed with its seed. With `--json`, what came of each chunk is added to a file as it ends;
seeds that the file has of this commit and backend are not played again.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from ..results import standing
from .many import chunks, play_many
from .play import STEPS, shortened
from .results import Histories

__all__ = ["main"]


@click.command()
@click.argument("arch")
@click.option("--count", default=1000, help="How many histories.")
@click.option("--seed", default=0, help="The first one's.")
@click.option("--jobs", default=1, help="Processes at a time.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="A file to add what came of them to.")
@click.option("--shorten", is_flag=True, help="Find few steps that differ, of these.")
def main(arch: str, count: int, seed: int, jobs: int, file: Path | None, shorten: bool) -> None:
    """Play many histories on a backend; the exit status is 1 if anything differs."""
    if shorten:
        click.echo("\n".join(shortened(arch, seed, count)))
        return
    results = None if file is None else Histories(file, arch, standing())
    wanted = [[seed, seed + count]] if results is None else results.missing(seed, seed + count)
    counts, differ, played = Counter[str](), 0, 0
    for one in play_many(arch, [chunk for first, end in wanted for chunk in chunks(first, end)], jobs):
        for line in one.told:
            click.echo(line)
        counts, differ, played = counts + one.counts, differ + len(one.differing), played + one.end - one.first
        if results is not None:
            results.add(one)
    totals = "".join(f", {number} {what}" for what, number in sorted(counts.items()))
    click.echo(f"{played} histories of {STEPS} steps on {arch}: {differ} differ{totals}")
    raise SystemExit(bool(differ))
