"""`frexp`: mantissas and exponents, exact, with the mantissa's derivative."""

import numpy as np

from adstack.conformance.case import Raises, Run, case

NUMBERS = [6.0, 0.5, -0.75, 1.0, -123.25, 0.015625, 2.0**-14, 2.0**-20, -65504.0, 0.0, float("inf"), float("-inf")]
MANTISSAS = [0.75, 0.5, -0.75, 0.5, -0.962890625, 0.5, 0.5, 0.5, -0.99951171875, 0.0, float("inf"), float("-inf")]
EXPONENTS = [3, 0, 0, 1, 7, -5, -13, -19, 16, 0, 0, 0]


@case(rules=["arith.frexp"], dtypes=["f16", "f32", "f64"])
def numbers_are_taken_apart(qd, dtype):
    x, m, e = qd.field(dtype, shape=12), qd.field(dtype, shape=12), qd.field(qd.i32, shape=12)
    x.from_numpy(np.array(NUMBERS))

    @qd.kernel
    def k():
        for i in x:
            m[i], e[i] = qd.frexp(x[i])

    return Run(k, expect={m: MANTISSAS, e: EXPONENTS})


@case(rules=["arith.frexp"])
def the_greatest_and_least_numbers_are_taken_apart(qd):
    x, m, e = qd.field(qd.f64, shape=4), qd.field(qd.f64, shape=4), qd.field(qd.i32, shape=4)
    x.from_numpy(np.array([2.0**1023, -(2.0**-1022), 3 * 2.0**-1074, float("nan")]))

    @qd.kernel
    def k():
        for i in x:
            m[i], e[i] = qd.frexp(x[i])

    return Run(k, expect={m: [0.5, -0.5, 0.75, float("nan")], e: [1024, -1021, -1072, 0]})


@case(rules=["arith.frexp"], dtypes=["f32", "f64"])
def the_derivative_of_a_mantissa_is_the_power_that_was_taken_away(qd, dtype):
    x = qd.Vector.field(2, dtype, shape=2, needs_grad=True)
    y = qd.field(dtype, shape=2, needs_grad=True)

    @qd.kernel
    def k():
        for i in x:
            m, e = qd.frexp(x[i])
            y[i] = m[0] * m[1] + e[0]

    def gradients():
        x[0], x[1], y.grad[0], y.grad[1] = [6, 0.25], [-3, 0], 1, 1
        k()
        k.grad()

    # 6 = 0.75 * 2**3 and 0.25 = 0.5 * 2**-1; -3 = -0.75 * 2**2, and 0 is its own mantissa
    return Run(gradients, expect={y: [0.375 + 3, 2], x.grad: [[0.5 / 8, 0.75 * 2], [0, -0.75]]})


@case(rules=["arith.frexp"])
def literals_are_taken_apart_and_integers_are_not(qd):
    out = qd.field(qd.f32, shape=2)

    @qd.kernel
    def k():
        m, e = qd.frexp(10.0)
        out[0], out[1] = m, e

    @qd.kernel
    def wrong(n: qd.i32):
        m, e = qd.frexp(n)
        out[0], out[1] = m, e

    return [
        Run(k, expect={out: [0.625, 4]}),
        Run(wrong, args=(3,), raises=Raises("CompilationError"), expect={out: [0.625, 4]}),
    ]
