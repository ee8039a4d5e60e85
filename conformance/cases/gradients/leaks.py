"""What is not taken contributes nothing, however infinite the derivative behind it: loops, memory, deep branches."""

from adstack.conformance.case import Gradient, Run, case
from adstack.conformance.gradients import EXACT, real

INFINITE = [0.0, 0.25, 1.0]
"""Where these cases take roots: the derivative at the first is infinite."""


def leaked(kernel, x, y, values, slopes):
    """The run with random-looking seeds: y' = slope x'."""
    seeds, direction = [3.0, 0.5, -2.0], [1.5, -2.0, 0.25]
    gradient = Gradient(
        seed={y: seeds},
        expect={x: [s * d for s, d in zip(seeds, slopes)]},
        forward_seed={x: direction},
        forward_expect={y: [s * d for s, d in zip(direction, slopes)]},
    )
    return Run(kernel, given={x: INFINITE}, expect={y: values}, gradient=gradient)


@case(rules=["grad.choice", "grad.connected"], params={"form": ["if", "late-if", "else", "nested"]}, **EXACT)
def a_root_formed_outside_the_branch_that_uses_it(qd, dtype, form):
    """The root is always computed, and used only where its argument is positive."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def plain_if():
        for i in x:
            r, s = qd.sqrt(x[i]), 4.0 * x[i]
            if x[i] > 0.0:
                s = r
            y[i] = s

    @qd.kernel
    def late_if():
        for i in x:
            r, s = qd.sqrt(x[i]), 4.0 * x[i]
            if x[i] > 0.0:
                s = 0.0 * s
            else:
                r = 0.0 * s
            y[i] = s + r

    @qd.kernel
    def in_else():
        for i in x:
            r, s = qd.sqrt(x[i]), x[i] * 0.0
            if x[i] <= 0.0:
                s = 4.0 * x[i]
            else:
                s = r
            y[i] = s

    @qd.kernel
    def nested():
        for i in x:
            r, s = qd.sqrt(x[i]), 4.0 * x[i]
            if i < 5:
                if x[i] > 0.0:
                    s = r
            y[i] = s

    kernel = {"if": plain_if, "late-if": late_if, "else": in_else, "nested": nested}[form]
    return leaked(kernel, x, y, [0.0, 0.5, 1.0], [4.0, 1.0, 0.5])


@case(rules=["grad.choice", "grad.loop"], params={"form": ["for", "while", "break", "select"]}, **EXACT)
def a_root_in_a_loop_that_only_some_iterations_use(qd, dtype, form):
    """Every iteration computes a root; the sum takes it only where its argument is positive."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def over_for():
        for i in x:
            s = 4.0 * x[i]
            for _ in range(2):
                r = qd.sqrt(x[i])
                if x[i] > 0.0:
                    s = s + r
            y[i] = s

    @qd.kernel
    def over_while():
        for i in x:
            s, n = 4.0 * x[i], 0
            while n < 2:
                r = qd.sqrt(x[i])
                if x[i] > 0.0:
                    s = s + r
                n += 1
            y[i] = s

    @qd.kernel
    def with_break():
        for i in x:
            s, n = 4.0 * x[i], 0
            while True:
                r = qd.sqrt(x[i])
                if x[i] <= 0.0 or n == 2:
                    break
                s = s + r
                n += 1
            y[i] = s

    @qd.kernel
    def with_select():
        for i in x:
            s = 4.0 * x[i]
            for _ in range(2):
                s = s + qd.select(x[i] > 0.0, qd.sqrt(x[i]), 0.0)
            y[i] = s

    kernel = {"for": over_for, "while": over_while, "break": with_break, "select": with_select}[form]
    return leaked(kernel, x, y, [0.0, 2.0, 6.0], [4.0, 6.0, 5.0])


@case(rules=["grad.choice", "grad.loop"], **EXACT)
def a_carried_root_that_nothing_uses(qd, dtype):
    """One of two carried values is dropped at the end: its infinite derivative does not matter."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s, r = 4.0 * x[i], x[i]
            for _ in range(n):
                r = qd.sqrt(r)
                s = s + x[i]
            if n < 0:
                s = r
            y[i] = s

    run = leaked(k, x, y, [0.0, 1.5, 6.0], [6.0, 6.0, 6.0])
    return Run(run.kernel, (2,), run.given, run.expect, gradient=run.gradient)


@case(rules=["grad.choice", "grad.local"], **EXACT)
def a_root_in_an_element_that_is_overwritten(qd, dtype):
    """A local array held a root, and something else before anyone read it."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            a = qd.Vector([0.0 * x[i], 0.0 * x[i]])
            a[i % 2] = qd.sqrt(x[i])
            a[i % 2] = 4.0 * x[i]
            y[i] = a[0] + a[1]

    return leaked(k, x, y, [0.0, 1.0, 4.0], [4.0, 4.0, 4.0])


@case(rules=["grad.choice"], **EXACT)
def a_chain_behind_a_choice(qd, dtype):
    """log(sqrt(x)) / x behind a ternary: every link has an infinite derivative at 0."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            bad = qd.log(qd.sqrt(x[i])) / x[i]
            y[i] = bad * 0.0 + 1.0 if x[i] < 0.0 else 4.0 * x[i]

    return leaked(k, x, y, [0.0, 1.0, 4.0], [4.0, 4.0, 4.0])
