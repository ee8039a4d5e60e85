"""Which NVIDIA device there is, and what this backend does not do on it."""

from __future__ import annotations

import os
from typing import Final

from adstack.runtime.protocol.backend import Capabilities, Probe, Unavailable
from adstack.runtime.threads.processes import foreign, start

from .bindings import missing
from .emulator import Emulator
from .interface.driver import Device, Driver
from .interface.errors import DriverError
from .native import NativeDriver, count

__all__ = ["CHOICE", "GAPS", "HOST", "SUMS", "chosen", "device_names", "opened", "probe"]

SUMS: Final = ("own", "uniform", "subgroup")
"""How sums are added up besides by atomics, see `adstack.analysis.accumulation`."""
GAPS: tuple[tuple[str, str], ...] = ()
"""(rule or case, reason) of what is not there."""

CHOICE: Final = "ADSTACK_CUDA_DEVICE"
"""The variable of the environment that says which device to use: a number, or `HOST`."""
HOST: Final = "host"
"""The host plays the device."""
_OF_THE_HOST: Final = (1, 0)
_OF_CUDA: Final = 2
"""DLPack's numbers for memory."""
_OLDEST: Final = (7, 0)
_DRIVER: Final = (12, 1)


def chosen(wanted: str = "") -> str:
    """The device to take: a number, or `HOST`. `wanted` is what `init` was told, "" if nothing."""
    return wanted or os.environ.get(CHOICE, "").strip() or "0"


def opened(wanted: str = "") -> Driver:
    """The device to take; DriverError if it can't be opened."""
    start("CUDA")
    name = chosen(wanted)
    return Emulator() if name == HOST else NativeDriver(int(name))


def device_names() -> list[str]:
    """The driver's devices, by number; none where it can't be used."""
    if missing() is not None or foreign("CUDA"):
        return []
    start("CUDA")
    try:
        return [NativeDriver(number).device.name for number in range(count())]
    except DriverError:
        return []


def probe(wanted: str = "") -> Probe:
    """It runs on NVIDIA's devices from Volta on, with a driver for CUDA 12.1 or later."""
    name = chosen(wanted)
    trouble = foreign("CUDA") or (_trouble(wanted) if name != HOST else None)
    if trouble is not None:
        return Unavailable("cuda", *trouble)
    if name == HOST:
        return _capabilities(Emulator().device, "emulated", _OF_THE_HOST)
    try:
        device = NativeDriver(int(name)).device
    except DriverError as error:
        return Unavailable("cuda", str(error), "see what nvidia-smi says of the device")
    if device.capability < _OLDEST:
        version = ".".join(map(str, device.capability))
        return Unavailable("cuda", f"{device.name} has compute capability {version}", "use a device of 7.0 or later")
    if device.driver < _DRIVER:
        version = ".".join(map(str, device.driver))
        return Unavailable("cuda", f"the driver offers CUDA {version}", "install a driver for CUDA 12.1 or later")
    return _capabilities(device, "native", (_OF_CUDA, int(name)))


def _trouble(wanted: str) -> tuple[str, str] | None:
    """Why the device to take can't be opened, and what would help."""
    absent = missing()
    if absent is not None:
        return absent
    name = chosen(wanted)
    if not name.isdigit():
        return f"{'device' if wanted else CHOICE}={name!r} is no device", f"set it to a device's number, or to {HOST}"
    start("CUDA")
    try:
        devices = count()
    except DriverError as error:
        return str(error), "see what nvidia-smi says; a container needs the device passed in"
    if int(name) >= devices:
        what = "device" if wanted else CHOICE
        return f"there is no device {name}: the driver shows {devices}", f"see {what} and CUDA_VISIBLE_DEVICES"
    return None


def _capabilities(device: Device, kind: str, memory: tuple[int, int]) -> Capabilities:
    details = {
        "compute capability": ".".join(map(str, device.capability)),
        "driver": "CUDA " + ".".join(map(str, device.driver)),
        "memory": f"{device.memory / 2**30:.1f} GiB",
        "multiprocessors": str(device.multiprocessors),
    }
    return Capabilities(
        "cuda",
        kind,
        device.name,
        addressed=True,
        claims=True,
        holds=True,
        gathers=True,
        stages=True,
        sums=SUMS,
        dlpack=memory,
        details=details,
    )
