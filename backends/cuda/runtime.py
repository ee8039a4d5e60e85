"""An NVIDIA device as a backend: launches are queued, in the order of the program, and end some time later."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from adstack.backends.llvm import native
from adstack.backends.llvm.cache import ObjectCache
from adstack.backends.llvm.context import raw_bits
from adstack.backends.shared.kept import default_folder
from adstack.errors import BackendUnavailableError
from adstack.ir.structure import Program
from adstack.ir.types import DType
from adstack.runtime.adstack_heap import Heap, TaskUse
from adstack.runtime.backend import Bindings, Capabilities, Probe, Unavailable
from adstack.runtime.options import Options
from adstack.runtime.shortcuts import HostArgument, Shortcut

from . import capability
from .adds import float_adds
from .codegen import emit_module
from .driver import Driver, DriverError, failure
from .emulator import Emulator
from .executable import Executable, build, listing
from .layout import DeviceArray

__all__ = ["CudaBackend", "open_device", "probe"]

Array = npt.NDArray[Any]


def probe() -> Probe:
    """See `capability.probe`."""
    return capability.probe()


def open_device() -> CudaBackend:
    """The device that the environment asks for, or the first one."""
    found = capability.probe()
    if isinstance(found, Unavailable):
        raise BackendUnavailableError(found.reason, do=found.fix)
    return CudaBackend(found, capability.opened())


class CudaBackend:
    """Memory is the device's; a launch queues kernels on the default stream."""

    def __init__(self, capabilities: Capabilities, driver: Driver | Emulator) -> None:
        self.capabilities = capabilities
        self.driver = driver
        self._launches = np.zeros(1, np.int64)
        self._adds: Mapping[str, float] | None = None
        self._lost = False
        self._turn = threading.RLock()
        self._pending: dict[int, Executable] = {}
        self.heap = Heap(self._take, driver.free)

    @property
    def launches(self) -> int:
        """How many launches there were."""
        return int(self._launches[0])

    @contextmanager
    def _doing(self, what: str) -> Iterator[Driver | Emulator]:
        """One thread at a time uses the device; what goes wrong is told in the program's terms."""
        with self._turn:
            try:
                self.driver.enter()
                yield self.driver
            except DriverError as error:
                self._lost |= error.is_lost
                raise failure(error, what) from error

    def _take(self, size: int) -> int:
        """Memory for adstacks, as it is."""
        try:
            return self.driver.allocate(size, zeroed=False)
        except DriverError as error:
            raise failure(error, f"{size} bytes of adstacks") from error

    def compile(self, program: Program, options: Options) -> Executable:
        with self._doing("compiling a kernel") as driver:
            cached = ObjectCache(default_folder()) if options.offline_cache else None
            if self._adds is None:
                self._adds = driver.adds if isinstance(driver, Emulator) else float_adds(driver, cached)
            local = options.ad_stack_storage == "stack"
            module = emit_module(program, debug=options.debug, adds=self._adds, host=driver.host, local=local)
            return build(driver, program, options, module, cached, self.heap)

    def adstacks(self, executable: Executable) -> list[TaskUse]:
        """The heap of each task that has run with adstacks in it."""
        return [use for _, use in sorted(executable.layouts.uses.items())]

    def listing(self, executable: Executable) -> dict[str, str]:
        """LLVM IR as generated, and PTX."""
        return listing(executable)

    def launch(self, executable: Executable, scalars: Sequence[Any], bindings: Bindings) -> Sequence[Any]:
        return native.alone(lambda: self._launch(executable, scalars, bindings))

    def _launch(self, executable: Executable, scalars: Sequence[Any], bindings: Bindings) -> Sequence[Any]:
        with self._doing(f"running {executable.name}") as driver:
            self._settle(finished=False)
            slots, context = executable.slots, executable.module.context
            task = executable.program.tasks[0].body.args if executable.program.tasks else ()
            for slot, value, arg in zip(context.params, scalars, task, strict=True):
                slots[slot] = raw_bits(value, arg.dtype)
            for name, storage in bindings.storages.items():
                slots[context.pointers[name]] = storage.address
            for (name, axis), slot in context.extents.items():
                slots[slot] = bindings.shapes[name][axis]
            executable.shapes = bindings.shapes
            self._launches[0] += 1
            slots[context.own["launch"]] = self._launches[0]
            executable.run(driver, sized=bindings.sized)
            if executable.reports_now:
                executable.report(driver)
            elif executable.reports_late:
                executable.send_overflow(driver)
                self._pending[id(executable)] = executable
            return executable.results(driver)

    def last_launch(self, executable: Executable) -> int:
        """The number of its last launch."""
        return int(executable.slots[executable.module.context.own["launch"]])

    def last_scalars(self, executable: Executable) -> Sequence[Any]:
        """The scalar arguments of its last launch; None for floats."""
        return executable.integers()

    def _settle(self, *, finished: bool) -> None:
        """Raise what earlier launches reported, as far as it has come; all of it has if they have `finished`."""
        for executable in self._pending.values():
            executable.check_overflow(self.driver)
        if finished:
            self._pending.clear()

    def shortcut(self, executable: Executable, wanted: Shortcut) -> Callable[..., Any] | None:
        """A builtin that queues the launch; none where the host must look after it, or hands over its own memory."""
        if executable.options.debug or any(isinstance(argument, HostArgument) for argument in wanted.arguments):
            return None
        entry = executable.entry(self._launches, self._refused, self)
        return None if entry is None else native.make(entry, wanted)

    def _refused(self, code: int) -> None:
        """Raise what a launch gave."""
        with self._doing("launching a kernel") as driver:
            driver.check(code)

    def address(self, storage: DeviceArray) -> int:
        """Where a kernel finds memory."""
        return storage.address

    def synchronize(self) -> None:
        """Wait; a device that has failed has nothing to wait for."""
        if self._lost:
            self._pending.clear()
            return
        with self._doing("waiting for kernels") as driver:
            driver.synchronize()
            self._settle(finished=True)

    # ---- memory

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> DeviceArray:
        made = DeviceArray(0, dtype, shape)
        with self._doing(f"{dtype} of shape {shape} ({made.size} bytes)") as driver:
            return DeviceArray(driver.allocate(made.size), dtype, shape)

    def adopt(self, array: Array) -> None:
        """None: the device does not address memory of the host."""

    def foreign(self, address: int, dtype: DType, shape: tuple[int, ...], owner: Any) -> DeviceArray:
        return DeviceArray(address, dtype, shape, owner)

    def free(self, storage: DeviceArray) -> None:
        if not self._lost:
            with self._doing("giving back memory") as driver:
                driver.free(storage.address)

    def host_view(self, storage: DeviceArray) -> None:
        """None: the host does not address memory of the device."""

    def download(self, storage: DeviceArray) -> Array:
        array = storage.empty()
        with self._doing("reading memory of the device") as driver:
            driver.download(storage.address, array)
            self._settle(finished=True)
        return array

    def upload_at(self, storage: DeviceArray, start: int, array: Array) -> None:
        """Write elements from the `start`th on."""
        with self._doing("writing memory of the device") as driver:
            driver.upload(storage.address + start * storage.dtype.size, array)

    def upload(self, storage: DeviceArray, array: Array) -> None:
        with self._doing("writing memory of the device") as driver:
            driver.upload(storage.address, np.ascontiguousarray(array))
