"""Reverse modes served by machine code, as long as it can tell that there is nothing for Python to look at.

Between a launch and its `.grad()` memory may change that loop bounds are read from, or that the reverse pass reads.
Python looks at what has changed, and may refuse: see `gradients/launches/records.py`. Machine code compares
numbers of launches: nobody kept an old state of such memory since the launch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ..gradients.modes.differentiated import Differentiated
from ..launch.arguments import Call
from ..launch.specialisation import Specialisation
from ..runtime.adstacks.heap import HeapLimit
from ..runtime.plans import Plan
from ..runtime.protocol.following import Follower
from ..runtime.protocol.shortcuts import Argument, Before, Still, of_others
from ..runtime.protocol.words import CHANGED
from ..runtime.threads.guards import GUARD, REWIRED
from ..runtime.threads.runtime_lock import RUNTIME_LOCK

__all__ = ["Prepare", "announced", "shortcut"]

Prepare = Callable[[tuple[object, ...]], Call]
Conditions = tuple[Still | Before, ...]


def shortcut(
    mode: Differentiated, arguments: tuple[Argument, ...], otherwise: Callable[..., object], prepare: Prepare
) -> Callable[..., None] | None:
    """A callable that serves reverse mode without Python; None if the backend has none, or Python must look each time.

    Args:
        mode: what is launched.
        arguments: what such calls pass.
        otherwise: serves all others.
        prepare: makes a call of arguments.
    """
    specialisation, plan, grads = mode.specialisation, mode.plan, mode.companions
    sizes = _sizes(plan)
    if mode.racing or plan.is_watched or (sizes is None and plan.sizing is not None and plan.sizing.reductions):
        return None  # whether iterations race, or all are looked at again, is Python's to say
    conditions, aliases = _conditions(specialisation), mode.aliases.pairs
    records = specialisation.records
    if conditions is None or aliases is None or (records is not None and not records.may_serve(of_others(arguments))):
        return None

    def short(reason: HeapLimit, args: tuple[object, ...]) -> None:
        with RUNTIME_LOCK.lock:
            mode.go_on(prepare(args), reason)

    return plan.shortcut(
        arguments,
        specialisation.attributes,
        False,
        otherwise,
        conditions=conditions,
        distinct=(*aliases, *((grads[one].name, grads[other].name) for one, other in mode.apart)),
        sizes=sizes,
        reductions=0 if plan.sizing is None else plan.sizing.reductions,
        short=short,
        keep=(mode, *(() if records is None else records.fields.values())),
        needed=frozenset(() if records is None else records.arrays),
    )


def announced(mode: Differentiated, arguments: tuple[Argument, ...], prepare: Prepare) -> Follower | None:
    """What makes launches in reverse mode that Python has looked at, and has announced; None if Python must make them.

    Args:
        mode: what is launched.
        arguments: what such calls pass: no memory of others.
        prepare: makes a call of arguments.
    """
    specialisation, plan, baked = mode.specialisation, mode.plan, mode.specialisation.conditions
    sizes = _sizes(plan)
    is_sized = sizes is not None or plan.sizing is None or not plan.sizing.reductions
    if mode.racing or mode.seeds or mode.beside or baked is None or not is_sized:
        return None

    def short(reason: HeapLimit, args: tuple[object, ...]) -> None:
        mode.go_on(prepare(args), reason)

    return plan.follower(
        arguments,
        specialisation.attributes,
        baked,
        (mode, specialisation.life.word),
        sizes=sizes,
        reductions=0 if plan.sizing is None else plan.sizing.reductions,
        short=short,
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


def _conditions(specialisation: Specialisation) -> Conditions | None:
    """What holds as long as nothing has changed since the last launch; None if that can't be told."""
    launched = specialisation.plan.number_word
    records = specialisation.records
    baked = specialisation.conditions
    if not launched or baked is None or (records is not None and records.notes):
        return None
    rewired = ctypes.addressof(GUARD) + ctypes.sizeof(ctypes.c_int64) * REWIRED
    conditions: list[Still | Before] = [*baked, Still(rewired, GUARD[REWIRED])]
    fields = () if records is None else records.fields.values()
    words = [ctypes.addressof(buffer.record()) for buffer in fields if buffer.alive]
    conditions += [Before(word + ctypes.sizeof(ctypes.c_int64) * CHANGED, launched) for word in words]
    return tuple(dict.fromkeys(conditions))
