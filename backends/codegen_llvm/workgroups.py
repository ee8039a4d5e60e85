"""What the threads of a workgroup do together, a thread block or whatever a device calls it, as LLVM assembly.

They combine what each has gathered in a loop: first those of a wave, by exchanges; then the first thread of each wave
leaves what its wave has in memory of the workgroup, and the first wave combines that. So an element that all threads
update is updated in memory once for a workgroup. The order is fixed by how many threads there are. A wave may have
fewer threads than others, and all of its threads come here; what is left after some have ended with an error, means
nothing.
"""

from __future__ import annotations

from typing import Final, Protocol

from adstack.ir.types import DType

from .text.writer import Writer, type_text
from .waves import Wave, over_first

__all__ = ["Workgroup", "shared_words", "total", "total_of"]

_WORDS: Final = "@adstack.shared"


class Workgroup(Protocol):
    """What a device has for its workgroups."""

    @property
    def wave(self) -> Wave:
        """How threads of a wave exchange values."""

    def thread(self, w: Writer) -> str:
        """The number of the thread in its workgroup (i32)."""

    def threads(self, w: Writer) -> str:
        """How many threads the workgroup has (i32); no more waves than a wave has threads, nor than `shared_words`."""

    def wait(self, w: Writer) -> None:
        """Have all threads of the workgroup wait for each other: what they wrote to its memory is seen behind it."""


def shared_words(waves: int) -> str:
    """Text of a module: the memory of a workgroup in which so many waves leave what they have."""
    return f"{_WORDS} = internal addrspace(3) global [{waves} x i64] undef, align 8\n"


def total(group: Workgroup, w: Writer, kind: str, dtype: DType, value: str) -> str:
    """The values of a workgroup's threads, combined.

    Args:
        group: how its threads wait, and exchange values; the module has `shared_words`.
        w: writes the code, and declares the function that it calls.
        kind: a name of `ATOMICS`.
        dtype: the values' type.
        value: this thread's.

    Returns:
        In the first thread, the combined value; in others nothing of use.
    """
    ty, symbol = type_text(dtype, 1), f"adstack.block.{kind}.{dtype.name}"
    w.declare(symbol, total_of(group, w, symbol, kind, dtype))
    return w.let(f"call {ty} @{symbol}({ty} {value})")


def total_of(group: Workgroup, outer: Writer, symbol: str, kind: str, dtype: DType) -> str:
    """The function that `total` calls, of a thread's value; what it calls in turn is declared by `outer`."""
    w, ty, wave = Writer(), type_text(dtype, 1), group.wave
    thread, threads, shift = group.thread(w), group.threads(w), wave.shift(w)
    number = w.let(f"lshr i32 {thread}, {shift}")
    size, before = w.let(f"shl i32 1, {shift}"), w.let(f"shl i32 {number}, {shift}")
    lane, rest = w.let(f"sub i32 {thread}, {before}"), w.let(f"sub i32 {threads}, {before}")
    mine = over_first(wave, w, kind, dtype, "%x", lane, rest)
    group.wait(w)  # whoever used the words before has read them
    at = w.let(f"getelementptr i64, ptr addrspace(3) {_WORDS}, i32 {number}")
    w.do(f"br i1 {w.let(f'icmp eq i32 {lane}, 0')}, label %put, label %wait")
    w.label("put")
    w.do(f"store {ty} {mine}, ptr addrspace(3) {at}, align 8")
    w.do("br label %wait")
    w.label("wait")
    group.wait(w)
    w.do(f"br i1 {w.let(f'icmp ult i32 {thread}, {size}')}, label %gather, label %done")
    w.label("gather")
    last = w.let(f"lshr i32 {w.let(f'sub i32 {threads}, 1')}, {shift}")
    which = w.let(f"select i1 {w.let(f'icmp ult i32 {last}, {lane}')}, i32 0, i32 {lane}")
    other = w.let(f"getelementptr i64, ptr addrspace(3) {_WORDS}, i32 {which}")
    part = w.let(f"load {ty}, ptr addrspace(3) {other}, align 8")
    whole = over_first(wave, w, kind, dtype, part, lane, w.let(f"add i32 {last}, 1"))
    w.do("br label %done")
    w.label("done")
    result = w.let(f"phi {ty} [ {mine}, %wait ], [ {whole}, %gather ]")
    w.do(f"ret {ty} {result}")
    outer.declarations.update({name: text for name, text in w.declarations.items() if name not in outer.declarations})
    body = "\n".join(w.lines)
    return f"define internal {ty} @{symbol}({ty} %x) alwaysinline convergent nounwind {{\nentry:\n{body}\n}}"
