"""What a tape recorded, in order: launches, calls with a gradient of their own, and writes of the host between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..analysis.boxes import Box
from ..errors import AdstackRuntimeError
from ..launch.arguments import Call
from ..launch.specialisation import Specialisation
from ..runtime.compiler import MOST_REACHES
from ..runtime.memory.buffers import Array, Buffer
from .differentiated import Differentiated, accompanied
from .undo import Change, Overwritten, Touched, identity

Region = tuple[str, str, list[Box]]

__all__ = ["CustomCall", "Event", "HostWrites", "Launch", "key_of", "memory_of"]


def memory_of(made: Specialisation, call: Call, names: frozenset[str]) -> Iterator[tuple[str, Buffer]]:
    """(label, buffer) of places of one launch."""
    for name in names:
        place = made.plan.compiled.program.places.get(name) or made.kernel.places.get(name)
        buffer = call.arrays.get(name) or made.plan.buffers.get(name)
        if place is not None and buffer is not None:
            yield place.label or name, buffer


def key_of(made: Specialisation, call: Call) -> Any:
    """Equal for launches with the same arguments; None where they can't be told: there is no gradient, or the launch
    works on copies.
    """
    if not accompanied(made, "grad") or any(loan.copy is not None for loan in call.loans or ()):
        return None
    if not call.arrays and not call.scalars:
        return made, (), ()
    arrays = sorted((name, identity(buffer)) for name, buffer in call.arrays.items() if not name.endswith(".grad"))
    return made, tuple(map(repr, call.scalars)), tuple(arrays)


@dataclass
class Event:
    """Something that happened to memory.

    Attributes:
        changes: of watched memory.
    """

    changes: list[Change] = field(default_factory=list, kw_only=True)

    @property
    def title(self) -> str:
        """What a report calls it."""
        raise NotImplementedError

    def kept(self) -> list[tuple[str, int, int]]:
        """What is kept for it: (what, how many elements, bytes)."""
        return [(change.label, len(change.positions), change.nbytes) for change in self.changes]

    @property
    def nbytes(self) -> int:
        """What is kept for it."""
        return sum(size for _, _, size in self.kept())

    def reverse(self) -> None:
        """Propagate adjoints through it; memory is as it was just after it."""

    def again(self) -> None:
        """Let it happen once more."""
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
        return "host"

    def reverse(self) -> None:
        """Nothing computed before had a part in the new values."""
        for one in self.overwritten:
            taken = one.cut()
            if one.given:
                self.taken.append((one.grad, taken))

    def again(self) -> None:
        for change in self.changes:
            change.buffer.write(change.undone(change.buffer.read()))

    def give_back(self) -> None:
        """Add the gradients of inputs to those of the elements' first values."""
        for buffer, taken in self.taken:
            buffer.write(buffer.read() + taken)
        self.taken.clear()


@dataclass(frozen=True)
class Footprint:
    """The elements that matter to a launch: (place name, what the user calls it, boxes).

    Attributes:
        written, read: by the launch, at most.
        before, after: by its reverse pass, as they were before the launch, and after.
        mode: that reverse pass.
    """

    written: tuple[Region, ...]
    read: tuple[Region, ...]
    before: tuple[Region, ...]
    after: tuple[Region, ...]
    mode: Differentiated | None

    @staticmethod
    def of(launch: Launch, shapes: Mapping[str, tuple[int, ...]]) -> Footprint:
        """For array arguments of such shapes."""
        made, mode, scalars = launch.made, launch.mode, launch.call.scalars
        own = made.plan.compiled.reach(scalars, shapes)
        before: dict[str, list[Box]] = {}
        after: dict[str, list[Box]] = {}
        if mode is not None:
            buffers = {**made.plan.buffers, **launch.call.arrays}
            more = {alias: buffers[name].shape for alias, name in mode.beside.items()}
            reverse = mode.plan.compiled.reach(mode.scalars(launch.call), {**shapes, **more}).read
            for alias, name in mode.beside.items():
                before.setdefault(name, []).extend(reverse.get(alias, ()))
            grads = {place.name for place in mode.companions.values()}
            after = {name: boxes for name, boxes in reverse.items() if name not in grads}
        written, read = _regions(made, own.written), _regions(made, own.read)
        return Footprint(written, read, _regions(made, before), _regions(made, after), mode)


def _regions(made: Specialisation, boxes: Mapping[str, list[Box]]) -> tuple[Region, ...]:
    """Those in places of the kernel."""
    places = made.kernel.places
    compiled = made.plan.compiled.program.places
    return tuple((n, (compiled.get(n) or places[n]).label or n, found) for n, found in boxes.items() if n in places)


@dataclass
class Launch(Event):
    """A launch of a kernel.

    Attributes:
        made: the specialisation that served it.
        call: what was passed.
        mode: the kernel in reverse mode; None if nothing it touches has a gradient.
    """

    made: Specialisation
    call: Call
    mode: Differentiated | None

    @property
    def title(self) -> str:
        return self.made.kernel.name

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Extents of the array arguments."""
        return {name: buffer.shape for name, buffer in self.call.arrays.items()}

    def launch(self) -> Any:
        """Launch; the value that the kernel returns."""
        return self.made.run(self.call)

    def needed(self) -> tuple[list[Touched], list[Touched]]:
        """What the reverse pass reads of memory as it was before the launch, and as it was after."""
        footprint = self._footprint
        return self._touched(footprint.before), self._touched(footprint.after)

    def _touched(self, regions: Iterable[Region]) -> list[Touched]:
        found = ((label, self._memory(name), boxes) for name, label, boxes in regions)
        return [Touched(label, buffer, boxes) for label, buffer, boxes in found if buffer is not None]

    def _memory(self, name: str) -> Buffer | None:
        """That of a place, if the launch has any."""
        return self.call.arrays.get(name) or self.made.plan.buffers.get(name)

    @property
    def gradients(self) -> Iterator[tuple[Buffer, Buffer]]:
        """(memory, memory of its gradients)."""
        for name, place in ({} if self.mode is None else self.mode.companions).items():
            primal = self._memory(name)
            assert primal is not None
            if place.kind == "ndarray":
                yield primal, self.call.arrays[place.name]
            else:
                yield primal, self.made.fields[name].grad.buffer

    def written(self) -> list[Touched]:
        """What the launch may write."""
        return self._touched(self._footprint.written)

    def read(self) -> list[Touched]:
        """What the launch may read."""
        return self._touched(self._footprint.read)

    @cached_property
    def _footprint(self) -> Footprint:
        """Where launches like this one read and write: of the same numbers, on arrays of the same shapes."""
        known: dict[Any, Footprint] = self.made.modes.setdefault("footprints", {})
        scalars, shapes = self.call.scalars, self.shapes
        key = id(self.mode), tuple(s if isinstance(s, int) else None for s in scalars), tuple(shapes.items())
        found = known.get(key)
        if found is None:
            if len(known) == MOST_REACHES:
                known.clear()
            found = known[key] = Footprint.of(self, shapes)
        return found

    def reverse(self) -> None:
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
            ((_, buffer),) = memory_of(self.made, self.call, frozenset((name,)))
            contents = buffer.read()
            for change in self.changes:
                if identity(change.buffer) == identity(buffer):
                    contents = change.undone(contents)
            copies[alias] = Buffer(buffer.backend, buffer.dtype, buffer.shape)
            copies[alias].write(contents)
        return copies

    def again(self) -> None:
        self.launch()


@dataclass
class CustomCall(Event):
    """A call of a function under `grad_replaced`."""

    primal: Any
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def title(self) -> str:
        return str(self.function.__name__)

    def reverse(self) -> None:
        if self.primal.grad is None:
            raise AdstackRuntimeError(
                f"{self.title} is under @grad_replaced and has no gradient",
                do=f"write one under @qd.ad.grad_for({self.title})",
            )
        self.primal.grad(*self.args, **self.kwargs)

    def again(self) -> None:
        self.function(*self.args, **self.kwargs)
