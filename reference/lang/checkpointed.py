"""Reverse mode where memory is short: long loops are run again from snapshots instead of keeping all their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import AdstackDataAccessError
from ..runtime.adstack_heap import HeapLimit
from ..runtime.modes import Derived, Recipe
from ..runtime.plans import Plan
from ..runtime.stats import count
from ..transforms.autodiff.checkpoint_plan import CheckpointPlan
from ..transforms.autodiff.checkpoint_schedule import Checkpoints
from .arguments import Call
from .specialisation import run_plan

__all__ = ["Checkpointed"]

_MOST_TRIES = 16
"""Of plans for one launch; each is for less memory than the one before."""


class Checkpointed:
    """The same reverse mode with checkpoints: tried when one thread's adstacks are more than the heap may take.

    Args:
        recipe: how to make it.
        compiled: gives the plan of a kernel.

    Attributes:
        told: what the last launch did about each loop, for people; nothing if it needed no checkpoints.
    """

    def __init__(self, recipe: Recipe, compiled: Callable[[Derived], Plan]) -> None:
        self._recipe, self._compiled = recipe, compiled
        self._plan: CheckpointPlan | None = None
        self._chosen: dict[int, Checkpoints | None] = {}
        self._made: dict[Checkpoints, Plan] = {}
        self._known: dict[int, int] = {}
        self.told: tuple[str, ...] = ()

    def run(self, call: Call, short: HeapLimit) -> Sequence[Any]:
        """Launch with as few trips run again as memory allows; `short` if no checkpoints help."""
        wanted = short.limit or short.stride // 2
        budget, tried = self._known.get(wanted, wanted), short
        for _ in range(_MOST_TRIES):
            checkpoints = None if tried.touched else self._choose(budget, short)
            if checkpoints is None:
                break
            try:
                returned = self._launch(call, checkpoints)
            except HeapLimit as again:
                tried, budget = again, self._less(budget, again)
            else:
                self._known[wanted] = budget
                return returned
        if self._plan is not None and not tried.touched:
            more = "other loops keep, which can't run again" if self._plan.refused else "loops inside keep"
            short.note = f"run again from snapshots it still takes {self._plan.least} bytes, and what {more}"
        raise short

    def _choose(self, budget: int, short: HeapLimit) -> Checkpoints | None:
        """The best checkpoints for so many bytes of one thread."""
        if budget not in self._chosen:
            self._chosen[budget] = self._planned(short).choose(budget)
        return self._chosen[budget]

    def _planned(self, short: HeapLimit) -> CheckpointPlan:
        if self._plan is None:
            try:
                self._plan = self._recipe.plan()
            except AdstackDataAccessError as reason:
                short.note = reason.message
                raise short from reason
        return self._plan

    def _launch(self, call: Call, checkpoints: Checkpoints) -> Sequence[Any]:
        assert self._plan is not None
        if checkpoints not in self._made:
            self._made[checkpoints] = self._compiled(self._recipe.made(checkpoints))
        returned = run_plan(self._made[checkpoints], call)
        self.told = self._plan.told(checkpoints)
        count("checkpointed")
        return returned

    def _less(self, budget: int, short: HeapLimit) -> int:
        """A smaller budget, by as much as the last one was missed.

        What loops inside a block keep is not known when planning, nor what those keep that can't run again.
        """
        if not short.limit:
            return budget // 2
        rest = budget - (short.stride - short.limit)
        if self._plan is not None and self._plan.refused and rest > 0:
            return rest
        return min(budget - 1, budget * short.limit // max(short.stride, 1))
