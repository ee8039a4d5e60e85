"""Reverse modes served by machine code, as long as it can tell that there is nothing for Python to look at.

Between a launch and its `.grad()` memory may change that loop bounds are read from, or that the reverse pass reads.
Python looks at what has changed, and may refuse: see `ad/bounds.py` and `ad/inputs.py`. Machine code compares numbers
of launches: nobody saved an old state of such memory since the launch, and no other kernel that writes it ran since.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ..runtime.adstack_heap import HeapLimit
from ..runtime.guards import GUARD, REWIRED
from ..runtime.memory import Buffer
from ..runtime.plans import Plan
from ..runtime.shortcuts import Argument, Before, Still
from .arguments import Call
from .differentiated import Differentiated
from .specialisation import Specialisation

__all__ = ["shortcut"]

Prepare = Callable[[tuple[Any, ...]], Call]
Conditions = tuple[Still | Before, ...]


def shortcut(
    mode: Differentiated, arguments: tuple[Argument, ...], otherwise: Callable[..., Any], prepare: Prepare
) -> Callable[..., Any] | None:
    """A callable that serves reverse mode without Python; None if the backend has none, or Python must look each time.

    Args:
        mode: what is launched.
        arguments: what such calls pass.
        otherwise: serves all others.
        prepare: makes a call of arguments.
    """
    made, plan = mode.made, mode.plan
    sizes = _sizes(plan)
    if plan.is_watched or (sizes is None and plan.sizing is not None and plan.sizing.reductions):
        return None  # whether all iterations are looked at again is Python's to say
    conditions = _conditions(made)
    if conditions is None:
        return None

    def short(reason: HeapLimit, given: tuple[Any, ...]) -> None:
        mode.go_on(prepare(given), reason)

    return plan.shortcut(
        arguments,
        made.attributes,
        False,
        otherwise,
        conditions=conditions,
        distinct=tuple(mode.distinct),
        sizes=sizes,
        reductions=0 if plan.sizing is None else plan.sizing.reductions,
        short=short,
        keep=(mode, *_watched(made), *_writers(made)),
    )


def _sizes(plan: Plan) -> tuple[str, ...] | None:
    """The memory that depths of adstacks depend on; None if it is not the same in every launch, or not ours alone."""
    sizing = plan.sizing
    if sizing is None:
        return ()
    buffers = [plan.buffers.get(name) for name in sizing.reads]
    if sizing.transient or any(buffer is None or buffer.shared for buffer in buffers):
        return None
    return sizing.reads


def _watched(made: Specialisation) -> list[Buffer]:
    """The memory whose changes matter."""
    fields = [known.fields for known in (made.bounds, made.inputs) if known is not None]
    return [buffer for several in fields for buffer in several.values()]


def _conditions(made: Specialisation) -> Conditions | None:
    """What holds as long as nothing has changed since the last launch; None if that can't be told."""
    launched = made.plan.number_word
    if not launched or (made.bounds is not None and made.bounds.notes):
        return None
    rewired = ctypes.addressof(GUARD) + ctypes.sizeof(ctypes.c_int64) * REWIRED
    found: list[Still | Before] = [Still(rewired, GUARD[REWIRED])]
    watches = [buffer.watch for buffer in _watched(made) if buffer.watch is not None]
    found += [Before(ctypes.addressof(watch.last), launched) for watch in watches]
    if made.inputs is not None and made.inputs.looks_at_kernels:
        found += [Before(plan.number_word, launched) for plan in _writers(made)]
    return tuple(dict.fromkeys(found))


def _writers(made: Specialisation) -> list[Plan]:
    """Other kernels that write what its reverse mode may read."""
    fields = [] if made.inputs is None else made.inputs.fields.values()
    return [plan for buffer in fields for plan in buffer.writers or () if plan is not made.plan]
