"""Ndarrays: arrays that are passed to kernels as arguments."""

from __future__ import annotations

import copy
import ctypes
import itertools
from operator import attrgetter
from typing import Any, Final, cast
from weakref import ref

from ..absent import with_absent
from ..errors import AdstackRuntimeError
from ..ir.structure import Place
from ..ir.types import DType
from ..runtime import state
from ..runtime.memory.buffers import Buffer
from ..runtime.protocol.words import BESIDE, TAG
from ..runtime.threads.guards import invalidate
from .field_options import element_dtype
from .hostarrays import HostArray
from .hostvalues import extents

__all__ = ["Ndarray", "make_ndarray"]

ROLES: Final = ("grad", "dual")
"""What may stand beside an array."""

_numbers = itertools.count()
_MARKS: dict[tuple[object, ...], int] = {}
"""A number for each signature."""


@with_absent("an ndarray")
class Ndarray(HostArray):
    """An array of scalars, vectors or matrices in the backend's memory.

    Attributes:
        dtype: element type.
        element_shape: () for scalars, (n,) for vectors, (n, m) for matrices.
    """

    WHAT = "ndarray"
    record_address: int = 0
    """For machine code: see `runtime.shortcuts`."""

    def __init__(
        self,
        dtype: DType,
        shape: tuple[int, ...],
        element_shape: tuple[int, ...] = (),
        primal: Ndarray | None = None,
        role: str = "primal",
    ) -> None:
        runtime = state.current()
        self.dtype = dtype
        self.element_shape = element_shape
        self._grad: Ndarray | None = None
        self._dual: Ndarray | None = None
        self._of = None if primal is None else primal.unique
        self._beside: ref[Ndarray] | None = None if primal is None else ref(primal)
        self.role = role
        self.unique: str = f"ndarray_{next(_numbers)}" if primal is None else f"{primal.unique}.{role}"
        self._shape = shape
        self._offset = (0,) * len(shape)
        self._buffer: Buffer | None = self._attach(Buffer(runtime.backend, dtype, shape + element_shape))
        runtime.adopt(self, is_data=True)

    @property
    def primal(self) -> Ndarray | None:
        """The array that it is the gradient or dual of, until that is collected; None for other arrays."""
        return None if self._beside is None else self._beside()

    @property
    def grad(self) -> Ndarray | None:
        """Its gradient, an Ndarray of the same shape, or None."""
        return self._grad

    @grad.setter
    def grad(self, grad: Ndarray | None) -> None:
        self._grad = grad
        self._unmark()

    @property
    def dual(self) -> Ndarray | None:
        """Its dual, an Ndarray of the same shape, or None; that of a gradient is made when it is first asked for."""
        primal = self.primal
        if self._dual is None and self.role == "grad" and primal is not None and primal.has_dual():
            self._dual = Ndarray(self.dtype, self._shape, self.element_shape, primal, "grad.dual")
        return self._dual

    @dual.setter
    def dual(self, dual: Ndarray | None) -> None:
        self._dual = dual
        self._unmark()

    def _unmark(self) -> None:
        """Something else belongs to it: machine code, and what has been noted of calls, does not hold any more."""
        if self.record_address:
            self.record_address = 0
            invalidate()

    def marked(self) -> int:
        """The mark of its signature, which machine code finds in the buffer's record from now on; 0 if it can't."""
        capabilities = self.buffer.backend.capabilities
        if not (capabilities.direct or capabilities.addressed or capabilities.shortcuts):
            return 0
        if self.buffer.is_ordered:
            return 0
        if self._grad is not None and not self._grad.marked():
            return 0
        record = self.buffer.record()
        record[BESIDE] = 0 if self._grad is None else self._grad.record_address
        record[TAG] = _MARKS.setdefault(self.signature, len(_MARKS) + 1)
        self.record_address = ctypes.addressof(record)
        return record[TAG]

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for ndarrays that array parameters treat alike."""
        return self.dtype, len(self._shape), self.element_shape, self.grad is not None, self._dual is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the index axes."""
        return self._shape

    @property
    def n(self) -> int:
        """Length of the vectors, rows of the matrices; AttributeError for an array of numbers."""
        return self._extent(0)

    @property
    def m(self) -> int:
        """Columns of the matrices; 1 for vectors."""
        return self._extent(1)

    def _extent(self, axis: int) -> int:
        if not self.element_shape:
            raise AttributeError("an ndarray of numbers has no n and m: those of vectors and matrices have")
        return (*self.element_shape, 1)[axis]

    @property
    def offset(self) -> tuple[int, ...]:
        """The least index of each axis: zeros."""
        return self._offset

    @property
    def label(self) -> str:
        """What messages call it."""
        return "the ndarray"

    @property
    def buffer(self) -> Buffer:
        """The memory of its elements; AdstackRuntimeError if the runtime that it was made in has ended."""
        buffer = self._buffer
        if buffer is None:
            raise AdstackRuntimeError(
                "the ndarray was made before reset() or init() and its data is gone", do="make it again"
            )
        return buffer

    @property
    def name(self) -> str:
        """Part of `specs.FieldLike`, for ndarrays that a kernel captures; they have no name."""
        return ""

    @property
    def is_placed(self) -> bool:
        """Whether the data is still there."""
        return self._buffer is not None

    def has_data(self) -> bool:
        """Whether the data is still there."""
        return self.is_placed

    @property
    def place(self) -> Place:
        """The place it is in the IR of a kernel that captures it instead of taking it as an argument."""
        shape = self.shape + self.element_shape
        return Place(self.unique, self.dtype, shape, "field", self.role, self._of, "ndarray")

    def has_grad(self) -> bool:
        """Whether it was made with `needs_grad=True`."""
        return self.grad is not None

    def has_dual(self) -> bool:
        """Whether it was made with `needs_dual=True`."""
        return self._dual is not None

    def drop(self) -> None:
        """Free the memory; the array can't be used any more."""
        self.disconnect()
        if self._buffer is not None:
            self._buffer.drop()
        self._buffer = None
        self.record_address = 0

    def __copy__(self) -> Ndarray:
        """Another array with the same contents, those of its gradient and dual included."""
        return _duplicate(self)

    def __deepcopy__(self, memo: dict[int, object]) -> Ndarray:
        """As `__copy__`; in a copied structure that also holds the gradient, the copy's gradient stands there."""
        primal = self.primal
        if primal is not None:
            return cast(Ndarray, attrgetter(self.role)(copy.deepcopy(primal, memo)))
        duplicate = _duplicate(self)
        for role in ROLES:
            if getattr(self, role) is not None:
                memo[id(getattr(self, role))] = getattr(duplicate, role)
        return duplicate

    def __reduce__(self) -> tuple[object, ...]:
        primal = self.primal
        if primal is not None:
            return _beside, (primal, self.role)
        beside = {role: getattr(self, role) for role in ROLES}
        contents = {role: array.buffer.read() for role, array in beside.items() if array is not None}
        return _restored, (self.dtype, self.shape, self.element_shape, self.buffer.read(), contents)

    def __repr__(self) -> str:
        element = f" of {self.element_shape}" if self.element_shape else ""
        return f"<adstack ndarray: {self.dtype}{element}, shape {self.shape}>"


def _beside(array: Ndarray, role: str) -> Any:
    """What stands beside an array that was pickled."""
    return attrgetter(role)(array)


def _duplicate(array: Ndarray) -> Ndarray:
    """An array of its own with the same contents, gradient and dual included."""
    grad, dual = array.grad is not None, array.dual is not None
    duplicate = make_ndarray(array.dtype, array.shape, array.element_shape, grad, dual)
    duplicate.copy_from(array)
    for role in ROLES:
        if getattr(array, role) is not None:
            getattr(duplicate, role).copy_from(getattr(array, role))
    return duplicate


def _restored(
    dtype: DType, shape: tuple[int, ...], element_shape: tuple[int, ...], primal: object, contents: dict[str, object]
) -> Ndarray:
    """The array that was pickled, in the memory of the runtime in use."""
    array = make_ndarray(dtype, shape, element_shape, "grad" in contents, "dual" in contents)
    array.buffer.write(primal)
    for role, values in contents.items():
        getattr(array, role).buffer.write(values)
    return array


def make_ndarray(
    dtype: object,
    shape: object,
    element_shape: tuple[int, ...] = (),
    needs_grad: bool = False,
    needs_dual: bool = False,
) -> Ndarray:
    """An ndarray of zeros, with a gradient and a dual of zeros if asked for.

    Args:
        dtype: the scalar type of its elements.
        shape: the extents of the index axes, an integer or a sequence of integers.
        element_shape: () for scalars, (n,) for vectors, (n, m) for matrices.
        needs_grad: whether an array of gradients of the same shape stands beside it.
        needs_dual: the same for duals.

    Raises:
        AdstackRuntimeTypeError: if the type can't be used, or has no gradients.
        AdstackArgumentError: if the shape can't be used.
        AdstackMemoryError: if no memory holds so many elements.
    """
    scalar = element_dtype(dtype, "ndarray", needs_grad or needs_dual)
    axes = extents("an ndarray", shape, least=0)
    array = Ndarray(scalar, axes, tuple(element_shape))
    if needs_grad:
        array.grad = Ndarray(scalar, axes, array.element_shape, array, "grad")
    if needs_dual:
        array.dual = Ndarray(scalar, axes, array.element_shape, array, "dual")
    return array
