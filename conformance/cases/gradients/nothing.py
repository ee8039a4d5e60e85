"""A kernel whose derivative is zero everywhere: its gradient does nothing, and is no error."""

import numpy as np

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import real

KERNELS = ["empty", "returns", "counts", "reads", "writes", "converts"]


def kernels(qd, integers, x, y):
    """name -> a kernel of an integer, a real number and an array of integers that has nothing to differentiate."""

    @qd.kernel
    def empty(n: qd.i32, a: qd.f32, array: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        pass

    @qd.kernel
    def returns(n: qd.i32, a: qd.f32, array: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
        return n + array[0]

    @qd.kernel
    def counts(n: qd.i32, a: qd.f32, array: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in integers:
            integers[i] = n + array[0]

    @qd.kernel
    def reads(n: qd.i32, a: qd.f32, array: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in integers:
            if x[i] >= 0.0:
                integers[i] = n + array[0]

    @qd.kernel
    def writes(n: qd.i32, a: qd.f32, array: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in integers:
            integers[i] = n
            y[i] += a

    @qd.kernel
    def converts(n: qd.i32, a: qd.f32, array: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in integers:
            y[i] += qd.cast(array[0] + n, qd.f32)

    return {made.__name__: made for made in (empty, returns, counts, reads, writes, converts)}


@case(rules=["grad.nothing"], params={"form": KERNELS, "way": ["grad", "tape"]})
def nothing_to_differentiate(qd, form, way):
    """The arguments are there, though no task of the reverse pass takes them; gradients and memory stay as they are."""
    integers, x = qd.field(qd.i32, shape=3), qd.field(qd.f32, shape=3)
    y, loss = real(qd, qd.f32, 3), real(qd, qd.f32, ())
    kernel = kernels(qd, integers, x, y)[form]
    array = np.array([4], np.int32)

    @qd.kernel
    def finish():
        loss[None] += y[0]

    def program():
        for n in (1, 2):
            if way == "tape":
                with qd.ad.Tape(loss):
                    kernel(n, 0.5, array)
                    finish()
            else:
                kernel(n, 0.5, array)
                y.grad.fill(2.0)
                kernel.grad(n, 0.5, array)
                kernel.grad(n, 0.5, array)

    counted = {"counts": 6, "reads": 6, "writes": 2}.get(form, 0)
    summed = {"writes": 1.0, "converts": 11.0}.get(form, 0.0)
    expect = {integers: counted, y: summed, x: 0.0}
    return Run(program, expect=expect if way == "tape" else {**expect, y.grad: 2.0})


@case(rules=["grad.nothing"])
def reals_without_gradients_are_a_mistake(qd):
    """Real numbers are made of real numbers: somebody forgot to say whose gradient is wanted."""
    x, y = qd.field(qd.f32, shape=3), real(qd, qd.f32, 3)

    @qd.kernel
    def double():
        for i in x:
            y[i] = 2.0 * x[i]

    def program():
        double()
        double.grad()

    return Run(program, raises=Raises("RuntimeError", "nothing that the kernel reads has a gradient"))
