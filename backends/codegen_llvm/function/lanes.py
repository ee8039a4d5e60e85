"""What has no vector form: loops over the lanes, and vectors in memory, whose elements such loops load and store.

To take a lane whose number is not a constant out of a vector register, LLVM writes the whole register to memory each
time; and to take all lanes out, one by one, costs more than what is done with them, as one port of a processor does it.
A vector that is stored once is read at several elements a cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .region import RegionEmitter

__all__ = ["Spilled", "each_lane", "lane_by_lane"]

_AT_A_TURN: Final = 8
"""Lanes that a turn of a loop over all lanes serves."""


class Spilled:
    """A vector in memory, with one element a lane.

    Args:
        slot: the memory.
        element: the LLVM type of an element, of whole bytes.
        size: bytes of an element.
    """

    def __init__(self, slot: str, element: str, size: int) -> None:
        self._slot = slot
        self._element = element
        self._size = size

    def put(self, e: RegionEmitter, vector: str) -> Spilled:
        """Store all elements; gives this vector."""
        e.w.do(f"store <{e.lanes} x {self._element}> {vector}, ptr {self._slot}, align 64")
        return self

    def whole(self, e: RegionEmitter) -> str:
        """Load all elements."""
        return e.w.let(f"load <{e.lanes} x {self._element}>, ptr {self._slot}, align 64")

    def of(self, e: RegionEmitter, lane: str) -> str:
        """Load the element of a lane, whose number is an i64."""
        return e.w.let(f"load {self._element}, ptr {self._at(e, lane)}, align {self._size}")

    def set(self, e: RegionEmitter, lane: str, name: str) -> None:
        """Store the element of a lane."""
        e.w.do(f"store {self._element} {name}, ptr {self._at(e, lane)}, align {self._size}")

    def _at(self, e: RegionEmitter, lane: str) -> str:
        return e.w.let(f"getelementptr {self._element}, ptr {self._slot}, i64 {lane}")


def each_lane(e: RegionEmitter, body: Callable[[str], object]) -> None:
    """Emit `body` for every running lane, in order; `body` has the lane's number (i64), and may open blocks."""
    if e.lanes == 1:
        body("0")
        return
    head, test, inside, following, after = (e.label(h) for h in ("lanes", "lane", "one", "next", "after"))
    before = e.block
    e.jump(head)
    e.enter(head)
    lane = e.w.let("phi i64")
    line = len(e.w.lines) - 1
    e.split(e.w.let(f"icmp ult i64 {lane}, {e.lanes}"), test, after)
    e.enter(test)
    if e.mask is None:
        e.jump(inside)
    else:
        e.split(e.w.let(f"extractelement {e.mask_type} {e.mask}, i64 {lane}"), inside, following)
    e.enter(inside)
    body(lane)
    e.jump(following)
    e.enter(following)
    step = e.w.let(f"add i64 {lane}, 1")
    e.w.lines[line] += f" [ 0, %{before} ], [ {step}, %{following} ]"
    e.jump(head)
    e.enter(after)


def lane_by_lane(e: RegionEmitter, body: Callable[[str], object]) -> None:
    """Emit `body` for all lanes, running or not, in order, for a few at each turn of a loop; it opens no blocks."""
    turn = min(_AT_A_TURN, e.lanes)
    head, after, before = e.label("turn"), e.label("turned"), e.block
    e.jump(head)
    e.enter(head)
    first = e.w.let("phi i64")
    line = len(e.w.lines) - 1
    for k in range(turn):
        body(e.w.let(f"add i64 {first}, {k}"))
    step = e.w.let(f"add i64 {first}, {turn}")
    e.w.lines[line] += f" [ 0, %{before} ], [ {step}, %{e.block} ]"
    e.split(e.w.let(f"icmp ult i64 {step}, {e.lanes}"), head, after)
    e.enter(after)
