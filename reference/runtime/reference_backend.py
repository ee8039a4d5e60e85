"""The reference interpreter as a backend: always there, defines what is right, in no hurry."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import interpreter
from ..errors import AdstackMemoryError
from ..ir.structure import Program
from ..ir.types import DType
from .backend import Bindings, Capabilities, Probe
from .options import Options
from .shortcuts import Shortcut

__all__ = ["ReferenceBackend", "open_device", "probe"]

CAPABILITIES = Capabilities(
    "reference",
    "native",
    f"the reference interpreter (numpy {np.__version__}, Python {platform.python_version()})",
    direct=True,
    details={"meaning": "defines every result, to the bit"},
)


def probe() -> Probe:
    """It runs wherever Python does."""
    return CAPABILITIES


def open_device() -> ReferenceBackend:
    """A device of its own."""
    return ReferenceBackend()


@dataclass(frozen=True)
class Executable:
    """A program and the options it was compiled with.

    Attributes:
        program: all of it.
        without: the program without its sizers.
        depths: how deep adstacks must be, by the name of the place; kept from launch to launch.
    """

    program: Program
    options: Options
    without: Program
    depths: dict[str, npt.NDArray[Any]]


class ReferenceBackend:
    """Memory is numpy arrays; a launch interprets the program and returns when it is done."""

    capabilities = CAPABILITIES

    def __init__(self) -> None:
        self.launches = 0

    def compile(self, program: Program, options: Options) -> Executable:
        without = replace(program, tasks=[task for task in program.tasks if not task.sizes])
        depths = {
            place.name: np.zeros([extent or 0 for extent in place.shape], np.int64)
            for place in program.places.values()
            if place.kind == "depths"
        }
        return Executable(program, options, without, depths)

    def listing(self, executable: Executable) -> dict[str, str]:
        """Nothing: the interpreter runs the tasks as they are."""
        return {}

    def launch(self, executable: Executable, scalars: Sequence[Any], bindings: Bindings) -> Sequence[Any]:
        self.launches += 1
        options = executable.options
        how = interpreter.RunOptions(debug=options.debug, seed=options.random_seed, launch=self.launches)
        program = executable.without if bindings.sized else executable.program
        return interpreter.run(program, {**bindings.storages, **executable.depths}, scalars, options=how)

    def shortcut(self, executable: Executable, wanted: Shortcut) -> None:
        """None: the interpreter is Python."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        try:
            return np.zeros(shape, dtype.numpy)
        except (MemoryError, ValueError) as error:
            raise AdstackMemoryError(f"no memory for {dtype} of shape {shape}: {error}") from error

    def adopt(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return array

    def free(self, storage: Any) -> None:
        """Python frees it."""

    def host_view(self, storage: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return storage

    def download(self, storage: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.array(storage)

    def upload(self, storage: npt.NDArray[Any], array: npt.NDArray[Any]) -> None:
        storage[...] = array
