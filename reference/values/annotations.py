"""Annotations of kernel parameters that stand for arrays: `types.ndarray(...)`, `types.NDArray[...]`, `Tensor`."""

from __future__ import annotations

from ..errors import AdstackTypeError

__all__ = ["NDArray", "NdarrayType", "Tensor", "ndarray"]


class NdarrayType:
    """An array argument: what it must be, where None leaves it open.

    Attributes:
        dtype: element type: a scalar type, or a vector or matrix type, which takes the trailing axes.
        ndim: number of index axes.
        needs_grad: True demands a gradient, False cuts it, None takes what comes.
    """

    def __init__(self, dtype: object = None, ndim: int | None = None, needs_grad: bool | None = None) -> None:
        if ndim is not None and (not isinstance(ndim, int) or ndim < 0):
            raise AdstackTypeError(f"ndim of an ndarray annotation is a number of axes, got {ndim!r}")
        self.dtype = dtype
        self.ndim = ndim
        self.needs_grad = needs_grad

    def __class_getitem__(cls, item: object) -> NdarrayType:
        dtype, ndim = item if isinstance(item, tuple) else (item, None)
        return cls(dtype, ndim)

    def __repr__(self) -> str:
        return f"ndarray(dtype={self.dtype}, ndim={self.ndim}, needs_grad={self.needs_grad})"


ndarray = NdarrayType
NDArray = NdarrayType


class Tensor:
    """The annotation of a parameter that takes a tensor, a field, an ndarray, or None."""
