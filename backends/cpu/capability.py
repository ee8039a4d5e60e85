"""What the host's processor offers, and what this backend does not do on it."""

from __future__ import annotations

import platform

import llvmlite
import llvmlite.binding as llvm

from adstack.backends.shared.jit import host
from adstack.runtime.protocol.backend import Capabilities, Probe, Unavailable, only_device

from .emulated import PROCESSORS, qemu, qemu_version
from .machine import EMULATED, emulated
from .vectors import vector_bytes

__all__ = ["GAPS", "host", "probe", "probe_emulated"]

GAPS: tuple[tuple[str, str], ...] = ()
"""(rule or case, reason) of what is not there."""

_ARCH = "cpu"
_MACHINES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "arm64", "arm64": "arm64"}


def probe(device: str = "") -> Probe:
    """It runs on 64-bit x86 and ARM."""
    absent = only_device(_ARCH, device)
    if absent is not None:
        return absent
    machine = platform.machine().lower()
    if machine not in _MACHINES:
        machines = " and ".join(sorted(set(_MACHINES.values())))
        return Unavailable(_ARCH, f"no code generator for {machine}", f"use arch=reference, or a machine of {machines}")
    if emulated():
        return probe_emulated(emulated())
    name, features = host()
    details = {
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": llvmlite.__version__,
        "processor": name,
        "vectors": f"{8 * vector_bytes(features)} bits",
    }
    return Capabilities("cpu", "native", f"{_MACHINES[machine]} ({name})", direct=True, holds=True, details=details)


def probe_emulated(name: str) -> Probe:
    """The same on a processor that qemu emulates, as the environment variable `EMULATED` asks for it."""
    if name not in PROCESSORS:
        processors = ", ".join(PROCESSORS)
        return Unavailable(_ARCH, f"there is no emulated processor {name}", f"let {EMULATED} be one of {processors}")
    if platform.system() != "Linux" or platform.machine().lower() not in _MACHINES:
        return Unavailable(_ARCH, f"{name} is emulated on Linux alone", f"use Linux, or do without {EMULATED}")
    program = qemu()
    if program is None:
        fix = "install qemu-user (apt-get install qemu-user)"
        return Unavailable(_ARCH, f"nothing is installed that emulates {name}: there is no qemu-aarch64", fix)
    processor = PROCESSORS[name]
    details = {
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": llvmlite.__version__,
        "processor": processor.name,
        "vectors": f"{8 * processor.vector_bytes} bits",
        "qemu": qemu_version(program),
    }
    return Capabilities("cpu", "emulated", f"{name}, qemu", direct=True, holds=True, details=details)
