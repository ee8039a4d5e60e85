"""What fields and ndarrays share: elements read and written from the host, bulk copies, numpy, torch, DLPack."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..analysis.boxes import box_at
from ..errors import AdstackArgumentError, AdstackMemoryError, AdstackRuntimeError, AdstackRuntimeTypeError
from ..ir.types import DType
from ..runtime.memory.buffers import Array, Buffer
from ..runtime.threads.capturing import CAPTURING
from ..runtime.threads.recording import RECORDERS, host_wrote
from ..runtime.threads.runtime_lock import RUNTIME_LOCK
from ..values import linked
from ..values.calling import takes
from ..values.elements import Elements
from . import activation, dlpack, hostvalues
from .device_arrays import described
from .element_views import ElementView
from .levels import Cells
from .refusals import Refusals

__all__ = ["HostArray"]


_Read: TypeAlias = tuple[int, Any, tuple[int, ...] | None]
_Store: TypeAlias = tuple[int, tuple[int, ...], Any, Any, Any, float, float]
_NO_READ: Final[_Read] = (0, None, None)
_NO_STORE: Final[_Store] = (0, (), None, None, None, 0.0, 0.0)


class HostArray(Refusals, ABC):
    """An array of scalars, vectors or matrices of one dtype.

    Access to single elements is the hot path. While the host can address the memory, `_array` is that memory, `bounds`
    the (least index, extent) of each axis. For a scalar array whose axes start at 0 `_read` has what reads without
    further checks and the shape, and `_store` the shape, the memory as an array and as a buffer, and kind, least and
    greatest of the numbers that may be stored as they are; first stands the extent, where there is one axis. Each is a
    single tuple, as another thread may end direct access meanwhile.
    """

    WHAT: str = "array"
    dtype: DType
    element_shape: tuple[int, ...] = ()
    role: str = "primal"
    _array: Array | None = None
    bounds: tuple[tuple[int, int], ...] | None = None
    _read: _Read = _NO_READ
    _store: _Store = _NO_STORE
    _cells: tuple[Cells, ...] = ()
    """What `cells` gives, once there is memory."""

    @property
    def cells(self) -> tuple[Cells, ...]:
        """In which cells of sparse levels its elements lie, from the root on; none if it is dense."""
        return ()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Extents of the index axes."""

    @property
    @abstractmethod
    def offset(self) -> tuple[int, ...]:
        """The least index of each axis."""

    @property
    @abstractmethod
    def buffer(self) -> Buffer:
        """The memory; an error while there is none."""

    @abstractmethod
    def has_data(self) -> bool:
        """Whether there is memory by now."""

    @property
    @abstractmethod
    def label(self) -> str:
        """What to call this array in messages."""

    def _called(self) -> str:
        return self.label

    def __adstack_described__(self) -> str:
        return hostvalues.in_words(self.WHAT, self.element_shape, self.dtype)

    # ---- elements

    def __getitem__(self, key: object) -> Any:
        extent, item, shape = self._read
        if key.__class__ is int and 0 <= key < extent and not RECORDERS:
            return item(key)
        if shape is not None and not RECORDERS:
            at = hostvalues.inside(key, shape)
            if at is not None:
                return item(at)
        if self._array is None:
            self._reach()
        position = hostvalues.position(self, key)
        if self.element_shape:
            if RECORDERS:
                linked.looked_inside(self)
            return Elements.over(ElementView(self, position), self.element_shape, self.dtype)
        return self.number_at(position)

    def __setitem__(self, key: Any, value: Any) -> None:
        extent, shape, array, buffer, plain, low, high = self._store
        if value.__class__ is plain and low <= value <= high and not RECORDERS:
            at = key if key.__class__ is int and 0 <= key < extent else hostvalues.inside(key, shape)
            if at is not None:
                if buffer.watch is not None:
                    buffer.watch.before(buffer, "the host", (box_at(at if isinstance(at, tuple) else (at,), shape),))
                array[at] = value
                buffer.touch()
                return
        if self._array is None:
            self._reach()
        position = hostvalues.position(self, key)
        put = hostvalues.element if self.element_shape else hostvalues.scalar
        self.store_at(position, put(self, value), value)

    def contents(self) -> Array:
        """The contents, for reading; memory that the host addresses is looked up once."""
        if RECORDERS:
            linked.looked_at(self)
        array = self._array
        if array is None:
            array = self.buffer.read()
        return activation.shown(self, array) if self._cells else array

    def _reach(self) -> None:
        """Find the memory: direct access to it may have been given up while a graph was recorded."""
        buffer = self.buffer
        buffer.usable()
        if buffer.backend.capabilities.direct and not CAPTURING.anywhere():
            with RUNTIME_LOCK.lock:  # it is not dropped meanwhile
                self._attach(self.buffer)

    def number_at(self, position: tuple[int, ...]) -> Any:
        """The number at a `position` in memory, counted from 0: 0 in an inactive cell."""
        if self._cells and not activation.is_active(self._cells, position):
            return self.dtype(0)
        if RECORDERS:
            linked.looked_inside(self)
        array = self._array
        value = self.buffer.item(position) if array is None else array.item(position)
        return linked.read(self, position, value) if RECORDERS else value

    def store_at(self, position: tuple[int, ...], value: object, written: object) -> None:
        """Write `value`, of the array's type, at a `position` in memory; `written` is what the host wanted to write."""
        if self._cells:
            activation.activate(self._cells, position)
        buffer, array = self.buffer, self._array
        if array is None:
            buffer.put(position, value)
        else:
            with buffer.locked():
                buffer.announce((box_at(position, buffer.shape),))
                array[position] = value
                buffer.touch()
        if RECORDERS:
            linked.wrote(self, position, written)

    def _attach(self, buffer: Buffer) -> Buffer:
        """Prepare direct access to `buffer`, if it is in memory that the host may use at any time."""
        array = buffer.view() if buffer.backend.capabilities.direct else None
        self._array = array
        if array is None:
            return buffer
        self.bounds = tuple(zip(self.offset, self.shape, strict=True))
        if not (self.element_shape or any(self.offset) or self._cells):
            extent = len(array) if array.ndim == 1 else 0
            self._read = (extent, array.item, array.shape)
            self._store = (extent, array.shape, array, buffer, *hostvalues.storable(self.dtype))
        return buffer

    def connect(self) -> None:
        """Have direct access again, if there is memory."""
        if self.has_data():
            self._attach(self.buffer)

    def disconnect(self) -> None:
        """Give direct access up: every access asks for the memory."""
        self._read, self._store, self._array, self.bounds = _NO_READ, _NO_STORE, None, None

    # ---- all elements

    @takes("fill")
    def fill(self, val: object) -> None:
        """Set every element to `val`: a number, or a vector or matrix of the element's shape.

        Of a sparse field these are the active ones.
        """
        # one number for all is written in long rows, which copies of a short vector are not
        alike = not self.element_shape or isinstance(val, (bool, int, float))
        values = hostvalues.scalar(self, val) if alike else hostvalues.element(self, val)
        self._replace(values, val, activation.fill)

    def _replace(self, values: Any, written: object, sparse: Callable[[Any, Any], None]) -> None:
        """Write every element, by `sparse` in a sparse field; `written` is what the host wanted to write."""
        if self.cells:
            sparse(self, values)
        else:
            self.buffer.write(values)
        if RECORDERS:
            linked.wrote(self, ..., written)

    @takes("copy_from")
    def copy_from(self, other: HostArray) -> None:
        """Replace all elements by those of a field or ndarray of the same shape; AdstackRuntimeTypeError for others.

        Under a Tape and in forward mode derivatives are those of the elements that are copied.
        """
        if not isinstance(other, HostArray):
            raise AdstackRuntimeTypeError(
                f"copy_from takes a field or an ndarray, got {type(other).__name__}", do="use from_numpy() for arrays"
            )
        if RECORDERS and linked.is_linking(self, other):
            if self._is_like(other) and linked.copied(self, other, partial(self._take_over, other)):
                return
            contents = np.asarray(other.contents())
            self._replace(hostvalues.bulk(self, contents), _linked(other, contents.shape), activation.replace)
        elif not self._copied(other):
            self.from_numpy(other.contents())

    def _is_like(self, other: HostArray) -> bool:
        """Whether the other one has as many elements of the same type along each axis."""
        mine, others = ((one.dtype, one.shape, one.element_shape) for one in (self, other))
        return mine == others

    def _take_over(self, other: HostArray) -> Array | None:
        """Copy all elements of one that is like this one, and tell nobody; which of them were active, if not all."""
        if self.cells:
            activation.replace(self, np.array(other.contents()))
        elif other.cells or not self.buffer.copy_from(other.buffer):
            self.buffer.write(other.contents())
        return activation.present(other) if other.cells else None

    def _copied(self, other: HostArray) -> bool:
        """Let the device copy, if it can."""
        if RECORDERS:
            linked.looked_at(other)
        done = not (self.cells or other.cells) and self.buffer.copy_from(other.buffer)
        if done and RECORDERS:
            host_wrote(self, ...)
        return done

    @takes("to_numpy")
    def to_numpy(self, dtype: npt.DTypeLike | None = None, copy: bool = True) -> Array:
        """The elements as a numpy array of shape `shape + element_shape`.

        Args:
            dtype: the type of the numpy array; without it, that of the elements.
            copy: whether the array has memory of its own; if not, it shares the memory of this one.

        Raises:
            AdstackArgumentError: if the memory can't be shared, as it is a device's or of another type.
            AdstackMemoryError: if the host has no memory for a copy.
        """
        return self._numpy(dtype, copy)

    def _numpy(self, dtype: npt.DTypeLike | None = None, copy: bool = True) -> Array:
        """See `to_numpy`."""
        if self._array is None:
            self._reach()
        if copy:
            return self._array_of_its_own(dtype)
        self._check_shared()
        contents = self.contents()
        if contents is not self._array or (dtype is not None and np.dtype(dtype) != contents.dtype):
            raise AdstackArgumentError(
                f"{self.label} can't share its memory with numpy as {np.dtype(dtype or contents.dtype)}",
                do="leave copy=False out",
            )
        self.buffer.share()
        return contents

    def _array_of_its_own(self, dtype: npt.DTypeLike | None) -> Array:
        try:
            with self.buffer.locked(), np.errstate(all="ignore"):
                return np.array(self.contents(), dtype)
        except AdstackMemoryError:
            raise
        except MemoryError as error:
            raise AdstackMemoryError(
                f"the host has no memory for a copy of {self.label}: {error}",
                do="free memory, or look at single elements, or copy parts to a smaller field in a kernel",
            ) from error

    @takes("from_numpy")
    def from_numpy(self, arr: object) -> None:
        """Replace all elements by those of a numpy array of any layout, or of nested lists.

        Its shape is `shape + element_shape`. Numbers are converted as single ones are: see `memory.stores`.
        AdstackArgumentError if the shape is another one, or a number is out of range. Of a sparse field, what gets a
        number that is not 0 is activated.
        """
        listed = arr if isinstance(arr, (list, tuple)) else None
        self._replace(hostvalues.bulk(self, hostvalues.as_array(arr)), listed, activation.replace)

    @takes("to_torch")
    def to_torch(self, device: object = None, copy: bool = True) -> Any:
        """The elements as a torch tensor of shape `shape + element_shape`.

        Args:
            device: where the tensor is to be, as torch names it; without it, in the memory of the host, or with
                `copy=False` where the elements are.
            copy: whether the tensor has memory of its own; if not, it shares the memory of this array.

        Raises:
            AdstackArgumentError: if the memory can't be shared.
        """
        if not copy and self._array is None:
            return _torch().as_tensor(self, device="cuda" if device is None else device)
        tensor = _torch().from_numpy(self._numpy(copy=copy))
        return tensor if device is None else tensor.to(device)

    @takes("from_torch")
    def from_torch(self, arr: object) -> None:
        """Replace all elements by those of a torch tensor `arr` of shape `shape + element_shape`.

        AdstackRuntimeTypeError if it is no torch tensor; what else is refused, `from_numpy` says.
        """
        if not hasattr(arr, "detach"):
            raise AdstackRuntimeTypeError(f"from_torch takes a torch tensor, got {type(arr).__name__}")
        self.from_numpy(hostvalues.as_array(arr, lambda tensor: tensor.detach().cpu().numpy()))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How torch, cupy and numba share memory of a device; there is none elsewhere."""
        self._check_shared()
        return described(self.buffer)

    def _check_shared(self) -> None:
        """An error for memory that others may not write: they would activate nothing."""
        if self.cells:
            raise AdstackArgumentError(
                f"{self.label} is sparse and can't share its memory", do="use to_numpy() and from_numpy()"
            )

    def __dlpack__(self, **request: Any) -> Any:
        self._check_shared()
        if dlpack.device_of(self.buffer) is None:
            return self._numpy(copy=False).__dlpack__(**request)
        self.buffer.share()
        return dlpack.capsule(self.buffer, **request)

    def __dlpack_device__(self) -> Any:
        return dlpack.device_of(self.buffer) or self._numpy(copy=False).__dlpack_device__()

    @takes("to_dlpack")
    def to_dlpack(self, versioned: bool = False) -> Any:
        """A DLPack capsule that shares the memory; `versioned` is accepted, and it has no version in either case."""
        return self.__dlpack__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.to_numpy(dtype=dtype)

    def __str__(self) -> str:
        return str(self.to_numpy())


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise AdstackRuntimeError(f"torch can't be imported: {error}", do="install torch, or use to_numpy()") from error


def _linked(array: HostArray, shape: tuple[int, ...]) -> list[Any]:
    """All elements, as nested lists of numbers that know where they were; `shape` is that of the contents."""
    numbers = np.empty(shape, object)
    for position in np.ndindex(shape):
        numbers[position] = array.number_at(position)
    return [numbers.tolist()]
