"""Two versions of a loop over iterations, where a launch may be one that can do without some guards.

The threads that run the launch find out which one is right for it (see `runtime.assume`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adstack.ir.structure import Task, Value
from adstack.runtime.assume import Assumed, Condition, Term, assumed_of

from ..function.region import RegionEmitter

__all__ = ["in_versions"]


def in_versions(e: RegionEmitter, task: Task, run: Callable[[], object]) -> None:
    """Emit a loop over iterations by `run`; twice where in some launches it can do without some guards."""
    assumed = assumed_of(task) if e.target.loop_versions and e.team is None and not e.frame.debug else Assumed()
    if not assumed.inside:
        run()
        return
    fits, every, after = e.label("fits"), e.label("every"), e.label("launched")
    some = e.w.let(f"xor i1 {_holds(e, task.body.args, assumed)}, true")
    e.split(some, every, fits, unlikely=True)  # what most launches run stands where a device begins to read code
    for label, inside in ((fits, assumed.inside), (every, {})):
        e.enter(label)
        e.frame.in_bounds, e.frame.seldom = inside, not inside
        run()
        e.jump(after)
    e.enter(after)


def _holds(e: RegionEmitter, params: Sequence[Value], assumed: Assumed) -> str:
    """Whether all that is assumed is true of the launch: an i1, the same in all threads."""
    every = "true"
    for choices in assumed.conditions:
        some = _met(e, params, choices[0])
        for condition in choices[1:]:
            some = e.w.let(f"or i1 {some}, {_met(e, params, condition)}")
        every = some if every == "true" else e.w.let(f"and i1 {every}, {some}")
    return every


def _met(e: RegionEmitter, params: Sequence[Value], condition: Condition) -> str:
    if condition.greater is None:
        return e.w.let(f"icmp sle i64 {_number(e, params, condition.lesser)}, {-condition.by}")
    most = _number(e, params, condition.greater)
    if condition.lesser is None:
        return e.w.let(f"icmp sle i64 {condition.by}, {most}")
    most = e.w.let(f"sub i64 {most}, {condition.by}")  # extents and arguments are far from where numbers wrap around
    return e.w.let(f"icmp sle i64 {_number(e, params, condition.lesser)}, {most}")


def _number(e: RegionEmitter, params: Sequence[Value], term: Term) -> str:
    """A number of the launch, as i64."""
    assert term is not None
    return e.frame.extents[term] if isinstance(term, tuple) else e.wide(params[term], 1)
