"""What every backend offers to the runtime. What only some can do besides stands in `abilities.py`.

A backend is a package of five modules: `capability`, `layout`, `codegen`, `toolchain`, `runtime`. The last one has
`probe() -> Probe` and `open_device() -> Backend`; `registry.BACKENDS` has a line that says where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ...ir.ops import APART
from ...ir.structure import Program
from ...ir.types import ALL, DType
from ..adstacks.heap import Storage, TaskUse
from .options import Options

__all__ = [
    "KINDS",
    "Array",
    "Backend",
    "Bindings",
    "Capabilities",
    "Executable",
    "Probe",
    "Scalar",
    "Scalars",
    "Storage",
    "Unavailable",
]

Array: TypeAlias = npt.NDArray[Any]
"""Elements as numpy has them, of whatever type the memory is of."""

Executable: TypeAlias = Any
"""What a backend made of a program: a handle like `Storage`."""

Scalar: TypeAlias = bool | int | float
"""A scalar argument, or a scalar that a program returns."""

Scalars: TypeAlias = Sequence[Scalar]
"""One for each scalar parameter of a program, or for each result."""

KINDS: Final = ("native", "software", "emulated", "compiled only")
"""How a target is executed: on the hardware it is for, by a driver on the CPU, by an emulator, not at all."""


@dataclass(frozen=True)
class Capabilities:
    """What a probe found.

    Attributes:
        name: the arch.
        kind: one of `KINDS`.
        device: what it runs on, in words.
        direct: whether the host addresses its memory, and launches have finished when they return.
        addressed: whether memory that the host does not address has addresses that it can hand to a launch.
        shortcuts: whether calls with arrays may be served without Python though the memory is neither.
        claims: whether threads take rows of the adstack heap only when they come to push (`stack.claim`).
        races: whether it looks for races itself in debug mode.
        holds: whether what an inner loop adds to one element is added up in a register first (see `loops/hold.py`).
        sums: how it can add up what iterations share, of `ir.ops.WAYS`, besides by atomics.
        wide_atomics: whether integers of 64 bits are updated atomically.
        dlpack: what DLPack calls such memory: the kind of device, and its number.
        dtypes: element types it computes with.
        details: anything else worth showing: versions, limits.
    """

    name: str
    kind: str
    device: str
    direct: bool = False
    addressed: bool = False
    shortcuts: bool = False
    claims: bool = False
    races: bool = False
    holds: bool = False
    sums: tuple[str, ...] = APART
    wide_atomics: bool = True
    dlpack: tuple[int, int] | None = None
    dtypes: tuple[DType, ...] = ALL
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Unavailable:
    """Why a backend can't be used here, and what would help."""

    name: str
    reason: str
    fix: str


Probe = Capabilities | Unavailable


@dataclass(slots=True)
class Bindings:
    """What a launch works on.

    Attributes:
        storages: place name -> the backend's memory handle, for every "field" and "ndarray" place of the program.
        shapes: place name -> extents, element axes included.
        sized: the depths of adstacks are what they were in the last launch of this executable: its sizers can be left
            out.
    """

    storages: dict[str, Storage]
    shapes: dict[str, tuple[int, ...]]
    sized: bool = False


class Backend(Protocol):
    """One opened device: what every backend offers. `abilities` has what only some do."""

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def launches(self) -> int:
        """How many launches there were; it numbers them."""

    def compile(self, program: Program, options: Options) -> Executable:
        """Make the program runnable."""

    def listing(self, executable: Executable) -> dict[str, str]:
        """What the backend made of a program, for people: title -> text."""

    def launch(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        """Run all tasks in order; the program's returned scalars come back (which waits), if it has any."""

    def adstacks(self, executable: Executable) -> Sequence[TaskUse]:
        """The heap of each task with adstacks, as it was laid out last."""

    def synchronize(self) -> None:
        """Wait until everything launched has finished; raise what went wrong in it."""

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Storage:
        """Zeroed memory; AdstackMemoryError if there isn't enough."""

    def adopt(self, array: Array) -> Storage | None:
        """Memory of the host (C-contiguous) as a handle that `launch` takes, or None if the device can't address it."""

    def free(self, storage: Storage) -> None: ...

    def address(self, storage: Storage) -> int:
        """The address at which a launch finds the memory; 0 where only the backend can use it."""

    def host_view(self, storage: Storage) -> npt.NDArray[np.generic] | None:
        """The memory as a numpy array, all launches finished; None if the host can't address it, or is slow to."""

    def download(self, storage: Storage) -> npt.NDArray[np.generic]:
        """A copy of the contents, all launches finished."""

    def upload(self, storage: Storage, array: npt.NDArray[np.generic]) -> None:
        """Replace the contents by an array of the same dtype and shape."""
