"""What a function of an eval is to the tool that answers it, and the arrays that the evals' kernels take."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import adstack as qd

Cell = qd.types.ndarray(dtype=qd.f64, ndim=0)
Line = qd.types.ndarray(dtype=qd.f64, ndim=1)
Table = qd.types.ndarray(dtype=qd.f64, ndim=2)
Block = qd.types.ndarray(dtype=qd.f64, ndim=3)
Indices = qd.types.ndarray(dtype=qd.i32, ndim=1)


@dataclass(frozen=True)
class Task:
    """A function of an eval, prepared for one input.

    Attributes:
        run: computes the result, in memory of the device; this is what is timed, with the wait for the device.
        answer: the result of the last run, as JSON has it: numbers, lists and dicts.
    """

    run: Callable[[], None]
    answer: Callable[[], Any]


def array(values, **buffers):
    """An ndarray of f64 with these numbers; `buffers` says which of `needs_grad` and `needs_dual` it has."""
    numbers = np.array(values, np.float64, order="C")
    place = qd.ndarray(qd.f64, numbers.shape, **buffers)
    place.from_numpy(numbers)
    return place


def zeros(*shape, **buffers):
    """An ndarray of f64 full of zeros; `buffers` as for `array`."""
    return qd.ndarray(qd.f64, shape, **buffers)


def indices(values):
    """An ndarray of i32 with these numbers, on one axis."""
    numbers = np.asarray(values, np.int32)
    place = qd.ndarray(qd.i32, numbers.shape)
    place.from_numpy(numbers)
    return place


def number(place):
    """The number in an ndarray without axes."""
    return float(place.to_numpy())


def numbers(place):
    """What an ndarray holds, as lists of lists."""
    return place.to_numpy().tolist()


def gradient(loss, program):
    """A function that runs the program on a tape, and leaves the gradient of `loss` in the `grad` of what it reads."""

    def differentiate():
        with qd.ad.Tape(loss):
            program()

    return differentiate


def backward(loss, place, kernel, *arguments):
    """Leaves the gradient of `loss`, which the last call of the kernel has computed, in the `grad` of a place.

    For one kernel this takes less than a tape, which notes what it launches.
    """
    place.grad.fill(0.0)
    loss.grad[None] = 1.0
    kernel.grad(*arguments)
