"""Running a kernel or program: buffers and arguments in, memory changed in place and returned scalars out."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import (
    AdstackArgumentError,
    AdstackError,
    AdstackMemoryError,
    AdstackOverflowError,
    InternalError,
)
from ..ir.structure import Kernel, Op, Place, Program
from .cache import Prepared, prepared
from .failures import label, located
from .frame import Array, Frame, Memory, Team
from .overlap import Slots
from .races import RaceDetector, slots_of
from .stacks import Stack

Scalar = bool | int | float


@dataclass(frozen=True)
class RunOptions:
    """How to run.

    Attributes:
        debug: check asserts, traps, underflow and races.
        seed, launch: what the random streams depend on, see `philox.py`.
        stdout: takes what the program prints; None is `sys.stdout`.
        lanes: how many iterations of a parallel loop run together; the default keeps temporaries in the cache. Results
            depend on it only through the order of atomic operations, which no program may rely on.
        room: told the name of a task before it runs, how many lanes have room for their adstacks; None if all have.
        used: takes, for each op that makes an adstack, the most slots that a lane has pushed to.
        ran: takes, by the name of the task, how many iterations its loop had.
    """

    debug: bool = False
    seed: int = 0
    launch: int = 0
    stdout: Callable[[str], object] | None = None
    lanes: int = 8192
    room: Callable[[str], int | None] | None = None
    used: dict[Op, int] | None = None
    ran: dict[str, int] | None = None


@dataclass
class Overflow:
    """The first adstack that overflowed: in which task, which stack, and how deep it should have been."""

    task: str
    stack: Stack
    capacity: int
    wanted: int

    def error(self) -> AdstackOverflowError:
        """To raise once the launch is over."""
        return AdstackOverflowError(
            f"Adstack overflow in {self.task}: a stack of capacity {self.capacity} was pushed {self.wanted} deep",
            loc=located(self.stack.loc),
            note=f"it keeps {self.stack.name}" if self.stack.name else "",
            do=f"give it room for {self.wanted}: raise ad_stack_size, or leave the depth to be computed",
        )


@dataclass
class Launch:
    """What the frames of one launch share.

    Attributes:
        options: how to run.
        memory: the places, in the kernel's order.
        task: the name of the running task.
        lanes: how many of its iterations run together.
        section: where the launch is, for random streams: see `philox.py`.
        serial: the lane of serial code.
        races: the detector of the running parallel loop in debug mode.
        overflow: the adstack that overflowed, if any did.
        outside: the error of the first guarded access that was outside, if any was.
        claims: how many iterations of the task have said that they need slots of adstacks.
    """

    options: RunOptions
    memory: list[Memory]
    task: str = ""
    lanes: int = 0
    section: int = 0
    serial: Team = field(default_factory=lambda: Team(0, 1))
    races: RaceDetector | None = None
    overflow: Overflow | None = None
    outside: AdstackError | None = None
    claims: int = 0

    @cached_property
    def slots(self) -> tuple[dict[str, Slots], list[int]]:
        """See `races.slots_of`."""
        return slots_of(self.memory)

    def write(self, text: str) -> None:
        """Print."""
        (self.options.stdout or sys.stdout.write)(text)

    def note_use(self, stack: Stack) -> None:
        """Remember how deep a stack has got."""
        used = self.options.used
        if used is not None and stack.op is not None:
            used[stack.op] = max(used.get(stack.op, 0), int(stack.count.max()))

    def failed(self, error: AdstackError) -> None:
        """An error to raise when the launch is over; the first one is kept."""
        self.outside = self.outside or error

    def overflowed(self, stack: Stack, lanes: Array) -> None:
        """Some of the lanes pushed past the stack's capacity: the first stack and its largest depth are kept."""
        depth = np.where(stack.count[lanes] > stack.capacity[lanes], stack.count[lanes], 0)
        deepest = int(np.argmax(depth))
        wanted, capacity = int(depth[deepest]), int(stack.capacity[lanes[deepest]])
        if self.overflow is None:
            self.overflow = Overflow(self.task, stack, capacity, wanted)
        elif self.overflow.stack.is_like(stack) and self.overflow.wanted < wanted:
            self.overflow.capacity, self.overflow.wanted = capacity, wanted


def run(
    program: Kernel | Program,
    buffers: Mapping[str, Array],
    scalars: Sequence[Scalar] = (),
    *,
    options: RunOptions = RunOptions(),
) -> tuple[Scalar, ...]:
    """Run one launch and give what the kernel returns.

    Args:
        program: verified IR.
        buffers: an array for each field, ndarray, gradient and dual, by the name of its place; changed in place.
        scalars: the kernel's scalar arguments.
        options: how to run.

    Raises AdstackArgumentError for buffers and arguments that do not fit, and what the program itself causes:
    AdstackOutOfBoundsError (after the last task if the access is guarded), AdstackOverflowError after the last task,
    other AdstackAssertionErrors under debug.
    """
    ready = prepared(program, options.debug)
    working = bind(program.places, buffers)
    launch = Launch(options, list(working.values()))
    try:
        with np.errstate(all="ignore"):
            returned = perform(ready, launch, scalars)
    except AdstackMemoryError:
        raise
    except MemoryError as error:
        raise AdstackMemoryError(f"{program.name}: {error}", do="use smaller local arrays") from error
    finally:
        write_back(working, buffers)
    if launch.outside is not None:
        raise launch.outside
    if launch.overflow is not None:
        raise launch.overflow.error()
    if isinstance(program, Program):
        return tuple(working[name].flat.item() for name in program.results)
    return returned


def perform(ready: Prepared, launch: Launch, scalars: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Run the tasks in order; what the last one returns."""
    returned: list[Array] = []
    for task in ready.tasks:
        if len(scalars) != len(task.params):
            raise AdstackArgumentError(f"{ready.name} takes {len(task.params)} scalar arguments, got {len(scalars)}")
        launch.task, launch.lanes, launch.claims = task.name, lanes_of(task.name, launch.options), 0
        frame = Frame(launch, launch.serial, np.zeros(1, np.intp), task.template.copy())
        for slot, to, value in zip(task.code.args, task.params, scalars, strict=True):
            frame.values[slot] = np.array([to(value)], to.numpy)
        returned = task.code.run(frame)
    return tuple(value.item() for value in returned)


def lanes_of(task: str, options: RunOptions) -> int:
    """How many iterations of a task's loop run together."""
    room = None if options.room is None else options.room(task)
    return options.lanes if room is None else min(room, options.lanes)


def bind(places: Mapping[str, Place], buffers: Mapping[str, Array]) -> dict[str, Memory]:
    """The memory of each place: the caller's buffer, or fresh zeros for what lives in one launch."""
    return {
        name: own(place) if place.kind in ("temp", "result") or _is_own(place, buffers) else given(place, buffers)
        for name, place in places.items()
    }


def _is_own(place: Place, buffers: Mapping[str, Array]) -> bool:
    """Whether these are depths that nobody wants to keep."""
    return place.kind == "depths" and place.name not in buffers


def own(place: Place) -> Memory:
    """Zeroed memory for a place that lives in one launch."""
    extents = tuple(extent for extent in place.shape if extent is not None)
    if len(extents) != place.rank:
        raise InternalError(f"the {label(place)} has no fixed shape: {place.shape}")
    return Memory(place, np.zeros(math.prod(extents), place.dtype.numpy), extents)


def given(place: Place, buffers: Mapping[str, Array]) -> Memory:
    """The caller's buffer of a place, as flat memory: a view if its elements are in row-major order, else a copy."""
    buffer = buffers.get(place.name)
    if buffer is None:
        raise AdstackArgumentError(f"no buffer was given for {label(place)}", do="pass one for every place")
    if buffer.dtype != place.dtype.numpy:
        raise AdstackArgumentError(f"{label(place)} holds {place.dtype}, got a buffer of {buffer.dtype}")
    fits = len(buffer.shape) == place.rank and all(
        want in (None, got) for want, got in zip(place.shape, buffer.shape, strict=True)
    )
    if not fits:
        raise AdstackArgumentError(f"{label(place)} has the shape {place.shape}, got a buffer of shape {buffer.shape}")
    return Memory(place, np.ascontiguousarray(buffer).reshape(-1), buffer.shape)


def write_back(working: Mapping[str, Memory], buffers: Mapping[str, Array]) -> None:
    """Bring the memory of buffers that had to be copied back to them."""
    for name, memory in working.items():
        buffer = buffers.get(name)
        if buffer is not None and not np.shares_memory(buffer, memory.flat):
            buffer[...] = memory.flat.reshape(memory.extents)
