"""The arches adstack knows, where their backends are, and which one to take."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, cast

from ...errors import AdstackArgumentError, BackendUnavailableError
from .backend import Backend, Probe, Unavailable

__all__ = [
    "ALIASES",
    "ARCHES",
    "BACKENDS",
    "EMULATED",
    "GPUS",
    "Room",
    "beside_devices",
    "candidates",
    "canonical",
    "default_arch",
    "device_names",
    "open_arch",
    "probe",
    "probe_all",
]

BACKENDS: Final[dict[str, str]] = {
    "reference": "adstack.runtime.reference_backend",
    "cpu": "adstack.backends.cpu.runtime",
    "cuda": "adstack.backends.cuda.runtime",
    "amdgpu": "adstack.backends.amdgpu.runtime",
    "metal": "adstack.backends.metal.runtime",
    "vulkan": "adstack.backends.vulkan.runtime",
}
"""Arch -> the module that drives its backend: a line registers it."""
EMULATED: Final[dict[str, str]] = {
    "cpu:aarch64": "ADSTACK_CPU_EMULATED",
    "amdgpu:gfx1100": "ADSTACK_AMDGPU_DEVICE",
    "amdgpu:gfx942": "ADSTACK_AMDGPU_DEVICE",
    "metal:host": "ADSTACK_METAL_DEVICE",
}
"""Backends on an emulated processor, as ARCH:PROCESSOR -> the environment variable that is to name the processor."""
GPUS: Final = ("cuda", "amdgpu", "metal", "vulkan")
"""In the order in which `gpu` tries them."""
ARCHES: Final = tuple(BACKENDS)
_BESIDE: Final[list[Callable[[Backend], Backend]]] = []
"""What is put between the runtime and the devices that are opened, the first one nearest to the device."""
ALIASES: Final = {"x64": "cpu", "x86_64": "cpu", "arm64": "cpu"}


def canonical(arch: object) -> str:
    """The name of an arch in lower case, aliases resolved; "gpu" stays. AdstackArgumentError if there is none such."""
    name = str(arch).lower()
    name = ALIASES.get(name, name)
    if name not in (*BACKENDS, "gpu"):
        names = ", ".join((*BACKENDS, *ALIASES, "gpu"))
        raise AdstackArgumentError(f"there is no arch {arch!r}", do=f"use one of {names}")
    return name


def probe(arch: str, device: str = "") -> Probe:
    """What a backend can do here, or why it can't be used. Never raises for a backend that is merely absent.

    Args:
        arch: one of `ARCHES`, or of `EMULATED`.
        device: which of its devices, as of `Options`.
    """
    name, _, processor = arch.partition(":")
    room = _room(name)
    if isinstance(room, Unavailable):
        return room
    return cast(Emulating, room).probe_emulated(processor) if processor else room.probe(device)


def probe_all() -> dict[str, Probe]:
    """Every arch, probed."""
    return {arch: probe(arch) for arch in ARCHES}


def device_names(arch: str) -> list[str]:
    """The devices that `init(arch=..., device=...)` chooses from, by number; empty where there is no choice."""
    room = _room(arch)
    several = None if isinstance(room, Unavailable) else getattr(cast(Several, room), "device_names", None)
    return [] if several is None else several()


def default_arch() -> str:
    """The best arch that needs no choice: the cpu, or the reference where the cpu backend is not available."""
    return "reference" if isinstance(probe("cpu"), Unavailable) else "cpu"


def candidates(arch: object) -> tuple[str, ...]:
    """The names of what is to be tried, in order: of one arch, or of a list of arches.

    AdstackArgumentError if the list is empty, or there is no such arch.
    """
    wanted = arch if isinstance(arch, (list, tuple)) else (arch,)
    if not wanted:
        raise AdstackArgumentError("arch is an empty list", do=f"name at least one of {', '.join(ARCHES)}")
    return tuple(canonical(name) for name in wanted)


def open_arch(*arches: str, device: str = "", fallback: bool = False) -> Backend:
    """Open the first backend that is available, on a device of those that it has, as of `Options`.

    Of `gpu` a driver that runs on the cpu is taken last.

    Raises:
        BackendUnavailableError: none is available, and `fallback` does not allow the default arch instead.
    """
    missing = []
    for arch in arches:
        probed = [probe(name, device) for name in (GPUS if arch == "gpu" else (arch,))]
        there = [one for one in probed if not isinstance(one, Unavailable)]
        if there:
            return _open(min(there, key=lambda one: one.kind != "native").name, device)
        missing += [one for one in probed if isinstance(one, Unavailable) and one not in missing]
    if not fallback:
        raise _unavailable(arches, missing)
    instead = default_arch()
    wanted = " or ".join(arches)
    warnings.warn(f"arch {wanted} is not available ({missing[0].reason}); using {instead}", stacklevel=3)
    return _open(instead)


def _open(arch: str, device: str = "") -> Backend:
    room = _room(arch)
    if isinstance(room, Unavailable):
        raise BackendUnavailableError(room.reason, do=room.fix)
    backend = room.open_device(device)
    for between in _BESIDE:
        backend = between(backend)
    return backend


@contextmanager
def beside_devices(between: Callable[[Backend], Backend]) -> Iterator[None]:
    """A block in which something stands between the runtime and the devices that are opened: for tools that look."""
    _BESIDE.append(between)
    try:
        yield
    finally:
        _BESIDE.remove(between)


def _unavailable(arches: tuple[str, ...], missing: list[Unavailable]) -> BackendUnavailableError:
    if len(missing) == 1:
        return BackendUnavailableError(f"arch {arches[0]} is not available: {missing[0].reason}", do=missing[0].fix)
    reasons = "; ".join(f"{m.name}: {m.reason}" for m in missing)
    none = "no gpu is available" if arches == ("gpu",) else f"none of {', '.join(arches)} is available"
    return BackendUnavailableError(f"{none} ({reasons})", do=missing[0].fix)


class Room(Protocol):
    """The module that drives a backend."""

    def probe(self, device: str = "") -> Probe:
        """What the backend can do on a device, named as in `Options`, or why it can't be used here."""

    def open_device(self, device: str = "") -> Backend:
        """The backend on a device, named as in `Options`; BackendUnavailableError if it can't be opened."""


class Several(Room, Protocol):
    """The module that drives a backend with several devices."""

    def device_names(self) -> list[str]:
        """The devices, in words, in the order of their numbers."""


class Emulating(Room, Protocol):
    """The module that drives a backend which also runs on emulated processors."""

    def probe_emulated(self, processor: str) -> Probe:
        """What the backend can do on an emulated `processor`, or why that can't be used here."""


def _room(arch: str) -> Room | Unavailable:
    """The module that drives a backend, or why there is none."""
    name = BACKENDS.get(arch, f"adstack.backends.{arch}.runtime")
    try:
        return cast(Room, importlib.import_module(name))
    except ModuleNotFoundError as missing:
        if not f"{name}.".startswith(f"{missing.name}."):
            return Unavailable(arch, f"its backend needs the Python module {missing.name}", f"install {missing.name}")
        return Unavailable(
            arch,
            f"this version of adstack has no {arch} backend",
            "use arch=qd.reference, or install a version that has it",
        )
