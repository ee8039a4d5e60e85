"""What threads do together that run side by side, a wave or a warp of them: they exchange values, as LLVM assembly.

Threads that update one element combine what they add first, and one of them updates memory. Where all threads of a
wave do, by a butterfly: after five exchanges, or six, each of them has the sum. Elsewhere each thread looks for those
that update the same element, and every second one of them hands its value to the one before, until one is left
("Voting and Shuffling to Optimize Atomic Operations", Westphal, 2015). The order is fixed by who takes part.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from adstack.ir.ops import TABLE
from adstack.ir.types import DType

from .text.scalar_ops import emit
from .text.writer import Writer, type_text

__all__ = ["Wave", "agree", "below", "combined", "exchanged", "first_of", "over_first", "peers", "peers_of", "totals"]


Move: TypeAlias = Callable[[str], str]
"""From a word (i32) of this thread to that of another."""


class Wave(Protocol):
    """How the threads of a device's waves exchange values. Masks have a bit of each thread.

    Attributes:
        mask: LLVM's type of masks.
    """

    mask: str

    @property
    def steps(self) -> Sequence[int]:
        """By how much the numbers of threads differ that exchange values, one after another."""

    def has(self, w: Writer, step: int) -> str:
        """Whether waves have so many threads that there is such a step (i1); "" if all have."""

    def shift(self, w: Writer) -> str:
        """The binary logarithm of how many threads a wave has (i32)."""

    def lane(self, w: Writer) -> str:
        """The number of the thread in its wave (i32)."""

    def active(self, w: Writer) -> str:
        """The threads of the wave that run this together."""

    def is_whole(self, w: Writer, mask: str) -> str:
        """Whether a mask has all threads of a wave (i1)."""

    def across(self, w: Writer, word: str, step: int) -> str:
        """The word (i32) of the thread whose number is this one's by `xor` with a step; all threads are here."""

    def at(self, w: Writer, word: str, lane: str, mask: str) -> str:
        """The word (i32) that the thread of a number (i32) has, which is one of a mask, as this one is."""

    def behind(self, w: Writer, word: str, step: int) -> str:
        """The word (i32) of the thread that is so many places on, anything if there is none; the whole wave is here."""

    def first(self, w: Writer, word: str, mask: str) -> str:
        """The word (i32) of the first thread of a whole wave; of any thread of another."""

    def ballot(self, w: Writer, condition: str, mask: str) -> str:
        """Those threads of a mask in which a condition (i1) holds; all of the mask are here."""

    def any(self, w: Writer, condition: str, mask: str) -> str:
        """Whether it holds in any of them (i1)."""

    def all(self, w: Writer, condition: str, mask: str) -> str:
        """Whether it holds in all of them (i1)."""

    def same(self, w: Writer, pointer: str, mask: str) -> str:
        """Those threads of a mask that have the same pointer as this one; all of the mask are here."""


def totals(wave: Wave, w: Writer, kind: str, dtype: DType, values: Sequence[str]) -> list[str]:
    """Several values of each thread of a whole wave, each combined over the wave.

    Exchanges of one value need not wait for those of another.

    Args:
        wave: how values are exchanged.
        w: writes the code.
        kind: a name of `ATOMICS`.
        dtype: the values' type.
        values: this thread's.

    Returns:
        The combined values, in all threads.
    """
    sums = list(values)
    for step in wave.steps:
        far, there = [_across(wave, w, dtype, value, step) for value in sums], wave.has(w, step)
        more = [combined(w, kind, dtype, a, b) for a, b in zip(sums, far, strict=True)]
        sums = [_either(w, dtype, there, a, b) if there else a for a, b in zip(more, sums, strict=True)]
    return sums


def over_first(wave: Wave, w: Writer, kind: str, dtype: DType, value: str, lane: str, count: str) -> str:
    """The values of a wave's first threads, combined by halves; all threads that the wave has must come here.

    Args:
        wave: how values are exchanged.
        w: writes the code.
        kind: a name of `ATOMICS`.
        dtype: the values' type.
        value: this thread's.
        lane: this thread's number in its wave (i32).
        count: how many threads take part (i32); all, if it is more than a wave has.

    Returns:
        In the first thread, the combined value; in others nothing of use.
    """
    for step in wave.steps:
        far = exchanged(w, dtype, value, functools.partial(wave.behind, w, step=step))
        both = combined(w, kind, dtype, value, far)
        held, there = w.let(f"icmp ult i32 {w.let(f'add i32 {lane}, {step}')}, {count}"), wave.has(w, step)
        value = _either(w, dtype, w.let(f"and i1 {held}, {there}") if there else held, both, value)
    return value


def agree(wave: Wave, w: Writer, words: Sequence[str], condition: str) -> str:
    """Whether all threads of a wave have come here with the same words, and a condition holds in all (i1).

    Args:
        wave: how values are exchanged.
        w: writes the code.
        words: what must be the same (i32).
        condition: this thread's (i1).
    """
    mask = wave.active(w)
    for word in words:
        first = wave.first(w, word, mask)
        condition = w.let(f"and i1 {condition}, {w.let(f'icmp eq i32 {word}, {first}')}")
    return w.let(f"and i1 {wave.all(w, condition, mask)}, {wave.is_whole(w, mask)}")


def peers(wave: Wave, w: Writer, kind: str, dtype: DType, pointer: str, value: str) -> tuple[str, str]:
    """Combine the values of those threads that are here and have the same pointer.

    Args:
        wave: how values are exchanged.
        w: writes the code, and declares a function that it calls.
        kind: a name of `ATOMICS`.
        dtype: the values' type.
        pointer: this thread's.
        value: this thread's.

    Returns:
        The combined value, and whether this thread is the one that has it (i1).
    """
    mask = wave.active(w)
    return first_of(wave, w, kind, dtype, (mask, wave.same(w, pointer, mask)), value)


def first_of(wave: Wave, w: Writer, kind: str, dtype: DType, masks: tuple[str, str], value: str) -> tuple[str, str]:
    """The same of those that are told: the threads that are here, and those of them that belong together."""
    mask, same = masks
    ty, symbol = type_text(dtype, 1), f"adstack.peers.{kind}.{dtype.name}"
    w.declare(symbol, peers_of(wave, w, symbol, kind, dtype))
    total = w.let(f"call {ty} @{symbol}({wave.mask} {mask}, {wave.mask} {same}, {ty} {value})")
    before = w.let(f"and {wave.mask} {same}, {below(wave, w, wave.lane(w))}")
    return total, w.let(f"icmp eq {wave.mask} {before}, 0")


def peers_of(wave: Wave, outer: Writer, symbol: str, kind: str, dtype: DType) -> str:
    """A function of a mask of threads, those of them that belong together, and a value: the first has the result."""
    w, ty, bits = Writer(), type_text(dtype, 1), wave.mask
    here = wave.lane(w)
    rank = w.intrinsic(f"llvm.ctpop.{bits}", bits, [(bits, w.let(f"and {bits} %peers, {below(wave, w, here)}"))])
    above = w.let(f"and {bits} %peers, {w.let(f'shl {bits} -2, {_as_mask(wave, w, here)}')}")
    w.do("br label %test")
    w.label("test")
    line = len(w.lines)
    mine, left, place = w.let(f"phi {ty}"), w.let(f"phi {bits}"), w.let(f"phi {bits}")
    some = w.let(f"icmp ne {bits} {left}, 0")
    w.do(f"br i1 {wave.any(w, some, '%mask')}, label %take, label %done")
    w.label("take")
    next_ = w.intrinsic(f"llvm.cttz.{bits}", bits, [(bits, left), ("i1", "false")])
    next_ = next_ if bits == "i32" else w.let(f"trunc {bits} {next_} to i32")
    far = _at(wave, w, dtype, mine, w.let(f"select i1 {some}, i32 {next_}, i32 {here}"))
    total = w.let(f"select i1 {some}, {ty} {combined(w, kind, dtype, mine, far)}, {ty} {mine}")
    odd = w.let(f"icmp ne {bits} {w.let(f'and {bits} {place}, 1')}, 0")
    gone = wave.ballot(w, odd, "%mask")
    rest, half = w.let(f"and {bits} {left}, {w.let(f'xor {bits} {gone}, -1')}"), w.let(f"lshr {bits} {place}, 1")
    w.do("br label %test")
    for k, (start, again) in enumerate((("%x", total), (above, rest), (rank, half))):
        w.lines[line + k] += f" [ {start}, %entry ], [ {again}, %take ]"
    w.label("done")
    w.do(f"ret {ty} {mine}")
    outer.declarations.update({name: text for name, text in w.declarations.items() if name not in outer.declarations})
    body, parameters = "\n".join(w.lines), f"{bits} %mask, {bits} %peers, {ty} %x"
    return f"define internal {ty} @{symbol}({parameters}) convergent nounwind {{\nentry:\n{body}\n}}"


def below(wave: Wave, w: Writer, lane: str) -> str:
    """The mask of all threads whose numbers are below one (i32)."""
    one = w.let(f"shl {wave.mask} 1, {_as_mask(wave, w, lane)}")
    return w.let(f"sub {wave.mask} {one}, 1")


def combined(w: Writer, kind: str, dtype: DType, a: str, b: str) -> str:
    """Two values of a type, combined by a name of `ATOMICS`."""
    return emit(w, 1, TABLE[kind], dtype, (dtype, dtype), (a, b))


def exchanged(w: Writer, dtype: DType, value: str, move: Move) -> str:
    """The value that another thread has, where `move` gives the word (i32) which that has for one of this thread's."""
    ty, word = type_text(dtype, 1), f"i{dtype.bits}"
    bits = w.let(f"bitcast {ty} {value} to {word}")
    if dtype.bits == 64:
        high = w.let(f"trunc i64 {w.let(f'lshr i64 {bits}, 32')} to i32")
        halves = [move(half) for half in (w.let(f"trunc i64 {bits} to i32"), high)]
        low, high = (w.let(f"zext i32 {half} to i64") for half in halves)
        moved = w.let(f"or i64 {low}, {w.let(f'shl i64 {high}, 32')}")
    elif dtype.bits == 32:
        moved = move(bits)
    else:
        moved = w.let(f"trunc i32 {move(w.let(f'zext {word} {bits} to i32'))} to {word}")
    return w.let(f"bitcast {word} {moved} to {ty}")


def _either(w: Writer, dtype: DType, condition: str, a: str, b: str) -> str:
    ty = type_text(dtype, 1)
    return w.let(f"select i1 {condition}, {ty} {a}, {ty} {b}")


def _across(wave: Wave, w: Writer, dtype: DType, value: str, step: int) -> str:
    return exchanged(w, dtype, value, lambda word: wave.across(w, word, step))


def _at(wave: Wave, w: Writer, dtype: DType, value: str, lane: str) -> str:
    return exchanged(w, dtype, value, lambda word: wave.at(w, word, lane, "%mask"))


def _as_mask(wave: Wave, w: Writer, number: str) -> str:
    return number if wave.mask == "i32" else w.let(f"zext i32 {number} to {wave.mask}")
