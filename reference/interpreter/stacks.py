"""The adstack machine: for each lane a capacity C, a count n and slots 0..C-1 with a primal and an adjoint each.

    push v          n < C: slot[n] := (v, 0). Otherwise no slot changes. In both cases n := n + 1: past C, n says how
                    deep the stack should have been.
    pop             n := max(n - 1, 0)
    top             slot[max(min(n, C), 1) - 1]; with C = 0 there is none: it reads as 0, and adding to it does nothing

    put i v         i < C: slot[i].primal := v; n := max(n, i + 1). The program keeps the count, and so can share it
                    between stacks that are pushed together.
    get i           slot[i].primal, i clamped to the slots there are

Slots hold 0 before they are first pushed to.
"""

from __future__ import annotations

import numpy as np

from ..ir.location import Loc
from ..ir.structure import Op
from ..ir.types import DType
from .lanes import Array


class Stack:
    """One adstack per lane of a team. Slots are made as they are reached, so a large capacity costs nothing; adjoints
    when the first one is asked for.
    """

    def __init__(self, dtype: DType, lanes: int, loc: Loc, op: Op | None = None) -> None:
        self.loc = loc
        self.op = op
        self.capacity: Array = np.zeros(lanes, np.int64)
        self.count: Array = np.zeros(lanes, np.int64)
        self.primal: Array = np.zeros((1, lanes), dtype.numpy)
        self._adjoint: Array | None = None

    @property
    def name(self) -> str:
        """The variable that it keeps, if anybody says."""
        return "" if self.op is None else self.op.result.name

    def is_like(self, other: Stack) -> bool:
        """Whether both were made at the same place for the same variable."""
        return (self.loc, self.name) == (other.loc, other.name)

    @property
    def adjoint(self) -> Array:
        """The adjoints of all slots."""
        if self._adjoint is None:
            self._adjoint = np.zeros_like(self.primal)
        return self._adjoint

    def push(self, lanes: Array, value: Array) -> bool:
        """Push a value per lane; False if some lane had no room."""
        depth = self.count[lanes]
        self.count[lanes] = depth + 1
        fits = depth < self.capacity[lanes]
        if not fits.all():
            lanes, depth, value = lanes[fits], depth[fits], value[fits]
        if len(lanes):
            self._reach(int(depth.max()) + 1)
            self.primal[depth, lanes] = value
            if self._adjoint is not None:
                self._adjoint[depth, lanes] = 0
        return bool(fits.all())

    def pop(self, lanes: Array) -> Array:
        """Drop the top of each lane's stack; where it was empty."""
        depth = self.count[lanes]
        self.count[lanes] = np.maximum(depth - 1, 0)
        return np.equal(depth, 0)

    def put(self, lanes: Array, index: Array, value: Array) -> bool:
        """Write the primal of each lane's slot at an index; False if some index is past the capacity."""
        index = index.astype(np.int64)
        self.count[lanes] = np.maximum(self.count[lanes], index + 1)
        fits = index < self.capacity[lanes]
        if not fits.all():
            lanes, index, value = lanes[fits], index[fits], value[fits]
        if len(lanes):
            self._reach(int(index.max()) + 1)
            self.primal[index, lanes] = value
        return bool(fits.all())

    def get(self, lanes: Array, index: Array) -> Array:
        """The primal of each lane's slot at an index, which is clamped to the slots there are."""
        last = np.maximum(np.minimum(self.capacity[lanes], len(self.primal)), 1) - 1
        return self.primal[np.clip(index.astype(np.int64), 0, last), lanes]

    def load_top(self, lanes: Array) -> Array:
        """The primal of each lane's top."""
        return self.primal[self._top(lanes), lanes]

    def load_top_adj(self, lanes: Array) -> Array:
        """The adjoint of each lane's top."""
        return self.adjoint[self._top(lanes), lanes]

    def acc_adjoint(self, lanes: Array, value: Array) -> None:
        """Add to the adjoint of each lane's top."""
        exists = self.capacity[lanes] > 0
        lanes, value = lanes[exists], value[exists]
        self.adjoint[self._top(lanes), lanes] += value

    def _top(self, lanes: Array) -> Array:
        held = np.minimum(self.count[lanes], self.capacity[lanes])
        return np.maximum(held, 1) - 1

    def _reach(self, depth: int) -> None:
        """Make slots until there are at least `depth`, and no more than there may be."""
        have = len(self.primal)
        if depth > have:
            more = max(depth, min(2 * have, int(self.capacity.max()))) - have
            self.primal = _longer(self.primal, more)
            if self._adjoint is not None:
                self._adjoint = _longer(self._adjoint, more)


def _longer(slots: Array, more: int) -> Array:
    return np.concatenate((slots, np.zeros((more, slots.shape[1]), slots.dtype)))
