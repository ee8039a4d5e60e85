"""Which device of Apple's there is, and what this backend does not do on it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from adstack.backends.shared.clang import MISSING, compiler
from adstack.ir.types import ALL, f64
from adstack.runtime.protocol.backend import Capabilities, Probe, Unavailable

from .driver import Driver
from .emulator import Emulator
from .native import NativeDriver, missing

__all__ = [
    "CHOICE",
    "DEFAULT",
    "DTYPES",
    "GAPS",
    "HOST",
    "REFUSALS",
    "SUMS",
    "chosen",
    "offered",
    "opened",
    "probe",
    "probe_emulated",
]

SUMS: Final = ("own", "uniform")
"""How sums are added up besides by atomics, see `adstack.analysis.accumulation`."""
DTYPES: Final = tuple(dtype for dtype in ALL if dtype is not f64)
"""Element types: the language has no f64."""
NO_F64: Final = "the language has no floats of 64 bits"
GAPS: tuple[tuple[str, str], ...] = ()
"""(rule or case, reason) of what is not there."""
REFUSALS: Final = (
    ("a type that the Metal Shading Language does not have", NO_F64),
    ("the Metal Shading Language has no type of 64 bits for floats", NO_F64),
    ("the Metal Shading Language exchanges 32 bits at most", "the language has no such atomic update of 64 bits"),
)
"""(words of a refusal, reason) of what there is no way to do."""
CHOICE: Final = "ADSTACK_METAL_DEVICE"
"""The variable of the environment that says which device to use: `HOST`, `DEFAULT`, or nothing."""
HOST: Final = "host"
"""The host plays the device."""
DEFAULT: Final = "default"
"""The system's default device, which nobody has tried yet: it has to be asked for."""
_TRY: Final = f"set {CHOICE}={HOST} to have the host play a device, by clang, which is slow and for tests"


def chosen(wanted: str = "") -> str:
    """The device asked for, in words: by `init`, as `wanted`, or else by the environment."""
    return wanted or os.environ.get(CHOICE, "").strip()


def opened(wanted: str = "") -> Driver:
    """The device asked for; it can be opened, says `probe`."""
    return Emulator() if chosen(wanted) == HOST else NativeDriver()


def probe(wanted: str = "") -> Probe:
    """What the device `wanted`, as `chosen` names it, can do, or why there is none."""
    if chosen(wanted) == HOST:
        return probe_emulated(HOST)
    trouble = missing()
    if trouble is not None:
        reason, fix = trouble
        return Unavailable("metal", reason, f"{fix}; or {_TRY}")
    if chosen(wanted) != DEFAULT:
        reason = "nothing that this version makes has been through Apple's compiler or on a device of Apple's yet"
        return Unavailable("metal", reason, f"set {CHOICE}={DEFAULT} to try it, and tell us; or {_TRY}")
    return offered(NativeDriver(), {"tried": "by nobody yet"})


def probe_emulated(processor: str) -> Probe:
    """What the host, playing a device, can do, for which it needs clang; or why it can't."""
    there = compiler()
    if there is None:
        reason = "the host plays a device of Apple's by way of clang 15 or later, and there is none"
        return Unavailable("metal", reason, MISSING)
    return offered(Emulator(), {"compiler": there[1]})


def offered(driver: Driver, details: Mapping[str, str]) -> Capabilities:
    """What a device can do, in words."""
    return Capabilities(
        "metal",
        driver.kind,
        driver.name,
        claims=True,
        holds=True,
        sums=SUMS,
        wide_atomics=False,
        dtypes=DTYPES,
        details={**details, "floats of 64 bits": NO_F64},
    )
