"""The ratios of runs as pictures."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import click

from ..plots.bars import Ratio, bars
from .report import Run

__all__ = ["draw", "ratios", "refuse_without_matplotlib"]


def ratios(run: Run) -> list[Ratio]:
    """How many times as fast adstack is as each peer, by row; rows without a ratio are left out."""
    figures = [(row, other, run.ratio(row, other)) for row in run.rows for other in run.subjects[1:]]
    return [Ratio(row.name, other.name, 1 / one.median, "") for row, other, one in figures if one is not None]


def refuse_without_matplotlib() -> None:
    """Raise click.ClickException if pictures can't be drawn: before an hour of measurements rather than after it."""
    if importlib.util.find_spec("matplotlib") is None:
        raise click.ClickException("--plot needs matplotlib: python -m pip install 'adstack[site]' has it")


def draw(path: Path, runs: Sequence[Run]) -> None:
    """Draw a picture for each run that has ratios, and say where it is.

    Raises:
        click.ClickException: no run has one.
    """
    drawn = [(run, shown) for run in runs if (shown := ratios(run))]
    if not drawn:
        raise click.ClickException("--plot draws ratios, and there are none: name peers with --against")
    path.parent.mkdir(parents=True, exist_ok=True)
    files = [file for run, shown in drawn for file in bars(path.with_name(f"{path.stem}-{run.arch}"), shown, {})]
    click.echo("\n".join(map(str, files)))
