"""What is known of one launch outside a tape: `Record`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import AdstackError
from ...ir.types import DType
from ...runtime.memory.blocks import Block
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.memory.keeping import Kept
from ..memory.arguments import ArgumentKey

if TYPE_CHECKING:
    from .kept import KeptLaunch

__all__ = ["Record"]


class Record:
    """One launch.

    Attributes:
        key: its arguments, which also tells whether their memory is still there.
        number: of the launch, as the backend counts, or of a later one before anything else was written.
        copies: what memory held that others may write without saying so.
        kept: the launches that it was made of, with what they overwrote; empty if the launch was an ordinary one.
        error: why it can't be differentiated.
        lost: whether what it kept was given up.
        era: what was in force when the launch began: nothing that it needs was forgotten as long as that is.
    """

    __slots__ = ("__weakref__", "copies", "era", "error", "kept", "key", "lost", "number")

    def __init__(self, key: ArgumentKey, number: int = 0, era: object = None) -> None:
        self.key, self.number, self.lost, self.era = key, number, False, era
        self.copies: dict[str, Kept | Array | Buffer] = {}
        self.kept: Sequence[KeptLaunch] = ()
        self.error: AdstackError | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes it keeps."""
        if not self.copies and not self.kept:
            return 0
        return sum(one.nbytes for one in self.copies.values()) + sum(piece.nbytes for piece in self.kept)

    def spare(self, name: str, dtype: DType) -> list[Block]:
        """The memory of its copy of a place, for elements of a type: for the record that takes its place."""
        copy = self.copies.get(name)
        return [copy.memory] if isinstance(copy, Kept) and copy.memory.dtype is dtype else []

    def lose(self) -> None:
        """Give up what it keeps: its memory was needed for something else."""
        self.lost, self.copies, self.kept = True, {}, ()
