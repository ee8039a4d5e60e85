"""Derivatives of functions that call themselves."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, agrees, real
from adstack.conformance.plain import sin


def product(n, a):
    return a if n <= 1 else sin(product(n - 1, a)) * product(n - 2, a / 2)


def summed(n, a):
    total = a
    for j in range(n):
        total = total + summed(n - 1, a * (j + 1) / 4) * total
    return total


@case(rules=["control.recursion", "grad.loop"], params={"n": [1, 4]}, **{**BOUNDED, "dtypes": ("f64",)})
def products_of_calls(qd, dtype, n):
    """Each iteration calls to a depth of its own."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.real_func(max_depth=12)
    def f(n: qd.i32, a: dtype) -> dtype:
        if n <= 1:
            return a
        return qd.sin(f(n - 1, a)) * f(n - 2, a * 0.5)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            y[i] = f(n + i, x[i])

    return agrees(k, lambda x: [product(n + i, a) for i, a in enumerate(x)], {x: [0.5, -1.25, 2.0]}, [y], args=(n,))


@case(rules=["control.recursion", "grad.loop"], **{**BOUNDED, "dtypes": ("f64",)})
def calls_in_a_loop_that_carries_a_value(qd, dtype):
    x, y = real(qd, dtype, 2), real(qd, dtype, 2)

    @qd.real_func(max_depth=8)
    def f(n: qd.i32, a: dtype) -> dtype:
        total = a
        for j in range(n):
            total += f(n - 1, a * (j + 1) / 4) * total
        return total

    @qd.kernel
    def k():
        for i in x:
            y[i] = f(i + 2, x[i])

    return agrees(k, lambda x: [summed(i + 2, a) for i, a in enumerate(x)], {x: [0.5, -0.75]}, [y])
