"""What tools may ask adstack about itself: backends, gaps, the cache, budgets of operations, hand-written IR."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, cast

import numpy as np
import numpy.typing as npt

from ..data.hostarrays import HostArray
from ..error_analysis.chain import Enclosure
from ..errors import AdstackArgumentError
from ..ir.ops import TABLE
from ..ir.structure import Program
from ..ir.text.parser import parse_ir
from ..ir.types import by_name
from ..runtime.ir_program import IRProgram
from ..runtime.protocol.backend import Capabilities, Probe, Unavailable
from ..runtime.protocol.registry import ARCHES, BACKENDS, EMULATED, device_names, probe

__all__ = [
    "ARCHES",
    "EMULATED",
    "SOURCES",
    "Cache",
    "Capabilities",
    "Enclosure",
    "IRProgram",
    "Probe",
    "Unavailable",
    "budget",
    "cache",
    "clear_cache",
    "device_names",
    "enclosures",
    "error_bounds",
    "gaps",
    "probe",
    "refusals",
    "translated",
]

SOURCES: Final = {
    "msl": "adstack.backends.codegen_msl.tasks",
    "amdgcn": "adstack.backends.amdgpu.listing",
    "ptx": "adstack.backends.cuda.listing",
    "spirv": "adstack.backends.vulkan.listing",
}
"""Languages that people read -> the module of the generator that writes them."""


def gaps(arch: str) -> tuple[tuple[str, str], ...]:
    """What a backend is known not to do, by its arch: (rule or pattern of case ids, reason).

    That is `GAPS` of its capability module; nothing where a backend has no such module.
    """
    return _stated(arch, "GAPS")


def refusals(arch: str) -> tuple[tuple[str, str], ...]:
    """In which words a backend refuses what its target has no way to do, by its arch: (words, reason).

    That is `REFUSALS` of its capability module.
    """
    return _stated(arch, "REFUSALS")


def _stated(arch: str, table: str) -> tuple[tuple[str, str], ...]:
    """A table of the capability module of a backend; nothing where there is no such module, or no such table."""
    runtime = BACKENDS.get(arch, f"adstack.backends.{arch}.runtime")
    name = f"{runtime.rpartition('.')[0]}.capability"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not name.startswith(missing.name):
            raise
        return ()
    return tuple((first, reason) for first, reason in getattr(module, table, ()))


class _Source(Protocol):
    """What a generator made of a program."""

    text: str


class _Generator(Protocol):
    """The module of a generator that writes text which people read: `tasks` of `backends/codegen_msl`."""

    def emit_program(self, program: Program, *processor: str) -> _Source: ...


def translated(tasks: str, stage: str) -> str:
    """What the generator of a target writes for a program, on any machine: the target need not be there.

    Args:
        tasks: the text of the program, as `Kernel.stages` gives it.
        stage: a key of `SOURCES`: "msl", the Metal Shading Language; "ptx", of NVIDIA's GPUs; "spirv", of Vulkan; or
            "amdgcn", the assembly of AMD's GPUs, which may be followed by a processor: "amdgcn:gfx942".

    Raises:
        BackendUnavailableError: the target has no way to say it.
        AdstackArgumentError: there is no such processor.
    """
    program = parse_ir(tasks)
    assert isinstance(program, Program)
    language, _, processor = stage.partition(":")
    if processor and language not in _FOR_PROCESSORS:
        raise AdstackArgumentError(f"{language} is the same for every processor", do=f"write {language}")
    generator = cast(_Generator, importlib.import_module(SOURCES[language]))
    return generator.emit_program(program, *([processor] if processor else [])).text


_FOR_PROCESSORS: Final = ("amdgcn",)
"""Languages that differ from one processor to another."""


@dataclass(frozen=True)
class Cache:
    """Compiled kernels that are kept on disk.

    Attributes:
        folder: where.
        entries: how many kernels.
        bytes: what they take.
        most: what they may take; those used longest ago go first.
        device_files: how many files beside them are about devices: their drivers' compiled code, and what is known of
            them.
        device_bytes: what those take.
        refusal: why nothing is read from the folder or written to it, "" if it is used.
    """

    folder: str
    entries: int
    bytes: int
    most: int
    device_files: int = 0
    device_bytes: int = 0
    refusal: str = ""


class _Objects(Protocol):
    """The kernels in a folder: `ObjectCache` of `backends/shared/object_cache.py`."""

    folder: Path

    def entries(self) -> list[tuple[str, int]]: ...

    def clear(self) -> int: ...


class _ObjectCache(Protocol):
    """The module that keeps them."""

    MOST_BYTES: int

    def ObjectCache(self, folder: Path) -> _Objects: ...  # noqa: N802 - a class


class _Files(Protocol):
    """The module that keeps files of a folder: `backends/shared/kept.py`."""

    def default_folder(self) -> Path: ...

    def refusal(self, folder: Path) -> str: ...

    def device_files(self, folder: Path) -> list[tuple[str, int]]: ...

    def remove(self, folder: Path, name: str) -> None: ...


def cache() -> Cache:
    """What is kept on disk."""
    kernels, files = _modules()
    objects = kernels.ObjectCache(files.default_folder())
    refusal = files.refusal(objects.folder)
    if refusal:
        return Cache(str(objects.folder), 0, 0, kernels.MOST_BYTES, refusal=refusal)
    sizes = [size for _, size in objects.entries()]
    others = [size for _, size in files.device_files(objects.folder)]
    return Cache(str(objects.folder), len(sizes), sum(sizes), kernels.MOST_BYTES, len(others), sum(others))


def clear_cache() -> tuple[int, int]:
    """Remove what is kept on disk: how many kernels there were, and how many files about devices."""
    kernels, files = _modules()
    objects = kernels.ObjectCache(files.default_folder())
    others = [name for name, _ in files.device_files(objects.folder)]
    for name in others:
        files.remove(objects.folder, name)
    return objects.clear(), len(others)


def _modules() -> tuple[_ObjectCache, _Files]:
    """The backends' modules that keep files, found by name."""
    kernels, files = (importlib.import_module(f"adstack.backends.shared.{name}") for name in ("object_cache", "kept"))
    return cast(_ObjectCache, kernels), cast(_Files, files)


def budget(op: str, dtype: str) -> float:
    """How far the result of an operation may be from the correctly rounded one, in units in the last place.

    KeyError if there is no such operation.
    """
    return TABLE[op].budget.of(by_name(dtype))


def error_bounds(run: Callable[[], object], of: str, data: Sequence[HostArray]) -> list[npt.NDArray[np.float64]]:
    """How far rounding can carry the "value", "grad" or "dual" of fields and ndarrays that `run()` computes.

    An array of bounds on |computed - exact| for each of `data`, by running error analysis of what the launches do.
    """
    return [answer.bound for answer in enclosures(run, of, data)]


def enclosures(
    run: Callable[[], object], of: str, data: Sequence[HostArray], loss: HostArray | None = None
) -> list[Enclosure]:
    """The "value", "grad" or "dual" of data that `run()` computes, by the tape oracle, with error bounds.

    Gradients are those of a loss, or start from the adjoints that memory has now. Memory is as before afterwards.
    """
    from ..gradients.tapes import nearness

    return nearness.enclosures(run, of, data, loss)
