"""Calls that write watched memory: Python announces what they write, and machine code launches them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from weakref import ReferenceType, ref

from ..data.ndarrays import Ndarray
from ..data.placement import PLACED
from ..gradients.launches.last_launch import reverse_last_launch
from ..gradients.seeds import is_real
from ..launch.arguments import Call
from ..runtime.compiled import MOST_REACHES
from ..runtime.plans import REFUSED, refuse
from ..runtime.protocol.shortcuts import Argument, ArrayArgument, NumberArgument, SameArgument, leaves
from ..runtime.state import current
from ..runtime.threads.guards import ASKING, EPOCH, GUARD
from ..values.specs import ScalarSpec
from .parts import apart, have_parts
from .reverse_shortcut import Prepare, announced

if TYPE_CHECKING:
    from ..gradients.modes.differentiated import Differentiated
    from ..launch.specialisation import Specialisation
    from ..runtime.plans import Plan
    from ..runtime.protocol.backend import Scalar
    from ..runtime.protocol.following import Follower
    from ..runtime.writes import Writes

__all__ = ["Announced", "AnnouncedCalls"]

Looking: TypeAlias = "Callable[[Specialisation, tuple[object, ...]], Call | None]"
MOST: Final = 8
"""How many kinds of calls are tried one after another."""
_NONE: Final = -1
"""No epoch has this number."""


class Known:
    """A call that need not be looked at anew.

    Attributes:
        call: what it passes.
        writes: what its launches write.
        reverses: what those of its reverse modes write, by the identity of the mode.
    """

    __slots__ = ("call", "reverses", "writes")

    def __init__(self, call: Call, plan: Plan) -> None:
        self.call, self.writes = call, plan.writes(call.scalars, call.arrays)
        self.reverses: dict[int, Writes] = {}


class _LookedAt(NamedTuple):
    """Calls that need not be looked at anew.

    Attributes:
        calls: by their numbers, and the identities of their arrays.
        arrays: those of these calls, by identity.
    """

    calls: dict[tuple[object, ...], Known]
    arrays: dict[int, ReferenceType[Ndarray]]


class AnnouncedCalls:
    """Calls of one specialisation with arguments of one kind: numbers, ndarrays, and compile-time objects.

    What differs from a call that Python serves: its arguments are compared with what earlier ones were, and not looked
    at anew, and machine code launches. What is noted of the launch, and what it keeps, is the same.

    Args:
        specialisation: serves such calls, and returns nothing, or a scalar.
        arguments: what they pass.
        follower: its machine code.
        prepare: makes a call of arguments that have not been looked at; None if another specialisation serves them.

    Attributes:
        specialisation: serves them.
    """

    def __init__(
        self, specialisation: Specialisation, arguments: Sequence[Argument], follower: Follower, prepare: Looking
    ) -> None:
        self.specialisation, self._follower, self._prepare = specialisation, follower, prepare
        self._launch = follower.always(refuse)
        parts = [*leaves(arguments)]
        self._takes, self._has_parts = [_taken(one) for one in parts], have_parts(arguments)
        self._is_seeded = is_real(specialisation.returns)
        self._arguments = arguments  # which keep what they are the addresses of
        self._has_arrays = any(isinstance(one, ArrayArgument) for one in parts)
        self._looked_at = _LookedAt({}, {})
        self._reverses: dict[int, Reverse] = {}  # by the identities of the modes, which they keep
        self._is_reversed = not self._has_arrays
        self._epoch, self._process = _NONE, os.getpid()

    @classmethod
    def of(
        cls, specialisation: Specialisation, arguments: Sequence[Argument], prepare: Looking
    ) -> AnnouncedCalls | None:
        """The calls with such arguments; None if Python must launch them."""
        follower = specialisation.follower(tuple(arguments), returns=True)
        return None if follower is None else cls(specialisation, arguments, follower, prepare)

    def serve(self, args: tuple[object, ...]) -> object:
        """What a call returns; `REFUSED` if it is another one, or if it has to be looked at anew."""
        known = self.known(args)
        if known is None:
            return REFUSED
        specialisation = self.specialisation
        specialisation.calls += 1
        launch = partial(specialisation.run_by, self._launch, args, known.writes)
        records = specialisation.records
        return launch(known.call) if records is None else records.launch(known.call, launch)

    def known(self, args: tuple[object, ...]) -> Known | None:
        """A call that passes these arguments; None if it is another one, or if it has to be looked at anew."""
        specialisation = self.specialisation
        if GUARD[ASKING] or specialisation.placed != PLACED[0] or not specialisation.life.word.value:
            return None
        values = apart(args, self._arguments) if self._has_parts else args
        if values is None or len(values) != len(self._takes) or (GUARD[EPOCH] != self._epoch and not self._renew()):
            return None
        key: list[object] = []
        for value, (kind, _, _) in zip(values, self._takes, strict=True):
            if value.__class__ is kind:
                # equal floats may be others: zeros have a sign
                key.append(id(value) if kind is Ndarray else value.hex() if kind is float else value)  # type: ignore[attr-defined]
            elif kind is None:
                key.append(id(value))
            else:
                return None
        if specialisation.captured and not specialisation.is_current():
            return None
        known = self._looked_at.calls.get(tuple(key))
        return known or (self._passing(args, values, tuple(key)) if self._are_taken(values) else None)

    def _are_taken(self, values: Sequence[object]) -> bool:
        """Whether arguments of the right types are those of such a call: numbers within range, and the same objects."""
        for value, (kind, low, high) in zip(values, self._takes, strict=True):
            if kind is None:
                if id(value) != low:
                    return False
            elif kind is not Ndarray and not low <= value <= high:  # type: ignore[operator]
                return False
        return True

    def _scalars(self, values: Sequence[object]) -> list[Scalar]:
        """The numbers among arguments that a launch is handed."""
        taken = zip(values, self._takes, strict=True)
        numbers: list[Any] = [value for value, (kind, _, _) in taken if kind is not None and kind is not Ndarray]
        return numbers

    def _renew(self) -> bool:
        """Serve calls in the epoch of now, if all memory is still there, and ours alone."""
        epoch = GUARD[EPOCH]
        if os.getpid() != self._process:
            return False  # Python says what a forked process may do, and starts threads there
        if not _renewed(self._follower, self.specialisation.plan):
            return False
        self._forget_arrays()  # others may have a view of one, or another gradient belongs to it
        self._epoch = epoch
        return True

    def reverse(self, args: tuple[object, ...]) -> bool:
        """Propagate adjoints through the last launch with these arguments, if Python must look at it each time.

        False if it need not, or if these are other arguments: nothing was done.
        """
        specialisation = self.specialisation
        if specialisation.records is None or not (specialisation.records.notes or self._has_arrays) or self._is_seeded:
            return False
        known = self.known(args)
        if known is None:
            return False
        if not self._is_reversed:
            self._is_reversed = True  # Python serves the first one, and lets machine code serve those that it can
            return False
        reverse_last_launch(specialisation, known.call, current(), partial(self._launch_reverse, args, known))
        return True

    def _launch_reverse(self, args: tuple[object, ...], known: Known, mode: Differentiated, call: Call) -> None:
        """Launch reverse mode of a call of these arguments, by machine code if it can.

        Python makes the first launch: machine code that is made behind it takes for granted that the depths of adstacks
        in memory are those of now.
        """
        reverse = self._reverses.get(id(mode))
        if reverse is not None:
            reverse.launch(args, known)
            return
        mode.launch(call)
        self._reverses[id(mode)] = Reverse(mode, self._arguments, self._prepared)

    def _prepared(self, args: tuple[object, ...]) -> Call:
        known = self.known(args)
        assert known is not None  # it was a moment ago
        return known.call

    def _passing(self, args: tuple[object, ...], values: Sequence[object], key: tuple[object, ...]) -> Known | None:
        """A call with some arguments, which have these parts, noted under a key; None if each has to be looked at."""
        if not self._has_arrays:
            call = Call()
            call.scalars = self._scalars(values)
        else:
            looked_at = self._prepare(self.specialisation, args)
            if looked_at is None or looked_at.loans or any(array.shared for array in looked_at.arrays.values()):
                return None
            call = looked_at
        if len(self._looked_at.calls) == MOST_REACHES:
            self._looked_at = _LookedAt({}, {})
        noted = self._looked_at  # another one stands there when an array goes meanwhile, in whatever thread
        for value in values:
            if isinstance(value, Ndarray) and id(value) not in noted.arrays:
                noted.arrays[id(value)] = ref(value, self._forget_arrays)
        known = noted.calls[key] = Known(call, self.specialisation.plan)
        return known

    def _forget_arrays(self, _: object = None) -> None:
        """Forget the calls that pass arrays, whose memory they keep: one of them is gone, or may be another one."""
        if self._has_arrays:
            self._looked_at = _LookedAt({}, {})


class Reverse:
    """The launches of one reverse mode.

    Args:
        mode: the reverse mode.
        arguments: what the calls pass.
        prepare: makes a call of arguments.
    """

    def __init__(self, mode: Differentiated, arguments: Sequence[Argument], prepare: Prepare) -> None:
        self._mode, self._epoch = mode, _NONE
        self._follower = announced(mode, tuple(arguments), prepare)
        self._launch = None if self._follower is None else self._follower.always(refuse)

    def launch(self, args: tuple[object, ...], known: Known) -> None:
        """Launch it for a call with these arguments."""
        mode, call = self._mode, known.call
        if self._launch is None or not (GUARD[EPOCH] == self._epoch or self._renew()):
            mode.launch(call)
            return
        writes = known.reverses.get(id(mode))
        if writes is None:
            if call.arrays:
                mode.check(call)  # which finds the same as long as the call is known
            writes = known.reverses[id(mode)] = mode.plan.writes(call.scalars, call.arrays)
        if mode.plan.serve(self._launch, args, writes) is REFUSED:
            mode.launch(call)

    def _renew(self) -> bool:
        epoch = GUARD[EPOCH]
        if self._follower is None or not _renewed(self._follower, self._mode.plan):
            return False
        self._epoch = epoch
        return True


class Announced:
    """Those calls of one kernel that Python announces, by their kinds.

    Attributes:
        calls: what serves them, to be asked one after another.
    """

    def __init__(self) -> None:
        self.calls: list[AnnouncedCalls] = []
        self._process = os.getpid()
        self._kinds: set[tuple[object, ...]] = set()
        self._others: set[Specialisation] = set()

    def drop(self) -> None:
        """The kernel's specialisations are forgotten."""
        self.calls.clear()
        self._kinds.clear()
        self._others.clear()

    def learn(
        self,
        specialisation: Specialisation,
        describe: Callable[[], tuple[Argument, ...] | None],
        prepare: Looking,
    ) -> None:
        """Python has launched a call of a specialisation, of which `describe` tells the arguments: serve its like.

        `prepare` makes calls, see `AnnouncedCalls`.
        """
        if os.getpid() != self._process:
            self.drop()
            self._process = os.getpid()
        if specialisation in self._others or len(self.calls) == MOST:
            return
        is_plain = isinstance(specialisation.returns, (ScalarSpec, type(None)))
        arguments = describe() if is_plain else None
        if arguments is None:
            self._others.add(specialisation)
            return
        parts = [*leaves(arguments)]
        if not all(isinstance(one, (NumberArgument, SameArgument, ArrayArgument)) for one in parts):
            return  # memory of others is looked at in each call
        kind = specialisation, *map(_taken, parts)
        if kind in self._kinds:
            return
        self._kinds.add(kind)
        calls = AnnouncedCalls.of(specialisation, arguments, prepare)
        if calls is not None:
            self.calls.append(calls)


def _renewed(follower: Follower, plan: Plan) -> bool:
    """Let machine code serve calls in the epoch of now, if all memory is still there, and ours alone."""
    if not all(buffer.alive and not buffer.shared for buffer in plan.buffers.values()):
        return False
    follower.renew()
    return True


def _taken(argument: Argument) -> tuple[type | None, float, float]:
    """(type, least, most) of a number; (type, mark, 0) of an ndarray; (None, address, 0) of another object."""
    if isinstance(argument, NumberArgument):
        return argument.kind, argument.least, argument.most
    if isinstance(argument, ArrayArgument):
        return argument.kind, argument.tag, 0
    assert isinstance(argument, SameArgument)
    return None, argument.address, 0
