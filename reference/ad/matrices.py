"""Jacobians, Hessians and products of Hessians with vectors, of functions that launch kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from ..gradients.forward.dual import FwdMode
from ..gradients.tapes.tape import Tape
from ..ir.types import Array

__all__ = ["hessian", "hvp", "jacobian"]

Data: TypeAlias = Any
"""A field or an ndarray of numbers with a gradient, as `qd.field` and `qd.ndarray` make them."""


def hvp(function: Callable[[], object], loss: Data, param: Data, direction: Any) -> Array:
    """The product of the Hessian of `loss` by `param` with a vector.

    Args:
        function: called without arguments, once; what it launches computes the loss from the parameter.
        loss: a field of shape () or an ndarray of one element, with a gradient and a dual.
        param: a field or ndarray with a gradient and a dual; it holds what it held before, afterwards.
        direction: one number for each number in `param`.

    Returns:
        A new array of the shape of `param.to_numpy()`. `param.grad` holds the gradient.

    Raises:
        AdstackRuntimeError: what the function launches has a gradient and no dual, or the host computes with what
            depends on the parameter: see grad.second of the specification.
    """
    with _unchanged(param):
        return _hvp(function, loss, param, direction)


def hessian(function: Callable[[], object], loss: Data, param: Data) -> Array:
    """The Hessian of `loss` by `param`, a column for each call of the function.

    Args, errors: as for `hvp`; the function is called once for each number in `param`, each time with the same contents
    of it, and whatever its other calls have left in other memory.

    Returns:
        A new array; its shape is that of `param.to_numpy()` twice.
    """
    columns = [_of(param, lambda one: _hvp(function, loss, param, one), direction) for direction in _basis(param)]
    shape: tuple[int, ...] = param.shape + param.element_shape
    return np.stack(columns, axis=-1).reshape(shape + shape)


def jacobian(function: Callable[[], object], output: Data, param: Data) -> Array:
    """The Jacobian of `output` by `param`, in forward mode: a column for each call of the function.

    Args:
        function: called without arguments, once for each number in `param`, each time with the same contents of it, and
            whatever its other calls have left in other memory; what it launches computes the output.
        output: a field or ndarray with a dual; it may be `param` itself.
        param: a field or ndarray with a dual; it holds what it held before, afterwards.

    Returns:
        A new array; its shape is that of `output.to_numpy()`, then that of `param.to_numpy()`.
    """

    def column(direction: Array) -> Array:
        with FwdMode(loss=output, param=param, seed=direction):
            function()
        tangent: Array = output.dual.to_numpy()
        return tangent

    columns = [_of(param, column, direction) for direction in _basis(param)]
    shape: tuple[int, ...] = output.shape + output.element_shape + param.shape + param.element_shape
    return np.stack(columns, axis=-1).reshape(shape)


def _hvp(function: Callable[[], object], loss: Data, param: Data, direction: Any) -> Array:
    with FwdMode(loss=loss, param=param, seed=direction), Tape(loss):
        function()
    product: Array = param.grad.dual.to_numpy()
    return product


def _basis(param: Data) -> Iterator[Array]:
    """The unit vectors, flat."""
    for position in range(math.prod(param.shape + param.element_shape)):
        direction = np.zeros(math.prod(param.shape + param.element_shape))
        direction[position] = 1.0
        yield direction


def _of(param: Data, column: Callable[[Array], Array], direction: Array) -> Array:
    with _unchanged(param):
        return column(direction)


@contextmanager
def _unchanged(param: Data) -> Iterator[None]:
    """A block after which the parameter holds what it held before."""
    contents = param.to_numpy()
    try:
        yield
    finally:
        param.from_numpy(contents)
