"""Turns what a worker observed into a state. Nearness is computed: exact, a row's budget, or the bound of a sum."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..case import CaseError
from .cells import Cell, Result, Status
from .compare import Measure
from .records import Record

__all__ = ["Budgets", "judge"]

Budgets = Callable[[str, str], float]
"""`budgets("sin", "f32")`: how many units in the last place adstack's table allows; KeyError for an unknown op."""

_NAMES = {"float16": "f16", "float32": "f32", "float64": "f64"}
_UNFINISHED = {
    "broken": Status.BROKEN,
    "refused": Status.REFUSED,
    "unexpected": Status.WRONG_VALUE,
    "unavailable": Status.UNAVAILABLE,
    "missing": Status.MISSING,
}
_LOOSENESS = ("", "exact", "ulp", "bound")


def judge(cell: Cell, observation: Record, budgets: Budgets, twin: Record | None = None) -> Result:
    """The result of a cell from its observation (see `execute.perform`).

    Args:
        cell: what was run.
        observation: what came of it.
        budgets: of operations.
        twin: what came of the same cell on another subject, whose bits this one must have; None if any bits will do.
    """
    seconds, message = observation["seconds"], observation["message"]
    if observation["outcome"] != "finished":
        return Result(cell, _UNFINISHED[observation["outcome"]], message=message, seconds=seconds)
    measures = [Measure(**fields) for fields in observation["measures"]]
    try:
        classes = [_class(measure, budgets) for measure in measures]
    except CaseError as error:
        return Result(cell, Status.BROKEN, message=str(error), seconds=seconds)
    wrong = [measure for measure, (_, allowed) in zip(measures, classes, strict=True) if not _is_near(measure, allowed)]
    exactness = max((name for name, _ in classes), key=lambda name: _LOOSENESS.index(name.split("(")[0]), default="")
    finite = [measure.ulp for measure in measures if measure.dtype != "text"]
    farthest = max(finite, default=None)
    ulp = farthest if farthest is not None and math.isfinite(farthest) else None
    status = Status.PASS if not wrong else (Status.WRONG_VALUE if cell.mode == "forward" else Status.WRONG_GRADIENT)
    text = "\n".join(f"{measure.what}: {measure.worst}{_distance(measure)}" for measure in wrong)
    if twin is not None and not wrong:
        if observation["digests"] != twin["digests"]:
            status = Status.WRONG_VALUE if cell.mode == "forward" else Status.WRONG_GRADIENT
            text = f"other bits than those of the reference: {_differing(observation['digests'], twin['digests'])}"
        exactness = "exact" if exactness else ""
    return Result(cell, status, exactness, ulp, text, seconds)


def _differing(mine: list[str], others: list[str]) -> str:
    """Which of the things that are compared differ, by their numbers."""
    differing = [str(k + 1) for k, pair in enumerate(zip(mine, others, strict=False)) if pair[0] != pair[1]]
    return f"{', '.join(differing) or 'none'} of {len(mine)}, beside {len(others)}"


def _class(measure: Measure, budgets: Budgets) -> tuple[str, float]:
    """The exactness class of a measure, and the distance that it allows."""
    if not measure.budget:
        return measure.kind, 0.0
    try:
        allowed = budgets(measure.budget, _NAMES[measure.dtype])
    except KeyError as error:
        raise CaseError(f"budget={measure.budget!r}: adstack's table has no such operation") from error
    return (f"ulp({allowed:g})", allowed) if allowed else ("exact", 0.0)


def _is_near(measure: Measure, allowed: float) -> bool:
    return measure.within or (measure.kind == "budget" and measure.ulp <= allowed)


def _distance(measure: Measure) -> str:
    return f", {measure.ulp:g} ulp apart" if math.isfinite(measure.ulp) else ""
