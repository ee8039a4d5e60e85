"""Sequences of launches that a backend follows: calls that come in a known order, and their reverse modes.

A tape learns which calls come. From then on a backend with this part of the protocol serves them without Python, and
runs their reverse modes one after the other, last first. What a call overwrites of what an earlier one needs is kept
first, in memory that is used again each time, and is in its place when that one is reversed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypeAlias, runtime_checkable

from ..adstacks.heap import HeapLimit
from .abilities import Serving
from .backend import Backend, Bindings, Executable, Scalar, Scalars, Storage
from .shortcuts import Shortcut
from .words import Recorded

__all__ = ["Bound", "Follower", "Following", "Lent", "Move", "SequenceCall", "Sequenced", "Sizing", "following"]


Progress: TypeAlias = Any
"""How far calls have been reversed: a handle that is only ever given back to the backend."""


class Follower(Protocol):
    """What serves the calls that a shortcut describes where they are the next ones of a sequence."""

    @property
    def address(self) -> int:
        """By which a sequence knows it."""

    def before(self, otherwise: Callable[..., object]) -> Callable[..., object]:
        """A callable that leaves all other calls to `otherwise`."""

    def always(self, otherwise: Callable[..., object]) -> Callable[..., object]:
        """A callable that serves such calls whichever comes next: the caller has announced what they write."""

    def renew(self) -> None:
        """Serve calls in the epoch of now: the caller knows that all memory is still there."""


class Sizing(Recorded, Protocol):
    """Memory that depths of adstacks depend on."""

    @property
    def storage(self) -> Storage:
        """The backend's handle."""


@dataclass(frozen=True)
class Bound:
    """A launch: what runs, on what.

    Attributes:
        written: names of the places that it writes.
        sizes: the memory that depths of adstacks depend on, besides scalar arguments; None if they may depend on more,
            and have to be computed in each launch.
        reductions: parallel loops that compute them.
    """

    executable: Executable
    scalars: Scalars
    bindings: Bindings
    written: frozenset[str] = frozenset()
    sizes: Sequence[Sizing] | None = ()
    reductions: int = 0


@dataclass(frozen=True)
class Move:
    """Elements of memory that are copied to other memory: where from, where to, and how many bytes."""

    source: Storage
    start: int
    target: Storage
    at: int
    nbytes: int


@dataclass(frozen=True, eq=False)
class Lent:
    """An array of the host that is passed to a call, another one each time, and that the call only reads.

    What it holds is noted before the launch, since others may write it at any time: the reverse mode reads that. Where
    it is what was noted for an earlier call, nothing is copied.

    Attributes:
        argument: which argument it is.
        place: what it stands for.
        nbytes: of what is noted; 0 if nothing is.
        memory: of this call, for what the array holds; None if the call is served only where nothing is copied.
        earlier: what is noted for another call before this one; None if that is what this call noted last.
    """

    argument: int
    place: str
    nbytes: int
    memory: Storage | None
    earlier: Lent | None


@dataclass(frozen=True)
class SequenceCall:
    """One call of a sequence.

    Attributes:
        follower: what serves it.
        forward: its launch; floats among the scalars may be others each time.
        reverse: that of its reverse mode, whose first scalars are those of the call; None if it has none.
        saves: what is kept before the launch.
        later: how that is exchanged with what is there when the call has been reversed.
        beside: what is copied before the reverse mode runs.
        words: (address, value) of words that must be what they are.
        lent: arrays of the host among its arguments, in their order.
    """

    follower: Follower
    forward: Bound
    reverse: Bound | None
    saves: Sequence[Move] = ()
    later: Sequence[Move] = ()
    beside: Sequence[Move] = ()
    words: Sequence[tuple[int, int]] = ()
    lent: Sequence[Lent] = ()


class Sequenced(Protocol):
    """A sequence that a backend follows. One thread at a time does, and has Python's turn when it calls these."""

    def begin(self, first: int) -> None:
        """Serve the calls of this thread from the `first`th of the sequence on, as long as they come in order."""

    def end(self) -> tuple[int, bool, list[Any]]:
        """Serve no more of them: up to which one they came, whether that one began and did not come to its end, and the
        arrays of the host that were passed, as in `SequenceCall.lent`, one call after the other.
        """

    def noted(self, lent: Lent) -> int:
        """The address of what was noted of an array when its call was served last."""

    def scalars(self, call: int) -> Sequence[Scalar]:
        """The scalar arguments of a call when it was served last."""

    def turn(self, end: int) -> Progress:
        """Calls up to `end` are about to be reversed: how far that comes."""

    def reverse(self, first: int, progress: Progress, short: Callable[[int, HeapLimit], object]) -> None:
        """Run the reverse modes of the calls from one on, last first; `short` serves one, given by its number, that has
        no room.
        """

    def restore(self, progress: Progress, end: int) -> None:
        """Put memory back as it was before the calls up to `end` were reversed, which came as far as `progress` says.

        Doing it twice is no harm.
        """


@runtime_checkable
class Following(Serving, Protocol):
    """A backend that follows sequences. Without it tapes record each launch."""

    def follower(self, executable: Executable, wanted: Shortcut) -> Follower | None:
        """What serves the calls of an executable that a shortcut describes, if the backend can; otherwise None."""

    def reverses(self, executable: Executable) -> bool:
        """Whether an executable may be the reverse mode of a call of a sequence: its launches do not need Python."""

    def sequence(self, calls: Sequence[SequenceCall | None]) -> Sequenced:
        """A sequence of such calls; None for what comes between them and is not served."""


def following(backend: Backend) -> Following | None:
    """The backend, if it follows sequences."""
    device: Any = backend  # every tape asks: no `cast`
    return device if _follows(type(backend)) else None


@cache
def _follows(kind: type) -> bool:
    return issubclass(kind, Following)
