"""What the threads of a warp do together: they exchange values by shuffles, as LLVM assembly.

Threads that update one element combine what they add first, and one of them updates memory. Where all 32 threads of a
warp do, by a butterfly: after five exchanges each of them has the sum. Elsewhere each thread looks for those that
update the same element (`match.any`), and every second one of them hands its value to the one before, until one is
left ("Voting and Shuffling to Optimize Atomic Operations", Westphal, 2015). The order is fixed by who takes part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adstack.backends.codegen_llvm.text.scalar_ops import emit
from adstack.backends.codegen_llvm.text.writer import Writer, type_text
from adstack.ir.ops import TABLE
from adstack.ir.types import DType

__all__ = ["WARP", "agree", "lane", "over_first", "peers", "peers_of", "totals"]

WARP: Final = 32
_ALL: Final = "-1"
"""The mask of a whole warp."""


def over_first(w: Writer, kind: str, dtype: DType, value: str, lane: str, count: str) -> str:
    """The values of a warp's first threads, combined by halves; all threads of the warp must come here.

    Args:
        w: writes the code.
        kind: a name of `ATOMICS`.
        dtype: the values' type.
        value: this thread's.
        lane: this thread's number in its warp (i32).
        count: how many threads take part (i32).

    Returns:
        In the first thread, the combined value; in others nothing of use.
    """
    ty = type_text(dtype, 1)
    for step in (16, 8, 4, 2, 1):
        far = _exchanged(w, dtype, value, "down", str(step), _ALL)
        both = _combined(w, kind, dtype, value, far)
        held = w.let(f"icmp ult i32 {w.let(f'add i32 {lane}, {step}')}, {count}")
        value = w.let(f"select i1 {held}, {ty} {both}, {ty} {value}")
    return value


def totals(w: Writer, kind: str, dtype: DType, values: Sequence[str]) -> list[str]:
    """Several values of each thread of a whole warp, each combined over the warp.

    Exchanges of one value need not wait for those of another.

    Args:
        w: writes the code.
        kind: a name of `ATOMICS`.
        dtype: the values' type.
        values: this thread's.

    Returns:
        The combined values, in all threads.
    """
    sums = list(values)
    for step in (16, 8, 4, 2, 1):
        far = [_exchanged(w, dtype, value, "bfly", str(step), _ALL) for value in sums]
        sums = [_combined(w, kind, dtype, a, b) for a, b in zip(sums, far, strict=True)]
    return sums


def lane(w: Writer) -> str:
    """The number of the thread in its warp."""
    return w.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", "i32", [])


def agree(w: Writer, words: Sequence[str], condition: str) -> str:
    """Whether all threads of a warp have come here with the same words, and a condition holds in all (i1).

    Args:
        w: writes the code.
        words: what must be the same (i32).
        condition: this thread's (i1).
    """
    mask = _active(w)
    for word in words:
        first = _moved(w, word, "idx", "0", mask)
        condition = w.let(f"and i1 {condition}, {w.let(f'icmp eq i32 {word}, {first}')}")
    unanimous = w.intrinsic("llvm.nvvm.vote.all.sync", "i1", [("i32", mask), ("i1", condition)])
    return w.let(f"and i1 {unanimous}, {w.let(f'icmp eq i32 {mask}, {_ALL}')}")


def peers(w: Writer, kind: str, dtype: DType, pointer: str, value: str) -> tuple[str, str]:
    """Combine the values of those threads that are here and have the same pointer.

    Args:
        w: writes the code, and declares a function that it calls.
        kind: a name of `ATOMICS`.
        dtype: the values' type.
        pointer: this thread's.
        value: this thread's.

    Returns:
        The combined value, and whether this thread is the one that has it (i1).
    """
    mask, ty, symbol = _active(w), type_text(dtype, 1), f"adstack.peers.{kind}.{dtype.name}"
    at = w.let(f"ptrtoint ptr {pointer} to i64")
    same = w.intrinsic("llvm.nvvm.match.any.sync.i64", "i32", [("i32", mask), ("i64", at)])
    w.declare(symbol, peers_of(w, symbol, kind, dtype))
    total = w.let(f"call {ty} @{symbol}(i32 {mask}, i32 {same}, {ty} {value})")
    return total, w.let(f"icmp eq i32 {w.let(f'and i32 {same}, {_below(w, lane(w))}')}, 0")


def peers_of(outer: Writer, symbol: str, kind: str, dtype: DType) -> str:
    """A function of a mask of threads, those of them that belong together, and a value: the first has the result."""
    w, ty = Writer(), type_text(dtype, 1)
    here = lane(w)
    rank = w.intrinsic("llvm.ctpop.i32", "i32", [("i32", w.let(f"and i32 %peers, {_below(w, here)}"))])
    above = w.let(f"and i32 %peers, {w.let(f'shl i32 -2, {here}')}")
    w.do("br label %test")
    w.label("test")
    line = len(w.lines)
    mine, left, place = w.let(f"phi {ty}"), w.let("phi i32"), w.let("phi i32")
    some = w.let(f"icmp ne i32 {left}, 0")
    anyone = w.intrinsic("llvm.nvvm.vote.any.sync", "i1", [("i32", "%mask"), ("i1", some)])
    w.do(f"br i1 {anyone}, label %take, label %done")
    w.label("take")
    next_ = w.intrinsic("llvm.cttz.i32", "i32", [("i32", left), ("i1", "false")])
    far = _exchanged(w, dtype, mine, "idx", w.let(f"select i1 {some}, i32 {next_}, i32 {here}"), "%mask")
    total = w.let(f"select i1 {some}, {ty} {_combined(w, kind, dtype, mine, far)}, {ty} {mine}")
    odd = w.let(f"icmp ne i32 {w.let(f'and i32 {place}, 1')}, 0")
    gone = w.intrinsic("llvm.nvvm.vote.ballot.sync", "i32", [("i32", "%mask"), ("i1", odd)])
    rest, half = w.let(f"and i32 {left}, {w.let(f'xor i32 {gone}, -1')}"), w.let(f"lshr i32 {place}, 1")
    w.do("br label %test")
    for k, (start, again) in enumerate((("%x", total), (above, rest), (rank, half))):
        w.lines[line + k] += f" [ {start}, %entry ], [ {again}, %take ]"
    w.label("done")
    w.do(f"ret {ty} {mine}")
    outer.declarations.update({name: text for name, text in w.declarations.items() if name not in outer.declarations})
    body = "\n".join(w.lines)
    return f"define internal {ty} @{symbol}(i32 %mask, i32 %peers, {ty} %x) convergent nounwind {{\nentry:\n{body}\n}}"


def _active(w: Writer) -> str:
    """The threads of the warp that run this together."""
    return w.intrinsic("llvm.nvvm.activemask", "i32", [])


def _below(w: Writer, lane: str) -> str:
    """The mask of all lanes below one."""
    return w.let(f"sub i32 {w.let(f'shl i32 1, {lane}')}, 1")


def _combined(w: Writer, kind: str, dtype: DType, a: str, b: str) -> str:
    return emit(w, 1, TABLE[kind], dtype, (dtype, dtype), (a, b))


def _exchanged(w: Writer, dtype: DType, value: str, way: str, at: str, mask: str) -> str:
    """The value that another lane has."""
    ty, word = type_text(dtype, 1), f"i{dtype.bits}"
    bits = w.let(f"bitcast {ty} {value} to {word}")
    if dtype.bits == 64:
        high = w.let(f"trunc i64 {w.let(f'lshr i64 {bits}, 32')} to i32")
        halves = [_moved(w, half, way, at, mask) for half in (w.let(f"trunc i64 {bits} to i32"), high)]
        low, high = (w.let(f"zext i32 {half} to i64") for half in halves)
        moved = w.let(f"or i64 {low}, {w.let(f'shl i64 {high}, 32')}")
    elif dtype.bits == 32:
        moved = _moved(w, bits, way, at, mask)
    else:
        moved = w.let(f"trunc i32 {_moved(w, w.let(f'zext {word} {bits} to i32'), way, at, mask)} to {word}")
    return w.let(f"bitcast {word} {moved} to {ty}")


def _moved(w: Writer, word: str, way: str, at: str, mask: str) -> str:
    operands = [("i32", mask), ("i32", word), ("i32", at), ("i32", "31")]
    return w.intrinsic(f"llvm.nvvm.shfl.sync.{way}.i32", "i32", operands)
