"""What the host's processor offers, and what this backend does not do on it."""

from __future__ import annotations

import platform

import llvmlite
import llvmlite.binding as llvm

from adstack.backends.shared.jit import host
from adstack.runtime.protocol.backend import Capabilities, Probe, Unavailable

__all__ = ["GAPS", "host", "probe", "vector_bytes"]

GAPS: tuple[tuple[str, str], ...] = ()
"""(rule or case, reason) of what is not there."""

_MACHINES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "arm64", "arm64": "arm64"}


def probe() -> Probe:
    """It runs on 64-bit x86 and ARM."""
    machine = platform.machine().lower()
    if machine not in _MACHINES:
        known = " and ".join(sorted(set(_MACHINES.values())))
        return Unavailable("cpu", f"no code generator for {machine}", f"use arch=reference, or a machine of {known}")
    name, features = host()
    details = {
        "llvm": ".".join(map(str, llvm.llvm_version_info)),
        "llvmlite": llvmlite.__version__,
        "processor": name,
        "vectors": f"{8 * vector_bytes(features)} bits",
    }
    return Capabilities("cpu", "native", f"{_MACHINES[machine]} ({name})", direct=True, holds=True, details=details)


def vector_bytes(features: str) -> int:
    """The width of a vector register."""
    offered = set(features.split(","))
    if "+avx512f" in offered:
        return 64
    return 32 if "+avx2" in offered else 16
