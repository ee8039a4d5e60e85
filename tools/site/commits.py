"""The page of the history: every benchmark that asv has run over commits, drawn, and the regressions that it found."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Final

from .history import series
from .plots import lines, picture
from .tables import table

__all__ = ["over_commits", "regressions"]

_ABOUT: Final = """\
Each point is a commit, from the left to the right as they came; axes are logarithmic, seconds for what is called time,
bytes for strides and peaks, counts for the rest."""
_ASV: Final = """\
<a href="asv/index.html">asv's pages</a> have the same as graphs that can be searched by parameter. They load scripts
from the internet, and need a server, such as `python -m http.server` in the site's folder; this page needs neither."""
_FOUND: Final = "What was found, and how: [Benchmarks](inside/asv_benchmarks.md#the-history)."


def over_commits(plots: Path, asv: Path | None) -> str:
    """Draw all benchmarks into a folder, and write the page; `asv` is the folder of asv's pages, if there are any."""
    parts = ["# Over the history", _ABOUT, _FOUND]
    if asv is not None:
        parts += [
            _ASV,
            "## Regressions",
            "As `asv publish` finds them; counts at zero change, times at 5 %.",
            regressions(asv),
        ]
    drawn = {name: points for name, points in series().items() if len(points) > 1}
    for number, (name, group) in enumerate(groupby(drawn, key=lambda name: name.partition("(")[0])):
        mine = {one: drawn[one] for one in group}
        lines(plots / f"benchmark-{number}", mine)
        parts += [f"## {name}", picture(f"benchmark-{number}", name)]
    return "\n\n".join(parts) + "\n"


def regressions(asv: Path) -> str:
    """The regressions that asv's pages list, as a table."""
    rows = json.loads((asv / "regressions.json").read_text("utf-8"))["regressions"]
    if not rows:
        return "None."
    return table(("benchmark", "before", "now"), [[f"`{row[0]}`", f"{row[5]:.6g}", f"{row[4]:.6g}"] for row in rows])
