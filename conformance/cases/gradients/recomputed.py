"""States that a program computes again, to differentiate a step whose values were not kept."""

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import real

PLAIN = {"dtypes": ["f64"], "options": {"default_fp": "dtype"}}
DEBUG = {"dtypes": ["f64"], "options": {"default_fp": "dtype", "debug": True}}
FOUND = "as the launch found it"


@case(rules=["grad.recomputed"], **PLAIN)
def a_grid_that_is_computed_again(qd, dtype):
    """Who computes a state again by the same launches, to differentiate a step that was not kept, is right."""
    return recomputed(qd, dtype)


@case(rules=["grad.recomputed"], **DEBUG)
def a_grid_that_is_computed_again_in_debug_mode(qd, dtype):
    """As without it."""
    return recomputed(qd, dtype)


@case(rules=["grad.recomputed", "grad.changed"], params={"of": ["same", "host", "array", "random"]}, **PLAIN)
def a_state_that_is_made_again_of_something_else(qd, dtype, of):
    """The same launch makes another state where the host has written what it reads, or where it draws numbers."""
    x, f, y, a = (
        real(qd, dtype, 4),
        real(qd, dtype, 4),
        real(qd, dtype, ()),
        qd.ndarray(dtype, shape=4, needs_grad=True),
    )

    @qd.kernel
    def copy(a: qd.types.ndarray()):
        for i in x:
            if qd.static(of == "random"):
                x[i] = qd.random(dtype)
            elif qd.static(of == "array"):
                x[i] = a[i] * a[i]
            else:
                x[i] = f[i] * f[i]

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * x[i]

    def program():
        copy(a)
        k()
        if of != "same":
            f[1] = a[1] = 3.0
        copy(a)
        y.grad.fill(1.0)
        k.grad()

    return Run(program, raises=None if of == "same" else Raises("DataAccessError", FOUND))


def recomputed(qd, dtype):
    steps, n, cells = 3, 64, 4
    x, g, y = real(qd, dtype, (steps + 1, n)), real(qd, dtype, cells), real(qd, dtype, ())

    @qd.kernel
    def clear():
        for c in g:
            g[c] = 0.0

    @qd.kernel
    def scatter(t: qd.i32):
        for p in range(n):
            g[p % cells] += x[t, p] * x[t, p]

    @qd.kernel
    def square():
        for c in g:
            g[c] = g[c] * g[c]

    @qd.kernel
    def gather(t: qd.i32):
        for p in range(n):
            x[t + 1, p] = x[t, p] * g[p % cells]

    @qd.kernel
    def loss():
        for p in range(n):
            y[None] += x[steps, p]

    def grid(t):
        for kernel, args in ((clear, ()), (scatter, (t,)), (square, ())):
            kernel(*args)

    def forward():
        for t in range(steps):
            grid(t)
            gather(t)
        loss()

    def program():
        with qd.ad.Tape(y):
            forward()
        right = x.grad.to_numpy()[0]
        for _ in range(2):
            for data in (x, g, y):
                data.grad.fill(0.0)
            forward()
            y.grad.fill(1.0)
            loss.grad()
            for t in range(steps - 1, -1, -1):
                grid(t)
                g.grad.fill(0.0)
                gather.grad(t)
                square.grad()
                scatter.grad(t)
            assert abs(right).min() > 0
            assert x.grad.to_numpy()[0].tolist() == right.tolist()

    return Run(program, given={x: [[0.25] * n] * (steps + 1)})  # of whose powers and sums none is rounded
