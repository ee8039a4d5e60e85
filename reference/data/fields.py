"""Fields: global arrays that kernels see by name, with optional gradient and dual companions."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ..absent import with_absent
from ..errors import AdstackArgumentError, AdstackRuntimeError, AdstackRuntimeTypeError
from ..ir.structure import Place
from ..ir.types import DType
from ..runtime import state
from ..runtime.memory.buffers import Array, Buffer
from ..runtime.memory.copying import Uncopied
from ..runtime.threads.runtime_lock import RUNTIME_LOCK
from ..values.calling import takes
from .components import ComponentField
from .field_options import Layout, check_layout, check_order, element_dtype, offsets
from .hostarrays import HostArray
from .hostvalues import columns, extents
from .levels import Cells, Node
from .placement import LEVELS, Of, Placement, Spot, check_beside, placed

__all__ = ["Field", "Layout", "MatrixField", "ScalarField", "make_field"]

_numbers = itertools.count()


@with_absent("a field")
class Field(Uncopied, HostArray):
    """A scalar field, or one of vectors or matrices; see `adstack.values.specs.FieldLike`.

    Attributes:
        role: what it is of its field: "primal", "grad", "dual", or "grad.dual" for the tangents of the gradient.
        across: of a gradient, the dual of the same field: where both have memory, the gradient has a dual of its own.
    """

    WHAT = "field"
    COPY_WHAT = "a field"
    COPY_DO = "make another field, and copy the contents with copy_from(), or with to_numpy() and from_numpy()"

    def __init__(
        self,
        dtype: DType,
        element_shape: tuple[int, ...],
        name: str = "",
        of: Of | None = None,
        role: str = "primal",
    ) -> None:
        self.dtype = dtype
        self.element_shape = element_shape
        self.name = name
        self.role = role
        self.spot: Spot = Spot()
        self._of = of
        self.grad: Field | None = None
        self.own_dual: Field | None = None
        self.across: Field | None = None
        self.follows = False
        self._buffer: Buffer | None = None
        self._dropped = self._is_destroyed = False
        if not isinstance(name, str):
            raise AdstackRuntimeTypeError(
                f"the name of a field is a string, got {name!r}", do="leave it out, or quote it"
            )
        stem = re.sub(r"\W", "_", name) or "field"
        self.unique: str = f"{of.unique}.{role}" if of else f"{stem}_{next(_numbers)}"
        state.current().adopt(self, is_data=True)

    # ---- placement

    @property
    def dual(self) -> Field | None:
        """The field of its tangents; that of a gradient is made when it is first asked for, once it can be."""
        if self.own_dual is None and self.across is not None and self.across.is_placed and self.is_placed:
            self.own_dual = type(self)(self.dtype, self.element_shape, of=self._of, role=f"{self.role}.dual")
            self.own_dual.follows = True
        return self.own_dual

    @dual.setter
    def dual(self, dual: Field | None) -> None:
        self.own_dual = dual

    @property
    def placement(self) -> Placement | None:
        """Where it was placed; a companion that was asked for follows its primal."""
        if self.spot.placement is None and self.follows and self._of is not None:
            return self._of.spot.placement
        return self.spot.placement

    def put(self, placement: Placement) -> None:
        """Place the field at a `placement`, once.

        AdstackRuntimeError if it is placed already, or a gradient or dual would not have all elements that it needs.
        """
        if self.spot.placement is not None:
            raise AdstackRuntimeError(f"{self.label} is placed already", do="make another field")
        if self._of is None:
            for companion in self.companions():
                check_beside(companion.label, companion.spot.placement, self.label, placement)
        else:
            check_beside(self.label, placement, self._of.label, self._of.spot.placement)
        self.spot.placement = placement
        placed(self.role)

    @property
    def is_placed(self) -> bool:
        """Whether the field has a shape and may be used."""
        placement = self.placement
        return placement is not None and placement.ready and not self._dropped

    def _usable(self) -> Placement:
        if self._dropped:
            how = "was destroyed with its layout" if self._is_destroyed else "was made before reset() or init()"
            raise AdstackRuntimeError(f"{self.label} {how} and its data is gone", do="make it again")
        placement = self.placement
        if placement is None:
            raise self.unplaced()
        if not placement.ready:
            raise AdstackRuntimeError(f"the FieldsBuilder of {self.label} is not finalized", do="call finalize() first")
        return placement

    def unplaced(self) -> AdstackRuntimeError:
        """The error for using the field while it has no shape."""
        if self._of is not None:
            return AdstackRuntimeError(
                f"{self.label} has not been placed, check whether `needs_{self.role}=True` is set",
                do=f"make the field with needs_{self.role}=True, call root.lazy_{self.role}(), or place it",
            )
        return AdstackRuntimeError(
            f"{self.label} has not been placed: it has no shape", do="give it a shape, or place it under qd.root"
        )

    # ---- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the index axes; AdstackRuntimeError if the field is not placed, or its runtime has ended."""
        return self._usable().shape

    @property
    def offset(self) -> tuple[int, ...]:
        """The least index of each axis, 0 unless the program gave another one."""
        return self._usable().offset

    @property
    def cells(self) -> tuple[Cells, ...]:
        """The cells of sparse levels that its elements lie in, from the root down; none if every element is active."""
        node = self._usable().node
        return () if node is None else node.cells

    @property
    def is_sparse(self) -> bool:
        """Whether most of its elements may never be written."""
        return bool(self.cells)

    @takes("parent")
    def parent(self, n: int = 1) -> Node:
        """The level where it was placed, or for `n` > 1 the one `n - 1` levels above.

        That of a field with a shape of its own is a dense one below the root. AdstackRuntimeError if there is none.
        """
        node = self.snode.parent(n)
        if node is None:
            raise AdstackRuntimeError(f"{self.label} has no level {n} above it", do="ask for one of its levels")
        return node

    @property
    def snode(self) -> Node:
        """The field as a level of its layout: its parent is the level where it was placed."""
        placement = self._usable()
        if placement.leaf is None:
            placement.leaf = LEVELS[0](self)
        return placement.leaf

    def append(self, value: object) -> Any:
        """In a kernel, where the field is one list: add an element `value`; its position. On the host an error."""
        raise _of_kernels("append")

    def length(self) -> Any:
        """In a kernel, where the field is one list: how many elements it has; on the host an error."""
        raise _of_kernels("length")

    def deactivate(self) -> None:
        """In a kernel, where the field is one list: make it empty; on the host an error."""
        raise _of_kernels("deactivate")

    @property
    def label(self) -> str:
        """What messages call it."""
        if self._of is not None:
            return f"{self._of.label}.{self.role}"
        return f"field {self.name}" if self.name else "a field"

    @property
    def place(self) -> Place:
        """The place that stands for it in the IR."""
        return Place(
            self.unique,
            self.dtype,
            self.shape + self.element_shape,
            "field",
            self.role,
            None if self._of is None else self._of.unique,
            f"{self._of.name or 'field'}.{self.role}" if self._of else self.name,
        )

    @property
    def buffer(self) -> Buffer:
        """The memory of its elements, of shape `shape + element_shape`, zeroed when it is first asked for."""
        buffer = self._buffer
        if buffer is None:
            with RUNTIME_LOCK.lock:  # the runtime does not end meanwhile, and only one thread makes memory
                if self._buffer is None:
                    shape = self._usable().shape + self.element_shape
                    self._cells = self.cells
                    buffer = Buffer(state.current().backend, self.dtype, shape, by_page=self.is_sparse)
                    self._buffer = self._attach(buffer)
                buffer = self._buffer
        return buffer

    def has_data(self) -> bool:
        """Whether the field has memory yet: it gets it at its first use, and is zero until then."""
        return self._buffer is not None

    def has_grad(self) -> bool:
        """Whether there is memory for the gradient."""
        return self.grad is not None and self.grad.is_placed

    def has_dual(self) -> bool:
        """Whether there is memory for the dual."""
        return self.dual is not None and self.dual.is_placed

    def drop(self, *, destroyed: bool = False) -> None:
        """Free the memory; the field can't be used any more, as messages say, who are told who destroyed it."""
        self._dropped = True
        self._is_destroyed = destroyed
        placed()
        self.disconnect()
        if self._buffer is not None:
            self._buffer.drop()
        self._buffer = None

    def companions(self) -> tuple[Field, ...]:
        """The gradient and the dual, where the dtype allows them, and the dual of the gradient if there is one."""
        second = None if self.grad is None else self.grad.own_dual
        return tuple(c for c in (self.grad, self.own_dual, second) if c is not None)

    def __str__(self) -> str:
        return super().__str__() if self.is_placed else repr(self)

    def __repr__(self) -> str:
        where = f"shape {self.shape}" if self.is_placed else "not placed"
        element = f" of {self.element_shape}" if self.element_shape else ""
        return f"<adstack {self.label}: {self.dtype}{element}, {where}>"


def _of_kernels(name: str) -> AdstackRuntimeError:
    return AdstackRuntimeError(
        f"{name}() has a meaning only in a kernel",
        do="on the host use qd.length(x.parent()), x[i] = v, deactivate_all()",
    )


class ScalarField(Field):
    """A field of numbers."""

    if TYPE_CHECKING:  # programs know whether they have made these
        grad: Any
        dual: Any


class MatrixField(Field):
    """A field of vectors (n,) or matrices (n, m)."""

    if TYPE_CHECKING:
        grad: Any
        dual: Any

    @property
    def n(self) -> int:
        """Length of the vectors, rows of the matrices."""
        return self.element_shape[0]

    @property
    def m(self) -> int:
        """Columns; 1 for vectors."""
        return self.element_shape[1] if len(self.element_shape) == 2 else 1

    @property
    def ndim(self) -> int:
        """Number of axes of an element."""
        return len(self.element_shape)

    @takes("to_numpy")
    def to_numpy(  # type: ignore[override]  # the order of arguments in existing programs
        self, keep_dims: bool = False, dtype: npt.DTypeLike | None = None, copy: bool = True
    ) -> Array:
        """The elements as a numpy array of shape `shape + element_shape`.

        Args:
            keep_dims: whether the array has an axis for columns where there is one, for vectors as for n x 1 matrices.
            dtype: as for a field of numbers.
            copy: as for a field of numbers.
        """
        array: Array = columns(self._numpy(dtype, copy), self.element_shape, keep_dims)
        return array

    @takes("to_torch")
    def to_torch(  # type: ignore[override]  # the order of arguments in existing programs
        self, device: object = None, keep_dims: bool = False, copy: bool = True
    ) -> Any:
        """The elements as a torch tensor, with `keep_dims` as for `to_numpy`; see there, and `Field.to_torch`."""
        return columns(super().to_torch(device, copy), self.element_shape, keep_dims)

    @takes("get_scalar_field")
    def get_scalar_field(self, *indices: int) -> ComponentField:
        """One number of every element, as a field; AdstackIndexError if they have no number at these indices."""
        return ComponentField(self, indices)


def make_field(
    dtype: object,
    shape: object = None,
    element_shape: tuple[int, ...] = (),
    order: str | None = None,
    name: str = "",
    offset: object = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: object = None,
) -> Field:
    """A field of elements of `element_shape`; without a shape it is to be placed under `root`.

    `order`, the order of axes in memory, and the `layout` of elements are accepted for existing programs:
    where what stands in memory is adstack's own business.
    """
    scalar = element_dtype(dtype, "field", needs_grad or needs_dual)
    if offset is not None and shape is None:
        raise AdstackArgumentError("an offset needs a shape", do="give the offset to place()")
    kind = MatrixField if element_shape else ScalarField
    field = kind(scalar, tuple(element_shape), name)
    if scalar.is_float:
        of = Of(field.unique, field.name, field.label, field.spot)
        field.grad = kind(scalar, field.element_shape, of=of, role="grad")
        field.dual = field.grad.across = kind(scalar, field.element_shape, of=of, role="dual")
        field.grad.follows, field.dual.follows = needs_grad, needs_dual
    check_layout(layout)
    if shape is not None:
        axes = extents("a field", shape, least=1)
        check_order(order, len(axes))
        field.put(Placement(axes, offsets(offset, len(axes)), own=True))
    return field
