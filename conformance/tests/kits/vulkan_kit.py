"""What the tests of the vulkan backend share: programs run on it and by the interpreter, and SPIR-V validated."""

from __future__ import annotations

import dataclasses
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import cpu_kit
import numpy.typing as npt
import pytest
from cpu_kit import Case, differing, outcome

from adstack import interpreter
from adstack.backends.codegen_spirv.assembly.traits import Traits
from adstack.backends.vulkan.capability import SUMS
from adstack.backends.vulkan.runtime import VulkanBackend, open_device
from adstack.ir.structure import Kernel, Program
from adstack.ir.types import from_numpy
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options
from adstack.transforms.memory.accumulate import accumulate

Array = npt.NDArray[Any]


def tasks_of(source: str | Kernel | Program, debug: bool = False) -> Program:
    """A program whose sums are planned for threads of a device."""
    program = cpu_kit.tasks_of(source, debug)
    for task in program.tasks:
        accumulate(task, SUMS)
    return program


def shared_of(device: Any) -> Any:
    """What all runtimes of the process have of a device: the driver, memory, pipelines."""
    return device.common


@cache
def backend(**traits: bool) -> VulkanBackend:
    """The device; with traits, as if it had those."""
    device = open_device()
    if not traits:
        return device
    shared = shared_of(device)
    shared = dataclasses.replace(shared, traits=dataclasses.replace(shared.traits, **traits))
    return VulkanBackend(device.capabilities, shared)


@cache
def bound() -> VulkanBackend:
    """The device as if it had no buffer device addresses: memory is bound."""
    with mock.patch.dict(os.environ, ADSTACK_VULKAN_ADDRESSES="0"):
        return open_device()


BOTH_WAYS = pytest.mark.parametrize("device", [backend, bound], ids=["by-address", "by-binding"])
"""How memory may be reached."""


def compiled(
    source: str | Kernel | Program, *, debug: bool = False, device: VulkanBackend | None = None, **options: Any
) -> Callable[..., Sequence[Any]]:
    """A function of buffers and scalars that launches the program, and leaves in the buffers what the device has."""
    device = device or backend()
    executable = device.compile(tasks_of(source, debug), Options(debug=debug, **options))

    def launch(buffers: dict[str, Array] | None = None, scalars: Sequence[Any] = ()) -> Sequence[Any]:
        memory = buffers or {}
        storages = {name: device.allocate(from_numpy(a.dtype), a.shape) for name, a in memory.items()}
        try:
            for name, array in memory.items():
                device.upload(storages[name], array)
            result = device.launch(executable, scalars, Bindings(storages, {n: a.shape for n, a in memory.items()}))
            device.synchronize()
            for name, array in memory.items():
                array[...] = device.download(storages[name])
        finally:
            for name in memory:
                device.free(storages[name])
        return result

    return launch


def agree_on(
    source: str | Kernel | Program, cases: Iterable[Case], *, debug: bool = False, device: VulkanBackend | None = None
) -> list[Any]:
    """The interpreter and the device leave the same bits, or fail alike; what they leave."""
    program = tasks_of(source, debug)
    launch = compiled(program, debug=debug, device=device)
    options = interpreter.RunOptions(debug=debug)
    left = []
    for memory, scalars in cases:
        wanted = outcome(lambda b, s: interpreter.run(program, b, s, options=options), memory, scalars)
        assert differing(wanted, outcome(launch, memory, scalars), program) == []
        left.append(wanted)
    return left


def agree(
    source: str | Kernel | Program,
    buffers: dict[str, Array] | None = None,
    scalars: Sequence[Any] = (),
    *,
    debug: bool = False,
    device: VulkanBackend | None = None,
) -> Any:
    """The same for one input."""
    (left,) = agree_on(source, [(buffers or {}, scalars)], debug=debug, device=device)
    return left


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=120
    )


def validate(modules: Iterable[Sequence[int]], folder: Path) -> None:
    """Put modules through spirv-val, which must have nothing to say."""
    for number, words in enumerate(modules):
        file = folder / f"{number}.spv"
        file.write_bytes(struct.pack(f"<{len(words)}I", *words))
        command = ["spirv-val", "--target-env", "vulkan1.2", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


STRICT = Traits()
"""A device that keeps every rule of IEEE 754."""
POOR = Traits(
    fma32=False,
    fma32_normal=False,
    fma64=False,
    div32=False,
    sqrt32=False,
    round32=False,
    round64=False,
    half=False,
    half_kept=False,
    order32=False,
    order64=False,
    widen=False,
    float_add=False,
    float_add_large=False,
    subgroups=False,
    endless=False,
    preserve=(), nearest=(), denormals=(),
)  # fmt: skip
"""A device that keeps as few as will do."""
