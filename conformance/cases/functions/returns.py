"""Scalar arguments and results of kernels, in every type."""

import math

from adstack.conformance.case import Raises, Run, case

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]


def extremes(name):
    bits = int(name[1:])
    return (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@case(rules=["memory.map", "control.return", "types.scalars"], params={"name": INTS})
def integers_pass_through_a_kernel(qd, name):
    low, high = extremes(name)

    @qd.kernel
    def k(x: getattr(qd, name)) -> getattr(qd, name):
        return x

    return [Run(k, args=(value,), returns=value) for value in (low, high, 7)]


@case(rules=["memory.map", "control.return", "types.scalars"], params={"name": ["f16", "f32", "f64"]})
def floats_pass_through_a_kernel(qd, name):
    @qd.kernel
    def k(x: getattr(qd, name)) -> getattr(qd, name):
        return x

    values = (0.5, -0.0, math.inf, -math.inf, math.nan, 65504.0, 0.1)
    return [Run(k, args=(value,), returns=value, returns_dtype=name) for value in values]


@case(rules=["memory.map", "control.return"], params={"value": [True, False]})
def truth_values_pass_through_a_kernel(qd, value):
    @qd.kernel
    def k(x: qd.u1) -> qd.u1:
        return not x

    return Run(k, args=(value,), returns=not value)


@case(rules=["control.return"], params={"name": ["i8", "u8", "i16", "u16", "u32", "i64", "u64"]})
def an_integer_result_is_converted_modulo_its_width(qd, name):
    low, high = extremes(name)

    @qd.kernel
    def k(x: qd.i64) -> getattr(qd, name):
        return x

    return [Run(k, args=(v,), returns=(v - low) % (high - low + 1) + low) for v in (-1, 2**40 + 300, 200)]


@case(rules=["control.return"])
def vectors_and_matrices_are_returned(qd):
    @qd.kernel
    def vector(a: qd.i32) -> qd.types.vector(3, qd.i32):
        return qd.Vector([a, 2 * a, 3 * a])

    @qd.kernel
    def matrix(a: qd.f32) -> qd.types.matrix(2, 2, qd.f32):
        return qd.Matrix([[a, 0.5], [-a, 1.0]])

    return [
        Run(vector, args=(5,), returns=[5, 10, 15]),
        Run(matrix, args=(0.25,), returns=[[0.25, 0.5], [-0.25, 1]]),
    ]


@case(rules=["control.return"])
def a_tuple_of_many_types_is_returned(qd):
    @qd.kernel
    def k(a: qd.i64) -> (qd.i64, qd.u8, qd.f64, qd.f32, qd.i32):
        return a, a, a, a / 2, -a

    return Run(k, args=(300,), returns=(300, 44, 300, 150, -300))


@case(rules=["memory.map"])
def vectors_and_matrices_are_arguments(qd):
    @qd.kernel
    def k(m: qd.types.matrix(2, 3, qd.i32), v: qd.types.vector(3, qd.i32)) -> qd.types.vector(2, qd.i32):
        return m @ v

    return Run(k, args=(qd.Matrix([[1, 2, 3], [4, 5, 6]]), qd.Vector([1, 0, -1])), returns=[-2, -2])


@case(rules=["memory.map"])
def keyword_arguments(qd):
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return 10 * a + b

    return [Run(lambda: k(b=1, a=2), returns=21), Run(lambda: k(3, b=4), returns=34)]


@case(rules=["control.return"])
def a_result_after_parallel_loops(qd):
    x = qd.field(qd.i32, shape=10)

    @qd.kernel
    def k() -> qd.i32:
        for i in x:
            x[i] = i * i
        s = 0
        for i in x:
            s += x[i]
        return s - x[9]

    return Run(k, returns=285 - 81)


@case(rules=["errors.hierarchy"], params={"value": [2**31, -(2**31) - 1, 1.5, "x"]})
def an_argument_that_an_i32_does_not_hold_is_refused(qd, value):
    @qd.kernel
    def k(x: qd.i32) -> qd.i32:
        return x

    return Run(k, args=(value,), raises=Raises("Exception"))


@case(rules=["control.return"])
def a_result_without_an_annotation_is_an_error(qd):
    @qd.kernel
    def k(x: qd.i32):
        return x

    return Run(k, args=(1,), raises=Raises("CompilationError"))
