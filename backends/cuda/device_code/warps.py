"""How the threads of a warp exchange values: by shuffles, votes and matching pointers, as LLVM assembly.

What they do together by these is in `codegen_llvm.waves`.
"""

from __future__ import annotations

from typing import Final

from adstack.backends.codegen_llvm.text.writer import Writer

__all__ = ["WARP", "Warp"]

WARP: Final = 32
_ALL: Final = "-1"
"""The mask of a whole warp."""


class Warp:
    """A `Wave` of `codegen_llvm.waves`."""

    mask = "i32"
    steps = (16, 8, 4, 2, 1)

    def has(self, w: Writer, step: int) -> str:
        """See `Wave.has`."""
        return ""

    def shift(self, w: Writer) -> str:
        """See `Wave.shift`."""
        return "5"

    def lane(self, w: Writer) -> str:
        """See `Wave.lane`."""
        return w.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", "i32", [])

    def active(self, w: Writer) -> str:
        """See `Wave.active`."""
        return w.intrinsic("llvm.nvvm.activemask", "i32", [])

    def is_whole(self, w: Writer, mask: str) -> str:
        """See `Wave.is_whole`."""
        return w.let(f"icmp eq i32 {mask}, {_ALL}")

    def across(self, w: Writer, word: str, step: int) -> str:
        """See `Wave.across`."""
        return _moved(w, word, "bfly", str(step), _ALL)

    def at(self, w: Writer, word: str, lane: str, mask: str) -> str:
        """See `Wave.at`."""
        return _moved(w, word, "idx", lane, mask)

    def behind(self, w: Writer, word: str, step: int) -> str:
        """See `Wave.behind`."""
        return _moved(w, word, "down", str(step), _ALL)

    def first(self, w: Writer, word: str, mask: str) -> str:
        """See `Wave.first`."""
        return _moved(w, word, "idx", "0", mask)

    def ballot(self, w: Writer, condition: str, mask: str) -> str:
        """See `Wave.ballot`."""
        return w.intrinsic("llvm.nvvm.vote.ballot.sync", "i32", [("i32", mask), ("i1", condition)])

    def any(self, w: Writer, condition: str, mask: str) -> str:
        """See `Wave.any`."""
        return w.intrinsic("llvm.nvvm.vote.any.sync", "i1", [("i32", mask), ("i1", condition)])

    def all(self, w: Writer, condition: str, mask: str) -> str:
        """See `Wave.all`."""
        return w.intrinsic("llvm.nvvm.vote.all.sync", "i1", [("i32", mask), ("i1", condition)])

    def same(self, w: Writer, pointer: str, mask: str) -> str:
        """See `Wave.same`."""
        at = w.let(f"ptrtoint ptr {pointer} to i64")
        return w.intrinsic("llvm.nvvm.match.any.sync.i64", "i32", [("i32", mask), ("i64", at)])


def _moved(w: Writer, word: str, way: str, at: str, mask: str) -> str:
    operands = [("i32", mask), ("i32", word), ("i32", at), ("i32", "31")]
    return w.intrinsic(f"llvm.nvvm.shfl.sync.{way}.i32", "i32", operands)
