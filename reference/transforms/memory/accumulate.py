"""Accumulation plans: `accumulate(task, ways)` writes on each atomic update of a parallel task how its sum is built.

Requires: verified IR, with no pass to follow that changes accesses.
Ensures: every atomic update of a parallel task has the attribute `sums`, one of `ir.ops.WAYS`; those of
serial tasks have none. What it says holds in every launch, up to what `analysis.accumulation` leaves to the backend.
"""

from __future__ import annotations

from collections.abc import Collection

from ...analysis.accumulation import plan
from ...ir.ops import APART
from ...ir.structure import Task

__all__ = ["accumulate"]


def accumulate(task: Task, ways: Collection[str] = APART, *, deterministic: bool = False) -> None:
    """Write the plan of a task on its updates, in place, for a target that adds up in these ways.

    For `deterministic` see `plan`.
    """
    for op, decision in plan(task, ways, deterministic=deterministic).decisions.items():
        op.attrs["sums"] = decision.way
