"""Which AMD device there is, and what this backend does not do on it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from adstack.backends.rdna.processors import PROCESSORS as PLAYED
from adstack.backends.shared.clang import MISSING, compiler
from adstack.errors import AdstackError
from adstack.runtime.protocol.backend import Capabilities, Probe, Unavailable
from adstack.runtime.threads.processes import foreign, start

from .driver import Driver
from .emulator import Emulator
from .hip import count, missing, properties, version
from .native import HIP, NativeDriver, architecture
from .toolchain import PROCESSORS

__all__ = [
    "CHOICE",
    "DEFAULT",
    "EMULATED",
    "GAPS",
    "SUMS",
    "chosen",
    "device_names",
    "offered",
    "opened",
    "probe",
    "probe_emulated",
]

SUMS: Final = ("own", "uniform", "subgroup")
"""How sums are added up besides by atomics, see `adstack.analysis.accumulation`."""
GAPS: tuple[tuple[str, str], ...] = ()
"""(rule or case, reason) of what is not there."""
CHOICE: Final = "ADSTACK_AMDGPU_DEVICE"
"""The variable of the environment that says which device to use: a number, `DEFAULT`, one of `EMULATED`, or nothing."""
DEFAULT: Final = "default"
"""The device of number 0. As nobody has tried one yet, a device has to be asked for."""
EMULATED: Final = tuple(PLAYED)
"""The processors that the host plays."""
_PLAYING: Final = f"set {CHOICE}={EMULATED[0]}, or {EMULATED[1]}, to have the host play one, for tests"
_SEE: Final = "see what rocminfo says; a container needs /dev/kfd and /dev/dri passed in"


def chosen(wanted: str = "") -> str:
    """The device asked for, in words: by `init`, as `wanted`, or else by the environment."""
    return wanted or os.environ.get(CHOICE, "").strip()


def opened(wanted: str = "") -> Driver:
    """The device asked for; it can be opened, says `probe`."""
    name = chosen(wanted)
    return Emulator(name) if name in EMULATED else NativeDriver(_number(name))


def _number(name: str) -> int:
    return 0 if name == DEFAULT else int(name)


def device_names() -> list[str]:
    """HIP's devices with their processors, by number; none where they can't be used."""
    if missing() is not None or foreign(HIP):
        return []
    start(HIP)
    try:
        return ["{} ({})".format(*architecture(properties(number))) for number in range(count())]
    except AdstackError:
        return []


def probe(wanted: str = "") -> Probe:
    """What the device `wanted`, as `chosen` names it, can do, or why there is none."""
    name = chosen(wanted)
    if name in EMULATED:
        return probe_emulated(name)
    trouble = missing() or foreign(HIP)
    if trouble is not None:
        reason, fix = trouble
        return Unavailable("amdgpu", reason, f"{fix}; or use arch=qd.vulkan, by AMD's driver or Mesa's; or {_PLAYING}")
    if not name:
        reason = "launches by HIP have not been seen on a device by anybody yet, so that one has to be asked for"
        return Unavailable("amdgpu", reason, f"set {CHOICE}={DEFAULT} to try it, and tell us; or {_PLAYING}")
    start(HIP)
    try:
        return _probed(name, "device" if wanted else CHOICE)
    except AdstackError as error:
        return Unavailable("amdgpu", str(error).partition("\n")[0], _SEE)


def _probed(name: str, what: str) -> Probe:
    """The same of a device of HIP's, by its number or as `DEFAULT`; `what` says so, for messages."""
    if name != DEFAULT and not name.isdigit():
        fix = f"set it to a device's number, to {DEFAULT}, or to one of {', '.join(EMULATED)}"
        return Unavailable("amdgpu", f"{what}={name!r} is no device", fix)
    number, devices = _number(name), count()
    if number >= devices:
        return Unavailable("amdgpu", f"there is no device {number}: HIP shows {devices}", _SEE)
    title, processor = architecture(properties(number))
    if processor not in PROCESSORS:
        reason = f"{title} is a {processor}, and code is made and checked for {', '.join(PROCESSORS)} alone"
        return Unavailable("amdgpu", reason, "use another device, or arch=qd.vulkan")
    return offered(NativeDriver(number), {"HIP": version(), "tried": "by nobody yet"})


def probe_emulated(processor: str) -> Probe:
    """What the host can do as the `processor`, for which it needs clang, or why it can't play one."""
    there = compiler()
    if there is None:
        reason = f"the host plays {processor} by way of clang 15 or later, and there is none"
        return Unavailable("amdgpu", reason, MISSING)
    return offered(Emulator(processor), {"compiler": there[1]})


def offered(driver: Driver, details: Mapping[str, str]) -> Capabilities:
    """What a device can do, in words."""
    about = {**details, "processor": driver.processor}
    return Capabilities("amdgpu", driver.kind, driver.name, claims=True, holds=True, sums=SUMS, details=about)
