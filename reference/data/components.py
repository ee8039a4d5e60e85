"""One number of every element of a field of vectors or matrices, seen as a field of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..absent import missing
from ..errors import AdstackArgumentError, AdstackIndexError, AdstackRuntimeTypeError
from ..ir.types import DType
from ..runtime.memory.buffers import Array
from ..runtime.memory.copying import Uncopied
from ..values.calling import methods_take
from .hostarrays import HostArray
from .hostvalues import as_array
from .levels import Node

__all__ = ["ComponentField"]


@methods_take
class ComponentField(Uncopied):
    """`v.get_scalar_field(k)`: its elements are the numbers `v[i][k]`, which kernels and the host read and write there.

    Attributes:
        field: the field of vectors or matrices.
        at: which number of an element it is: one index for each axis of an element.

    AdstackIndexError if the elements have no such number.
    """

    COPY_WHAT = "a component of a field"
    COPY_DO = "copy its numbers with to_numpy()"

    def __init__(self, field: Any, at: tuple[int, ...]) -> None:
        extents = field.element_shape
        inside = (isinstance(k, int) and 0 <= k < n for k, n in zip(at, extents, strict=False))
        if len(at) != len(extents) or not all(inside):
            raise AdstackIndexError(
                f"the elements of {field.label} have no number at {at}",
                do=f"give an index for each of their axes, of extents {extents}",
            )
        self.field = field
        self.at = at
        self._everywhere: tuple[Any, ...] = (Ellipsis, *at)

    # ---- what it is

    @property
    def dtype(self) -> DType:
        """The type of its numbers."""
        return self.field.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the index axes."""
        return self.field.shape  # type: ignore[no-any-return]

    @property
    def offset(self) -> tuple[int, ...]:
        """The least index of each axis."""
        return self.field.offset  # type: ignore[no-any-return]

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"{self.field.label}[...]{list(self.at)}"

    @property
    def grad(self) -> ComponentField | None:
        """The same number of the gradients; None if the field has none."""
        return None if self.field.grad is None else ComponentField(self.field.grad, self.at)

    @property
    def dual(self) -> ComponentField | None:
        """The same number of the duals; None if the field has none."""
        return None if self.field.dual is None else ComponentField(self.field.dual, self.at)

    def parent(self, n: int = 1) -> Node:
        """See `Field.parent`."""
        return self.field.parent(n)  # type: ignore[no-any-return]

    @property
    def snode(self) -> Node:
        """See `Field.snode`."""
        return self.field.snode  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> object:
        raise missing("a component of a field", name, dir(ComponentField), "ask the field of vectors or matrices")

    def __repr__(self) -> str:
        return f"<adstack {self.label}: {self.dtype}>"

    def __adstack_described__(self) -> str:
        return f"a component of a field ({self.dtype})"

    # ---- its numbers

    @property
    def _index(self) -> int | tuple[int, ...]:
        return self.at[0] if len(self.at) == 1 else self.at

    def __getitem__(self, key: object) -> Any:
        return self.field[key][self._index]

    def __setitem__(self, key: object, value: object) -> None:
        self.field[key][self._index] = value

    def to_numpy(self, dtype: npt.DTypeLike | None = None, copy: bool = True) -> Array:
        """Its numbers as a numpy array of its shape; see `HostArray.to_numpy`."""
        numbers: Array = HostArray.to_numpy(self.field, dtype, copy)[self._everywhere]
        return np.array(numbers) if copy else numbers

    def from_numpy(self, array: object) -> None:
        """Replace all its numbers; see `HostArray.from_numpy`."""
        numbers = as_array(array)
        if numbers.shape != self.shape:
            raise AdstackArgumentError(f"{self.label} has the shape {self.shape}, got {numbers.shape}")
        whole = HostArray.to_numpy(self.field)
        whole[self._everywhere] = numbers
        self.field.from_numpy(whole)

    def fill(self, value: object) -> None:
        """Set all its numbers to `value`."""
        if self.field.cells:
            raise AdstackArgumentError(
                f"{self.label} is sparse: the host does not fill a component of what is active",
                do="call fill() in a kernel",
            )
        self.from_numpy(np.full(self.shape, value))

    def copy_from(self, other: object) -> None:
        """Replace its numbers by those of a field of numbers, an ndarray or another component of the same shape."""
        if not isinstance(other, (HostArray, ComponentField)):
            raise AdstackRuntimeTypeError(f"copy_from takes a field or an ndarray, got {type(other).__name__}")
        self.from_numpy(other.to_numpy())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.to_numpy(dtype)

    def __str__(self) -> str:
        return str(self.to_numpy())
