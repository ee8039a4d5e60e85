"""Annotations of kernel parameters that stand for arrays: `types.ndarray(...)`, `types.NDArray[...]`, `Tensor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic

from ..errors import AdstackTypeError
from .calling import takes

if TYPE_CHECKING:
    from typing_extensions import TypeVar

__all__ = ["NDArray", "NdarrayType", "Tensor", "ndarray"]

BOUNDARIES: Final = ("unsafe", "clamp")


class NdarrayType:
    """An array argument: what it must be, where None leaves it open.

    Attributes:
        dtype: element type: a scalar type, or a vector or matrix type, which takes the trailing axes.
        ndim: number of index axes.
        element_shape: shape of the elements, where `dtype` is a scalar type; None if it says nothing.
        element_dim: number of axes of the elements, where neither the type nor a shape tells.
        needs_grad: True demands a gradient, False cuts it, None takes what comes.
        boundary: what an index outside means: "unsafe", an error as for fields, or "clamp", the nearest index inside.
    """

    @takes("types.ndarray")
    def __init__(
        self,
        dtype: object = None,
        ndim: int | None = None,
        element_dim: int | None = None,
        element_shape: tuple[int, ...] | None = None,
        field_dim: int | None = None,
        needs_grad: bool | None = None,
        boundary: str = "unsafe",
    ) -> None:
        if boundary not in BOUNDARIES:
            raise AdstackTypeError(f"boundary={boundary!r} of an ndarray annotation is none of {', '.join(BOUNDARIES)}")
        ndim = field_dim if ndim is None else ndim  # what older programs call it
        if ndim is not None and (not isinstance(ndim, int) or ndim < 0):
            raise AdstackTypeError(f"ndim of an ndarray annotation is a number of axes, got {ndim!r}")
        self.dtype = dtype
        self.ndim = ndim
        self.element_shape = None if element_shape is None else tuple(element_shape)
        self.element_dim = len(element_shape) if element_shape is not None else element_dim
        if self.element_dim not in (None, 0, 1, 2) or element_dim not in (None, self.element_dim):
            raise AdstackTypeError(
                f"elements of an ndarray annotation have 0, 1 or 2 axes, got element_dim={element_dim!r} and "
                f"element_shape={element_shape!r}",
                do="write element_shape alone: () for numbers, (n,) for vectors, (n, m) for matrices",
            )
        self.needs_grad = needs_grad
        self.boundary = boundary

    def __class_getitem__(cls, item: object) -> NdarrayType:
        dtype, ndim = item if isinstance(item, tuple) else (item, None)
        return cls(dtype, ndim)

    def __repr__(self) -> str:
        return f"ndarray(dtype={self.dtype}, ndim={self.ndim}, needs_grad={self.needs_grad})"


ndarray = NdarrayType
if TYPE_CHECKING:
    _Element = TypeVar("_Element", default=Any)

    class NDArray(Generic[_Element]):
        """`NDArray[qd.f32]` for type checkers: what kernels may do with an array."""

        shape: tuple[int, ...]
        grad: Any
        dual: Any

        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __iter__(self) -> Any: ...

else:
    NDArray = NdarrayType


class Tensor:
    """The annotation of a parameter that takes a tensor, a field, an ndarray, or None."""
