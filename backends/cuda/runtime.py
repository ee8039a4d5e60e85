"""An NVIDIA device as a backend: launches are queued, in the order of the program, and end some time later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from adstack.backends.hostcall import launching
from adstack.backends.hostcall.entry import Entry
from adstack.backends.hostcall.sequences import Sequenced
from adstack.backends.hostcall.served import Served
from adstack.backends.shared.bits import signed_bits
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.leftovers import Leftovers
from adstack.backends.shared.object_cache import ObjectCache
from adstack.backends.shared.outside import Outside
from adstack.errors import AdstackError, BackendUnavailableError
from adstack.ir.structure import Program
from adstack.ir.types import DType
from adstack.runtime.adstacks.heap import Heap, TaskUse
from adstack.runtime.protocol.backend import Bindings, Capabilities, Probe, Unavailable
from adstack.runtime.protocol.following import SequenceCall
from adstack.runtime.protocol.options import Options
from adstack.runtime.threads.processes import DeviceLock

from . import capability
from .building import adds_floats, build, emitted
from .codegen import UNREADY
from .commands.lists import Commands
from .executable import Executable, listing
from .graphs import Graph, Recording
from .interface.driver import Driver, memory_use
from .interface.errors import DriverError, failure
from .layout import DeviceArray
from .sequences import Queue
from .toolchain import host_code
from .transfers import Transfers

__all__ = ["CudaBackend", "device_names", "open_device", "probe"]

Array = npt.NDArray[np.generic]


def probe(device: str = "") -> Probe:
    """See `capability.probe`."""
    return capability.probe(device)


def device_names() -> list[str]:
    """See `capability.device_names`."""
    return capability.device_names()


def open_device(device: str = "") -> CudaBackend:
    """A device by its number, or the one of the environment, or the first; BackendUnavailableError if it is none."""
    probed = capability.probe(device)
    if isinstance(probed, Unavailable):
        raise BackendUnavailableError(probed.reason, do=probed.fix)
    return CudaBackend(probed, capability.opened(device))


class CudaBackend(Transfers, Served[Executable]):
    """Memory is the device's; a launch queues kernels on the default stream."""

    def __init__(self, capabilities: Capabilities, driver: Driver) -> None:
        self.capabilities = capabilities
        self.driver = driver
        self._launches = np.zeros(1, np.int64)
        self._adds: Mapping[str, float] | None = None
        self.commands = Commands(driver, host_code)
        self._lost = False
        self._turn = DeviceLock("CUDA")
        self.leftovers = Leftovers(self._turn.plain)
        self._pending: dict[int, Executable] = {}
        self._served: WeakValueDictionary[int, Executable] = WeakValueDictionary()
        self._recording: Recording | None = None
        self._outside = Outside()
        self.heap = Heap(self._take, driver.free)

    @property
    def launches(self) -> int:
        """How many launches there were."""
        return int(self._launches[0])

    @contextmanager
    def _doing(self, what: str) -> Iterator[Driver]:
        """One thread at a time uses the device; what goes wrong is told in the program's terms."""
        with self._turn:
            try:
                self.driver.enter()
                if self.commands.open_list is not None:  # something else comes next
                    self.driver.check(self.commands.finish())
                yield self.driver
            except DriverError as error:
                self._lost |= error.is_lost
                raise failure(error, what, self._memory_use()) from error

    def _memory_use(self) -> str:
        """How the device's memory is used, in words: empty if it does not say so any more."""
        with suppress(DriverError):
            return memory_use(self.driver, self.heap.size)
        return ""

    def _take(self, size: int) -> int:
        """Memory for adstacks, as it is."""
        try:
            return self.driver.allocate(size, zeroed=False)
        except DriverError as error:
            raise failure(error, f"{size} bytes of adstacks", self._memory_use()) from error

    def compile(self, program: Program, options: Options) -> Executable:
        """See `Backend.compile`."""
        with self._doing("compiling a kernel") as driver:
            self.leftovers.sweep()
            cached = ObjectCache(default_folder()) if options.offline_cache else None
            module = emitted(driver, program, options, self._float_adds(driver, cached) if adds_floats(program) else {})
            executable = build(driver, self.commands, program, options, module, cached, self.heap, self.leftovers)
            if executable.outside is not None:
                self._outside.watch(executable.outside, module.sites, executable)
            return executable

    def _float_adds(self, driver: Driver, cached: ObjectCache | None) -> Mapping[str, float]:
        """How memory adds floats; it is looked at once."""
        if self._adds is None:
            self._adds = driver.float_adds(cached)
        return self._adds

    def adstacks(self, executable: Executable) -> list[TaskUse]:
        """See `Backend.adstacks`."""
        return [use for _, use in sorted(executable.layouts.uses.items())]

    def listing(self, executable: Executable) -> dict[str, str]:
        """See `Backend.listing`: LLVM IR as generated, and PTX."""
        return listing(executable)

    def launch(self, executable: Executable, scalars: Sequence[float], bindings: Bindings) -> Sequence[float]:
        """See `Backend.launch`."""
        return launching.alone(lambda: self._launch(executable, scalars, bindings))

    def _launch(self, executable: Executable, scalars: Sequence[float], bindings: Bindings) -> Sequence[float]:
        with self._doing(f"running {executable.name}") as driver:
            self._settle(finished=False)
            self._fill(executable, scalars, bindings)
            self._launches[0] += 1
            executable.slots[executable.module.context.own["launch"]] = self._launches[0]
            executable.repeated = False
            recording = self._recording
            if recording is None or not recording.is_mine:
                executable.run(driver, sized=bindings.sized)
            else:
                with recording.keeping(self.commands, executable):
                    executable.run(driver, sized=bindings.sized)
            if executable.reports_now:
                executable.report(driver)
            elif executable.reports_late:
                self._pending[id(executable)] = executable
            return executable.results(driver)

    def _fill(self, executable: Executable, scalars: Sequence[float], bindings: Bindings) -> None:
        """Write down what a launch works on."""
        slots, context = executable.slots, executable.module.context
        for slot, value, dtype in zip(context.params, scalars, executable.program.params, strict=True):
            slots[slot] = signed_bits(value, dtype)
        for name, storage in bindings.storages.items():
            slots[context.pointers[name]] = storage.address
        for (name, axis), slot in context.extents.items():
            slots[slot] = bindings.shapes[name][axis]
        executable.shapes = bindings.shapes

    def exclusively(self, work: Callable[[], None]) -> None:
        """Do work while no thread launches, or uses the device."""

        def without_others() -> None:
            with self._turn if self._turn.is_here else nullcontext():  # a forked process has no device
                work()

        launching.alone(without_others)

    # ---- graphs

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """See `Capturing.capture`."""
        recording = self._recording = Recording()
        try:
            run()
        finally:
            self._recording = None
        ran = [part.executable for part in recording.parts]
        if [*map(id, ran)] != [*map(id, executables)] or any(one.reports_now or one.program.results for one in ran):
            return None
        with self._doing("making a graph") as driver:
            return Graph(driver, recording.parts, self.heap)

    def repeat(self, graph: Graph) -> bool:
        """Launch a graph; False if there is no memory for its adstacks."""
        return launching.alone(lambda: self._repeat(graph))

    def _repeat(self, graph: Graph) -> bool:
        with self._doing("launching a graph"):
            self._settle(finished=False)
            if not graph.hold(self.heap):
                return False
            graph.launch(self.launches)
            self._launches[0] += len(graph.parts)
            for _, part in graph.last.values():
                if part.executable.reports_late:
                    part.executable.repeated = True
                    self._pending[id(part.executable)] = part.executable
            return True

    def resize(self, graph: Graph, number: int) -> None:
        """See `Capturing.resize`."""
        with self._doing("computing depths") as driver:
            graph.resize(driver, number)

    def rebind(self, graph: Graph, scalars: Sequence[float], bindings: Bindings) -> bool:
        """See `Rebinding.rebind`."""
        (part,) = graph.parts
        if part.executable.layouts.tasks:
            return False
        with self._doing("changing a graph") as driver:
            self._fill(part.executable, scalars, bindings)
            return graph.rebind(driver, self.commands)

    def last_launch(self, executable: Executable) -> int:
        """See `Serving.last_launch`."""
        return int(executable.slots[executable.module.context.own["launch"]])

    def launch_word(self, executable: Executable) -> int:
        """See `Serving.launch_word`."""
        return int(executable.slots.ctypes.data) + 8 * executable.module.context.own["launch"]

    def mark(self, storage: object) -> int:
        """See `Serving.mark`: 0, as launches need not note what they use."""
        return 0

    def last_scalars(self, executable: Executable) -> Sequence[int | bool | None]:
        """See `Serving.last_scalars`."""
        return executable.integers()

    def _settle(self, *, finished: bool) -> None:
        """Raise what earlier launches reported, as far as it has come; all of it has if they have `finished`."""
        for executable in (*self._pending.values(), *(self._served.values() if self._served else ())):
            executable.check_overflow(self.driver)
        if finished:
            self._pending.clear()
        if self._outside.any:
            self.driver.synchronize()  # launches on their way may report as well
            error = self._outside.taken()
            if error is not None:
                raise error

    def sequence(self, calls: Sequence[SequenceCall | None]) -> Sequenced:
        """A sequence of calls."""
        return Sequenced(calls, Queue(self._doing, self.entry_of, self.commands))

    def entry_of(self, executable: Executable) -> Entry | None:
        """See `Served.entry_of`."""
        entry = executable.entry(self._launches, partial(self._go_on, executable), self._failed, self)
        if entry is not None and executable.reports_late:
            self._served[id(executable)] = executable
        return entry

    def _go_on(self, executable: Executable, code: int) -> None:
        """Make a launch that machine code has left to Python, or raise what it gave."""
        with self._doing("launching a kernel") as driver:
            if code != UNREADY:
                driver.check(code)
                return
            self._settle(finished=False)
            executable.repeated = False
            executable.run_again(driver)

    def _failed(self) -> None:
        """Raise what guarded accesses have reported."""
        with self._doing("running a kernel"):
            self._settle(finished=False)

    def address(self, storage: DeviceArray) -> int:
        """See `Backend.address`: others may be told of it, who find everything queued that came before."""
        with nullcontext() if self.commands.open_list is None else self._doing("queueing kernels"):
            return storage.address

    def synchronize(self) -> None:
        """Wait; a device that has failed has nothing to wait for."""
        if self._lost:
            self._pending.clear()
            return
        with self._doing("waiting for kernels") as driver:
            self.leftovers.sweep()
            driver.synchronize()
            self._settle(finished=True)

    # ---- streams of others

    def wait_for(self, stream: int) -> None:
        """Let what is queued from now on come after what is in a stream."""
        with self._doing("waiting for a stream") as driver:
            driver.order(stream, None)

    def let_wait(self, stream: int) -> None:
        """Let a stream go on after what is queued."""
        with self._doing("letting a stream wait") as driver:
            driver.order(None, stream)

    # ---- memory

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> DeviceArray:
        """See `Backend.allocate`."""
        array = DeviceArray(0, dtype, shape)
        with self._doing(f"{dtype} of shape {shape} ({array.size} bytes)") as driver:
            self.leftovers.sweep()
            return DeviceArray(driver.allocate(array.size), dtype, shape)

    def allocate_by_page(self, dtype: DType, shape: tuple[int, ...]) -> DeviceArray:
        """See `Paging.allocate_by_page`."""
        array = DeviceArray(0, dtype, shape)
        with self._doing(f"{dtype} of shape {shape} ({array.size} bytes)") as driver:
            self.leftovers.sweep()
            address, by_page = driver.allocate_by_page(array.size)
            return DeviceArray(address, dtype, shape, by_page=by_page)

    def adopt(self, array: Array) -> None:
        """See `Backend.adopt`: None, as the device does not address memory of the host."""

    def foreign(self, address: int, dtype: DType, shape: tuple[int, ...], owner: object) -> DeviceArray:
        return DeviceArray(address, dtype, shape, owner)

    def free(self, storage: DeviceArray) -> None:
        """See `Backend.free`."""
        if not self._lost:
            self._turn.give_back(lambda: self._free(storage.address))

    def _free(self, address: int) -> None:
        with self._doing("giving back memory") as driver:
            driver.free(address)

    def abandon(self, storage: DeviceArray) -> None:
        """See `Reclaiming.abandon`. The driver waits for what may use the memory."""
        self.leftovers.add(partial(self._abandoned, storage))

    def _abandoned(self, storage: DeviceArray) -> None:
        with suppress(AdstackError):  # nobody is there to be told; what comes next on this device is told as well
            self.free(storage)

    def reclaim(self) -> None:
        """Have back what was abandoned."""
        with self._doing("giving back memory"):
            self.leftovers.sweep()

    def close(self) -> None:
        """Give back the adstack heap, and what was abandoned; a device that has failed takes nothing back."""
        if not self._lost:
            self._turn.give_back(self._close)

    def _close(self) -> None:
        with self._doing("giving back memory"):
            self.heap.drop()
            self.leftovers.sweep()

    def host_view(self, storage: DeviceArray) -> None:
        """See `Backend.host_view`: None, as the host does not address memory of the device."""
