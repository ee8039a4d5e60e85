"""Basic blocks, branches and lane masks of one LLVM function that is being written.

The mask says which lanes are running: None means all of them. Code under a mask is reached only if some lane runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adstack.ir.types import DType, u1

from ..text.writer import Writer, any_lane, scalar_type, type_text

__all__ = ["BlockWriter"]


class BlockWriter:
    """Writes the basic blocks of one function.

    Attributes:
        w: the text.
        lanes: iterations side by side.
        mask: an LLVM vector of i1, the running lanes; None for all.
        block: label of the block that is being written.
    """

    def __init__(self, w: Writer, lanes: int) -> None:
        self.w = w
        self.lanes = lanes
        self.mask: str | None = None
        self.block = "entry"
        self._labels = 0

    # ---- blocks

    def label(self, hint: str) -> str:
        """A new block's name."""
        self._labels += 1
        return f"{hint}{self._labels}"

    def enter(self, label: str) -> None:
        """Start a basic block: what is written next belongs to it."""
        self.w.label(label)
        self.block = label

    def jump(self, label: str) -> None:
        """End the block by a branch to another one."""
        self.w.do(f"br label %{label}")

    def split(self, condition: str, yes: str, no: str, *, unlikely: bool = False) -> None:
        """Branch on an i1; `unlikely` marks the first label as unlikely (branch weights)."""
        self.w.do(f"br i1 {condition}, label %{yes}, label %{no}{', !prof !0' if unlikely else ''}")

    # ---- masks and vectors

    @property
    def mask_type(self) -> str:
        """The LLVM type of a truth value per lane."""
        return type_text(u1, self.lanes)

    def any(self, mask: str) -> str:
        """Whether some lane of a mask is set, as an i1."""
        return any_lane(self.w, self.lanes, mask)

    def within(self, condition: str) -> str:
        """The running lanes for which a vector condition holds; it may be poison in the others, which are left out."""
        if self.mask is None:
            return condition
        ty = self.mask_type
        return self.w.let(f"select {ty} {self.mask}, {ty} {condition}, {ty} zeroinitializer")

    def flip(self, mask: str) -> str:
        """The mask of the lanes that are not in this one."""
        return self.w.let(f"xor {self.mask_type} {mask}, {self.w.constant(True, u1, self.lanes)}")

    @contextmanager
    def masked(self, mask: str | None) -> Iterator[None]:
        """Write code that runs under another mask."""
        outer, self.mask = self.mask, mask
        try:
            yield
        finally:
            self.mask = outer

    def choose(self, mask: str, yes: str, no: str, dtype: DType) -> str:
        """Per lane, one of two vectors."""
        ty = type_text(dtype, self.lanes)
        return self.w.let(f"select {self.mask_type} {mask}, {ty} {yes}, {ty} {no}")

    def splat(self, name: str, dtype: DType, lanes: int = 0) -> str:
        """A scalar repeated over the lanes, or over so many of them."""
        lanes = lanes or self.lanes
        if lanes == 1:
            return name
        ty, element = type_text(dtype, lanes), scalar_type(dtype)
        one = self.w.let(f"insertelement {ty} poison, {element} {name}, i64 0")
        return self.w.let(f"shufflevector {ty} {one}, {ty} poison, <{lanes} x i32> zeroinitializer")

    def repeated(self, constant: str, dtype: DType) -> str:
        """A literal with one element per lane."""
        return constant if self.lanes == 1 else f"splat ({scalar_type(dtype)} {constant})"
