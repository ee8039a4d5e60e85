"""Pictures of the site: lines over commits, and how pages show pictures."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..plots.bars import COLOURS, INK, WIDTH, Axes, inked, saved
from .history import SHOWN, Point

__all__ = ["lines", "picture"]


def lines(path: Path, points: Mapping[str, Sequence[Point]]) -> list[Path]:
    """Draw benchmarks over commits, one above the other; all have the commits of all of them from left to right."""
    import matplotlib.pyplot as plt

    shown = {name: series for name, series in points.items() if series}
    commits = sorted({(point.date, point.commit) for series in shown.values() for point in series})
    files = []
    for mode, ink in INK.items():
        size = (WIDTH, 1.5 * len(shown) + 0.6)
        figure, grid = plt.subplots(len(shown), 1, sharex=True, figsize=size, squeeze=False, layout="constrained")
        for (name, series), (axes,) in zip(shown.items(), grid, strict=True):
            _line(axes, series, commits)
            axes.set_title(SHOWN.get(name, name), fontsize=9, loc="left", color=ink)
            inked(axes, ink)
        files.append(saved(path, mode, figure))
    return files


def _line(axes: Axes, points: Sequence[Point], commits: Sequence[tuple[int, str]]) -> None:
    places = [commits.index((point.date, point.commit)) for point in points]
    axes.plot(places, [point.value for point in points], marker="o", markersize=4, color=COLOURS[0])
    axes.set_yscale("log")
    least, most = min(point.value for point in points), max(point.value for point in points)
    room = max((most / least) ** 0.3, 1.02)
    axes.set_ylim(least / room, most * room)
    axes.set_yticks(sorted({least, most}), [f"{value:.3g}" for value in sorted({least, most})])
    axes.minorticks_off()
    axes.set_xticks(range(len(commits)), [_day(*commit) for commit in commits], rotation=60, fontsize=7)


def picture(name: str, words: str) -> str:
    """A drawn picture, in MyST's Markdown: the one for light pages, and the one for dark ones."""
    return "\n\n".join(f"```{{image}} plots/{name}-{mode}.svg\n:alt: {words}\n:class: only-{mode}\n```" for mode in INK)


def _day(date: int, commit: str) -> str:
    when = datetime.datetime.fromtimestamp(date / 1000, datetime.timezone.utc)
    return f"{when:%d} {commit[:7]}"
