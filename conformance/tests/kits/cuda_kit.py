"""What the tests of the cuda backend share: programs run by the host playing a device, and PTX put through ptxas."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy.typing as npt
from cpu_kit import Case, differing, outcome, tasks_of

from adstack import interpreter
from adstack.backends.cuda.capability import SUMS
from adstack.backends.cuda.codegen import emit_module
from adstack.backends.cuda.emulator import Emulator
from adstack.backends.cuda.runtime import CudaBackend
from adstack.backends.cuda.toolchain import ptx
from adstack.ir.structure import Kernel, Program
from adstack.ir.types import from_numpy
from adstack.runtime.protocol.backend import Bindings, Capabilities
from adstack.runtime.protocol.options import Options
from adstack.transforms.memory.accumulate import accumulate

Array = npt.NDArray[Any]

ADDS: Mapping[str, float] = {"f16": 0, "f32": 0, "f64": 0}


def planned(source: str | Kernel | Program, debug: bool = False) -> Program:
    """A program whose sums are planned for threads of a device."""
    program = tasks_of(source, debug)
    for task in program.tasks:
        accumulate(task, SUMS)
    return program


def played() -> CudaBackend:
    """The host, playing a device that nobody has used."""
    return CudaBackend(Capabilities("cuda", "emulated", "the host", addressed=True, sums=SUMS), Emulator())


@cache
def backend() -> CudaBackend:
    """The host, playing a device that all tests of the process use."""
    return played()


def compiled(
    source: str | Kernel | Program, *, debug: bool = False, device: CudaBackend | None = None
) -> Callable[..., Sequence[Any]]:
    """A function of buffers and scalars that launches the program, and leaves in the buffers what the device has."""
    device = device or backend()
    executable = device.compile(planned(source, debug), Options(debug=debug, offline_cache=False))

    def launch(buffers: dict[str, Array] | None = None, scalars: Sequence[Any] = ()) -> Sequence[Any]:
        memory = buffers or {}
        storages = {name: device.allocate(from_numpy(a.dtype), a.shape) for name, a in memory.items()}
        try:
            for name, array in memory.items():
                device.upload(storages[name], array)
            returned = device.launch(executable, scalars, Bindings(storages, {n: a.shape for n, a in memory.items()}))
            device.synchronize()
        finally:
            for name, array in memory.items():
                array[...] = device.download(storages[name])
                device.free(storages[name])
        return returned

    return launch


def agree_on(source: str | Kernel | Program, cases: Iterable[Case], *, debug: bool = False) -> None:
    """The interpreter and the device leave the same bits, or fail alike."""
    program = tasks_of(source, debug)
    launch = compiled(program, debug=debug)
    options = interpreter.RunOptions(debug=debug)
    for memory, scalars in cases:
        wanted = outcome(lambda b, s: interpreter.run(program, b, s, options=options), memory, scalars)
        assert differing(wanted, outcome(launch, memory, scalars), program) == []


def device_text(
    source: str | Kernel | Program, *, debug: bool = False, adds: Mapping[str, float] = ADDS, pairs: bool = False
) -> str:
    """LLVM text for a device."""
    return emit_module(planned(source, debug), debug=debug, adds=adds, host=False, pairs=pairs).text


def device_code(
    source: str | Kernel | Program, *, debug: bool = False, adds: Mapping[str, float] = ADDS, pairs: bool = False
) -> str:
    """PTX."""
    return ptx(device_text(source, debug=debug, adds=adds, pairs=pairs))


@cache
def ptxas() -> str:
    """NVIDIA's assembler, of the package nvidia-cuda-nvcc."""
    files = importlib.metadata.files("nvidia-cuda-nvcc") or []
    (assembler,) = (file for file in files if file.name in ("ptxas", "ptxas.exe"))
    return str(assembler.locate())


def assemble(text: str, folder: Path, *flags: str) -> str:
    """What ptxas says of PTX; AssertionError if it refuses it."""
    file = folder / "kernels.ptx"
    file.write_text(text)
    command = [ptxas(), "-arch=sm_90", *flags, "-o", str(folder / "kernels.cubin"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{text}"
    return done.stderr


_HEAD = re.compile(r"\A.*?\.address_size 64\n", re.DOTALL)
_NAME = re.compile(r"^(?:\.visible )?\.(?:entry|func) .*?([\w$]+)\($|^\s*\.shared .*?([\w$]+)\[\d+\];$", re.MULTILINE)


def joined(texts: Sequence[str]) -> str:
    """Modules of PTX as one: what has a name is numbered."""
    parts = []
    for number, text in enumerate(texts):
        body = _HEAD.sub("", text)
        names = sorted({name for pair in _NAME.findall(body) for name in pair if name}, key=len, reverse=True)
        if names:
            words = "|".join(map(re.escape, names))
            body = re.sub(rf"(?<![\w$])({words})(?![\w$])", rf"\1_m{number}", body)
        parts.append(body)
    match = _HEAD.match(texts[0])
    assert match is not None
    return "\n".join([match.group(), *parts])
