"""Whether the depths of a program's adstacks are still what they were when they were last computed."""

from __future__ import annotations

from collections.abc import Mapping

from .adstacks.stats import count
from .compiled import Compiled
from .memory.buffers import Buffer
from .protocol.backend import Scalars

__all__ = ["Sizing"]


class Sizing:
    """Watches what the sizers of one program look at.

    Args:
        reads: names of the places that they read.
        reductions: how many of them are parallel loops.
        transient: whether they read what the launch itself computes.
    """

    def __init__(self, reads: frozenset[str], reductions: int, *, transient: bool) -> None:
        self.reads = tuple(sorted(reads))
        self.reductions = reductions
        self.transient = transient
        self._known: object = None

    @classmethod
    def of(cls, compiled: Compiled) -> Sizing | None:
        """For a compiled program; None if it has no sizers."""
        sizers = [task for task in compiled.program.tasks if task.sizes]
        if not sizers or compiled.sized is None:
            return None
        reductions = sum(task.kind == "parallel" for task in sizers)
        return cls(compiled.sized.reads, reductions, transient=compiled.sized.transient)

    def holds(self, scalars: Scalars, buffers: Mapping[str, Buffer]) -> bool:
        """Whether a launch with this memory may leave the sizers out. If not, it is taken to run them.

        Memory that others write too (numpy, torch) may have changed without notice: it is looked at every time.
        """
        key = None if self.transient else self.key(scalars, buffers)
        if key is not None and key == self._known:
            count("size_hits")
            return True
        self._known = key
        count("size_evaluations")
        count("size_reductions", self.reductions)
        return False

    def forget(self) -> None:
        """Have the next launch compute the depths: the last one failed, and may not have computed all of them."""
        self._known = None

    def key(self, scalars: Scalars, buffers: Mapping[str, Buffer]) -> object:
        """Equal while nothing has changed that depths depend on; None if others may change it without notice."""
        looked_at = [buffers[name] for name in self.reads]
        if any(buffer.shared for buffer in looked_at):
            return None
        shapes = tuple(buffer.shape for buffer in buffers.values())
        return tuple(scalars), shapes, tuple(buffer.version for buffer in looked_at)
