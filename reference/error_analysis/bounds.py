"""Error bounds for a run and for its gradient: how far rounding, and the order of atomic sums, can carry each element.

    answer = bound(kernel, buffers)                  # answer.values["y"], answer.bounds["y"]
    answer = gradient_bound(kernel, buffers, (), adjoints)

The run is the kernel's own, and beside every float it carries a bound (see `rounding.py`). An element that n atomic
additions of x_1, ..., x_n reach, in whatever order, is within gamma_n * sum |x_i| of the exact sum, and so is an
adjoint that n contributions reach. A bound holds for every run that takes the same path with the same operations:
|value - exact| <= bound. Two such runs differ by at most twice that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..interpreter.lanes import Array
from ..interpreter.launch import DEFAULT, RunOptions, Scalar
from ..ir.opdef import OpDef
from ..ir.structure import Kernel, Program
from ..ir.types import DType
from ..oracle.adjoints import Adjoint
from ..oracle.numbers import Num
from ..oracle.tape import record, walked
from ..oracle.trace import Arg
from .rounding import Bounded, error_of, gamma, half_ulp, result_error

__all__ = ["Answer", "bound", "gradient_bound"]


@dataclass(frozen=True)
class Answer:
    """Computed numbers and bounds on their errors.

    Attributes:
        values: an array per place.
        bounds: an f64 array per place of floats, of the same shape; infinity where nothing can be said.
        returned: what the kernel returned, each with its bound.
    """

    values: dict[str, Array]
    bounds: dict[str, Array]
    returned: tuple[tuple[Scalar, float], ...] = ()


def bound(
    program: Kernel | Program,
    buffers: Mapping[str, Array],
    scalars: Sequence[Scalar] = (),
    *,
    options: RunOptions = DEFAULT,
) -> Answer:
    """Run, and bound the error of what memory holds afterwards; the buffers are not changed."""
    run, outputs = record(program, buffers, scalars, Bounds(), options)
    args = {name: run.places[name].read(np.arange(buffers[name].size)) for name in buffers if name in run.places}
    shapes = {name: buffers[name].shape for name in args}
    values = {name: arg.own.reshape(shapes[name]) for name, arg in args.items()}
    bounds = {name: arg.beside.reshape(shapes[name]) for name, arg in args.items() if arg.beside is not None}
    first = np.zeros(1, np.intp)
    sources = [run.places[name] for name in program.results] if isinstance(program, Program) else outputs
    returned = [source.read(first) for source in sources]
    return Answer(values, bounds, tuple((arg.own.item(), error_in(arg)) for arg in returned))


def error_in(arg: Arg) -> float:
    """The bound of a single number; integers are exact."""
    return 0.0 if arg.beside is None else float(arg.beside.item())


def gradient_bound(
    program: Kernel | Program,
    buffers: Mapping[str, Array],
    scalars: Sequence[Scalar] = (),
    adjoints: Mapping[str, Array] | None = None,
    *,
    returned: Sequence[float] = (),
    options: RunOptions = DEFAULT,
) -> Answer:
    """The gradient that `tape.gradient` gives in the kernel's own precision, and bounds on its error."""
    adjoint_of = walked(program, buffers, scalars, adjoints or {}, returned, Bounds(), options)
    numbers = {name: adjoint.read(np.arange(adjoint.value.size)) for name, adjoint in adjoint_of.items()}
    shapes = {name: seeds.shape for name, seeds in (adjoints or {}).items()}
    values = {name: number.value.reshape(shapes[name]) for name, number in numbers.items()}
    return Answer(values, {name: error_of(number).reshape(shapes[name]) for name, number in numbers.items()})


class BoundCells:
    """Bounds for the elements of a storage.

    Attributes:
        error: what the terms of an element bring.
        size: the sum of their magnitudes.
        count: how many were added to the first.
    """

    def __init__(self, dtype: DType, own: Array) -> None:
        self.dtype = dtype
        self.error = np.zeros(own.size)
        self.size = np.abs(own.astype(np.float64))
        self.count = np.zeros(own.size, np.int64)

    def read(self, at: Array) -> Array:
        """The bounds of the elements at these positions; they hold for every order of the additions."""
        return bounded_sum(self.error[at], self.size[at], self.count[at], self.dtype)

    def write(self, at: Array, arg: Arg) -> None:
        """Store numbers with their bounds: what was added to the elements before does not count any more."""
        assert arg.beside is not None
        self.error[at] = arg.beside
        self.size[at] = np.abs(arg.own.astype(np.float64)) + arg.beside
        self.count[at] = 0

    def add(self, at: Array, arg: Arg) -> None:
        """Add numbers, with their bounds, to elements; what is added to a zero is not rounded."""
        assert arg.beside is not None
        self.terms(at, arg.own, arg.beside)

    def terms(self, at: Array, own: Array, error: Array) -> None:
        """Add the magnitudes and the errors of further terms to those of the elements."""
        fresh = at[self.size[at] == 0]
        np.add.at(self.error, at, error)
        np.add.at(self.size, at, np.abs(own.astype(np.float64)) + error)
        np.add.at(self.count, at, 1)
        self.count[fresh] -= 1


def bounded_sum(error: Array, size: Array, count: Array, dtype: DType) -> Array:
    """The error that terms bring, and that of adding them."""
    return np.where(count > 0, error + gamma(count, dtype) * size, error) if count.any() else error


class BoundAdjoint(Adjoint):
    """Adjoints with bounds."""

    def __init__(self, dtype: DType, size: int) -> None:
        super().__init__(dtype, size)
        self.cells = BoundCells(dtype, self.value)

    def load(self, values: Array) -> None:
        """Start from the caller's adjoints, which count as exact."""
        super().load(values)
        self.cells = BoundCells(self.dtype, self.value)

    def read(self, at: Array) -> Num:
        """The adjoint of an element, with its bound."""
        return Bounded(self.dtype, self.value[at], self.cells.read(at), live=self.live[at])

    def add(self, at: Array, change: Num) -> None:
        """Add a contribution with its bound, and the error of rounding it to the adjoint's type."""
        error = error_of(change)
        if change.dtype.bits > self.dtype.bits:
            error = error + half_ulp(change.value.astype(self.dtype.numpy))
        spots, values, errors = self.connected(at, change.live, change.value, error)
        self.put(spots, values)
        self.cells.terms(spots, values, errors)

    def clear(self, at: Array) -> None:
        """Set an adjoint to zero, which is exact."""
        super().clear(at)
        self.cells.error[at] = 0
        self.cells.size[at] = 0
        self.cells.count[at] = 0


class Bounds:
    """A bound beside each float."""

    def exact(self, own: Array) -> Array:
        """The bounds of exact numbers: 0."""
        return np.zeros(own.shape)

    def result(self, row: OpDef, to: DType, own: Array, args: Sequence[Arg]) -> Array:
        """The bounds of an operation's results, by running error analysis."""
        errors = [np.zeros(1) if arg.beside is None else arg.beside for arg in args]
        return result_error(row, to, own, [arg.own for arg in args], errors)

    def cells(self, dtype: DType, own: Array) -> BoundCells:
        """The bounds of the elements of a storage that holds `own`."""
        return BoundCells(dtype, own)

    def number(self, arg: Arg) -> Num:
        """A recorded number, with its bound if it carries one, for the walk back."""
        return Num(arg.dtype, arg.own) if arg.beside is None else Bounded(arg.dtype, arg.own, arg.beside)

    def adjoint(self, dtype: DType, size: int) -> Adjoint:
        """The adjoints of a place of `size` elements, with bounds."""
        return BoundAdjoint(dtype, size)
