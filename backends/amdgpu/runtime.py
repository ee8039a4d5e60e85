"""An AMD device as a backend: memory is the host's, and launches have finished when they return."""

from __future__ import annotations

from adstack.backends.shared.immediate_backend import ImmediateBackend
from adstack.errors import BackendUnavailableError
from adstack.ir.structure import Program
from adstack.runtime.protocol.backend import Capabilities, Probe, Unavailable
from adstack.runtime.protocol.options import Options

from . import capability
from .codegen import emit_module
from .driver import Driver
from .executable import Compiled, build
from .listing import emit_program

__all__ = ["AmdgpuBackend", "device_names", "open_device", "probe", "probe_emulated"]


def probe(device: str = "") -> Probe:
    """See `capability.probe`."""
    return capability.probe(device)


def probe_emulated(processor: str) -> Probe:
    """See `capability.probe_emulated`."""
    return capability.probe_emulated(processor)


def device_names() -> list[str]:
    """See `capability.device_names`."""
    return capability.device_names()


def open_device(device: str = "") -> AmdgpuBackend:
    """The device that is asked for; BackendUnavailableError if it can't be used."""
    probed = capability.probe(device)
    if isinstance(probed, Unavailable):
        raise BackendUnavailableError(probed.reason, do=probed.fix)
    return AmdgpuBackend(probed, capability.opened(device))


class AmdgpuBackend(ImmediateBackend):
    """What every backend offers; graphs; and none of the other optional parts."""

    driver: Driver

    def __init__(self, capabilities: Capabilities, driver: Driver) -> None:
        super().__init__(capabilities, driver, "AMD")

    def compile(self, program: Program, options: Options) -> Compiled:
        """See `Backend.compile`."""
        with self.turn:
            return build(self.driver, self.heap, program, options, emit_module(program, debug=options.debug))

    def listing(self, executable: Compiled) -> dict[str, str]:
        """See `Backend.listing`: LLVM's text, and the assembly."""
        return {"llvm": executable.text, "amdgcn": emit_program(executable.program, self.driver.processor).text}
