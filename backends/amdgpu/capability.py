"""Which AMD device there is, and what this backend does not do on it."""

from __future__ import annotations

from typing import Final

from adstack.runtime.protocol.backend import Probe, Unavailable

__all__ = ["GAPS", "SUMS", "probe"]

SUMS: Final = ("own", "uniform")
"""How sums are added up besides by atomics, see `adstack.analysis.accumulation`."""
GAPS: tuple[tuple[str, str], ...] = ()
"""(rule or case, reason) of what is not there."""


def probe(wanted: str = "") -> Probe:
    """There is code for AMD's devices, and nothing yet that launches it, on none of the devices `wanted`."""
    reason = (
        "this version compiles kernels for AMD's devices (adstack dump --stage amdgcn), but does not launch them yet"
    )
    return Unavailable("amdgpu", reason, "use arch=qd.vulkan, by AMD's driver or Mesa's")
