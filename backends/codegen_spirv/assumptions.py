"""Two versions of a loop over iterations, where a launch may be one that can do without some guards.

The threads that run the launch find out which one is right for it (see `runtime.assume`). Drivers compile both: there
is one alone where the device is a processor.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence

from adstack.ir.structure import Op, Task, Value
from adstack.runtime.assume import Assumed, Condition, Term, assumed_of

from .assembly.code import Num
from .region import RegionEmitter

__all__ = ["in_versions"]


def in_versions(e: RegionEmitter, task: Task, run: Callable[[], object]) -> None:
    """Emit a loop over iterations by `run`; twice where in some launches it can do without some guards."""
    assumed = assumed_of(task) if e.m.traits.dedicated and e.team is None and not e.frame.debug else Assumed()
    if not assumed.inside:
        run()
        return

    def version(inside: Mapping[Op, tuple[int, ...]]) -> list[Num]:
        e.frame.in_bounds = inside
        with e.apart():
            run()
        return []

    e.c.either(_holds(e, task.body.args, assumed), lambda: version(assumed.inside), lambda: version({}))


def _holds(e: RegionEmitter, params: Sequence[Value], assumed: Assumed) -> Num:
    """Whether all that is assumed is true of the launch: the same in all threads."""
    clauses = ([_met(e, params, condition) for condition in choices] for choices in assumed.conditions)
    return functools.reduce(operator.and_, (functools.reduce(operator.or_, choices) for choices in clauses))


def _met(e: RegionEmitter, params: Sequence[Value], condition: Condition) -> Num:
    if condition.greater is None:
        return _number(e, params, condition.lesser) < 1 - condition.by
    most = _number(e, params, condition.greater)
    if condition.lesser is None:
        return most >= condition.by
    return most - condition.by >= _number(e, params, condition.lesser)  # both are far from where numbers wrap around


def _number(e: RegionEmitter, params: Sequence[Value], term: Term) -> Num:
    """A number of the launch, as i64."""
    assert term is not None
    return e.frame.extents[term] if isinstance(term, tuple) else e.index(params[term])
