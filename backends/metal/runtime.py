"""A device of Apple's as a backend: memory is shared with the host, and launches have finished when they return."""

from __future__ import annotations

import numpy as np

from adstack.errors import BackendUnavailableError
from adstack.ir.structure import Program
from adstack.ir.types import DType
from adstack.runtime.adstacks.heap import Heap, TaskUse
from adstack.runtime.protocol.backend import Array, Bindings, Capabilities, Probe, Scalars, Unavailable
from adstack.runtime.protocol.options import Options
from adstack.runtime.threads.processes import DeviceLock

from . import capability
from .codegen import emit_module
from .driver import Driver
from .executable import Executable, build
from .layout import Piece, piece

__all__ = ["MetalBackend", "open_device", "probe", "probe_emulated"]


def probe(device: str = "") -> Probe:
    """See `capability.probe`."""
    return capability.probe(device)


def probe_emulated(processor: str) -> Probe:
    """See `capability.probe_emulated`."""
    return capability.probe_emulated(processor)


def open_device(device: str = "") -> MetalBackend:
    """The device that is asked for; BackendUnavailableError if it can't be used."""
    probed = capability.probe(device)
    if isinstance(probed, Unavailable):
        raise BackendUnavailableError(probed.reason, do=probed.fix)
    return MetalBackend(probed, capability.opened(device))


class MetalBackend:
    """What every backend offers, and none of the optional parts."""

    def __init__(self, capabilities: Capabilities, driver: Driver) -> None:
        self.capabilities, self.driver, self.launches = capabilities, driver, 0
        self._turn = DeviceLock("Metal")
        self.heap = Heap(driver.allocate, lambda buffer: None)

    def compile(self, program: Program, options: Options) -> Executable:
        """See `Backend.compile`."""
        with self._turn:
            return build(self.driver, self.heap, program, options, emit_module(program, debug=options.debug))

    def listing(self, executable: Executable) -> dict[str, str]:
        """See `Backend.listing`: the source of all tasks."""
        return {"msl": executable.emitted.text}

    def launch(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        """See `Backend.launch`: the launch is over when this returns."""
        with self._turn:
            self.launches += 1
            executable.run(self.driver, self.launches, scalars, bindings)
            executable.report()
            return executable.results()

    def adstacks(self, executable: Executable) -> list[TaskUse]:
        """See `Backend.adstacks`."""
        return [use for _, use in sorted(executable.layouts.uses.items())]

    def synchronize(self) -> None:
        """Everything launched has finished, and what it reported has been raised."""

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Piece:
        """See `Backend.allocate`."""
        return piece(self.driver, dtype, shape)

    def adopt(self, array: Array) -> None:
        """See `Backend.adopt`: None, as a device addresses memory of the host in whole pages only."""

    def free(self, storage: Piece) -> None:
        """See `Backend.free`: memory goes with the last reference."""

    def address(self, storage: Piece) -> int:
        """See `Backend.address`."""
        return storage.address

    def host_view(self, storage: Piece) -> Array:
        """See `Backend.host_view`."""
        return storage.elements

    def download(self, storage: Piece) -> Array:
        """See `Backend.download`."""
        return np.array(storage.elements)

    def upload(self, storage: Piece, array: Array) -> None:
        """See `Backend.upload`."""
        storage.elements[...] = array
