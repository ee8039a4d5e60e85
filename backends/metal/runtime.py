"""A device of Apple's as a backend: memory is shared with the host, and launches are queued."""

from __future__ import annotations

from adstack.backends.shared.immediate import Executable
from adstack.backends.shared.immediate_backend import ImmediateBackend
from adstack.errors import BackendUnavailableError
from adstack.ir.structure import Program
from adstack.runtime.protocol.backend import Capabilities, Probe, Unavailable
from adstack.runtime.protocol.options import Options

from . import capability
from .codegen import emit_module
from .driver import Driver
from .executable import build

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


class MetalBackend(ImmediateBackend):
    """What every backend offers; graphs; and none of the other optional parts."""

    driver: Driver

    def __init__(self, capabilities: Capabilities, driver: Driver) -> None:
        super().__init__(capabilities, driver, "Metal")

    def compile(self, program: Program, options: Options) -> Executable:
        """See `Backend.compile`."""
        with self.turn:
            return build(self.driver, self.heap, program, options, emit_module(program, debug=options.debug))

    def listing(self, executable: Executable) -> dict[str, str]:
        """See `Backend.listing`: the source of all tasks."""
        return {"msl": executable.text}
