"""Blocks: the threads that run the iterations of a parallel loop side by side, and where they wait for each other.

The pseudo-op `block.wait` exists only between emission and `phases.py`; no pass below the frontend sees it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ...ir.builder import Builder
from ...ir.location import Loc
from ...ir.opdef import OpDef
from ...ir.structure import Op, Value
from ...ir.types import i32, i64
from .cells import Cell

__all__ = ["LARGEST", "MOST_SHARED", "WAIT", "Block", "wait"]

LARGEST: Final = 1024
"""How many threads a block has at most."""
MOST_SHARED: Final = 32768
"""How many bytes the shared arrays of a loop take at most, as on devices with the least memory for it."""

WAIT: Final = OpDef(
    "block.wait",
    pure=False,
    reads=True,
    writes=True,
    attrs=("what", "ends_phase"),
    doc="every thread of the block comes here before any goes on",
)


@dataclass
class Block:
    """The blocks of one parallel loop.

    Attributes:
        dim: how many threads a block has; None if the program does not say.
        debug: whether races are looked for.
        number: of a block, in the order of the loop.
        thread: of a thread in its block, from 0 on.
        count: how many threads the block has, fewer than `dim` if it is the last one.
        shared: the arrays that the threads of a block share.
        phase: in debug mode, how many times the threads have waited in `sync()`, from 1 on.
        shared_bytes: how many bytes those take that the program asks for.
        first_use: where the program first speaks of blocks; None if it does not.
    """

    dim: int | None
    debug: bool
    number: Value = field(default_factory=lambda: Value(i64, "block"))
    thread: Value = field(default_factory=lambda: Value(i32, "thread"))
    count: Value = field(default_factory=lambda: Value(i32, "threads"))
    shared: list[Cell] = field(default_factory=list)
    phase: Cell = field(default_factory=lambda: Cell("phase", i64))
    shared_bytes: int = 0
    first_use: Loc | None = None

    @property
    def threads(self) -> int:
        """How many threads a block has, once that has been checked."""
        assert self.dim is not None
        return self.dim


def wait(builder: Builder, what: str, *, ends_phase: bool) -> None:
    """Emit that the threads of a block wait for each other, in `what`.

    `ends_phase` tells whether accesses after it have no race with those before.
    """
    builder.region.ops.append(Op(WAIT, (), {"what": what, "ends_phase": ends_phase}, [], [], builder.loc))
