"""Atomic operations of many lanes: as if the lanes came one after another, in lane order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ..ir.ops import ATOMICS
from ..ir.types import DType
from .frame import Array

SCATTERS: Final[dict[str, np.ufunc]] = {
    "add": np.add,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
"""Kinds that numpy's `ufunc.at` does: unbuffered, one element after another, rounded to the element's type each time."""


def combine(kind: str, to: DType, flat: Array, at: Array, operands: list[Array], wanted: bool) -> Array | None:
    """`flat[at] = meaning(flat[at], *operands)` lane by lane; the old values, unless nobody wants them."""
    if not wanted and kind in SCATTERS:
        SCATTERS[kind].at(flat, at, operands[0])
        return None
    meaning = ATOMICS[kind].meaning
    old = np.empty(len(at), to.numpy)
    for lanes in rounds(at):
        where = at[lanes]
        old[lanes] = found = flat[where]
        flat[where] = meaning(to, found, *(operand[lanes] for operand in operands))
    return old


def rounds(at: Array) -> Iterator[Any]:
    """Lanes in groups that touch each element at most once; who comes first at an element is in an earlier group."""
    if len(at) == 1:
        yield slice(None)
        return
    order = np.argsort(at, kind="stable")
    ordered = at[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    lengths = np.diff(np.append(starts, len(at)))
    turn = np.arange(len(at)) - np.repeat(starts, lengths)
    by_turn = np.argsort(turn, kind="stable")
    ends = np.cumsum(np.bincount(turn))
    for start, end in zip([0, *ends[:-1]], ends):
        yield order[by_turn[start:end]]
