"""What stands around the launches of a Tape: gradients outside of it, and what the host writes between its calls."""

import numpy as np

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import EXACT, agrees, real

PLAIN = {"dtypes": ["f64"], "options": {"default_fp": "dtype"}}
X = [0.5, 1.0, -0.25, 2.0]


@case(rules=["grad.kept"], params={"before": [0, 4], "after": [0, 1, 4], "launched": [False, True]}, **PLAIN)
def a_gradient_outside_once_memory_has_changed(qd, dtype, before, after, launched):
    """The Tape's launch is the last one: how often its gradient was asked for before makes no difference."""
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * x[i]

    def gradient(values):
        x.grad.fill(0.0)
        y.grad.fill(1.0)
        k.grad()
        assert x.grad.to_numpy().tolist() == [2 * v for v in values]

    def program():
        for _ in range(before):
            k()
            gradient(X)
        with qd.ad.Tape(y):
            k()
        for _ in range(after):
            gradient(X)
        x.fill(9.0)
        if launched:
            k()
        gradient([9.0] * 4)

    unkept = Raises("DataAccessError", "its last launch has overwritten, or others since")
    return Run(program, given={x: X}, raises=None if launched else unkept)


@case(rules=["grad.kept", "grad.followed"], params={"of": ["field", "array", "earlier"], "tapes": [1, 3]}, **PLAIN)
def a_gradient_outside_of_a_tapes_launch_with_arguments(qd, dtype, of, tapes):
    """Its arguments are known, however the Tape made it, unless something that it left has been written since."""
    x, y = real(qd, dtype, 4), real(qd, dtype, ())
    a, b = (qd.ndarray(dtype, shape=4, needs_grad=True) for _ in range(2))

    @qd.kernel
    def of_field(s: dtype):
        qd.loop_config(serialize=True)
        for t in range(3):
            x[t + 1] = s * x[t] * x[t]

    @qd.kernel
    def of_array(u: qd.types.ndarray(), s: dtype):
        qd.loop_config(serialize=True)
        for t in range(3):
            u[t + 1] = s * u[t] * u[t]

    @qd.kernel
    def last(u: qd.types.ndarray()):
        y[None] += u[3] + x[3]

    kernel, first, second = (of_array, a, b) if of == "array" else (of_field, x, x)

    def gradient(data, s):
        data.grad.fill(0.0)
        data.grad[3] = 1.0
        kernel.grad(*([data, s] if of == "array" else [s]))
        assert data.grad[0] == 2.0**-4 * s**7  # of s^7 x^8

    def program():
        for _ in range(tapes):
            with qd.ad.Tape(y):
                for data, s in ((first, 2.0), (second, 1.0)):
                    data[0] = 0.5
                    kernel(*([data, s] if of == "array" else [s]))
                last(a)
        gradient(second, 1.0)
        if of != "field":
            gradient(first, 2.0)

    overwritten = Raises("DataAccessError", "its last launch has overwritten, or others since")
    return Run(program, raises=overwritten if of == "earlier" else None)


WRITERS = {"who": ["kernel", "host"], "how": ["element", "all", "kernel of constants"]}


def stored(qd, dtype, decorate, who, how):
    """z is written by a function, and then by the host, or by constants; only what it holds last is weighed."""
    x, z, y = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def copy():
        for i in x:
            z[i] = 3.0 * x[i]

    @qd.kernel
    def eights():
        for i in z:
            z[i] = 8.0

    @qd.ad.no_grad
    def constants():
        eights()

    @qd.kernel
    def squares():
        for i in z:
            y[None] += z[i] * z[i]

    def function():
        if who == "kernel":
            copy()
        else:
            z.from_numpy(3.0 * x.to_numpy())

    function = decorate(function, x, z)

    def program():
        with qd.ad.Tape(y):
            function()
            if how == "element":
                z[1] = 8.0
            elif how == "all":
                z.fill(8.0)
            else:
                constants()
            squares()

    return x, z, program


@case(rules=["grad.constant", "grad.linked"], params=WRITERS, **PLAIN)
def what_the_host_writes_over_constants_is_an_input(qd, dtype, who, how):
    """Its gradient stays, where that of the constants that it overwrites is nothing."""
    x, z, program = stored(qd, dtype, lambda function, x, z: qd.ad.no_grad(function), who, how)
    expect = {"element": [0.0, 16.0, 0.0, 0.0], "all": [16.0] * 4}.get(how, [0.0] * 4)
    return Run(program, given={x: X}, expect=[(z.grad, expect), (x.grad, [0.0] * 4)])


@case(rules=["grad.linked"], params=WRITERS, **PLAIN)
def what_the_host_writes_over_a_function_with_its_own_gradient_is_an_input(qd, dtype, who, how):
    """The function's gradient gets nothing for what was overwritten."""

    def replaced(function, x, z):
        forward = qd.ad.grad_replaced(function)

        @qd.ad.grad_for(forward)
        def backward():
            for i in range(4):
                x.grad[i] += 5.0 * z.grad[i]
                z.grad[i] = 0.0

        return forward

    x, z, program = stored(qd, dtype, replaced, who, how)
    over = {"element": [0.0, 16.0, 0.0, 0.0], "all": [16.0] * 4}.get(how, [0.0] * 4)
    under = [5.0 * 2.0 * 3.0 * v for v in X] if how == "element" else [0.0] * 4
    under = [0.0 if o else u for o, u in zip(over, under)]
    return Run(program, given={x: X}, expect=[(z.grad, over), (x.grad, under)])


def scaled_squares(qd, dtype):
    """A kernel that adds s times the squares of x to y."""
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k(s: dtype):
        for i in x:
            y[None] += s * x[i] * x[i]

    return x, y, k


@case(rules=["grad.changed"], params={"between": [0, 1, 3]}, **PLAIN)
def a_launch_of_a_tape_after_launches_with_other_arguments(qd, dtype, between):
    """The tape kept what it needed; outside of it, the launch can't be differentiated once x has changed."""
    x, y, k = scaled_squares(qd, dtype)

    def program():
        with qd.ad.Tape(y):
            k(1.0)
        assert x.grad.to_numpy().tolist() == [2 * v for v in X]
        x.fill(9.0)
        for _ in range(between):
            k(2.0)
        y.grad.fill(1.0)
        k.grad(1.0)

    unkept = Raises("DataAccessError", "its last launch has overwritten, or others since")
    return Run(program, given={x: X}, raises=unkept)


@case(rules=["grad.changed"], **PLAIN)
def a_launch_with_an_array_of_numpys_that_changes_before_a_tape(qd, dtype):
    """The tape launches with the array as it is now; an earlier launch with another number found it otherwise."""
    x, y, factors = real(qd, dtype, 2), real(qd, dtype, ()), np.array([2.0, 3.0])

    @qd.kernel
    def k(a: qd.types.ndarray(dtype=dtype, ndim=1), scale: qd.i32):
        for i in x:
            y[None] += scale * a[i] * x[i]

    def program():
        k(factors, 3)
        factors[1] = 5.0
        with qd.ad.Tape(y):
            k(factors, 4)
        assert x.grad.to_numpy().tolist() == [8.0, 20.0]
        y.grad[None] = 1.0
        k.grad(factors, 3)

    unkept = Raises("DataAccessError", "its last launch has overwritten, or others since")
    return Run(program, given={x: [0.5, -1.0]}, raises=unkept)


@case(rules=["grad.changed"], **PLAIN)
def launches_outside_a_tape_after_one_of_it(qd, dtype):
    """They are known by their arguments again, and so is the launch of the tape as long as nothing has changed."""
    x, y, k = scaled_squares(qd, dtype)

    def program():
        with qd.ad.Tape(y):
            k(1.0)
        k(2.0)
        for s in (2.0, 1.0):
            x.grad.fill(0.0)
            y.grad.fill(1.0)
            k.grad(s)
            assert x.grad.to_numpy().tolist() == [2 * s * v for v in X]

    return Run(program, given={x: X})


@case(rules=["grad.linked", "grad.forward"], params={"kind": ["field", "offset", "vectors"]}, **EXACT)
def elements_are_copied_by_the_host(qd, dtype, kind):
    """`copy_from()` between launches: derivatives are those of the elements that are copied, as they were then."""
    x, y, loss = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype)
    if kind == "offset":
        y = qd.field(dtype, 4, offset=-2, needs_grad=True, needs_dual=True)
    if kind == "vectors":
        x, y = (qd.Vector.field(2, dtype, shape=2, needs_grad=True, needs_dual=True) for _ in range(2))

    @qd.kernel
    def square(values: qd.template()):
        for i in values:
            values[i] *= values[i]

    @qd.kernel
    def total(values: qd.template()):
        for i in values:
            loss[None] += qd.Vector([values[i]]).sum() if qd.static(kind != "vectors") else values[i].sum()

    def program():
        square(x)
        y.copy_from(x)
        square(y)
        total(y)
        y.copy_from(x)
        y.copy_from(y)
        total(y)

    def plain(x):
        numbers = [a for row in x for a in row] if kind == "vectors" else x
        return sum(a * a + a * a * a * a for a in numbers)

    given = [X[:2], X[2:]] if kind == "vectors" else X
    return agrees(program, plain, {x: given}, [loss], loss=loss)


@case(rules=["grad.followed"], params={"who": ["the host", "a kernel", "numpy"], "times": [1, 4]}, **PLAIN)
def a_tape_that_has_ended_is_not_differentiated_in_other_memory(qd, dtype, who, times):
    """Its `grad()` adds the same gradient once more, until something that it needs is written; arrays may be copied."""
    x, y, values = real(qd, dtype, 2), real(qd, dtype, ()), np.array([2.0, 3.0])
    w = qd.field(dtype, shape=2)
    w.from_numpy(values)

    @qd.kernel
    def weigh():
        for i in x:
            y[None] += w[i] * x[i] * x[i]

    @qd.kernel
    def weigh_array(factors: qd.types.ndarray(dtype=dtype, ndim=1)):
        for i in x:
            y[None] += factors[i] * x[i] * x[i]

    @qd.kernel
    def double():
        for i in w:
            w[i] *= 2

    tapes = [qd.ad.Tape(y) for _ in range(times)]

    def recorded():
        for tape in tapes:
            with tape:
                weigh_array(values) if who == "numpy" else weigh()
        tapes[-1].grad()
        assert x.grad.to_numpy().tolist() == [4.0, -12.0]
        if who == "the host":
            w[1] = 5.0
        elif who == "a kernel":
            double()
        else:
            values[1] = 5.0
        refused = ""
        try:
            tapes[-1].grad()
        except qd.AdstackDataAccessError as error:
            refused = str(error)
        is_right = who == "numpy" and x.grad.to_numpy().tolist() == [6.0, -18.0]
        assert is_right or "has been written since" in refused

    return Run(recorded, given={x: [0.5, -1.0]})


@case(rules=["grad.followed"], params={"times": [2, 5]}, **PLAIN)
def a_tape_that_is_entered_again_starts_anew(qd, dtype, times):
    x, y = real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * x[i]

    tape = qd.ad.Tape(y)

    def program():
        for _ in range(times):
            with tape:
                k()
            assert x.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]
            assert len(tape.calls) == 1

    return Run(program, given={x: [1.0, 2.0, 3.0]})


@case(rules=["grad.unlinked"], params={"of": ["array", "argument"], "tapes": [1, 3]}, **PLAIN)
def loops_without_iterations_compute_their_loss(qd, dtype, of, tapes):
    """A Tape of nothing but empty loops, before and after one with iterations: all gradients are 0."""
    y, x = real(qd, dtype, ()), real(qd, dtype, 4)
    empty, full = (qd.ndarray(dtype, shape=n, needs_grad=True) for n in (0, 4))

    @qd.kernel
    def of_array(a: qd.types.ndarray()):
        for i in range(a.shape[0]):
            y[None] += a[i] * a[i]

    @qd.kernel
    def of_argument(n: qd.i32):
        for i in range(n):
            y[None] += x[i] * x[i]

    def gradient(with_iterations):
        with qd.ad.Tape(y):
            if of == "array":
                of_array(full if with_iterations else empty)
            else:
                of_argument(4 if with_iterations else 0)
        return (full if of == "array" else x).grad.to_numpy().tolist()

    def program():
        for _ in range(tapes):
            if of == "argument":
                assert gradient(False) == [0.0] * 4
            else:
                gradient(False)
            assert gradient(True) == [2 * v for v in X]
        gradient(False)

    return Run(program, given={x: X, full: X}, expect={y: 0.0})


@case(rules=["grad.followed"], **PLAIN)
def a_tape_that_overwrote_its_state_is_differentiated_again(qd, dtype):
    """What was logged is there for every `tape.grad()`, whatever was cleared or seeded between."""
    x, y = real(qd, dtype, 2), real(qd, dtype, ())

    @qd.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    @qd.kernel
    def total():
        for i in x:
            y[None] += x[i]

    def program():
        with qd.ad.Tape(y) as tape:
            square()
            square()
            total()
        for _ in range(3):
            assert x.grad.to_numpy().tolist() == [4.0, 32.0]
            x.grad.fill(0)
            tape.grad()
        qd.ad.clear_all_gradients()
        tape.grad()

    return Run(program, given={x: [1, 2], y: 0}, expect={x: [1, 16], y: 17, x.grad: [4, 32]})
