"""Runs whose expectation is a plain Python function: its values, and its exact derivatives (see `plain.py`)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, cast

import numpy as np

from .case import Data, Gradient, Run
from .plain import Number, lift

__all__ = ["BOUNDED", "EXACT", "TRANSPOSED", "agrees", "floats", "real"]

EXACT: Final[dict[str, Any]] = {
    "modes": ("forward", "reverse", "forward-mode"),
    "dtypes": ("f32", "f64"),
    "options": {"default_fp": "dtype"},
}
"""For `@case`: every mode, in both common types; everything must be the same to the bit."""

BOUNDED: Final[dict[str, Any]] = {**EXACT, "bounded": True}
"""As EXACT, but within the error bound of the run."""

TRANSPOSED: Final[dict[str, Any]] = {**BOUNDED, "modes": (*EXACT["modes"], "dot-product")}
"""As BOUNDED, and reverse mode is compared with forward mode along random directions."""


def real(qd: Data, dtype: Data, shape: Data = ()) -> Data:
    """A field of floats that can be differentiated in both modes."""
    return qd.field(dtype, shape=shape, needs_grad=True, needs_dual=True)


def floats(count: int, low: float = -2.0, high: float = 2.0, steps: int = 8, start: int = 0) -> list[float]:
    """Numbers from low to high, multiples of 1/steps, none of them 0; the same in every run."""
    rng = random.Random(count * 1000 + start)
    choices = [k / steps for k in range(round(low * steps), round(high * steps) + 1) if k]
    return [rng.choice(choices) for _ in range(count)]


def agrees(
    kernel: Data,
    plain: Callable[..., Data],
    given: Mapping[Data, Data],
    outs: Sequence[Data],
    *,
    args: Sequence[Data] = (),
    constant: Mapping[Data, Data] | None = None,
    loss: Data = None,
) -> Run:
    """A run that must do what `plain` does, and have its derivatives in every mode.

    Args:
        kernel: what is launched.
        plain: takes what `given` holds, field by field, as nested lists of numbers, and returns what each of `outs`
            holds afterwards: one nested list, or a tuple of them. An output that is not in `given` is taken as not
            read: its own adjoint must be gone after the reverse pass.
        given: the contents of the fields that are differentiated; the tangents of forward mode are those of the first.
        outs: the fields written.
        args: of the kernel.
        constant: contents of other fields.
        loss: the one output, if the kernel is a function whose launches are recorded on a tape.
    """
    seeds = random.Random(len(given) * 7 + len(outs))
    contents = {place: _as_held(place, values) for place, values in given.items()}
    inputs = [_numbers(number, content) for number, content in enumerate(contents.values())]
    results = plain(*(_nested(array) for array in inputs))
    after = dict(zip(outs, map(_flat, results if len(outs) > 1 else (results,)), strict=True))
    gradient = _derivatives(contents, inputs, after, seeds, loss)
    expect = _all_shaped({p: [number.value for number in numbers] for p, numbers in after.items()})
    return Run(kernel, args, given={**contents, **(constant or {})}, expect=expect, gradient=gradient)


def _derivatives(
    contents: Mapping[Data, Data],
    inputs: Sequence[Data],
    after: Mapping[Data, list[Number]],
    seeds: random.Random,
    loss: Data,
) -> Gradient:
    """What both modes are seeded with at random, and must then give."""
    weights = {place: [_weight(seeds) for _ in numbers] for place, numbers in after.items()}
    if loss is not None:
        weights = {loss: [Fraction(1)]}
    direction = [_weight(seeds) for _ in inputs[0].ravel()]
    adjoints = {p: _pulled(n, i.size, after, weights) for n, (p, i) in enumerate(zip(contents, inputs, strict=True))}
    if loss is None:
        adjoints |= {p: [Fraction(0)] * len(after[p]) for p in after if p not in contents}
    return Gradient(
        seed=_all_shaped(weights) if loss is None else {},
        expect=_all_shaped(adjoints),
        forward_seed=_all_shaped({next(iter(contents)): direction}),
        forward_expect=_all_shaped({p: [_pushed(n, direction) for n in numbers] for p, numbers in after.items()}),
        loss=loss,
    )


def _as_held(place: Data, values: Data) -> Data:
    """The values as the place's type holds them."""
    now = place.to_numpy()
    return np.broadcast_to(np.array(values, dtype=now.dtype), now.shape).copy()


def _numbers(which: int, content: Data) -> Data:
    numbers = [Number(value.item(), {(which, at): Fraction(1)}) for at, value in enumerate(content.ravel())]
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array.reshape(content.shape)


def _nested(array: Data) -> Data:
    return array.tolist() if array.ndim else array.item()


def _flat(values: Data) -> list[Number]:
    if isinstance(values, (list, tuple)):
        return [number for part in values for number in _flat(part)]
    return [lift(values)]


def _shaped(place: Data, values: list[Fraction]) -> Data:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return _nested(array.reshape(place.to_numpy().shape))


def _slopes(number: Number) -> Mapping[tuple[int, int], Fraction]:
    """The derivatives by elements of the inputs: which input, which element."""
    return cast("Mapping[tuple[int, int], Fraction]", number.slopes)


def _all_shaped(values: Mapping[object, list[Fraction]]) -> dict[Data, Data]:
    return {place: _shaped(place, flat) for place, flat in values.items()}


def _weight(seeds: random.Random) -> Fraction:
    """Short enough to multiply exactly, and never 0 or 1."""
    return Fraction(seeds.choice([-7, -6, -5, -3, -2, 2, 3, 5, 6, 7]), 4)


def _pulled(
    which: int, size: int, after: Mapping[Data, list[Number]], weights: Mapping[Data, list[Fraction]]
) -> list[Fraction]:
    total = [Fraction(0)] * size
    for place, of_place in weights.items():
        for number, weight in zip(after[place], of_place, strict=True):
            for (input_, at), slope in _slopes(number).items():
                if input_ == which:
                    total[at] += weight * slope
    return total


def _pushed(number: Number, direction: list[Fraction]) -> Fraction:
    return sum((slope * direction[at] for (which, at), slope in _slopes(number).items() if which == 0), Fraction(0))
