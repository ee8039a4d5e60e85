"""Which launch a gradient is about: the last one with the same arguments."""

import numpy as np

from adstack.conformance.case import Raises, Run, case
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


@case(rules=["grad.changed"], **PLAIN)
def an_array_that_changed_after_forward_mode(qd, dtype):
    """What forward mode launched is the last launch; the array is watched from then on."""
    x = real(qd, dtype, 4)
    a = qd.ndarray(dtype, shape=4, needs_grad=True)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in x:
            x[i] = a[i] * a[i]

    def program():
        a.fill(3.0)
        with qd.ad.FwdMode(loss=x, param=x, seed=[1.0] * 4):
            k(a)
        a.fill(4.0)
        x.grad.fill(1.0)
        k.grad(a)

    return Run(program, raises=Raises("DataAccessError", "as the launch found it, 3.0; it was changed to 4.0"))


def weighted(qd, dtype):
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k(s: dtype):
        for i in x:
            y[None] += s * x[i] * x[i]

    return x, y, k


UNKEPT = Raises("DataAccessError", "its last launch has overwritten, or others since")


@case(rules=["grad.kept", "grad.changed"], params={"times": [1, 5], "inside": [False, True]}, **PLAIN)
def a_launch_before_a_tape_with_other_arguments(qd, dtype, times, inside):
    """The tape is about the memory of its own time; what an earlier launch found is not there any more."""
    x, y, k = weighted(qd, dtype)

    def program():
        for _ in range(times):
            k(1.0)
        x.fill(4.0)
        with qd.ad.Tape(y):
            k(2.0)
            if inside:
                k.grad(1.0)
        y.grad.fill(1.0)
        k.grad(1.0)

    return Run(program, given={x: X}, raises=UNKEPT)


@case(rules=["grad.kept", "grad.changed"], params={"times": [1, 5]}, **PLAIN)
def launches_of_two_tapes(qd, dtype, times):
    """Between them memory has changed, and there was a launch outside."""
    x, y, k = weighted(qd, dtype)

    def program():
        with qd.ad.Tape(y):
            k(1.0)
        x.fill(4.0)
        for _ in range(times):
            k(2.0)
        with qd.ad.Tape(y):
            k(3.0)
        y.grad.fill(1.0)
        k.grad(1.0)

    return Run(program, given={x: X}, raises=UNKEPT)


@case(rules=["grad.last-launch"], params={"times": [1, 5]}, **PLAIN)
def a_launch_before_a_tape_that_nothing_has_touched(qd, dtype, times):
    """Where memory is as it was, there is nothing to refuse."""
    x, y, k = weighted(qd, dtype)

    def program():
        for _ in range(times):
            k(1.0)
        with qd.ad.Tape(y):
            k(2.0)
        for s in (1.0, 2.0):
            x.grad.fill(0.0)
            y.grad.fill(1.0)
            k.grad(s)
            assert x.grad.to_numpy().tolist() == [2 * s * v for v in X]

    return Run(program, given={x: X})
