"""Whether a launch can do without some guards, found out by the threads that run it (see `runtime.assume`)."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

from adstack.ir.structure import Value
from adstack.runtime.assume import Assumed, Condition, Term

from .assembly.code import Num
from .region import RegionEmitter

__all__ = ["holds"]


def holds(e: RegionEmitter, params: Sequence[Value], assumed: Assumed) -> Num:
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
