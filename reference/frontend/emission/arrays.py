"""Array arguments of a kernel as the frontend sees them."""

from __future__ import annotations

from typing import Final

from ...ir.structure import Place
from ...ir.types import DType
from ...values.compile_time import grouped
from ...values.func import BoundFunc, Func, func
from ...values.kinds import KernelObject
from .context import Context
from .current import current
from .expr import Expr

__all__ = ["ArrayArgument", "filling", "is_field", "touch"]


@func
def _fill(array, val):  # type: ignore[no-untyped-def]  # annotations of a func would convert
    for index in grouped(array):
        array[index] = val


filling: Final[Func] = _fill
"""The func that `fill` of a field or an array stands for in a kernel."""


class ArrayArgument:
    """An ndarray parameter, its gradient, or its dual.

    Attributes:
        place: where its elements are; the element's own axes come last.
        ndim: number of index axes.
        element_shape: () for scalars.
        grad, dual: the same for its gradient and its dual, or None.
        clamped: whether an index outside means the nearest one inside.
    """

    def __init__(self, place: Place, element_shape: tuple[int, ...], clamped: bool = False) -> None:
        self.place = place
        self.ndim = place.rank - len(element_shape)
        self.element_shape = element_shape
        self.clamped = clamped
        self.grad: ArrayArgument | None = None
        self.dual: ArrayArgument | None = None
        self.name = place.label or place.name

    @property
    def dtype(self) -> DType:
        """The type of one scalar, also where elements are vectors or matrices."""
        return self.place.dtype

    @property
    def shape(self) -> tuple[KernelObject, ...]:
        """Extents of the index axes, as runtime values."""
        builder = current().builder
        return tuple(Expr(builder.shape(self.place, axis)) for axis in range(self.ndim))

    @property
    def offset(self) -> tuple[int, ...]:
        """The index of the first element, one number per axis: 0, as an ndarray always begins there."""
        return (0,) * self.ndim

    @property
    def fill(self) -> BoundFunc:
        """Setting every element to a value."""
        return BoundFunc(filling, self)

    def has_grad(self) -> bool:
        """Whether it comes with a gradient."""
        return self.grad is not None

    def __adstack_described__(self) -> str:
        return f"an array ({self.dtype})"

    def __len__(self) -> int:
        raise TypeError("the length of an array is a runtime value here: use x.shape[0]")


def is_field(value: object) -> bool:
    """Whether `value` is a field, as the frontend needs it."""
    return hasattr(type(value), "element_shape") and hasattr(type(value), "place")


def touch(context: Context, base: KernelObject) -> KernelObject:
    """The place of a field or array argument, entered in what the kernel uses."""
    place = base.place
    if place.name not in context.places:
        context.places[place.name] = place
        if not isinstance(base, ArrayArgument):
            context.fields[place.name] = base
    return place
