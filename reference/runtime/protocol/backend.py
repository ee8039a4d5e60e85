"""What every backend offers to the runtime. What only some can do besides stands in `abilities.py`.

A backend is a package of five modules: `capability`, `layout`, `codegen`, `toolchain`, `runtime`. The last one has
`probe(device) -> Probe` and `open_device(device) -> Backend`; `registry.BACKENDS` has a line that says where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ...ir.ops import APART
from ...ir.structure import Program
from ...ir.types import ALL, Array, DType
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
    "only_device",
]


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
        gathers: whether loops that add to neighbours run over the elements instead (see `tasks/gather.py`).
        stages: whether memory is slow to hand out, so that copies of arguments keep theirs (`memory/staging.py`).
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
    gathers: bool = False
    stages: bool = False
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


def only_device(arch: str, device: str) -> Unavailable | None:
    """Why an arch that has one device, number 0, has not the device asked for; None if it is that one."""
    if device in ("", "0"):
        return None
    return Unavailable(arch, f"it has one device, and device={device!r} was asked for", "leave out device")


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
    def capabilities(self) -> Capabilities:
        """What the device can do."""

    @property
    def launches(self) -> int:
        """How many launches there were; it numbers them."""

    def compile(self, program: Program, options: Options) -> Executable:
        """Make a program runnable.

        Args:
            program: the tasks of a kernel, in order.
            options: what `init` was told.

        Returns:
            a handle, which is only passed back to the backend.

        Raises:
            BackendUnavailableError: if the device can't do what the program needs, such as keep a type in memory.
        """

    def listing(self, executable: Executable) -> dict[str, str]:
        """What the backend made of a compiled program, for people: title -> text."""

    def launch(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        """Run all tasks of a compiled program in order.

        The host need not wait for them: what goes wrong in a launch that is under way is raised by what waits for it.

        Args:
            executable: what `compile` gave.
            scalars: one number for each scalar parameter of the program, in their order.
            bindings: the memory and the shapes of its places.

        Returns:
            the scalars that the program returns, for which it waits; none if the program returns nothing.

        Raises:
            HeapLimit: if the adstacks of one thread of a task find no room.
            AdstackError: one of its kinds, if the program did something that is an error (`shared.reports`).
        """

    def adstacks(self, executable: Executable) -> Sequence[TaskUse]:
        """The heap of each task of a compiled program that has adstacks, as it was laid out last."""

    def synchronize(self) -> None:
        """Wait until everything launched has finished; raise what went wrong in it."""

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Storage:
        """Make memory of zeros.

        Args:
            dtype: the type of its elements.
            shape: their extents, of vectors and matrices too; an extent may be 0.

        Returns:
            a handle, which is only passed back to the backend.

        Raises:
            AdstackMemoryError: if there isn't enough memory.
            BackendUnavailableError: if the device does not keep such elements.
        """

    def adopt(self, array: Array) -> Storage | None:
        """A handle of memory of the host, which `launch` takes like memory of `allocate`.

        Args:
            array: C-contiguous elements, shared with their owner and not copied. The handle keeps them alive.

        Returns:
            the handle, or None if the device can't address the memory.
        """

    def free(self, storage: Storage) -> None:
        """Give back the memory of a handle; nothing refers to it any more."""

    def address(self, storage: Storage) -> int:
        """The address at which a launch finds the memory of a handle; 0 where only the backend can use it."""

    def host_view(self, storage: Storage) -> npt.NDArray[np.generic] | None:
        """The memory of a handle as a numpy array of its type and shape, all launches finished.

        None if the host can't address it, or is slow to: then `download` and `upload` move it.
        """

    def download(self, storage: Storage) -> npt.NDArray[np.generic]:
        """A copy of the contents of a handle's memory, of its type and shape, all launches finished."""

    def upload(self, storage: Storage, array: npt.NDArray[np.generic]) -> None:
        """Replace the contents of a handle's memory by an array of the same dtype and shape."""
