"""How the threads of a wave exchange values: by permutations (DS_BPERMUTE) and ballots, as LLVM assembly.

What they do together by these is in `codegen_llvm.waves`. One text is for waves of 32 and of 64 threads: masks have 64
bits, and LLVM puts in how many threads there are.
"""

from __future__ import annotations

from typing import Final

from adstack.backends.codegen_llvm.text.writer import Writer

__all__ = ["TOGETHER", "Lanes"]

TOGETHER: Final = 32
"""Threads that a wave has at least."""
_LOG: Final = 5
"""Its binary logarithm."""
_SAME: Final = """define internal i64 @adstack.same(i64 %mask, i64 %pointer) alwaysinline convergent nounwind {
entry:
  %low = trunc i64 %pointer to i32
  %upper = lshr i64 %pointer, 32
  %high = trunc i64 %upper to i32
  br label %look
look:
  %left = phi i64 [ %mask, %entry ], [ %rest, %look ]
  %mine = phi i64 [ 0, %entry ], [ %found, %look ]
  %next = call i64 @llvm.cttz.i64(i64 %left, i1 false)
  %lane = trunc i64 %next to i32
  %a = call i32 @llvm.amdgcn.readlane.i32(i32 %low, i32 %lane)
  %b = call i32 @llvm.amdgcn.readlane.i32(i32 %high, i32 %lane)
  %same.low = icmp eq i32 %a, %low
  %same.high = icmp eq i32 %b, %high
  %same = and i1 %same.low, %same.high
  %peers = call i64 @llvm.amdgcn.ballot.i64(i1 %same)
  %found = select i1 %same, i64 %peers, i64 %mine
  %others = xor i64 %peers, -1
  %rest = and i64 %left, %others
  %done = icmp eq i64 %rest, 0
  br i1 %done, label %end, label %look
end:
  ret i64 %found
}"""
"""Those threads of a mask that have the same pointer. All of the mask go round until each has been found."""


class Lanes:
    """A `Wave` of `codegen_llvm.waves`."""

    mask = "i64"
    steps = (32, 16, 8, 4, 2, 1)

    def has(self, w: Writer, step: int) -> str:
        """See `Wave.has`."""
        return "" if step < TOGETHER else w.let(f"icmp ugt i32 {self._size(w)}, {step}")

    def shift(self, w: Writer) -> str:
        """See `Wave.shift`."""
        return w.let(f"add i32 {_LOG}, {w.let(f'zext i1 {self.has(w, TOGETHER)} to i32')}")

    def lane(self, w: Writer) -> str:
        """See `Wave.lane`."""
        low = w.intrinsic("llvm.amdgcn.mbcnt.lo", "i32", [("i32", "-1"), ("i32", "0")])
        return w.intrinsic("llvm.amdgcn.mbcnt.hi", "i32", [("i32", "-1"), ("i32", low)])

    def active(self, w: Writer) -> str:
        """See `Wave.active`."""
        return _ballot(w, "true")

    def is_whole(self, w: Writer, mask: str) -> str:
        """See `Wave.is_whole`."""
        count = w.let(f"trunc i64 {w.intrinsic('llvm.ctpop.i64', 'i64', [('i64', mask)])} to i32")
        return w.let(f"icmp eq i32 {count}, {self._size(w)}")

    def across(self, w: Writer, word: str, step: int) -> str:
        """See `Wave.across`."""
        return self.at(w, word, w.let(f"xor i32 {self.lane(w)}, {step}"), "")

    def at(self, w: Writer, word: str, lane: str, mask: str) -> str:
        """See `Wave.at`."""
        address = w.let(f"shl i32 {lane}, 2")
        return w.intrinsic("llvm.amdgcn.ds.bpermute", "i32", [("i32", address), ("i32", word)])

    def behind(self, w: Writer, word: str, step: int) -> str:
        """See `Wave.behind`."""
        return self.at(w, word, w.let(f"add i32 {self.lane(w)}, {step}"), "")

    def first(self, w: Writer, word: str, mask: str) -> str:
        """See `Wave.first`."""
        return w.intrinsic("llvm.amdgcn.readfirstlane.i32", "i32", [("i32", word)])

    def ballot(self, w: Writer, condition: str, mask: str) -> str:
        """See `Wave.ballot`."""
        return _ballot(w, condition)

    def any(self, w: Writer, condition: str, mask: str) -> str:
        """See `Wave.any`."""
        return w.let(f"icmp ne i64 {_ballot(w, condition)}, 0")

    def all(self, w: Writer, condition: str, mask: str) -> str:
        """See `Wave.all`."""
        return w.let(f"icmp eq i64 {_ballot(w, condition)}, {mask}")

    def same(self, w: Writer, pointer: str, mask: str) -> str:
        """See `Wave.same`."""
        for name, types in (("readlane.i32", "i32, i32"), ("ballot.i64", "i1")):
            w.declare(f"llvm.amdgcn.{name}", f"declare {name[-3:]} @llvm.amdgcn.{name}({types})")
        w.declare("llvm.cttz.i64", "declare i64 @llvm.cttz.i64(i64, i1)")
        w.declare("adstack.same", _SAME)
        at = w.let(f"ptrtoint ptr {pointer} to i64")
        return w.let(f"call i64 @adstack.same(i64 {mask}, i64 {at})")

    def _size(self, w: Writer) -> str:
        return w.intrinsic("llvm.amdgcn.wavefrontsize", "i32", [])


def _ballot(w: Writer, condition: str) -> str:
    return w.intrinsic("llvm.amdgcn.ballot.i64", "i64", [("i1", condition)])
