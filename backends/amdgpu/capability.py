"""Which AMD device there is, and what this backend does not do on it."""

from __future__ import annotations

import os
from typing import Final

from adstack.backends.rdna.processors import PROCESSORS
from adstack.backends.shared.clang import MISSING, compiler
from adstack.runtime.protocol.backend import Capabilities, Probe, Unavailable

__all__ = ["CHOICE", "EMULATED", "GAPS", "SUMS", "chosen", "offered", "probe", "probe_emulated"]

SUMS: Final = ("own", "uniform")
"""How sums are added up besides by atomics, see `adstack.analysis.accumulation`."""
GAPS: tuple[tuple[str, str], ...] = ()
"""(rule or case, reason) of what is not there."""
CHOICE: Final = "ADSTACK_AMDGPU_DEVICE"
"""The variable of the environment that says which device to use: one of `EMULATED`, or nothing."""
EMULATED: Final = tuple(PROCESSORS)
"""The processors that the host plays."""


def chosen(wanted: str = "") -> str:
    """The device asked for, in words: by `init`, as `wanted`, or else by the environment."""
    return wanted or os.environ.get(CHOICE, "").strip()


def probe(wanted: str = "") -> Probe:
    """What the device `wanted`, as `chosen` names it, can do, or why there is none."""
    if chosen(wanted) in EMULATED:
        return probe_emulated(chosen(wanted))
    reason = "kernels are compiled for AMD's devices (adstack dump --stage amdgcn), but not launched on one yet"
    playing = f"set {CHOICE}={EMULATED[0]}, or {EMULATED[1]}, to have the host play one, for tests"
    return Unavailable("amdgpu", reason, f"use arch=qd.vulkan, by AMD's driver or Mesa's; or {playing}")


def probe_emulated(processor: str) -> Probe:
    """What the host can do as the `processor`, for which it needs clang, or why it can't play one."""
    there = compiler()
    if there is None:
        reason = f"the host plays {processor} by way of clang 15 or later, and there is none"
        return Unavailable("amdgpu", reason, MISSING)
    return offered(processor, there[1])


def offered(processor: str, version: str) -> Capabilities:
    """What the host playing a processor can do, in words."""
    return Capabilities(
        "amdgpu", "emulated", processor, claims=True, holds=True, sums=SUMS, details={"compiler": version}
    )
