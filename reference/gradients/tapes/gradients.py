"""Which memory of gradients belongs to the memory that a tape knows: `Gradients`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from ...runtime.memory.blocks import Block
from ...runtime.memory.buffers import Buffer
from ..clearing import claim, is_another_threads
from ..memory.undo import identity

__all__ = ["Gradients"]


class Gradients:
    """Memory, and the memory of its gradients: one, or several where forward mode follows several directions.

    Args:
        clears: whether those that another thread used last start from zero.
    """

    def __init__(self, *, clears: bool) -> None:
        self._clears = clears
        self._of: dict[Hashable, list[Buffer]] = {}

    def note(self, pairs: Iterable[tuple[Buffer, Buffer]]) -> None:
        """Work with the gradients of some memory: (memory, gradients), which may be another thread's until now."""
        for primal, grad in pairs:
            known = self._of.setdefault(identity(primal), [])
            if any(one is grad for one in known):
                continue
            known.append(grad)
            if grad.owned:
                if self._clears and is_another_threads(grad):
                    grad.write(0)
                claim(grad)

    def update(self, gradients: Iterable[tuple[Hashable, Buffer]]) -> None:
        """Know of (identity of memory, gradients) that nobody else uses."""
        for key, grad in gradients:
            self._of[key] = [grad]

    def of(self, memory: Block) -> Sequence[Buffer]:
        """The gradients of some memory; none if there are none, or nobody told."""
        return self._of.get(identity(memory), ())

    def all(self) -> list[Buffer]:
        """All of these gradients."""
        return [grad for every in self._of.values() for grad in every]
