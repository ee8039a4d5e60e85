"""Launches kept while they run, and done again as one CUDA graph.

What a launch hands its kernels goes by value, and so it does in a graph: addresses, arguments, where adstacks are and
how deep they may be. Before a graph is launched again, its nodes are told what has changed: the number of the launch
where random numbers are drawn, the heap where it has moved. Sizers are no part of it: depths are computed ahead.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adstack.backends.shared.reports import check_room
from adstack.runtime.adstacks.heap import Heap, TaskUse

from .commands.lists import OTHER, Commands, Updates
from .interface.driver import Driver, Launch, Node, Zero

if TYPE_CHECKING:
    from .executable import Executable

__all__ = ["Graph", "Recording"]

Array = npt.NDArray[np.int64]


@dataclass
class Part:
    """One launch of a program.

    Attributes:
        slots: what its kernels were handed in the end.
        lanes: of the tasks with adstacks, how many threads each can use.
        uses: where their adstacks are.
        begin: of its nodes among those of the graph.
    """

    executable: Executable
    nodes: list[Node]
    slots: Array
    lanes: dict[int, int]
    uses: dict[int, TaskUse]
    begin: int = 0


class Recording:
    """The launches of this thread, from now on."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._thread = threading.get_ident()

    @property
    def is_mine(self) -> bool:
        """Whether it is this thread whose launches are kept."""
        return threading.get_ident() == self._thread

    @contextmanager
    def keeping(self, commands: Commands, executable: Executable) -> Iterator[None]:
        """Keep the launch inside: its kernels but those that compute depths, and what is zeroed before it."""
        zeroed, functions = executable.layout.zeroed, executable.functions
        with commands.noting([executable], len(functions)) as notes:
            yield
        sizers = {functions[number] for number in executable.sizers}
        nodes: list[Node] = [Zero(executable.own, zeroed)] if zeroed else []
        nodes += [node for node in notes.nodes() if isinstance(node, Launch) and node.function not in sizers]
        layouts = executable.layouts
        self.parts.append(Part(executable, nodes, executable.slots.copy(), dict(layouts.wanted), dict(layouts.uses)))


class Graph:
    """Launches that can be done again.

    Attributes:
        parts: the launches.
        last: the last one of each program.
    """

    def __init__(self, driver: Driver, parts: Sequence[Part], heap: Heap) -> None:
        self.parts = list(parts)
        self._nodes: list[Node] = []
        for part in parts:
            part.begin = len(self._nodes)
            self._nodes += part.nodes
        self._made = driver.graph(self._nodes)
        self.last = {id(part.executable): (number, part) for number, part in enumerate(parts, 1)}
        self._draws = [(number, part) for number, part in enumerate(parts, 1) if part.executable.draws]
        self._bytes = max((use.bytes for part in parts for use in part.uses.values()), default=0)
        self._limit = max(part.executable.options.ad_stack_heap_limit for part in parts)
        self._storage = heap.storage
        self._updates: Updates | None = None

    def hold(self, heap: Heap) -> bool:
        """Have the adstacks where the nodes expect them; False if there is no memory for them."""
        if not self._bytes or (heap.storage == self._storage and heap.size >= self._bytes):
            return True
        if not heap.room(self._bytes, 1, self._limit):
            return False
        self._storage = heap.storage
        for part in self.parts:
            if part.uses:
                self._tell(part, "heap", heap.storage)
        return True

    def launch(self, number: int) -> None:
        """Queue everything; launches are numbered from here on."""
        for position, part in self._draws:
            self._tell(part, "launch", number + position)
        self._made.launch()
        for position, part in self.last.values():
            executable = part.executable
            executable.settled = False  # its depths need not be those that stand
            context = executable.module.context
            executable.slots[: len(context.params)] = part.slots[: len(context.params)]
            executable.slots[context.own["launch"]] = number + position

    def _tell(self, part: Part, name: str, value: int) -> None:
        """Hand all kernels of a part another word."""
        at = part.executable.module.context.own[name]
        for number in range(part.begin, part.begin + len(part.nodes)):
            node = self._nodes[number]
            if isinstance(node, Launch):
                node.words[at] = value
                self._made.set(number, node)

    def rebind(self, driver: Driver, commands: Commands) -> bool:
        """Hand the only part's kernels what its program would be handed now; False if others would run."""
        (part,) = self.parts
        executable = part.executable
        if executable.draws:
            return False  # its nodes are told more before each launch
        updates = self._updates = self._updates or self._updated(commands, executable)
        with updates.told():
            code = executable.go(0, len(executable.program.tasks))
        if code != OTHER:
            driver.check(code)
        part.slots = executable.slots.copy()
        return not code and updates.is_complete

    def _updated(self, commands: Commands, executable: Executable) -> Updates:
        """How machine code hands the kernels, all of one program, other words."""
        nodes = zip(self._made.handles, self._nodes, strict=True)
        kernels = [(handle, node) for handle, node in nodes if isinstance(node, Launch)]
        return Updates(commands, self._made.handle, kernels, executable.unimportant)

    def resize(self, driver: Driver, number: int) -> None:
        """Compute the depths of a part's adstacks from memory as it is; AdstackStaleBoundError if one has no room."""
        part = self.parts[number]
        executable = part.executable
        depths = executable.measured(driver, part.slots)
        for task, use in part.uses.items():
            heap = executable.module.rows[task].heap
            placement = executable.layouts.place(task, depths)
            lanes = heap.lanes(part.lanes[task], depths.tolist())
            check_room(executable.name, use, heap, placement.capacities, lanes)
