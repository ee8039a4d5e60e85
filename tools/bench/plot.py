"""The ratios of runs as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..plots.bars import Ratio, bars
from .report import Run

__all__ = ["draw", "ratios"]


def ratios(run: Run) -> list[Ratio]:
    """How many times as fast adstack is as each peer, by row; rows without a ratio are left out."""
    figures = [(row, other, run.ratio(row, other)) for row in run.rows for other in run.subjects[1:]]
    return [Ratio(row.name, other.name, 1 / one.median, "") for row, other, one in figures if one is not None]


def draw(path: Path, runs: Sequence[Run]) -> None:
    """Draw a picture for each run that has ratios, and say where it is.

    Raises:
        click.ClickException: no run has one, or matplotlib is not installed.
    """
    drawn = [(run, shown) for run in runs if (shown := ratios(run))]
    if not drawn:
        raise click.ClickException("--plot draws ratios, and there are none: name peers with --against")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        files = [file for run, shown in drawn for file in bars(path.with_name(f"{path.stem}-{run.arch}"), shown, {})]
    except ModuleNotFoundError as error:
        raise click.ClickException(f"{error}; python -m pip install 'adstack[site]' has it") from error
    click.echo("\n".join(map(str, files)))
