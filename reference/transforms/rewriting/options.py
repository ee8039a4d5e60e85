"""Options of the passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["DEFAULT", "Options"]


@dataclass(frozen=True)
class Options:
    """Settings that every pass takes.

    Attributes:
        debug: the program will run with its checks on. Ops that may raise then (integer division, shifts, accesses out
            of bounds) stay even if their results are unused, so that a program raises if and only if it did
            before. Otherwise asserts do nothing, and go.
        keep_accesses: what is stored to places is loaded from there. Autodiff wants that of the kernel that it
            differentiates: a place without gradient storage cuts the gradient, and forwarding would go around it.
        keep_loops: parallel loops stay, whatever they do.
        fast_math: take the variants of math functions that are licensed by it (see `math/library.py`).
    """

    debug: bool = False
    keep_accesses: bool = False
    keep_loops: bool = False
    fast_math: bool = False


DEFAULT: Final = Options()
