"""What stands around the launches of a Tape: gradients outside of it, and what the host writes between its calls."""

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import real

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
