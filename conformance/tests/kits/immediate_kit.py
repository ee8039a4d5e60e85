"""What tests of devices that share memory with the host have in common: programs run by one, and by the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy.typing as npt
from cpu_kit import Case, differing, outcome

from adstack import interpreter
from adstack.backends.amdgpu.runtime import AmdgpuBackend
from adstack.backends.metal.runtime import MetalBackend
from adstack.ir.structure import Program
from adstack.ir.types import from_numpy
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options

Array = npt.NDArray[Any]
Device = AmdgpuBackend | MetalBackend


def compiled(device: Device, program: Program, *, debug: bool = False) -> Callable[..., Sequence[Any]]:
    """A function of buffers and scalars that launches the program, and leaves in the buffers what the device has."""
    executable = device.compile(program, Options(debug=debug, offline_cache=False))

    def launch(buffers: dict[str, Array] | None = None, scalars: Sequence[Any] = ()) -> Sequence[Any]:
        memory = buffers or {}
        storages = {name: device.allocate(from_numpy(a.dtype), a.shape) for name, a in memory.items()}
        for name, array in memory.items():
            device.upload(storages[name], array)
        try:
            bindings = Bindings(storages, {n: a.shape for n, a in memory.items()})
            return device.launch(executable, scalars, bindings)  # type: ignore[arg-type]
        finally:
            for name, array in memory.items():
                array[...] = device.download(storages[name])

    return launch


def agree_on(device: Device, program: Program, cases: Iterable[Case], *, debug: bool = False) -> list[Any]:
    """The interpreter and the device leave the same bits, or fail alike; what they leave."""
    launch = compiled(device, program, debug=debug)
    options = interpreter.RunOptions(debug=debug)
    left = []
    for memory, scalars in cases:
        wanted = outcome(lambda b, s: interpreter.run(program, b, s, options=options), memory, scalars)
        assert differing(wanted, outcome(launch, memory, scalars), program) == []
        left.append(wanted)
    return left
