"""A compiled program on a device: its kernels, the host's code that launches them, and the memory of its launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt

from adstack.backends.hostcall.entry import Entry
from adstack.backends.shared.own_size import own_size
from adstack.backends.shared.reports import failure, outgrown, overflow_error, printed
from adstack.ir.structure import Program
from adstack.runtime.adstacks.heap import Heap
from adstack.runtime.protocol.options import Options

from .adstacks import Layouts
from .codegen import BLOCK, HEAD, IDLE, MOST, ROW, WORDS, Module
from .driver import Driver
from .layout import OVERFLOW_WORDS, PRINT_WORDS, OwnMemory
from .toolchain import Code, ptx

__all__ = ["Executable", "listing", "pinned_words"]

Array = npt.NDArray[np.int64]
_NEVER: Final = np.zeros(1, np.int64)
"""The report of programs that report nothing."""


@dataclass
class Executable:
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
        settled: whether the last launch went well, so that the depths stand that it computed.
        sent: where the device sends the record of overflows.
        pinned: addresses of memory of the host that the device writes.
        repeated: whether it was a graph that launched it last.
        outside: memory of the host in which guarded accesses report, while nobody waits.
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
    settled: bool = False
    sent: Array | None = None
    pinned: list[int] = field(default_factory=list)
    repeated: bool = False
    outside: Array | None = None

    def __post_init__(self) -> None:
        kinds = {site.kind for site in self.module.sites}
        self.reports_now = bool(kinds - {"stack"}) and self.outside is None
        self.reports_late = "stack" in kinds
        run = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * 4)
        self.fetched = np.zeros(1, np.int64)
        self._words = self.slots.ctypes.data, self.table.ctypes.data
        self._run = run(self.launcher.symbols["run"])
        count = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 2)
        self._count = count(self.launcher.symbols["count"])
        self.sizers = [k for k, task in enumerate(self.program.tasks) if task.sizes]
        self._threads = self.rows[:, BLOCK].copy()
        self._depths = next((p.name for p in self.program.places.values() if p.kind == "depths"), None)

    @property
    def rows(self) -> Array:
        """The table's rows, one per task."""
        return self.table[HEAD:].reshape(-1, ROW)

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
            for number in self.layouts.tasks:
                begin = self._ready(driver, number, begin, sized=sized)
        self.queue(driver, begin, len(self.program.tasks))
        self.settled = True

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

    def _ready(self, driver: Driver, number: int, begin: int, *, sized: bool) -> int:
        """Have room for the adstacks of a task; the tasks before what this gives are queued then."""
        lanes = self._lanes(number)
        known = all(group.depth is None for group in self.module.rows[number].heap.groups)
        if not lanes or ((sized or known) and self.layouts.stands(number, lanes)):
            return begin
        depths = np.zeros(0, np.int64)
        if not known and self._depths is not None:
            if not sized:
                self.queue(driver, begin, number)  # its sizers are among them
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
        self, launches: Array, refused: Callable[[int], object], failed: Callable[[], object], owner: object
    ) -> Entry | None:
        """For calls that machine code serves; None if Python must look after each launch.

        Args:
            launches: the number of launches so far.
            refused: raises the error that one of CUDA's codes stands for.
            failed: raises what guarded accesses have reported.
            owner: what must live as long as such calls may come.
        """
        if self.reports_now or self.reports_late or self.layouts.tasks:
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
            overflow=_NEVER.ctypes.data,
            launches=launches.ctypes.data,
            results=dict.fromkeys(self.program.results, self.fetched.ctypes.data),
            long=bool(self.program.results),
            failed=failed,
            goes_on=refused,
            keep=(owner, self),
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
        words = np.empty(start // 8 + OVERFLOW_WORDS, np.int64)
        driver.download(self.own + self.layout.errors, words)
        if words[0]:
            raise failure(self.module.sites, words.tolist(), self.shapes)
        if words[-OVERFLOW_WORDS]:
            self._overflowed(driver, words[-OVERFLOW_WORDS:])

    def send_overflow(self, driver: Driver) -> None:
        """Let the record of overflows come to the host when the launch has finished."""
        if self.sent is None:
            self.sent = pinned_words(driver, OVERFLOW_WORDS)
            self.pinned.append(self.sent.ctypes.data)
        driver.send(self.own + self.layout.overflow, self.sent.ctypes.data, self.sent.nbytes)

    def check_overflow(self, driver: Driver) -> None:
        """Raise what has come, once."""
        if self.sent is not None and self.sent[0]:
            driver.synchronize()  # launches on their way may send it again
            self._overflowed(driver, self.sent)

    def _overflowed(self, driver: Driver, words: Array) -> NoReturn:
        record = words.tolist()
        words[:] = 0
        driver.zero(self.own + self.layout.overflow, 8 * OVERFLOW_WORDS)
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
        words = np.empty(min(int(head[0]), PRINT_WORDS), np.int64)
        driver.download(address + 16, words)
        at = 0
        while at < len(words):
            site = self.module.sites[words[at]]
            end = at + 1 + len(site.types)
            if end > len(words):
                break
            print(printed(site, words[at + 1 : end].tolist()), end="")
            at = end
        if head[0] > PRINT_WORDS:
            print(f"[{self.name} printed more than {PRINT_WORDS} values in one launch: the rest is lost]")


def pinned_words(driver: Driver, words: int) -> Array:
    """Words of the host that the device writes while the host goes on."""
    return np.ctypeslib.as_array((ctypes.c_int64 * words).from_address(driver.pinned(8 * words)))


def listing(executable: Executable) -> dict[str, str]:
    """LLVM IR as generated, and PTX."""
    texts = {"llvm": executable.module.text}
    return texts if "ptx_kernel" not in executable.module.text else {**texts, "ptx": ptx(executable.module.text)}
