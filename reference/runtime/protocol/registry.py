"""The arches adstack knows, where their backends are, and which one to take."""

from __future__ import annotations

import importlib
import warnings
from typing import Final, Protocol, cast

from ...errors import AdstackArgumentError, BackendUnavailableError
from .backend import Backend, Probe, Unavailable

__all__ = [
    "ALIASES",
    "ARCHES",
    "BACKENDS",
    "GPUS",
    "Room",
    "candidates",
    "canonical",
    "default_arch",
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
GPUS: Final = ("cuda", "amdgpu", "metal", "vulkan")
"""In the order in which `gpu` tries them."""
ARCHES: Final = tuple(BACKENDS)
ALIASES: Final = {"x64": "cpu", "x86_64": "cpu", "arm64": "cpu"}


def canonical(arch: object) -> str:
    """The name of an arch, aliases resolved; "gpu" stays."""
    name = str(arch).lower()
    name = ALIASES.get(name, name)
    if name not in (*BACKENDS, "gpu"):
        known = ", ".join((*BACKENDS, *ALIASES, "gpu"))
        raise AdstackArgumentError(f"there is no arch {arch!r}", do=f"use one of {known}")
    return name


def probe(arch: str) -> Probe:
    """What a backend can do here, or why it can't be used. Never raises for a backend that is merely absent."""
    room = _room(arch)
    return room if isinstance(room, Unavailable) else room.probe()


def probe_all() -> dict[str, Probe]:
    """Every arch, probed."""
    return {arch: probe(arch) for arch in ARCHES}


def default_arch() -> str:
    """The best arch that needs no choice: the cpu, or the reference where the cpu backend is not available."""
    return "reference" if isinstance(probe("cpu"), Unavailable) else "cpu"


def candidates(arch: object) -> tuple[str, ...]:
    """The names of what is to be tried, in order: of one arch, or of a list of arches."""
    wanted = arch if isinstance(arch, (list, tuple)) else (arch,)
    if not wanted:
        raise AdstackArgumentError("arch is an empty list", do=f"name at least one of {', '.join(ARCHES)}")
    return tuple(canonical(name) for name in wanted)


def open_arch(*arches: str, fallback: bool = False) -> Backend:
    """Open the first backend that is available; BackendUnavailableError says why none is, unless `fallback` allows the
    default arch instead.
    """
    names = dict.fromkeys(name for arch in arches for name in (GPUS if arch == "gpu" else (arch,)))
    missing = []
    for name in names:
        capabilities = probe(name)
        if not isinstance(capabilities, Unavailable):
            return _open(capabilities.name)
        missing.append(capabilities)
    if not fallback:
        raise _unavailable(arches, missing)
    instead = default_arch()
    wanted = " or ".join(arches)
    warnings.warn(f"arch {wanted} is not available ({missing[0].reason}); using {instead}", stacklevel=3)
    return _open(instead)


def _open(arch: str) -> Backend:
    room = _room(arch)
    if isinstance(room, Unavailable):
        raise BackendUnavailableError(room.reason, do=room.fix)
    return room.open_device()


def _unavailable(arches: tuple[str, ...], missing: list[Unavailable]) -> BackendUnavailableError:
    if len(missing) == 1:
        return BackendUnavailableError(f"arch {arches[0]} is not available: {missing[0].reason}", do=missing[0].fix)
    reasons = "; ".join(f"{m.name}: {m.reason}" for m in missing)
    none = "no gpu is available" if arches == ("gpu",) else f"none of {', '.join(arches)} is available"
    return BackendUnavailableError(f"{none} ({reasons})", do=missing[0].fix)


class Room(Protocol):
    """The module that drives a backend."""

    def probe(self) -> Probe: ...

    def open_device(self) -> Backend: ...


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
