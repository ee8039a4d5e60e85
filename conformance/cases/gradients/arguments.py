"""Which launch a gradient is about: the last one with the same arguments."""

import numpy as np

from adstack.conformance.case import Run, case
from adstack.conformance.gradients import real

PLAIN = {"dtypes": ["f64"], "options": {"default_fp": "dtype"}}
X = [0.5, 3.0, -0.25, -1.5]
NUMBERS = {"f64": [1, 1.0, True, np.float32(1)], "f32": [0.1, np.float32(0.1)], "i32": [1, True, np.int64(1)]}


@case(rules=["grad.last-launch", "grad.changed"], params={"kind": list(NUMBERS)}, **PLAIN)
def equal_numbers_of_other_types_are_the_same_arguments(qd, dtype, kind):
    """What counts is what the kernel gets: the launch before is the one in question, whose x has changed."""
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k(s: getattr(qd, kind)):
        for i in x:
            y[None] += s * x[i] * x[i]

    def program():
        y.grad.fill(1.0)
        for launched in NUMBERS[kind]:
            for asked in NUMBERS[kind]:
                x.fill(3.0)
                k(launched)
                x.fill(4.0)
                try:
                    k.grad(asked)
                except qd.AdstackDataAccessError:
                    continue
                raise AssertionError(f"k({launched!r}) is not known as k({asked!r})")

    return Run(program, expect=[(x.grad, [0.0] * 4)])


@case(rules=["grad.last-launch"], **PLAIN)
def zeros_of_both_signs_are_two_numbers(qd, dtype):
    """Kernels can tell them apart, and so does their gradient."""
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k(s: dtype):
        for i in x:
            y[None] += x[i] * x[i] * qd.select(1.0 / s > 0.0, 1.0, -1.0)

    def program():
        y.grad.fill(1.0)
        k(0.0)
        k(-0.0)
        k.grad(0.0)
        assert x.grad.to_numpy().tolist() == [2 * v for v in X]
        for _ in range(2):
            k.grad(-0.0)

    return Run(program, given={x: X}, expect=[(x.grad, [-2 * v for v in X])])
