"""Jacobians, Hessians and products of Hessians with vectors, of functions that launch kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from ..errors import AdstackRuntimeTypeError
from ..gradients.forward.columns import Columns
from ..gradients.forward.dual import FwdMode, check_moving
from ..gradients.forward.lane_memory import LaneMemory
from ..gradients.tapes.tape import Tape
from ..ir.types import Array
from ..values.calling import takes

__all__ = ["hessian", "hvp", "jacobian"]

T = TypeVar("T")
R = TypeVar("R")

_MOST_LANES: Final = 8
"""So many columns of a matrix are computed at once; with more, loops have more tangents than registers."""

Data: TypeAlias = Any
"""A field or an ndarray of numbers with a gradient, as `qd.field` and `qd.ndarray` make them."""


@takes("ad.hvp")
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
        AdstackRuntimeTypeError: what is to be a function is none, or the loss or the parameter has no dual.
        AdstackRuntimeError: what the function launches has a gradient and no dual, or the host computes with what
            depends on the parameter: see grad.second of the specification.
    """
    _check("hvp", function, loss, param)
    with _unchanged(param):
        return _hvp(function, loss, param, direction)


@takes("ad.hessian")
def hessian(function: Callable[[], object], loss: Data, param: Data) -> Array:
    """The Hessian of `loss` by `param`, up to 8 columns for each call of the function.

    A launch computes the tangents of all these columns beside its values, and one launch of its reverse mode what they
    add to the gradient's. Where that can't be, as for `jacobian`, or as a kernel overwrites what its derivative needs
    and has to log it, or gradients are used beside the Tape, fewer calls at once: down to one column, which makes
    another call. The bits are the same.

    Args, errors: as for `hvp`; the function is called once for up to 8 numbers in `param`, each time with the same
    contents of it, and whatever its other calls have left in other memory.

    Returns:
        A new array; its shape is that of all numbers of `param`, `param.shape + param.element_shape`, twice.
    """
    _check("hessian", function, loss, param)

    def several(mode: Columns) -> list[Array]:
        with mode, Tape(loss):
            function()
        return mode.columns(param.grad)

    columns = _columns(loss, param, several, lambda one: _hvp(function, loss, param, one))
    shape: tuple[int, ...] = param.shape + param.element_shape
    return np.stack(columns, axis=-1).reshape(shape + shape)


@takes("ad.jacobian")
def jacobian(function: Callable[[], object], output: Data, param: Data) -> Array:
    """The Jacobian of `output` by `param`, in forward mode: up to 8 columns for each call of the function.

    A launch computes the tangents of all these columns beside its values. Where that can't be, as the function looks at
    duals, differentiates in reverse without a Tape or works on sparse fields, or memory is short, fewer calls at once:
    down to one column, which makes another call. The bits are the same.

    Args:
        function: called without arguments, each time with the same contents of the parameter, and whatever its other
            calls have left in other memory; what it launches computes the output.
        output: a field or ndarray with a dual; it may be `param` itself.
        param: a field or ndarray with a dual; it holds what it held before, afterwards.

    Errors: as for `hvp`.

    Returns:
        A new array; its shape is `output.shape + output.element_shape`, then that of `param`.
    """
    _check("jacobian", function, output, param)

    def several(mode: Columns) -> list[Array]:
        with mode:
            function()
        return mode.columns(output)

    def column(direction: Array) -> Array:
        with FwdMode(loss=output, param=param, seed=direction):
            function()
        tangent: Array = output.dual.to_numpy()
        return tangent

    columns = _columns(output, param, several, column)
    shape: tuple[int, ...] = output.shape + output.element_shape + param.shape + param.element_shape
    return np.stack(columns, axis=-1).reshape(shape)


def _check(what: str, function: object, *data: Data) -> None:
    """Raise AdstackRuntimeTypeError for what is no function, or for data without duals."""
    if not callable(function):
        raise AdstackRuntimeTypeError(
            f"{what} takes a function to call without arguments, got {function!r}",
            do="pass one that launches what computes the result from the parameter: lambda: compute(3)",
        )
    for one in data:
        check_moving(one)


def _columns(
    loss: Data, param: Data, several: Callable[[Columns], list[Array]], column: Callable[[Array], Array]
) -> list[Array]:
    """A column for each number in `param`: `several` computes some in a mode, as far as that goes, `column` one."""
    directions = list(_basis(param))
    columns: list[Array] = []
    lanes = min(_MOST_LANES, 1 << (len(directions) - 1).bit_length())
    while lanes > 1 and len(columns) < len(directions):
        more, lanes = _together(loss, param, several, directions[len(columns) :], lanes)
        columns += more
    return columns + [_of(param, column, direction) for direction in directions[len(columns) :]]


def _together(
    loss: Data, param: Data, several: Callable[[Columns], list[Array]], directions: Sequence[Array], lanes: int
) -> tuple[list[Array], int]:
    """The columns along these directions, `lanes` of them with each call of the function.

    The second result is `lanes`; or fewer, and there may be columns missing, if so many can't be computed at once.
    """
    columns: list[Array] = []
    memory = LaneMemory(lanes)
    try:
        for start in range(0, len(directions), lanes):
            block = directions[start : start + lanes]
            idle = [np.zeros_like(block[0])] * (lanes - len(block))
            mode = Columns(loss, param, [*block, *idle], memory)
            more = _of(param, lambda mode: _unrefused(mode, several), mode)
            if mode.narrower:
                return columns, mode.narrower
            columns += more[: len(block)]
        return columns, lanes
    finally:
        memory.drop()


def _unrefused(mode: Columns, several: Callable[[Columns], list[Array]]) -> list[Array]:
    """The columns along all directions of a mode; none if the mode refuses something."""
    try:
        return several(mode)
    except Exception:
        if mode.narrower:
            return []
        raise


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


def _of(param: Data, column: Callable[[T], R], direction: T) -> R:
    with _unchanged(param):
        return column(direction)


@contextmanager
def _unchanged(param: Data) -> Iterator[None]:
    """A block after which the parameter holds what it held before; of a sparse field, in the same active cells."""
    contents = param.to_numpy()
    active = [(cells.level.words, cells.level.words.to_numpy()) for cells in param.cells]
    try:
        yield
    finally:
        param.from_numpy(contents)
        for words, before in active:
            if (words.to_numpy() != before).any():
                words.from_numpy(before)
