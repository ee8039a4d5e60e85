"""What the frames of one launch share: how to run, the memory, and what is reported when the launch is over."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from ..errors import AdstackError, AdstackOverflowError
from ..ir.structure import Op
from .lanes import Array, Memory, Team
from .messages import located
from .ordered import Postponed
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
        block_rows: if not 0, a loop that the plan of sums calls tiled runs in blocks of so many rows of its outermost
            index, the even ones, then the odd ones, as a device does whose threads have blocks of their own: with the
            same blocks and one lane, sums have the same bits (see `analysis/accumulation.py`).
        room: told the name of a task before it runs, how many lanes have room for their adstacks; None if all have.
        used: takes, for each op that makes an adstack, the most slots that a lane has pushed to.
        ran: takes, by the name of the task, how many iterations its loop had.
    """

    debug: bool = False
    seed: int = 0
    launch: int = 0
    stdout: Callable[[str], object] | None = None
    lanes: int = 8192
    block_rows: int = 0
    room: Callable[[str], int | None] | None = None
    used: dict[Op, int] | None = None
    ran: dict[str, int] | None = None


DEFAULT: Final = RunOptions()


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
        postponed: the ordered updates of the running parallel loop; None if they take place at once.
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
    postponed: Postponed | None = None
    claims: int = 0

    @cached_property
    def slots(self) -> tuple[dict[str, Slots], list[int]]:
        """A number for each element of the launch's places, by which races are told; see `races.slots_of`."""
        return slots_of(self.memory)

    def write(self, text: str) -> None:
        """Write text to the program's standard output, if it has one."""
        if self.options.stdout is not None:
            self.options.stdout(text)
        elif sys.stdout is not None:  # as print() does where the program was started without one
            sys.stdout.write(text)

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
