"""Reverse mode where memory is short: long loops are run again from snapshots instead of keeping all their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...autodiff.checkpointing.schedule import Checkpoints
from ...errors import AdstackDataAccessError
from ...launch.arguments import Call
from ...launch.specialisation import run_plan
from ...runtime.adstacks.heap import HeapLimit
from ...runtime.adstacks.stats import count
from ...runtime.derived import Derived, Recipe
from ...runtime.plans import Plan

if TYPE_CHECKING:
    from ...autodiff.checkpoint_plan import CheckpointPlan

__all__ = ["Checkpointed"]

_MOST_TRIES = 16
"""How many plans are tried for one launch, each for less memory than the one before."""


@dataclass(frozen=True)
class _Attempt:
    """What to plan for.

    Attributes:
        levels: of nested loops that have snapshots.
        budget: bytes of one thread.
        inner: how often loops inside run, in an iteration of one that has snapshots, that keep everything.
    """

    levels: int
    budget: int
    inner: int = 1


class Checkpointed:
    """The same reverse mode with checkpoints: tried when one thread's adstacks are more than the heap may take.

    Outermost loops first; those inside them, level by level, where what they keep leaves no room for enough snapshots.

    Args:
        recipe: how to make it.
        compiled: gives the plan of a kernel.

    Attributes:
        told: what its last launch did about each loop, for people.
        latest: the plan of that launch.
    """

    def __init__(self, recipe: Recipe, compiled: Callable[[Derived], Plan]) -> None:
        self._recipe, self._compiled = recipe, compiled
        self._plans: dict[int, CheckpointPlan] = {}
        self._chosen: dict[_Attempt, Checkpoints | None] = {}
        self._plans_for: dict[Checkpoints, Plan] = {}
        self._known: dict[int, _Attempt] = {}
        self._least = 0
        self.told: tuple[str, ...] = ()
        self.latest: Plan | None = None

    def run(self, call: Call, short: HeapLimit) -> Sequence[float]:
        """Launch with as few iterations run again as memory allows. Raises `short` if no checkpoints help."""
        wanted = short.limit or short.stride // 2
        attempt: _Attempt | None = self._known.get(wanted, _Attempt(1, wanted))
        tries, tried, self._least = 0, short, 0
        while attempt is not None and tries < _MOST_TRIES and not tried.touched:
            checkpoints = self._choose(attempt, short)
            if checkpoints is None:
                attempt = self._deeper(attempt, wanted, short)
                continue
            returned = self._attempted(call, checkpoints)
            if not isinstance(returned, HeapLimit):
                self._known[wanted] = attempt
                return returned
            tries, tried = tries + 1, returned
            attempt = self._next(attempt, wanted, checkpoints, returned)
        if tried.touched:
            short.note = "how much that is depends on what the launch has changed before: it can't begin again"
        elif self._plans:
            return self._launch_least(call, short)
        raise short

    def _launch_least(self, call: Call, short: HeapLimit) -> Sequence[float]:
        """Launch with as few bytes as checkpoints can do with; `short`, which says how many, if that is too many."""
        attempt: _Attempt | None = _Attempt(max(self._plans), 1)
        while attempt is not None:
            attempt = self._deeper(attempt, 1, short)
        for levels in sorted(self._plans, reverse=True):
            returned = self._attempted(call, Checkpoints(1, 1, levels))
            if not isinstance(returned, HeapLimit):
                return returned
            if returned.touched:
                break
        short.note = self._hopeless()
        short.would_do(self._least)
        raise short

    def _choose(self, attempt: _Attempt, short: HeapLimit) -> Checkpoints | None:
        """The best checkpoints for an attempt."""
        if attempt not in self._chosen:
            self._chosen[attempt] = self._planned(attempt.levels, short).choose(attempt.budget, inner=attempt.inner)
        return self._chosen[attempt]

    def _planned(self, levels: int, short: HeapLimit) -> CheckpointPlan:
        if levels not in self._plans:
            try:
                self._plans[levels] = self._recipe.plan(levels)
            except AdstackDataAccessError as reason:
                short.note = reason.message
                raise short from reason
        return self._plans[levels]

    def _attempted(self, call: Call, checkpoints: Checkpoints) -> Sequence[float] | HeapLimit:
        """What a launch returns, or why it can't be."""
        try:
            return self._launch(call, checkpoints)
        except HeapLimit as again:
            self._least = min(self._least or again.stride, again.stride)
            return again

    def _launch(self, call: Call, checkpoints: Checkpoints) -> Sequence[float]:
        if checkpoints not in self._plans_for:
            self._plans_for[checkpoints] = self._compiled(self._recipe.made(checkpoints))
        self.latest = self._plans_for[checkpoints]
        returned = run_plan(self.latest, call)
        self.told = self._plans[checkpoints.levels].told(checkpoints)
        count("checkpointed")
        return returned

    def _next(self, tried: _Attempt, wanted: int, checkpoints: Checkpoints, short: HeapLimit) -> _Attempt | None:
        """What to try when this did not fit: for what loops inside are seen to keep, or with loops inside, or less."""
        plan = self._plans[tried.levels]
        inner = plan.inner(checkpoints, short.stride)
        if not short.limit or plan.refused or inner <= tried.inner:
            return replace(tried, budget=self.less(tried.budget, short, refused=bool(plan.refused)))
        closer = replace(tried, inner=inner)
        deeper = self._deeper(tried, wanted, short)
        if deeper is None:
            return closer
        here, there = self._choose(closer, short), self._choose(deeper, short)
        if here is None or (there is not None and self._plans[deeper.levels].again(there) < plan.again(here)):
            return deeper
        return closer

    def _deeper(self, tried: _Attempt, wanted: int, short: HeapLimit) -> _Attempt | None:
        """With one more level of loops; None if there is none, or none of them can run again."""
        if not self._plans[tried.levels].deeper:
            return None
        try:
            there = self._planned(tried.levels + 1, short)
        except HeapLimit:
            return None
        return None if there.depth <= tried.levels else _Attempt(tried.levels + 1, wanted)

    def _hopeless(self) -> str:
        """Why no checkpoints help."""
        plan = self._plans[max(self._plans)]
        least = "with one snapshot of each loop, and one trip that keeps, it still takes"
        more = ", with what other loops keep, which can't run again" if plan.refused else ""
        each = "; ".join(text for loop in plan.loops for text in loop.least())
        return f"run again from snapshots, {least} {self._least} bytes{more} ({each})"

    @staticmethod
    def less(budget: int, short: HeapLimit, *, refused: bool) -> int:
        """A smaller budget, by as much as the last one was missed.

        What loops inside a block keep is not known when planning, nor what those keep that can't run again.
        """
        if not short.limit:
            return budget // 2
        rest = budget - (short.stride - short.limit)
        if refused and rest > 0:
            return rest
        return min(budget - 1, budget * short.limit // max(short.stride, 1))
