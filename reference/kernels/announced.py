"""Calls that write watched memory: Python announces what they write, and machine code launches them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ..data.placement import PLACED
from ..launch.arguments import Call
from ..runtime.compiled import MOST_REACHES
from ..runtime.plans import refuse
from ..runtime.protocol.shortcuts import Argument, NumberArgument, SameArgument
from ..runtime.threads.guards import ASKING, EPOCH, GUARD

if TYPE_CHECKING:
    from ..launch.specialisation import Specialisation
    from ..runtime.protocol.backend import Scalar
    from ..runtime.protocol.following import Follower

__all__ = ["Announced", "AnnouncedCalls"]

MOST: Final = 8
"""How many kinds of calls are tried one after another."""
_NONE: Final = -1
"""No epoch has this number."""


class AnnouncedCalls:
    """Calls of one specialisation with arguments of one kind: numbers, and compile-time objects.

    What differs from a call that Python serves: its arguments are compared with what earlier ones were, and not looked
    at anew, and machine code launches. What is noted of the launch, and what it keeps, is the same.

    Args:
        specialisation: serves such calls, and returns nothing.
        arguments: what they pass.
        follower: its machine code.
    """

    def __init__(self, specialisation: Specialisation, arguments: Sequence[Argument], follower: Follower) -> None:
        self._specialisation, self._follower = specialisation, follower
        self._launch = follower.always(refuse)
        self._takes = [_taken(one) for one in arguments]
        self._arguments = arguments  # which keep what they are the addresses of
        self._has_floats = any(isinstance(one, NumberArgument) and one.dtype.is_float for one in arguments)
        self._calls: dict[tuple[Scalar, ...], Call] = {}
        self._epoch = _NONE

    @property
    def has_ended(self) -> bool:
        """Whether there are no such calls any more."""
        return not self._specialisation.life.word.value

    @classmethod
    def of(cls, specialisation: Specialisation, arguments: Sequence[Argument]) -> AnnouncedCalls | None:
        """The calls with such arguments; None if Python must launch them."""
        if not all(isinstance(one, (NumberArgument, SameArgument)) for one in arguments):
            return None
        follower = specialisation.follower(tuple(arguments))
        return None if follower is None else cls(specialisation, arguments, follower)

    def serve(self, args: tuple[object, ...]) -> bool:
        """Serve a call; False if it is another one, or if it has to be looked at anew."""
        specialisation = self._specialisation
        if GUARD[ASKING] or specialisation.placed != PLACED[0] or not specialisation.life.word.value:
            return False
        if GUARD[EPOCH] != self._epoch and not self._renew():
            return False
        call = self._call(args)
        if call is None or (specialisation.captured and not specialisation.is_current()):
            return False
        specialisation.calls += 1
        launch = partial(specialisation.run_by, self._launch, args)
        if specialisation.records is None:
            launch(call)
        else:
            specialisation.records.launch(call, launch)
        return True

    def _renew(self) -> bool:
        """Serve calls in the epoch of now, if all memory is still there, and ours alone."""
        epoch = GUARD[EPOCH]
        if not all(buffer.alive and not buffer.shared for buffer in self._specialisation.plan.buffers.values()):
            return False
        self._follower.renew()
        self._epoch = epoch
        return True

    def _call(self, args: tuple[object, ...]) -> Call | None:
        """What a call passes; None if it is another one."""
        if len(args) != len(self._takes):
            return None
        scalars: list[Scalar] = []
        for value, (kind, low, high) in zip(args, self._takes, strict=True):
            if kind is None:
                if id(value) != low:
                    return None
            elif value.__class__ is kind and low <= value <= high:  # type: ignore[operator]
                scalars.append(value)  # type: ignore[arg-type]
            else:
                return None
        if self._has_floats:  # which may be equal, and have other bits
            return _passing(scalars)
        numbers = tuple(scalars)
        call = self._calls.get(numbers)
        if call is None:
            if len(self._calls) == MOST_REACHES:
                self._calls.clear()
            call = self._calls[numbers] = _passing(scalars)
        return call


class Announced:
    """Those calls of one kernel that Python announces, by their kinds.

    Attributes:
        calls: what serves them, to be asked one after another.
    """

    def __init__(self) -> None:
        self.calls: list[AnnouncedCalls] = []
        self._kinds: set[tuple[object, ...]] = set()
        self._others: set[Specialisation] = set()

    def drop(self) -> None:
        """The kernel's specialisations are forgotten."""
        self.calls.clear()
        self._kinds.clear()
        self._others.clear()

    def learn(self, specialisation: Specialisation, describe: Callable[[], tuple[Argument, ...] | None]) -> None:
        """Python has launched a call of a specialisation, of which `describe` tells the arguments: serve its like."""
        if specialisation in self._others or len(self.calls) == MOST:
            return
        is_plain = not (specialisation.plan.arguments or specialisation.keeps or specialisation.returns is not None)
        arguments = describe() if is_plain else None
        if arguments is None:
            self._others.add(specialisation)
            return
        kind = specialisation, *map(_taken, arguments)
        if kind in self._kinds:
            return
        self._kinds.add(kind)
        calls = AnnouncedCalls.of(specialisation, arguments)
        if calls is not None:
            self.calls.append(calls)


def _taken(argument: Argument) -> tuple[type | None, float, float]:
    """(type, least, most) of a number; (None, address, 0) of an object."""
    if isinstance(argument, NumberArgument):
        return argument.kind, argument.least, argument.most
    assert isinstance(argument, SameArgument)
    return None, argument.address, 0


def _passing(scalars: list[Scalar]) -> Call:
    call = Call()
    call.scalars = scalars
    return call
