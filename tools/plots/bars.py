"""Pictures of ratios, each for light pages and for dark ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

__all__ = ["COLOURS", "INK", "NAMES", "WIDTH", "Axes", "Ratio", "bars", "inked", "saved"]

Axes: TypeAlias = Any
"""Axes of matplotlib, which is imported only where something is drawn."""

INK: Final = {"light": "#1d2126", "dark": "#e4e6ea"}
COLOURS: Final = ("#3478c6", "#d9822b", "#4fa36b", "#a45fc0")
"""The colours of peers, which are seen as well on white as on black."""
NAMES: Final = {"quadrants": "Quadrants", "taichi": "Taichi", "jax": "JAX", "warp": "Warp"}
"""What peers are called where people read it."""
_BAR: Final = 0.8
WIDTH: Final = 5.4
"""Inches: readable when a phone shows it half as large."""


@dataclass(frozen=True)
class Ratio:
    """How many times as fast adstack is as a peer, in one row.

    Attributes:
        row: its name.
        peer: whose time is over adstack's.
        times: above 1 where adstack is faster.
        source: the name of the file.
    """

    row: str
    peer: str
    times: float
    source: str


def bars(path: Path, ratios: Sequence[Ratio], titles: Mapping[str, str]) -> list[Path]:
    """Draw how many times as fast adstack is, a group of bars per row and a bar per peer, on a logarithmic axis.

    Args:
        path: without a suffix: "-light.svg" and "-dark.svg" are added.
        ratios: what is drawn.
        titles: of rows, where it is not the row's name.
    """
    rows = list(dict.fromkeys(one.row for one in ratios))
    peers = list(dict.fromkeys(one.peer for one in ratios))

    def draw(axes: Axes, ink: str) -> None:
        for number, peer in enumerate(peers):
            mine = {one.row: one.times for one in ratios if one.peer == peer}
            height = _BAR / len(peers)
            places = [rows.index(row) + (number - (len(peers) - 1) / 2) * height for row in mine]
            drawn = axes.barh(
                places, list(mine.values()), height, left=0, color=COLOURS[number], label=NAMES.get(peer, peer)
            )
            axes.bar_label(drawn, labels=[f"{value:.3g}" for value in mine.values()], padding=3, fontsize=8, color=ink)
        axes.set_yticks(range(len(rows)), [titles.get(row, row) for row in rows])
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.axvline(1, color=ink, linewidth=1)
        axes.set_xlabel("times as fast as the peer, logarithmic (the line is 1)")
        axes.set_xlim(right=axes.get_xlim()[1] * 2.5)
        axes.legend(frameon=False, labelcolor=ink, ncols=len(peers), loc="lower center", bbox_to_anchor=(0.5, 1.0))

    return _drawn(path, draw, height=1.0 + 0.3 * len(rows) + 0.16 * len(rows) * (len(peers) - 1))


def _drawn(path: Path, draw: Callable[[Axes, str], None], height: float) -> list[Path]:
    import matplotlib.pyplot as plt

    files = []
    for mode, ink in INK.items():
        figure, axes = plt.subplots(figsize=(WIDTH, height))
        draw(axes, ink)
        inked(axes, ink)
        files.append(saved(path, mode, figure))
    return files


def inked(axes: Axes, ink: str) -> None:
    """Let axes have the colour of a page's text."""
    axes.tick_params(colors=ink, which="both")
    axes.xaxis.label.set_color(ink)
    for name, side in axes.spines.items():
        side.set_color(ink)
        side.set_visible(name in ("left", "bottom"))


def saved(path: Path, mode: str, figure: Any) -> Path:
    """Write a figure for one mode of pages, and close it; its file."""
    import matplotlib.pyplot as plt

    written = path.with_name(f"{path.name}-{mode}.svg")
    figure.savefig(written, transparent=True, bbox_inches="tight")
    plt.close(figure)
    return written
