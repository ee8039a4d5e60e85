"""A compiled program on a device: its kernels, the host's code that launches them, and the memory of its launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt

from adstack.backends.hostcall.entry import Entry
from adstack.backends.shared.own_size import own_size
from adstack.backends.shared.reports import OVERFLOW, failure, outgrown, overflow_error, printed
from adstack.backends.shared.standing import Repeatable
from adstack.ir.ops import RANDOM
from adstack.ir.structure import Program
from adstack.runtime.adstacks.heap import Heap, sized_ahead
from adstack.runtime.protocol.options import Options

from .adstacks import Layouts
from .codegen import BLOCK, COVERED, FUNCTION, HEAD, IDLE, MOST, ROW, WORDS, Module
from .interface.driver import Driver
from .layout import OwnMemory
from .toolchain import Code, ptx

__all__ = ["Executable", "listing", "pinned_words"]

Array = npt.NDArray[np.int64]
_NEVER: Final = np.zeros(1, np.int64)
"""The report of programs that report nothing."""
_NOTHING: Final = -2
"""No task has so many iterations; -1 says that only the device knows them."""


@dataclass
class Executable(Repeatable):
    """A compiled program with the memory that its launches use.

    Attributes:
        program: what was compiled.
        module: the text.
        loaded: the driver's module.
        launcher: the host's code that launches it.
        table: what the launcher is told of the kernels.
        resident: for each of them, how many blocks the device runs at once.
        slots: the context, filled where it does not change between launches, and the table about adstacks.
        own, layout: address of the memory of its own, and what is where in it.
        layouts, heap: where adstacks are, and the memory for them.
        shapes: extents of its places when it was last launched.
        pinned: addresses of memory of the host that the device writes.
        outside, overflow: memory of the host in which guarded accesses and adstacks report, while nobody waits.
    """

    program: Program
    options: Options
    module: Module
    loaded: object
    launcher: Code
    table: Array
    resident: Array
    slots: Array
    own: int
    layout: OwnMemory
    layouts: Layouts
    heap: Heap
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    pinned: list[int] = field(default_factory=list)
    outside: Array | None = None
    overflow: Array | None = None

    def __post_init__(self) -> None:
        kinds = {site.kind for site in self.module.sites}
        self.reports_now = bool(kinds - {"stack"}) and self.outside is None
        self.reports_late = self.overflow is not None
        self.pinned += [] if self.overflow is None else [self.overflow.ctypes.data]
        self.table[WORDS["version"]] = ctypes.addressof(self.heap.version)
        self.table[WORDS["repeated"]] = ctypes.addressof(self.by_graph)
        self.rows[:, COVERED] = _NOTHING
        run = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * 4)
        self.fetched = np.zeros(1, np.int64)
        self._words = self.slots.ctypes.data, self.table.ctypes.data
        self._run = run(self.launcher.symbols["run"])
        count = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 2)
        self._count = count(self.launcher.symbols["count"])
        self.sizers = [k for k, task in enumerate(self.program.tasks) if task.sizes]
        self._threads = self.rows[:, BLOCK].copy()
        self._sized = self.module.context.own["sized"]
        self._depths = next((p.name for p in self.program.places.values() if p.kind == "depths"), None)

    @property
    def rows(self) -> Array:
        """The table's rows, one per task."""
        return self.table[HEAD:].reshape(-1, ROW)

    @property
    def words(self) -> int:
        """How many words a kernel is handed."""
        return self.module.size

    @property
    def functions(self) -> list[int]:
        """The kernels, by the driver's handles."""
        functions: list[int] = self.rows[:, FUNCTION].tolist()
        return functions

    @cached_property
    def draws(self) -> bool:
        """Whether it takes random numbers, which no other launch may take."""
        return any(op.opdef is RANDOM for task in self.program.tasks for op in task.body.walk())

    @property
    def unimportant(self) -> int:
        """The word of the context that makes no difference: the number of the launch, unless that decides random
        numbers; -1 if there is none.
        """
        return -1 if self.draws else self.module.context.own["launch"]

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.program.name

    def integers(self) -> list[int | bool | None]:
        """The scalar arguments of the last launch; None for floats."""
        return [
            None if dtype.is_float else self.slots[slot : slot + 1].view(dtype.numpy)[0].item()
            for slot, dtype in zip(self.module.context.params, self.program.params, strict=True)
        ]

    def run(self, driver: Driver, *, sized: bool) -> None:
        """Queue one launch of all tasks; `sized` says that the depths of the launch before stand."""
        layout = self.layout
        if layout.zeroed:
            driver.zero(self.own, layout.zeroed)
        if self.reports_now:
            driver.zero(self.own + layout.errors, layout.reset)
        sized, self.settled = sized and self.settled, False
        begin = 0
        if self.layouts.tasks:
            self.rows[self.sizers, IDLE] = sized
            begin = 0 if sized else self._look_ahead(driver)
            for number in self.layouts.tasks:
                begin = self._ready(driver, number, begin, sized=sized)
        self.queue(driver, begin, len(self.program.tasks))
        self._note_layouts()
        self.settled = True

    def run_again(self, driver: Driver) -> None:
        """Queue the launch whose words stand ready, which machine code has left to Python."""
        self.settled = sized = bool(self.slots[self._sized])  # which machine code has compared
        try:
            self.run(driver, sized=sized)
        finally:
            self.settled = False  # machine code remembers what depths depend on, and for whom they stand

    def _note_layouts(self) -> None:
        """Let machine code know for which launches the adstacks are laid out."""
        self.table[WORDS["laid"]] = self.heap.version.value
        for number in self.layouts.tasks:
            self.rows[number][COVERED] = self._count(self._words[0], number)

    def queue(self, driver: Driver, begin: int, end: int) -> None:
        """Queue some tasks."""
        driver.check(self.go(begin, end))

    def go(self, begin: int, end: int) -> int:
        """Launch some tasks as the table says; CUDA's code, 0 if all went well."""
        storage = self.heap.storage
        self.slots[self.module.context.own["heap"]] = 0 if storage is None else storage
        code: int = self._run(*self._words, begin, end)
        return code

    def measured(self, driver: Driver, slots: Array) -> Array:
        """The depths that the adstacks of a launch with these words need, memory being as it is."""
        kept, self.settled = self.slots.copy(), False
        self.rows[self.sizers, IDLE] = False
        try:
            self.slots[:] = slots
            if self.layout.zeroed:
                driver.zero(self.own, self.layout.zeroed)
            for number in self.sizers:
                self.queue(driver, number, number + 1)
        finally:
            self.slots[:] = kept
        return self._depths_now(driver)

    def _depths_now(self, driver: Driver) -> Array:
        """What sizers have left."""
        if self._depths is None:
            return np.zeros(0, np.int64)
        depths = np.empty(own_size(self.program.places[self._depths]) // 8, np.int64)
        driver.download(self.own + self.layout.places[self._depths], depths)
        return depths

    def _look_ahead(self, driver: Driver) -> int:
        """See whether there is room for the adstacks of all tasks before one changes memory, as far as can be known.

        Gives how many tasks are queued then: sizers.
        """
        first, depths = sized_ahead(self.program), np.zeros(0, np.int64)
        ahead = first if self.layouts.looks_ahead(first) else 0
        if ahead:
            self.queue(driver, 0, ahead)
            depths = self._depths_now(driver)
        self.layouts.check(depths, ahead)
        return ahead

    def _ready(self, driver: Driver, number: int, begin: int, *, sized: bool) -> int:
        """Have room for the adstacks of a task; the tasks before what this gives are queued then."""
        lanes = self._lanes(number)
        fixed = all(group.depth is None for group in self.module.rows[number].heap.groups)
        if not lanes or ((sized or fixed) and self.layouts.stands(number, lanes)):
            return begin
        depths = np.zeros(0, np.int64)
        if not fixed and self._depths is not None:
            if not sized and any(begin <= sizer < number for sizer in self.sizers):
                self.queue(driver, begin, number)
                begin = number
            depths = self._depths_now(driver)
        granted = self.layouts.lay_out(number, lanes, depths)
        row = self.rows[number]
        row[BLOCK] = min(self._threads[number], granted)
        row[MOST] = granted // row[BLOCK]
        return begin

    def _lanes(self, number: int) -> int:
        """How many threads a task can use at once."""
        if self.program.tasks[number].kind == "serial":
            return 1
        block, total = int(self._threads[number]), self._count(self._words[0], number)
        most = block * int(self.resident[number])
        return most if total < 0 else min(most, -(-total // block) * block)

    def entry(
        self, launches: Array, goes_on: Callable[[int], object], failed: Callable[[], object], owner: object
    ) -> Entry | None:
        """For calls that machine code serves; None if Python must look after each launch.

        Args:
            launches: the number of launches so far.
            goes_on: makes a launch where machine code can't, or raises the error that one of CUDA's codes stands for.
            failed: raises what guarded accesses and adstacks have reported.
            owner: what must live as long as such calls may come.
        """
        if self.reports_now or self.options.debug:
            return None
        for name in self.program.results:
            self.table[WORDS["here"]] = self.fetched.ctypes.data
            self.table[WORDS["result"]] = self.own + self.layout.places[name]
            self.table[WORDS["size"]] = self.program.places[name].dtype.size
        return Entry(
            program=self.program,
            context=self.module.context,
            run=self.launcher.symbols["enter"],
            slots=self.slots.ctypes.data,
            errors=(_NEVER if self.outside is None else self.outside).ctypes.data,
            overflow=(_NEVER if self.overflow is None else self.overflow).ctypes.data,
            launches=launches.ctypes.data,
            results=dict.fromkeys(self.program.results, self.fetched.ctypes.data),
            long=bool(self.program.results),
            failed=failed,
            goes_on=goes_on,
            keep=(owner, self),
            depths=ctypes.addressof(self.standing) if self.sizers else 0,
            sized=self.slots.ctypes.data + 8 * self._sized,
        )

    def results(self, driver: Driver) -> Sequence[float]:
        """The scalars that the last launch returned; waits for it, if there are any."""
        values = []
        for name in self.program.results:
            value = np.empty(1, self.program.places[name].dtype.numpy)
            driver.download(self.own + self.layout.places[name], value)
            values.append(value[0].item())
        return values

    def report(self, driver: Driver) -> None:
        """Wait for the last launch; print what it printed, and raise what it reported."""
        if self.layout.prints is not None:
            self._print(driver)
        start = self.layout.overflow - self.layout.errors
        words = np.empty(start // 8 + OVERFLOW, np.int64)
        driver.download(self.own + self.layout.errors, words)
        if words[0]:
            raise failure(self.module.sites, words.tolist(), self.shapes)
        if words[-OVERFLOW]:
            driver.zero(self.own + self.layout.overflow, 8 * OVERFLOW)
            self._overflowed(words[-OVERFLOW:])

    def check_overflow(self, driver: Driver) -> None:
        """Raise what has come, once."""
        if self.overflow is not None and self.overflow[0]:
            driver.synchronize()  # launches on their way may report as well
            self._overflowed(self.overflow)

    def _overflowed(self, words: Array) -> NoReturn:
        record = words.tolist()
        words[:] = 0
        self.settled = False
        if self.repeated:
            site = self.module.sites[record[0] - 1]
            raise outgrown(self.name, site.task, f"{record[2]} values have to be kept", record[1], site.loc)
        raise overflow_error(self.module.sites, record)

    def _print(self, driver: Driver) -> None:
        assert self.layout.prints is not None
        address = self.own + self.layout.prints
        head = np.empty(2, np.int64)
        driver.download(address, head)
        words = np.empty(min(int(head[0]), self.layout.print_words), np.int64)
        driver.download(address + 16, words)
        at = 0
        while at < len(words):
            site = self.module.sites[words[at]]
            end = at + 1 + len(site.types)
            if end > len(words):
                break
            print(printed(site, words[at + 1 : end].tolist()), end="")
            at = end
        if head[0] > self.layout.print_words:
            print(f"[{self.name} printed more than {self.layout.print_words} values in one launch: the rest is lost]")


def pinned_words(driver: Driver, words: int) -> Array:
    """Words of the host that the device writes while the host goes on."""
    return np.ctypeslib.as_array((ctypes.c_int64 * words).from_address(driver.pinned(8 * words)))


def listing(executable: Executable) -> dict[str, str]:
    """LLVM IR as generated, and PTX."""
    texts = {"llvm": executable.module.text}
    return texts if "ptx_kernel" not in executable.module.text else {**texts, "ptx": ptx(executable.module.text)}
