"""The pictures of `examples/`: `python -m adstack.tools.pictures [NAME...]`, all by default, with the extra `examples`.

An example's `main` returns its losses and what is to be seen, by title: an image (rows, columns), points (n, 2), or
curves (k, n, 2). The pictures are drawn anew where an example has changed, and committed.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any, Final, TypeAlias

from adstack.conformance.harness.loading import load_module

from .check import ROOT

__all__ = ["EXAMPLES", "FOLDER", "draw"]

EXAMPLES: Final = ROOT / "examples"
FOLDER: Final = EXAMPLES / "pictures"
COLOURS: Final = 32
MOST: Final = 40_000
"""Bytes that a picture may take."""
Figure: TypeAlias = Any
"""A figure or axes of matplotlib, which has no types."""


def draw(figure: Figure, losses: list[float], panels: dict[str, Any]) -> None:
    """Draw what an example returns, side by side; the losses come last."""
    axes = figure.subplots(1, len(panels) + 1, squeeze=False)[0]
    for axis, (title, data) in zip(axes, panels.items(), strict=False):
        axis.set_title(title, fontsize=8)
        axis.tick_params(labelsize=6)
        _panel(axis, data)
    axes[-1].set_title("loss of each iteration", fontsize=8)
    axes[-1].tick_params(labelsize=6)
    axes[-1].semilogy(losses)


def _panel(axis: Figure, data: Any) -> None:
    if data.ndim == 3:
        for curve in data:
            axis.plot(curve[:, 0], curve[:, 1], linewidth=0.8)
    elif data.shape[1] == 2:
        axis.scatter(data[:, 0], data[:, 1], s=4)
        axis.set_aspect("equal")
    else:
        axis.imshow(data, cmap="viridis", aspect="auto", interpolation="nearest")


def _save(figure: Figure, file: Path) -> None:
    """Write a figure in few colours: noise would take much room."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn)
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(file, optimize=True)


def main(names: list[str]) -> None:
    """Run examples at their full sizes, and write their pictures."""
    from matplotlib.figure import Figure

    FOLDER.mkdir(exist_ok=True)
    for path in sorted(EXAMPLES.glob("*.py")):
        if names and path.stem not in names:
            continue
        losses, panels = load_module(path).main()
        figure = Figure(figsize=(2.2 * (len(panels) + 1), 2.2), dpi=90, layout="constrained")
        draw(figure, losses, panels)
        file = FOLDER / f"{path.stem}.png"
        _save(figure, file)
        if file.stat().st_size > MOST:
            sys.exit(f"{file} takes {file.stat().st_size} bytes, more than {MOST}")


if __name__ == "__main__":
    main(sys.argv[1:])
