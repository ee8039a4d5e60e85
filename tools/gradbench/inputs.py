"""Which inputs of GradBench's evals are measured, and on which tools.

The inputs are those for which the evals have arguments; the largest of an eval stands last. A tool that needs minutes
for an input is not asked, and one that needs many seconds computes it only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["DERIVATIVES", "EVALS", "Input", "runs"]

DERIVATIVES: Final = ("jacobian", "gradient", "dir", "double", "rr", "ff", "fr", "rf")
"""The functions that take derivatives; those of `particle` and `saddle` differ in the modes."""

_SLOW: Final = {("pytorch", "ba"), ("pytorch", "ht")}
_OFTEN: Final = ("--min-runs", "5", "--min-seconds", "0.25")
_ONCE: Final = ("--min-runs", "1", "--min-seconds", "0")


@dataclass(frozen=True)
class Input:
    """Arguments of an eval that choose one or several inputs.

    Attributes:
        arguments: as the eval's command line has them.
        without: the tools that are not asked.
    """

    arguments: str
    without: Sequence[str] = ()


EVALS: Final[dict[str, Sequence[Input]]] = {
    "hello": (Input(""),),
    "gmm": (Input("-d 10 -k 10"), Input("-d 20 -k 25"), Input("-d 32 -k 50", ("adol-c", "pytorch"))),
    "ba": (Input("--min 1 --max 1"), Input("--min 5 --max 5", ("pytorch",))),
    "ht": (
        Input("--min 1 --max 1 --model small"),
        Input("--min 5 --max 5", ("pytorch",)),
        Input("--min 8 --max 8", ("pytorch", "tapenade")),
    ),
    "lstm": (Input("-l 2 -c 1024"), Input("-l 4 -c 4096", ("pytorch",))),
    "lse": (Input("-n 10000 160000 640000"),),
    "llsq": (Input("-n 256 2048 16392"),),
    "det": (Input("-l 6 8"), Input("-l 9 10", ("adol-c",))),
    "kmeans": (
        Input("-k 10 -n 1000 -d 8"),
        Input("-k 100 -n 10000 -d 8"),
        Input("-k 1000 -n 10000 -d 16", ("pytorch",)),
    ),
    "ode": (Input("-n 1000 -s 10"), Input("-n 10000 -s 10"), Input("-n 100000 -s 10", ("adol-c",))),
    "particle": (Input(""),),
    "saddle": (Input(""),),
}


def runs(tool: str, name: str) -> Sequence[str]:
    """The arguments that say how often a tool is to compute an input of an eval."""
    if name == "hello":
        return ()
    return _ONCE if (tool, name) in _SLOW else _OFTEN
