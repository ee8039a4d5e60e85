"""Rounding to integral values keeps the type and the sign of zero."""

from adstack.conformance.case import Run, case


@case(rules=["arith.rounding"], dtypes=["f32", "f64"])
def floor_and_ceil(qd, dtype):
    x, down, up = (qd.field(dtype, shape=6) for _ in range(3))

    @qd.kernel
    def k():
        for i in x:
            down[i] = qd.floor(x[i])
            up[i] = qd.ceil(x[i])

    given = {x: [1.5, -1.5, -0.25, -0.0, 7.0, "inf"]}
    return Run(k, given=given, expect={down: [1, -2, -1, -0.0, 7, "inf"], up: [2, -1, -0.0, -0.0, 7, "inf"]})


@case(rules=["arith.rounding"], dtypes=["f32", "f64"])
def round_takes_halves_away_from_zero(qd, dtype):
    x, out = qd.field(dtype, shape=6), qd.field(dtype, shape=6)

    @qd.kernel
    def k():
        for i in x:
            out[i] = qd.round(x[i])

    return Run(k, given={x: [0.5, 1.5, 2.5, -0.5, -2.5, -0.25]}, expect={out: [1, 2, 3, -1, -3, -0.0]})


@case(rules=["arith.rounding"], params={"bits": [24, 53]})
def round_is_not_fooled_by_the_number_below_one_half(qd, bits):
    """floor(x + 0.5) would be 1: the sum rounds up."""
    dtype = {24: qd.f32, 53: qd.f64}[bits]
    x, out = qd.field(dtype, shape=()), qd.field(dtype, shape=())

    @qd.kernel
    def k():
        out[None] = qd.round(x[None])

    return Run(k, given={x: 0.5 - 2.0 ** -(bits + 1)}, expect={out: 0})


@case(rules=["arith.abs"])
def abs_clears_the_sign(qd):
    x, out = qd.field(qd.f32, shape=4), qd.field(qd.f32, shape=4)
    n, m = qd.field(qd.i32, shape=2), qd.field(qd.i32, shape=2)

    @qd.kernel
    def k():
        for i in x:
            out[i] = abs(x[i])
        for i in n:
            m[i] = abs(n[i])

    given = {x: [-1.5, -0.0, "-inf", 2], n: [-7, 7]}
    return Run(k, given=given, expect={out: [1.5, 0.0, "inf", 2], m: [7, 7]})
