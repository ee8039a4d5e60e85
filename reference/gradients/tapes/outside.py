"""Which elements with a gradient were written from outside since the last event of a tape."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...runtime.memory.buffers import Buffer
from ..memory.undo import Change, Overwritten
from .gradients import Gradients

__all__ = ["Outside"]


class Outside:
    """Masks of elements, by the memory of their gradients.

    Attributes:
        masks: of what was noted, by the identities of that memory.
        complete: the identities of those all of whose writes were noted.
    """

    def __init__(self) -> None:
        self.masks: dict[int, tuple[Buffer, npt.NDArray[np.bool_]]] = {}
        self.complete: set[int] = set()

    def _mask(self, grad: Buffer) -> npt.NDArray[np.bool_]:
        return self.masks.setdefault(id(grad), (grad, np.zeros(grad.shape, bool)))[1]

    def note(self, gradients: Gradients, written: Iterable[Buffer], where: Any) -> None:
        """The host wrote elements of some memory, which may have gradients."""
        for buffer in written:
            for grad in gradients.of(buffer):
                self._mask(grad)[where] = True

    def note_linked(self, grad: Buffer) -> None:
        """The host wrote elements whose gradients stand in `grad`, and an event of the tape says which."""
        self.complete.add(id(grad))

    def forget(self) -> None:
        """What comes next are changes since a later moment: of these nothing was noted."""
        self.complete.clear()

    def note_zeroed(self, gradients: Gradients, tangents: Buffer, positions: Any) -> None:
        """Tangents at flat positions are zero, as another thread wrote what they are beside: these are constant."""
        for grad in gradients.of(tangents):
            self._mask(grad).reshape(-1)[positions] = True

    def taken(self, changes: Iterable[Change], gradients: Gradients) -> list[Overwritten]:
        """The elements, which are noted no more.

        Args:
            changes: of memory: what numpy, torch or other threads wrote is among the elements, as far as it changed.
            gradients: which memory has which.
        """
        noted = set(self.masks)
        for change in changes:
            for grad in gradients.of(change.buffer):
                if id(grad) not in self.complete:
                    self._mask(grad)[...] |= change.mask()
        masks, self.masks = self.masks, {}
        self.complete |= noted
        return [Overwritten(grad, mask, given=True) for grad, mask in masks.values()]
