"""Lists of gaps as text files, to be read and reviewed: who has the gap, in which mode, why, and for which cases.

    # a comment
    [quadrants, taichi]
    reverse: reads the overwritten value: 0.36 where 1.73 is right
        gradients/a-history-that-is-overwritten*

`any` stands for all modes. The indented lines are what `Gap.covers` takes, parted by white space.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Final

from ..harness.cells import Gap

__all__ = ["GapListError", "gaps_of", "listed", "parsed"]

ANY: Final = "any"
INDENT: Final = " " * 4
WIDTH: Final = 118
FOLDER: Final = Path(__file__).resolve().parent


class GapListError(ValueError):
    """A line of a list of gaps that is none of the kinds there are."""


def gaps_of(name: str) -> dict[str, tuple[Gap, ...]]:
    """By peer, the gaps that the list `name` of this folder has, in its order."""
    gaps: dict[str, list[Gap]] = {}
    for peer, gap in parsed((FOLDER / f"{name}.gaps").read_text("utf-8")):
        gaps.setdefault(peer, []).append(gap)
    return {peer: tuple(list_) for peer, list_ in gaps.items()}


def parsed(text: str) -> Iterator[tuple[str, Gap]]:
    """Each gap of a list, once for each peer that has it. Raises GapListError for a line that can't be read."""
    peers: tuple[str, ...] = ()
    mode = why = ""
    for line in filter(str.strip, text.splitlines()):
        if line.startswith("["):
            peers, mode, why = tuple(name.strip() for name in line.strip("[]").split(",")), "", ""
        elif line.startswith(" ") and peers and why:
            yield from ((peer, Gap(covers, why, mode)) for covers in line.split() for peer in peers)
        elif not line.startswith("#"):
            mode, colon, why = (part.strip() for part in line.partition(":"))
            if not colon or not why or not peers:
                raise GapListError(f"neither [peers], nor MODE: REASON, nor indented patterns: {line!r}")
            mode = "" if mode == ANY else mode


def listed(peers: Iterable[str], reasons: Mapping[tuple[str, str], Iterable[str]]) -> str:
    """A section of a list: for these peers, by mode ("" for all) and reason, what the gaps cover."""
    lines = [f"[{', '.join(peers)}]"]
    for (mode, why), covers in reasons.items():
        lines.append(f"{mode or ANY}: {why}")
        text = " ".join(covers)
        lines += wrap(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT, break_on_hyphens=False)
    return "\n".join(lines) + "\n"
