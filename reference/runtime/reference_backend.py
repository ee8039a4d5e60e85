"""The reference interpreter as a backend: always there, defines what is right, in no hurry."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field, replace

import numpy as np

from .. import interpreter
from ..errors import AdstackMemoryError
from ..ir.structure import Program
from ..ir.types import DType
from .adstacks.budget import current
from .adstacks.heap import UNCOUNTABLE, HeapLimit, TaskUse, known, touched, uncountable
from .adstacks.layout import TaskHeap
from .protocol import host_pages
from .protocol.backend import Array, Bindings, Capabilities, Probe, Scalars, only_device
from .protocol.options import Options

__all__ = ["ReferenceBackend", "open_device", "probe"]

CAPABILITIES = Capabilities(
    "reference",
    "native",
    f"the reference interpreter (numpy {np.__version__}, Python {platform.python_version()})",
    direct=True,
    claims=True,
    races=True,
    details={"meaning": "defines every result, to the bit"},
)


def probe(device: str = "") -> Probe:
    """It runs wherever Python does."""
    return only_device("reference", device) or CAPABILITIES


def open_device(device: str = "") -> ReferenceBackend:
    """A device of its own."""
    return ReferenceBackend()


@dataclass(frozen=True)
class Executable:
    """A program and the options it was compiled with.

    Attributes:
        program: all of it.
        without: the program without its sizers.
        depths: how deep adstacks must be, by the name of the place; kept from launch to launch.
        heaps: of the tasks that have adstacks of a depth known before they run, by the task's number.
        ran: how many iterations each task had in the last launch, by its name.
    """

    program: Program
    options: Options
    without: Program
    depths: dict[str, Array]
    heaps: dict[int, TaskHeap]
    ran: dict[str, int] = field(default_factory=dict)

    def use(self, number: int, iterations: int | None = None) -> TaskUse:
        """The heap that a task takes with the depths there are; `iterations` if it is known how many there are."""
        task, heap = self.program.tasks[number], self.heaps[number]
        depths = next((place.tolist() for place in self.depths.values()), ())
        placement = heap.place(depths)
        for group, capacity in zip(heap.groups, placement.capacities, strict=True):
            if capacity >= UNCOUNTABLE:
                raise uncountable(self.program.name, task.name, group.stacks[0].loc)
        limit, stride = current().heap_limit(self.options.ad_stack_heap_limit), placement.stride
        lanes = interpreter.RunOptions().lanes
        wanted = heap.lanes(lanes if iterations is None else min(lanes, iterations), depths)
        lanes = min(wanted, limit // stride) if limit and stride else wanted
        return TaskUse(task.name, placement.capacities, stride, 1, lanes, lanes * stride, wanted)

    def room(self, name: str) -> int | None:
        """For how many lanes of a task there is room; HeapLimit if it, or a later one, has room for none."""
        number = next(k for k, task in enumerate(self.program.tasks) if task.name == name)
        for later in known(self.program, self.heaps, number):
            if not self.use(later).blocks:
                raise self._limit_reached(later, number)
        use = self.use(number) if number in self.heaps else None
        # where all that push have room, any number may run
        return None if use is None or use.blocks == use.wanted else use.blocks

    def _limit_reached(self, number: int, reached: int) -> HeapLimit:
        loc = self.heaps[number].groups[0].stacks[0].loc
        return HeapLimit(
            self.program.name,
            self.program.tasks[number].name,
            self.use(number).stride,
            self.options.ad_stack_heap_limit,
            number=number,
            touched=touched(self.program.tasks[:reached]),
            loc=loc if loc.line else None,
        )


class ReferenceBackend:
    """Memory is numpy arrays; a launch interprets the program and returns when it is done."""

    capabilities = CAPABILITIES

    def __init__(self) -> None:
        self.launches = 0

    def compile(self, program: Program, options: Options) -> Executable:
        """See `Backend.compile`."""
        without = replace(program, tasks=[task for task in program.tasks if not task.sizes])
        depths = {
            place.name: np.zeros([extent or 0 for extent in place.shape], np.int64)
            for place in program.places.values()
            if place.kind == "depths"
        }
        heaps = enumerate(map(TaskHeap.of, program.tasks))
        return Executable(program, options, without, depths, {number: heap for number, heap in heaps if heap.groups})

    def adstacks(self, executable: Executable) -> list[TaskUse]:
        """The heap that each task with adstacks in it takes with the depths of the last launch."""
        tasks, ran = executable.program.tasks, executable.ran
        return [executable.use(k, 1 if tasks[k].kind == "serial" else ran.get(tasks[k].name)) for k in executable.heaps]

    def listing(self, executable: Executable) -> dict[str, str]:
        """Nothing: the interpreter runs the tasks as they are."""
        return {}

    def launch(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        """See `Backend.launch`."""
        self.launches += 1
        options = executable.options
        executable.ran.clear()
        how = interpreter.RunOptions(
            debug=options.debug,
            seed=options.random_seed,
            launch=self.launches,
            room=executable.room,
            ran=executable.ran,
        )
        program = executable.without if bindings.sized else executable.program
        return interpreter.run(program, {**bindings.storages, **executable.depths}, scalars, options=how)

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Array:
        """See `Backend.allocate`."""
        try:
            return np.zeros(shape, dtype.numpy)
        except (MemoryError, ValueError) as error:
            raise AdstackMemoryError(f"no memory for {dtype} of shape {shape}: {error}") from error

    def adopt(self, array: Array) -> Array:
        """See `Backend.adopt`."""
        return array

    def free(self, storage: Array) -> None:
        """Python frees it."""

    def allocate_by_page(self, dtype: DType, shape: tuple[int, ...]) -> Array:
        """See `Paging.allocate_by_page`: all memory of the system is."""
        return self.allocate(dtype, shape)

    def is_by_page(self, storage: Array) -> bool:
        """See `Paging.is_by_page`."""
        return True

    def gives_back(self, storage: Array) -> bool:
        """See `Paging.gives_back`."""
        return host_pages.are_given_back()

    def vacate(self, storage: Array, start: int, count: int) -> bool:
        """See `Paging.vacate`."""
        host_pages.vacate(storage.reshape(-1)[start : start + count])
        return True

    def address(self, storage: Array) -> int:
        """See `Backend.address`."""
        address: int = storage.ctypes.data
        return address

    def host_view(self, storage: Array) -> Array:
        """See `Backend.host_view`."""
        return storage

    def download(self, storage: Array) -> Array:
        """See `Backend.download`."""
        return np.array(storage)

    def upload(self, storage: Array, array: Array) -> None:
        """See `Backend.upload`."""
        storage[...] = array
