"""Integer // and % round toward minus infinity, like Python's; raw_div and raw_mod toward zero, like C's."""

from fractions import Fraction

from adstack.conformance.case import Raises, Run, case


@case(rules=["arith.floordiv"])
def floor_division_of_negatives(qd):
    a, out = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] // 3

    return Run(k, given={a: [7, -7, 6, -6]}, expect={out: [2, -3, 2, -2]})


@case(rules=["arith.floordiv"], dtypes=["i8", "i16", "i32", "i64"])
def floor_division_of_every_sign(qd, dtype):
    a, b, out = (qd.field(dtype, shape=4) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] // b[i]

    return Run(k, given={a: [7, -7, 7, -7], b: [3, 3, -3, -3]}, expect={out: [2, -3, -3, 2]})


@case(rules=["arith.mod"], dtypes=["i8", "i16", "i32", "i64"])
def remainder_has_the_sign_of_the_divisor(qd, dtype):
    a, b, out = (qd.field(dtype, shape=4) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] % b[i]

    return Run(k, given={a: [7, -7, 7, -7], b: [3, 3, -3, -3]}, expect={out: [1, 2, -2, -1]})


@case(rules=["arith.raw-division"], dtypes=["i32", "i64"])
def raw_division_rounds_toward_zero(qd, dtype):
    a, b, quotient, rest = (qd.field(dtype, shape=4) for _ in range(4))

    @qd.kernel
    def k():
        for i in a:
            quotient[i] = qd.raw_div(a[i], b[i])
            rest[i] = qd.raw_mod(a[i], b[i])

    given = {a: [7, -7, 7, -7], b: [3, 3, -3, -3]}
    return Run(k, given=given, expect={quotient: [2, -2, -2, 2], rest: [1, -1, 1, -1]})


@case(rules=["arith.floordiv", "arith.mod"])
def integer_division_by_zero_is_zero(qd):
    a, b, quotient, rest = (qd.field(qd.i32, shape=2) for _ in range(4))

    @qd.kernel
    def k():
        for i in a:
            quotient[i] = a[i] // b[i]
            rest[i] = a[i] % b[i]

    given = {a: [7, 7], b: [0, 2]}
    return Run(k, given=given, expect={quotient: [0, 3], rest: [0, 1]})


@case(rules=["arith.floordiv"], options={"debug": True})
def integer_division_by_zero_is_an_error_in_debug_mode(qd):
    a, out = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in a:
            out[i] = 7 // a[i]

    return Run(k, given={a: [1, 0, 2]}, raises=Raises("AssertionError", "division by zero"))


@case(rules=["arith.floordiv"], dtypes=["f32", "f64"])
def floor_division_of_floats_is_the_floor_of_the_quotient(qd, dtype):
    a, b, out = (qd.field(dtype, shape=4) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] // b[i]

    return Run(k, given={a: [7.5, -7.5, 7.5, 1], b: [2, 2, -2, 0.25]}, expect={out: [3, -4, -4, 4]})


@case(rules=["arith.mod"], dtypes=["f32", "f64"])
def remainder_of_floats(qd, dtype):
    a, b, out = (qd.field(dtype, shape=3) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] % b[i]

    return Run(k, given={a: [7.5, -7.5, 7.5], b: [2, 2, -2]}, expect={out: [1.5, 0.5, -0.5]})


@case(rules=["arith.true-division"])
def the_quotient_of_integers_is_a_float(qd):
    a, b, out = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=3), qd.field(qd.f32, shape=3)

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] / b[i]

    return Run(k, given={a: [1, -7, 6], b: [3, 2, 3]}, expect={out: [Fraction(1, 3), -3.5, 2]})


@case(rules=["arith.true-division"], options={"default_fp": "f64"})
def the_quotient_of_integers_has_the_default_type(qd):
    a, b, out = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=()), qd.field(qd.f64, shape=())

    @qd.kernel
    def k():
        out[None] = a[None] / b[None]

    return Run(k, given={a: 1, b: 3}, expect={out: Fraction(1, 3)})
