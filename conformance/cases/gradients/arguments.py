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


@case(
    rules=["grad.last-launch", "grad.kept"],
    params={"form": ["stages", "number", "one-loop"], "launched": [False, True]},
    **PLAIN,
)
def a_gradient_that_reads_what_the_launch_writes(qd, dtype, form, launched):
    """Without a launch, what stands there was not computed by this kernel, or not from this number."""
    x, z, y = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def stages():
        for i in x:
            z[i] = 2.0 * x[i]
        for i in x:
            y[None] += z[i] * z[i]

    @qd.kernel
    def number(s: dtype):
        for i in x:
            z[i] = s * x[i]
        for i in x:
            y[None] += z[i] * z[i]

    @qd.kernel
    def one_loop():
        for i in x:
            z[i] = 2.0 * x[i]
            y[None] += z[i] * z[i]

    kernel = {"stages": stages, "number": number, "one-loop": one_loop}[form]
    args = (2.0,) if form == "number" else ()

    def program():
        y.grad.fill(1.0)
        if form == "number":
            kernel(3.0)
        if launched:
            kernel(*args)
        kernel.grad(*args)

    given = {x: X, z: 7.0}
    if launched:
        return Run(program, given=given, expect=[(x.grad, [8 * v for v in X])])
    return Run(program, given=given, raises=Raises("DataAccessError", "no launch with these arguments is remembered"))


@case(rules=["grad.constant"], params={"before": [False, True], "same": [False, True]}, **PLAIN)
def constants_of_a_tape_have_no_gradient(qd, dtype, before, same):
    """Whether or not a launch has used the field before, and whatever numbers were there."""
    x, z, y = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def copy():
        for i in x:
            z[i] = 2.0 * x[i]

    @qd.ad.no_grad
    def constants():
        copy()

    @qd.kernel
    def squares():
        for i in z:
            y[None] += z[i] * z[i]

    z_given = [2 * v for v in X] if same else [1.0] * 4

    def program():
        with qd.ad.Tape(y):
            if before:
                squares()
            constants()
            squares()

    return Run(
        program,
        given={x: X, z: z_given},
        expect=[(z.grad, [2 * v if before else 0.0 for v in z_given]), (x.grad, [0.0] * 4)],
    )


@case(rules=["grad.changed"], params={"times": [1, 4]}, **PLAIN)
def a_component_that_the_host_shares_changed(qd, dtype, times):
    """Where the host's array is the memory itself, what it writes is noticed; elsewhere it is a copy."""
    x, y, v = real(qd, dtype, 4), real(qd, dtype, ()), qd.Vector.field(2, dtype, shape=4)

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * v[i][0]

    def program():
        for _ in range(times):
            k()
        v.get_scalar_field(0).fill(4.0)
        y.grad.fill(1.0)
        try:
            k.grad()
        except qd.AdstackDataAccessError:
            assert v[0][0] == 4.0
            v.fill(3.0)
            k.grad()

    return Run(program, given={v: [[3.0, 3.0]] * 4}, expect=[(x.grad, [3.0] * 4)])


@case(
    rules=["grad.changed"],
    dtypes=["f64"],
    params={"who": ["host", "kernel", "nobody"]},
    options={"default_fp": "dtype"},
)
def what_a_launch_with_arguments_stored_and_somebody_overwrote(qd, dtype, who):
    """The launch reads what it has just stored; so does its reverse pass, in memory as the launch left it."""
    x, s, y = real(qd, dtype, 2), real(qd, dtype, 2), real(qd, dtype, 2)

    @qd.kernel
    def k(c: dtype):
        for i in x:
            s[i] = c * x[i]
            y[i] = s[i] * s[i]

    @qd.kernel
    def more():
        for i in s:
            s[i] = 3.0

    def run():
        k(2.0)
        if who == "host":
            s[0] = 3.0
        elif who == "kernel":
            more()
        y.grad.fill(1.0)
        k.grad(2.0)

    if who == "nobody":
        return Run(run, given={x: [0.5, 1.0]}, expect=[(x.grad, [4.0, 8.0])])
    return Run(run, given={x: [0.5, 1.0]}, raises=Raises("DataAccessError", "as the launch found it"))
