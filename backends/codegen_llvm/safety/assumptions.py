"""Whether a launch can do without some guards, found out by the threads that run it (see `runtime.assume`)."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.structure import Value
from adstack.runtime.assume import Assumed, Condition, Term

from ..function.region import RegionEmitter

__all__ = ["holds"]


def holds(e: RegionEmitter, params: Sequence[Value], assumed: Assumed) -> str:
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
