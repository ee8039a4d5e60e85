"""Ranges with a step, and loop variables that the body assigns to, differentiated."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, real
from adstack.conformance.plain import sin

STEPS = [(1, 8, 3), (7, 0, -2), (6, -1, -1), (0, 8, 9)]


@case(rules=["control.range", "grad.loop"], params={"bounds": STEPS}, **EXACT)
def a_parallel_range_with_a_step(qd, dtype, bounds):
    x, y = real(qd, dtype, 8), real(qd, dtype, 8)

    @qd.kernel
    def k(a: qd.i32, b: qd.i32, step: qd.i32):
        for i in range(a, b, step):
            y[i] += x[i] * x[7 - i]

    def plain(x, y):
        return [b + x[i] * x[7 - i] if i in range(*bounds) else b for i, b in enumerate(y)]

    given = {x: [0.5, -0.75, 1.25, 2.0, -1.5, 3.0, 0.25, 1.5], y: [1.0] * 8}
    return agrees(k, plain, given, [y], args=bounds)


@case(rules=["control.range", "grad.loop"], params={"bounds": STEPS, "form": ["runtime", "constant"]}, **BOUNDED)
def a_serial_range_with_a_step(qd, dtype, bounds, form):
    """The order of iterations matters, and the last ones differ between elements."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)
    first, last, by = bounds

    @qd.kernel
    def runtime(a: qd.i32, b: qd.i32, step: qd.i32):
        for e in x:
            s = x[e]
            for i in range(a + e, b, step):
                s = qd.sin(s) * (i + 1) + 0.5 * s
            y[e] = s

    @qd.kernel
    def constant(a: qd.i32, b: qd.i32, step: qd.i32):
        for e in x:
            s = x[e]
            for i in range(first + e, last, by):
                s = qd.sin(s) * (i + 1) + 0.5 * s
            y[e] = s

    def plain(x):
        out = []
        for e, s in enumerate(x):
            for i in range(first + e, last, by):
                s = sin(s) * (i + 1) + s / 2
            out.append(s)
        return out

    kernel = {"runtime": runtime, "constant": constant}[form]
    return agrees(kernel, plain, {x: [0.5, -0.75, 1.25]}, [y], args=bounds)


@case(rules=["control.scope", "grad.loop"], **EXACT)
def a_loop_variable_that_is_assigned(qd, dtype):
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(3):
                if s < 0.5:
                    j += 1
                s = s * x[j] * 0.5
            i = 3 - i
            y[i] = s * s

    def plain(x):
        out = [0] * 4
        for i, s in enumerate(x):
            for j in range(3):
                if s < 0.5:
                    j += 1
                s = s * x[j] / 2
            out[3 - i] = s * s
        return out

    return agrees(k, plain, {x: [0.5, -0.75, 1.25, 2.0]}, [y])
