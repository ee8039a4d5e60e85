"""The tape oracle over dual numbers: second derivatives from the record of an interpreted run, without any transform.

Every number of the run has a tangent beside it, and so has every adjoint of the walk back. The tangent of a gradient is
its directional derivative: the Hessian times the direction, where the launch computes one number. A step of the walk is
made of operations of the table (pulls), whose tangents come from the same table: see Pearlmutter, "Fast exact
multiplication by the Hessian" (1994), and Griewank and Walther, "Evaluating Derivatives" (2008), section 5.

    second(kernel, buffers, {"x": direction}, (), {"y": cotangent, "x": zeros})["x"].tangent
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..interpreter.binding import bind
from ..interpreter.lanes import Array
from ..interpreter.launch import DEFAULT, Launch, RunOptions, Scalar
from ..ir.opdef import OpDef
from ..ir.pulls import Saved
from ..ir.structure import Kernel, Program
from ..ir.types import DType
from .adjoints import Adjoint
from .numbers import Num
from .recorder import Recorder
from .tape import executed, start
from .trace import Arg
from .walker import Walker

__all__ = ["Moving", "second"]

_LETTERS: Final = "xyz"


@dataclass(frozen=True)
class Moving:
    """The adjoints of a place, and their tangents, in the shape of the place."""

    value: Array
    tangent: Array


def second(
    program: Kernel | Program,
    buffers: Mapping[str, Array],
    directions: Mapping[str, Array],
    scalars: Sequence[Scalar] = (),
    adjoints: Mapping[str, Array] | None = None,
    moves: Mapping[str, Array] | None = None,
    *,
    options: RunOptions = DEFAULT,
) -> dict[str, Moving]:
    """The adjoints of the memory before a launch and their tangents along a direction, in the kernel's own types.

    Args:
        program: verified IR, before transcendental operations are lowered.
        buffers: the memory before the launch, by the name of the place; it is not changed.
        directions: an array per place that has tangents: those of its elements before the launch. Others do not move.
        scalars: the kernel's scalar arguments, which are constants.
        adjoints: of the memory after the launch, as for `tape.gradient`.
        moves: the tangents of these adjoints, where they are not 0.
        options: how to run.
    """
    copies = {name: np.array(buffer) for name, buffer in buffers.items()}
    run = Recorder(Launch(options, list(bind(program.places, copies).values())), _Tangents())
    for name, tangents in directions.items():
        cells = run.places[name].cells
        assert isinstance(cells, _Cells)
        cells.tangent[:] = np.ravel(tangents)
    seeds = adjoints or {}
    walker = Walker(run.beside)
    with np.errstate(all="ignore"):
        executed(run, program, scalars)
        start(walker, run, program, seeds)
        for name, tangents in (moves or {}).items():
            _moving(walker, run, name).tangent[:] = np.ravel(tangents)
        walker.walk(run.tape)
    moving = {name: _moving(walker, run, name) for name in seeds}
    return {
        name: Moving(adjoint.value.reshape(seeds[name].shape), adjoint.tangent.reshape(seeds[name].shape))
        for name, adjoint in moving.items()
    }


def _moving(walker: Walker, run: Recorder, name: str) -> _Adjoint:
    adjoint = walker.of(run.places[name])
    assert isinstance(adjoint, _Adjoint)
    return adjoint


class _Dual(Num):
    """Numbers with tangents: what an operation gives has the tangent that the table of derivatives says."""

    def __init__(self, dtype: DType, value: Array, tangent: Array | None = None, live: Array | None = None) -> None:
        super().__init__(dtype, value, live=live)
        self.tangent = np.zeros_like(value) if tangent is None else tangent

    def literal(self, number: float) -> _Dual:
        return _Dual(self.dtype, np.array([number], self.dtype.numpy))

    def result(self, row: OpDef, to: DType, value: Array, args: tuple[Num, ...]) -> _Dual:
        result = super().result(row, to, value, args)
        tangents = [arg.tangent if isinstance(arg, _Dual) else None for arg in args]
        return _Dual(to, value, _pushed(row, to, value, args, tangents), result.live)

    def chosen(self, condition: Array, yes: Num, no: Num) -> _Dual:
        result = super().chosen(condition, yes, no)
        return _Dual(result.dtype, result.value, np.where(condition, _tangent(yes), _tangent(no)), result.live)


def _tangent(number: Num) -> Array:
    return number.tangent if isinstance(number, _Dual) else np.zeros_like(number.value)


def _pushed(row: OpDef, to: DType, value: Array, args: Sequence[Num], tangents: Sequence[Array | None]) -> Array:
    """The tangent of an operation's result: the sum of the pulls of its operands' tangents."""
    total = np.zeros_like(value)
    for arg, tangent, pull in zip(args, tangents, row.pulls or (), strict=True):
        if pull is None or tangent is None:
            continue
        plain = {letter: Num(one.dtype, one.value) for letter, one in zip(_LETTERS, args, strict=False)}
        plain["r"] = Num(to, value)
        change = Num(arg.dtype, tangent)
        total = total + pull.map(change, Saved(**{need: plain[need] for need in pull.needs})).value.astype(to.numpy)
    return total


class _Cells:
    """The tangents of the elements of a storage."""

    def __init__(self, own: Array) -> None:
        self.tangent = np.zeros_like(own)

    def read(self, at: Array) -> Array:
        return np.asarray(self.tangent[at])

    def write(self, at: Array, arg: Arg) -> None:
        self.tangent[at] = 0 if arg.beside is None else arg.beside

    def add(self, at: Array, arg: Arg) -> None:
        if arg.beside is not None:
            np.add.at(self.tangent, at, arg.beside)


class _Adjoint(Adjoint):
    """Adjoints with tangents."""

    def __init__(self, dtype: DType, size: int) -> None:
        super().__init__(dtype, size)
        self.tangent = np.zeros_like(self.value)

    def read(self, at: Array) -> _Dual:
        return _Dual(self.dtype, self.value[at], self.tangent[at], self.live[at])

    def add(self, at: Array, change: Num) -> None:
        spots, values, tangents = self.connected(at, change.live, change.value, _tangent(change))
        self.put(spots, values)
        np.add.at(self.tangent, spots, tangents.astype(self.dtype.numpy, copy=False))

    def clear(self, at: Array) -> None:
        super().clear(at)
        self.tangent[at] = 0


class _Tangents:
    """Carries tangents beside the numbers of a run (see `Beside`)."""

    def exact(self, own: Array) -> Array:
        """A number that no operation made does not move."""
        return np.zeros_like(own)

    def result(self, row: OpDef, to: DType, own: Array, args: Sequence[Arg]) -> Array:
        """What the table of derivatives says."""
        numbers = [Num(arg.dtype, arg.own) for arg in args]
        return _pushed(row, to, own, numbers, [arg.beside for arg in args]) if row.pulls else np.zeros_like(own)

    def cells(self, dtype: DType, own: Array) -> _Cells:
        """Tangents of a storage."""
        return _Cells(own)

    def number(self, arg: Arg) -> Num:
        """A number with its tangent."""
        return Num(arg.dtype, arg.own) if arg.beside is None else _Dual(arg.dtype, arg.own, arg.beside)

    def adjoint(self, dtype: DType, size: int) -> _Adjoint:
        """Adjoints with tangents."""
        return _Adjoint(dtype, size)
