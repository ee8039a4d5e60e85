"""More words that existing programs look for."""

import numpy as np

from adstack.conformance.case import Raises, Run, case


@case(rules=["errors.phrases"])
def an_index_out_of_bounds(qd):
    x = qd.field(qd.i32, shape=(2, 3))
    return Run(lambda: x[2, 0], raises=Raises("IndexError"))


@case(rules=["errors.phrases"])
def a_gradient_of_an_integer_array(qd):
    return Run(
        lambda: qd.ndarray(qd.i32, shape=2, needs_grad=True),
        raises=Raises("Exception", "i32 is not supported for ndarray"),
    )


@case(rules=["errors.phrases"])
def an_array_that_does_not_fit(qd):
    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=2)):
        x[0, 0] = 1.0

    return Run(k, args=(np.zeros(3, np.float32),), raises=Raises("ValueError", "Invalid value for argument"))


@case(rules=["errors.phrases"])
def a_return_inside_a_loop(qd):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        for i in range(n):
            return i
        return 0

    return Run(k, args=(1,), raises=Raises("CompilationError", "Return inside non-static if/for is not supported"))


@case(rules=["errors.phrases"])
def a_float_index(qd):
    x = qd.field(qd.f32, shape=3)

    @qd.kernel
    def k():
        for i in range(3):
            x[i / 2] = 1.0

    return Run(k, raises=Raises("CompilationError", "must be an integer"))


@case(rules=["errors.phrases"], options={"debug": True})
def a_negative_exponent(qd):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return 2**n

    return Run(k, args=(-2,), raises=Raises("AssertionError", "Negative exponent"))


@case(rules=["errors.phrases", "arith.int-power"])
def a_negative_constant_exponent(qd):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return n ** (-2)

    return Run(k, args=(2,), raises=Raises("Exception", "Negative exponent"))


@case(rules=["errors.phrases"], params={"what": ["try", "lambda", "global", "for-else", "raise"]})
def what_the_language_does_not_have(qd, what):
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def try_():
        try:
            x[None] = 1
        finally:
            x[None] = 2

    @qd.kernel
    def lambda_():
        f = lambda v: v  # noqa: E731
        x[None] = f(1)

    @qd.kernel
    def global_():
        global nothing  # noqa: PLW0602
        x[None] = 1

    @qd.kernel
    def else_():
        for i in range(3):
            x[None] = i
        else:  # noqa: PLW0120
            x[None] = 1

    @qd.kernel
    def raise_():
        raise ValueError("no")

    kernels = {"try": try_, "lambda": lambda_, "global": global_, "for-else": else_, "raise": raise_}
    return Run(kernels[what], given={x: 5}, expect={x: 5}, raises=Raises("CompilationError"))
