"""What a tape recorded, in order: launches, calls with a gradient of their own, and writes of the host between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from ..errors import AdstackRuntimeError
from ..launch.arguments import Call
from ..launch.specialisation import Specialisation
from ..runtime.compiled import MOST_REACHES
from ..runtime.memory.buffers import Array, Buffer
from ..runtime.memory.scalar_bits import scalar_bits
from .memory.undo import Change, Overwritten, Rewound, Touched, identity, noting
from .modes.companions import accompanied, companion_memory
from .modes.differentiated import Differentiated
from .modes.footprints import Footprint, FootprintKey, Region, footprint_of
from .modes.state import state_of

__all__ = ["CustomCall", "Event", "HostWrites", "Launch", "give_back", "key_of", "may_write", "memory_of"]


def memory_of(specialisation: Specialisation, call: Call, names: frozenset[str]) -> Iterator[tuple[str, Buffer]]:
    """(label, memory) of the places of one launch that have these names."""
    for name in names:
        place = specialisation.plan.compiled.program.places.get(name) or specialisation.kernel.places.get(name)
        buffer = call.arrays.get(name) or specialisation.plan.buffers.get(name)
        if place is not None and buffer is not None:
            yield place.label or name, buffer


def may_write(specialisation: Specialisation, call: Call, memory: object) -> bool:
    """Whether a launch has code that writes this memory, also where its loops have no iteration this time."""
    written = memory_of(specialisation, call, specialisation.plan.compiled.written)
    return any(identity(buffer) == memory for _, buffer in written)


def key_of(specialisation: Specialisation, call: Call) -> Any:
    """Equal for launches with the same arguments; None where they can't be told: there is no gradient, or the launch
    works on copies.
    """
    if not accompanied(specialisation, "grad") or any(loan.copy is not None for loan in call.loans or ()):
        return None
    if not call.arrays and not call.scalars:
        return specialisation, b"", ()
    arrays = sorted((name, identity(buffer)) for name, buffer in call.arrays.items() if not name.endswith(".grad"))
    return specialisation, scalar_bits(specialisation.plan.compiled.program.params, call.scalars), tuple(arrays)


@dataclass
class Event:
    """Something that happened to memory.

    Attributes:
        changes: of watched memory.
    """

    changes: list[Change] = field(default_factory=list, kw_only=True)

    @property
    def title(self) -> str:
        """What reports call the event."""
        raise NotImplementedError

    def kept(self) -> list[tuple[str, int, int]]:
        """What is kept for it: (what, how many elements, bytes)."""
        return [(change.label, len(change.positions), change.nbytes) for change in self.changes]

    @property
    def nbytes(self) -> int:
        """How many bytes are kept for it."""
        return sum(size for _, _, size in self.kept())

    def launches(self) -> list[tuple[str, list[tuple[str, int, int]]]]:
        """What is kept for each launch of it: (title, as `kept`)."""
        return [(self.title, self.kept())]

    def computes(self, memory: object) -> bool:
        """Whether a recorded launch has code that writes this memory."""
        return False

    def needs(self) -> Iterable[Touched]:
        """The elements that the reverse passes of recorded launches read, before and after these."""
        return ()

    def unwind(self, rewound: Rewound) -> None:
        """Propagate adjoints through it, and wind memory back to what it was before, which `rewound` does."""
        self.reverse()
        for change in reversed(self.changes):
            rewound.undo(change)

    def reverse(self) -> None:
        """Propagate adjoints through it; memory is as it was just after it."""

    def again(self) -> None:
        """Do it once more, on the memory of now: gradients are checked by launching again."""
        raise NotImplementedError


@dataclass
class HostWrites(Event):
    """Writes between two recorded calls: of the host, or of launches that count as constants.

    Attributes:
        overwritten: the elements with a gradient.
        taken: what the gradients of inputs among them were: (memory of gradients, values).
    """

    overwritten: list[Overwritten] = field(default_factory=list)
    taken: list[tuple[Buffer, Array]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """See `Event.title`."""
        return "host"

    def reverse(self) -> None:
        """Set the gradients of the overwritten elements to zero: nothing recorded before computed the new values."""
        for one in self.overwritten:
            taken = one.cut()
            if one.given:
                self.taken.append((one.grad, taken))

    def again(self) -> None:
        """See `Event.again`: write the same numbers."""
        for change in self.changes:
            change.buffer.write(change.undone(change.buffer.read()))

    def give_back(self) -> None:
        """Add the gradients of inputs to those of the elements' first values."""
        for buffer, taken in self.taken:
            buffer.write(buffer.read() + taken)
        self.taken.clear()


def give_back(events: Iterable[Event]) -> None:
    """See `HostWrites.give_back`."""
    for event in events:
        if isinstance(event, HostWrites):
            event.give_back()


@dataclass
class Launch(Event):
    """A launch of a kernel.

    Attributes:
        specialisation: the specialisation that served it.
        call: what was passed.
        mode: the kernel in reverse mode; None if nothing it touches has a gradient.
    """

    specialisation: Specialisation
    call: Call
    mode: Differentiated | None

    @property
    def title(self) -> str:
        """See `Event.title`."""
        return self.specialisation.kernel.name

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Extents of the array arguments."""
        return {name: buffer.shape for name, buffer in self.call.arrays.items()}

    def launch(self) -> object:
        """Launch; the value that the kernel returns."""
        return self.specialisation.run(self.call)

    def needed(self) -> tuple[list[Touched], list[Touched]]:
        """What the reverse pass reads of memory as it was before the launch, and as it was after."""
        footprint = self._footprint
        return self.touched(footprint.before), self.touched(footprint.after)

    def needs(self) -> Iterable[Touched]:
        """See `Event.needs`."""
        return () if self.mode is None else chain.from_iterable(self.needed())

    def touched(self, regions: Iterable[Region]) -> list[Touched]:
        """The memory of these regions, as far as the launch has any."""
        memory = ((label, self.buffer_of(name), boxes) for name, label, boxes in regions)
        return [Touched(label, buffer, boxes) for label, buffer, boxes in memory if buffer is not None]

    def buffer_of(self, name: str) -> Buffer | None:
        """The memory of a place; None if the launch has none for it."""
        return self.call.arrays.get(name) or self.specialisation.plan.buffers.get(name)

    @property
    def gradients(self) -> Iterator[tuple[Buffer, Buffer]]:
        """(memory, memory of its gradients) for each place with a gradient."""
        for name, place in ({} if self.mode is None else self.mode.companions).items():
            primal = self.buffer_of(name)
            assert primal is not None
            yield primal, companion_memory(self.specialisation, self.call, name, place, "grad")

    def computes(self, memory: object) -> bool:
        """See `Event.computes`."""
        return may_write(self.specialisation, self.call, memory)

    def written(self) -> list[Touched]:
        """What the launch may write."""
        return self.touched(self._footprint.written)

    def read(self) -> list[Touched]:
        """What the launch may read."""
        return self.touched(self._footprint.read)

    @cached_property
    def _footprint(self) -> Footprint:
        """The elements that a launch with these integers, on arrays of these shapes, may touch."""
        footprints, shapes = state_of(self.specialisation).footprints, self.shapes
        key = FootprintKey.of(self.call, self.mode, shapes)
        footprint = footprints.get(key)
        if footprint is None:
            if len(footprints) == MOST_REACHES:
                footprints.clear()
            footprint = footprints[key] = footprint_of(self.specialisation, self.call, self.mode, shapes)
        return footprint

    def reverse(self) -> None:
        """See `Event.reverse`."""
        if self.mode is None:
            return
        grads = {place.name for place in self.mode.companions.values()}
        for loan in self.call.loans or ():
            if loan.place in grads and loan.copy is not None:
                loan.copy.write(loan.original)
        self._propagate(self.mode)

    def _propagate(self, mode: Differentiated) -> None:
        """Launch the reverse mode."""
        before = self._before(mode)
        try:
            mode.launch(self.call, before)
        finally:
            for buffer in before.values():
                buffer.drop()

    def _before(self, mode: Differentiated) -> dict[str, Buffer]:
        """Copies of memory as it was before the launch."""
        copies: dict[str, Buffer] = {}
        for alias, name in mode.beside.items():
            buffer = self.buffer_of(name)
            assert buffer is not None
            contents = buffer.read()
            for change in self.changes:
                if identity(change.buffer) == identity(buffer):
                    contents = change.undone(contents)
            copies[alias] = Buffer(buffer.backend, buffer.dtype, buffer.shape)
            copies[alias].write(contents)
        return copies

    def again(self) -> None:
        """See `Event.again`."""
        self.launch()


@dataclass
class CustomCall(Event):
    """A call of a function under `grad_replaced`.

    Attributes:
        keeps: elements that its gradient must leave as they are, or they are put back: launches recorded before need
            them.
    """

    primal: Any
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    keeps: Sequence[Touched] = ()

    @property
    def title(self) -> str:
        """See `Event.title`."""
        return str(self.function.__name__)

    def unwind(self, rewound: Rewound) -> None:
        """See `Event.unwind`."""
        with noting(self.keeps) as changes:
            self.reverse()
        for change in (*changes, *reversed(self.changes)):
            rewound.undo(change)

    def reverse(self) -> None:
        """See `Event.reverse`; AdstackRuntimeError if the function has no gradient."""
        if self.primal.grad is None:
            raise AdstackRuntimeError(
                f"{self.title} is under @grad_replaced and has no gradient",
                do=f"write one under @qd.ad.grad_for({self.title})",
            )
        self.primal.grad(*self.args, **self.kwargs)

    def again(self) -> None:
        """See `Event.again`."""
        self.function(*self.args, **self.kwargs)
