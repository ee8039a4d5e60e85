"""Commands that are the same each time: learned once, then queued as CUDA graphs.

A launch of a small kernel takes the driver 3 us; as a node of a graph it takes less than 1. What a followed tape does
is the same in each iteration, but for some of the words that kernels are handed. So the first time its commands are
noted, the kernels, zeroed memory and copies, as they are queued (`code`). Then graphs are made of them, and
from then on each command that comes is compared with the next one, and left to its graph: nothing is decided ahead,
the host's code runs as it always does, and a command that is another one ends it. Whatever else uses the device, by
way of Python, finds everything queued that came before it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache

from ..interface.driver import Copy, Driver, Launch, Node, Zero
from ..interface.errors import DriverError
from .code import NAMES, TEXT
from .layout import COPY, KERNEL, LIST, PROGRAM, ROW, ZERO

__all__ = ["OTHER", "CommandList", "Commands", "Updates"]

Array = npt.NDArray[np.int64]
OTHER: Final = 1
"""What is given where another kernel comes than the node has: CUDA's code for a value that can't be."""
_FEWEST: Final = 4
"""Commands that are worth a graph."""
_FIRST, _LARGEST = 8, 128
"""Nodes of a graph: of the first one of a list, where the device may have to wait for the next command, and at most.
Each graph has twice as many as the one before."""
_MISSES: Final = 8
"""How often in a row another command may come than was learned, until nothing is learned any more."""


class Program(Protocol):
    """What is asked of an executable: see there."""

    @property
    def words(self) -> int: ...

    @property
    def functions(self) -> list[int]: ...

    @property
    def unimportant(self) -> int: ...


class Code(Protocol):
    """Machine code: the addresses of its functions, as long as it lives."""

    @property
    def symbols(self) -> dict[str, int]: ...


class Commands:
    """What stands between the host's code of programs and a driver: calls that do what the driver's do, or note it.

    Args:
        driver: which this thread uses when it calls anything of these.
        compiled: makes machine code of LLVM's assembly, given the names of its functions and the cache on disk.

    Attributes:
        open_list: the list that is open, as far as Python knows.
    """

    def __init__(self, driver: Driver, compiled: Callable[[str, Sequence[str], ObjectCache | None], Code]) -> None:
        self._driver, self._compiled = driver, compiled
        self.open_list: CommandList | None = None

    @cached_property
    def _code(self) -> Mapping[str, int]:
        """The functions of `code`, by their names without the prefix; installed."""
        symbols = [f"adstack.{name}" for name in NAMES]
        self._library = self._compiled(TEXT, symbols, ObjectCache(default_folder()))
        code = {name: self._library.symbols[symbol] for name, symbol in zip(NAMES, symbols, strict=True)}
        launch, _, _, zero, fetch = self._driver.functions()
        install = ctypes.PYFUNCTYPE(None, *[ctypes.c_int64] * 6)(code["install"])
        install(launch, zero, self._driver.copier()[0], fetch, *self._driver.graph_functions())
        return code

    # With the interpreter's lock, so that no machine code of a call is under way.

    @cached_property
    def _open(self) -> Callable[[int], None]:
        return ctypes.PYFUNCTYPE(None, ctypes.c_int64)(self._code["open"])

    @cached_property
    def _close(self) -> Callable[[], int]:
        return ctypes.PYFUNCTYPE(ctypes.c_int)(self._code["close"])

    @cached_property
    def _opened(self) -> Callable[[], int]:
        return ctypes.PYFUNCTYPE(ctypes.c_int64)(self._code["opened"])

    def functions(self) -> list[int]:
        """In place of `Driver.functions`."""
        _, use, context, *_ = self._driver.functions()
        return [self._code["launch"], use, context, self._code["zero"], self._code["fetch"]]

    def copier(self) -> list[int]:
        """In place of `Driver.copier`."""
        return [self._code["copy"], *self._driver.copier()[1:]]

    def finish(self) -> int:
        """Queue what was left to graphs that have not been launched; CUDA's first error, or 0."""
        self.open_list = None
        return self._close()

    def begin(self, record: Array, one: CommandList | None = None) -> None:
        """Open a list; no other is open."""
        self.open_list = one
        self._open(record.ctypes.data)

    def is_open(self, record: Array) -> bool:
        """Whether a list is open: every command was the next one."""
        return self._opened() == record.ctypes.data

    @contextmanager
    def noting(self, programs: Iterable[Program], room: int) -> Iterator[_Notes]:
        """Note what is queued inside by such programs: `room` commands at most."""
        notes = _Notes(programs, room)
        self.begin(notes.record)
        try:
            yield notes
        finally:
            self.finish()


class _Notes:
    """Commands that are noted as they are queued.

    Args:
        programs: whose kernels they may be.
        room: how many there may be.
    """

    def __init__(self, programs: Iterable[Program], room: int) -> None:
        known = {function: (one.words, one.unimportant) for one in programs for function in one.functions}
        self._programs = np.array([(f, *known[f]) for f in known], np.int64).reshape(-1, len(PROGRAM))
        most = max((size for size, _ in known.values()), default=0)
        self.rows = np.zeros((room, len(ROW)), np.int64)
        self.words = np.zeros(room * most, np.int64)
        self.record = _record(
            rows=self.rows,
            notes=1,
            room=room,
            words=self.words,
            words_room=self.words.size,
            programs=self._programs,
            program_count=len(self._programs),
        )

    @property
    def count(self) -> int:
        """How many were noted; -1 if there was no room for them all, or one is not a kernel of these programs."""
        return -1 if self.record[LIST["notes"]] < 0 else int(self.record[LIST["count"]])

    def nodes(self) -> list[Node]:
        """The commands, in order."""
        return [self._node(row) for row in self.rows[: max(self.count, 0)]]

    def _node(self, row: Array) -> Node:
        kind, a, b, c, words, size = row[: ROW["size"] + 1].tolist()
        if kind == ZERO:
            return Zero(a, b)
        if kind == COPY:
            return Copy(a, b, c)
        begin = (words - self.words.ctypes.data) // 8
        return Launch(a, b, c, self.words[begin : begin + size])


class CommandList:
    """The commands of launches that come again and again: a `hostcall.sequences.Together`.

    Args:
        commands: where they come.
        doing: does work while this thread uses the device, and raises the error whose code that gives.
        programs: what is launched, once for each launch.
        others: commands besides those of the programs, at most.
        paced: whether Python runs between them, so that the device may wait for what comes next.
    """

    def __init__(
        self,
        commands: Commands,
        doing: Callable[[Callable[[Driver], int]], None],
        programs: Sequence[Program],
        others: int,
        *,
        paced: bool,
    ) -> None:
        self._commands, self._doing, self._paced = commands, doing, paced
        self._programs = list({id(one): one for one in programs}.values())
        self._room = sum(len(one.functions) + 1 for one in programs) + others
        self._notes: _Notes | None = None
        self._learned: _Learned | None = None
        self._misses = 0 if self._room >= _FEWEST else _MISSES

    def open(self) -> None:
        """What comes from now on is compared with what came before; or noted, if nothing is known."""
        if self._misses >= _MISSES:
            return
        if self._learned is not None:
            record = self._learned.begin()
        else:
            self._notes = _Notes(self._programs, self._room)
            record = self._notes.record
        if self._commands.open_list is not None:
            self._doing(lambda driver: self._commands.finish())
        self._commands.begin(record, self)

    def close(self) -> None:
        """All is queued, and what was noted is learned."""
        notes, self._notes = self._notes, None
        mine = self._commands.open_list is self
        if self._learned is not None:
            other = mine and not self._commands.is_open(self._learned.record)
            self._judge(self._learned, other=other)
        if mine and self._learned is not None and self._learned.is_pending:
            self._doing(lambda driver: self._commands.finish())
        elif mine:
            self._commands.finish()
        if notes is not None and mine:
            self._learn(notes)
        elif notes is not None:
            self._misses += 1

    def _judge(self, learned: _Learned, *, other: bool) -> None:
        """Forget what is known where another command came."""
        if other:
            self._misses, self._learned = self._misses + 1, None
        elif learned.is_complete:
            self._misses = 0

    def _learn(self, notes: _Notes) -> None:
        """Make graphs of what was noted, if there is enough of it."""
        if notes.count < _FEWEST:
            self._misses = self._misses + 1 if notes.count >= 0 else _MISSES
            return

        def learn(driver: Driver) -> int:
            try:
                self._learned = _Learned(driver, notes, paced=self._paced)
            except DriverError:  # no memory for them: commands are queued one by one, as before
                self._misses = _MISSES
            return 0

        self._doing(learn)


class _Learned:
    """Commands as nodes of graphs.

    Args:
        driver: makes the graphs.
        notes: what was noted.
        paced: see `CommandList`.
    """

    def __init__(self, driver: Driver, notes: _Notes, *, paced: bool) -> None:
        nodes, self._count = notes.nodes(), notes.count
        self._rows, self._words = notes.rows[: self._count], notes.words
        self._graphs, begin, size = [], 0, _FIRST if paced else _LARGEST
        while begin < self._count:
            end = min(begin + size, self._count)
            graph = driver.graph(nodes[begin:end])
            self._graphs.append(graph)
            rows = self._rows[begin:end]
            rows[:, ROW["graph"]], rows[:, ROW["node"]] = graph.handle, graph.handles
            rows[-1, ROW["last"]] = 1
            begin, size = end, min(2 * size, _LARGEST)
        self.record = _record(rows=self._rows, count=self._count)

    def begin(self) -> Array:
        """The list, of which nothing has come yet."""
        self.record[LIST["next"]] = self.record[LIST["launched"]] = 0
        return self.record

    @property
    def is_pending(self) -> bool:
        """Whether some that came have been left to a graph that was not launched."""
        return bool(self.record[LIST["launched"]] < self.record[LIST["next"]])

    @property
    def is_complete(self) -> bool:
        """Whether all of them came."""
        return int(self.record[LIST["next"]]) == self._count


@dataclass
class Updates:
    """What is told to the kernels of one graph.

    Args:
        commands: by way of which the host's code of a program launches.
        graph: what is launched, a handle.
        nodes: of its kernels, by their handles.
        unimportant: see `Program`.
    """

    commands: Commands
    graph: int
    nodes: Sequence[tuple[int, Launch]]
    unimportant: int

    def __post_init__(self) -> None:
        self._words = [node.words.copy() for _, node in self.nodes]
        rows = [self._row(handle, node, words) for (handle, node), words in zip(self.nodes, self._words, strict=True)]
        self._rows = np.array([[row.get(name, 0) for name in ROW] for row in rows], np.int64).reshape(-1, len(ROW))
        self._record = _record(rows=self._rows, count=len(rows), otherwise=OTHER)
        self.is_complete = False

    def _row(self, handle: int, node: Launch, words: Array) -> dict[str, int]:
        return {
            "kind": KERNEL,
            "a": node.function,
            "b": node.grid,
            "c": node.block,
            "words": words.ctypes.data,
            "size": words.size,
            "skip": self.unimportant,
            "node": handle,
            "graph": self.graph,
        }

    @contextmanager
    def told(self) -> Iterator[None]:
        """Inside, a program that launches tells the nodes instead; they are complete if each was told."""
        self._record[LIST["next"]] = 0
        self._record[LIST["launched"]] = len(self.nodes)  # so that none is launched
        self.commands.begin(self._record)
        try:
            yield
        finally:
            self.is_complete = int(self._record[LIST["next"]]) == len(self.nodes)
            self.commands.finish()


def _record(**words: int | Array) -> Array:
    """The words of a list; of arrays the addresses, and those that are left out are 0."""
    numbers = {name: word if isinstance(word, int) else word.ctypes.data for name, word in words.items()}
    return np.array([numbers.get(name, 0) for name in LIST], np.int64)
