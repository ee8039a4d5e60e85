"""What a backend must offer to the runtime. The runtime knows nothing else about one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ...ir.structure import Program
from ...ir.types import ALL, DType
from .options import Options

if TYPE_CHECKING:
    from ..adstacks.heap import TaskUse
    from .shortcuts import Shortcut

__all__ = [
    "KINDS",
    "Backend",
    "Bindings",
    "Capabilities",
    "Capturing",
    "Copying",
    "Counting",
    "Filling",
    "Marking",
    "Numbering",
    "Ordering",
    "Partial",
    "Probe",
    "Rebinding",
    "Reclaiming",
    "Unavailable",
]

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

    storages: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]
    sized: bool = False


@runtime_checkable
class Counting(Protocol):
    """A backend with shortcuts: it launches without Python, so it has to keep the numbers of launches."""

    def last_launch(self, executable: Any) -> int:
        """The number of the last launch of an executable; 0 if there was none."""

    def last_scalars(self, executable: Any) -> Sequence[Any]:
        """The scalar arguments of its last launch; None for floats."""


@runtime_checkable
class Numbering(Counting, Protocol):
    """One that keeps each of these numbers in one word, for machine code to compare."""

    def launch_word(self, executable: Any) -> int:
        """The address of the word with the number of its last launch."""


@runtime_checkable
class Marking(Protocol):
    """A backend that keeps for each memory which launch used it last; machine code of the host notes it as well."""

    def mark(self, storage: Any) -> int:
        """The address of the word where it is noted, which lives as long as the memory."""


@runtime_checkable
class Partial(Protocol):
    """A backend whose memory the host does not address, and may read and write in parts."""

    def download_at(self, storage: Any, start: int, count: int) -> npt.NDArray[np.generic]:
        """A flat copy of `count` elements from the `start`th on, all launches finished."""

    def upload_at(self, storage: Any, start: int, array: npt.NDArray[np.generic]) -> None:
        """Replace the elements from the `start`th on by those of a C-contiguous array."""


@runtime_checkable
class Copying(Protocol):
    """A backend that copies parts of its memory without the host: after what was queued before."""

    def copy_at(self, source: Any, start: int, target: Any, count: int) -> None:
        """Copy `count` elements from the `start`th on to the beginning of other memory of the same element type."""


@runtime_checkable
class Filling(Protocol):
    """A backend that fills its memory, and copies it, without the host: after what was queued before."""

    def fill(self, storage: Any, element: bytes) -> bool:
        """Let every element have these bytes; False if the device can't, and nothing has happened."""

    def copy(self, source: Any, target: Any) -> None:
        """Copy all elements to other memory of the same size."""


@runtime_checkable
class Reclaiming(Protocol):
    """A backend whose memory Python does not give back by itself."""

    def abandon(self, storage: Any) -> None:
        """Memory has lost its owner: give it back as soon as nothing uses it. May be called at any moment, on any
        thread, also in the middle of other work of the backend; raises nothing.
        """

    def reclaim(self) -> None:
        """Wait for the device, and have back all memory that was given back or abandoned."""

    def close(self) -> None:
        """The runtime ends, and everything has finished: give back what stays from launch to launch."""


@runtime_checkable
class Capturing(Protocol):
    """A backend that keeps launches, and does them again as one."""

    def capture(self, run: Callable[[], object], executables: Sequence[Any]) -> Any | None:
        """Call `run`, and keep what it launches. None if that can't be done again as one, or was not one launch of each
        of `executables`, in this order.
        """

    def repeat(self, graph: Any) -> bool:
        """Do it again, with numbers of launches of its own; False if there is no memory for it now."""

    def resize(self, graph: Any, number: int) -> None:
        """Compute how deep the adstacks of one of the launches must be; AdstackStaleBoundError if they have no room."""


@runtime_checkable
class Rebinding(Capturing, Protocol):
    """One that may hand what it has kept other arguments, so that each kernel can be such a thing."""

    def rebind(self, graph: Any, scalars: Sequence[Any], bindings: Bindings) -> bool:
        """Let a graph of one launch have other arguments; False if it would be another graph."""


@runtime_checkable
class Ordering(Protocol):
    """A backend on whose device others have streams of their own, known by their handles."""

    def wait_for(self, stream: int) -> None:
        """Let everything queued from now on come after what is in a stream."""

    def let_wait(self, stream: int) -> None:
        """Let everything that comes into a stream from now on come after what is queued."""


class Backend(Protocol):
    """One opened device. `adstack.backends.<name>.runtime` has `probe() -> Probe` and `open_device() -> Backend`."""

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def launches(self) -> int:
        """How many launches there were; it numbers them."""

    def compile(self, program: Program, options: Options) -> Any:
        """Make the program runnable; what comes back is only ever given to `launch` and `listing`."""

    def listing(self, executable: Any) -> dict[str, str]:
        """What the backend made of a program, for people: title -> text."""

    def launch(self, executable: Any, scalars: Sequence[Any], bindings: Bindings) -> Sequence[Any]:
        """Run all tasks in order; the program's returned scalars come back (which waits), if it has any."""

    def exclusively(self, work: Callable[[], None]) -> None:
        """Do work while no thread is about to launch, by machine code or otherwise, and none begins to."""

    def adstacks(self, executable: Any) -> Sequence[TaskUse]:
        """The heap of each task with adstacks, as it was laid out last."""

    def shortcut(self, executable: Any, wanted: Shortcut) -> Callable[..., Any] | None:
        """A callable for the calls described, if the backend can serve them without Python."""

    def synchronize(self) -> None:
        """Wait until everything launched has finished; raise what went wrong in it."""

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Any:
        """Zeroed memory; AdstackMemoryError if there isn't enough."""

    def adopt(self, array: npt.NDArray[Any]) -> Any | None:
        """Memory of the host (C-contiguous) as a handle that `launch` takes, or None if the device can't address it."""

    def free(self, storage: Any) -> None: ...

    def foreign(self, address: int, dtype: DType, shape: tuple[int, ...], owner: Any) -> Any:
        """Somebody else's memory at an address as a handle that keeps its owner alive; only asked of a backend whose
        memory is addressed.
        """

    def address(self, storage: Any) -> int:
        """Where a launch finds the memory; only asked for if it is direct or addressed, or there are shortcuts."""

    def host_view(self, storage: Any) -> npt.NDArray[np.generic] | None:
        """The memory as a numpy array, all launches finished; None if the host can't address it, or is slow to."""

    def download(self, storage: Any) -> npt.NDArray[np.generic]:
        """A copy of the contents, all launches finished."""

    def upload(self, storage: Any, array: npt.NDArray[np.generic]) -> None:
        """Replace the contents by an array of the same dtype and shape."""
