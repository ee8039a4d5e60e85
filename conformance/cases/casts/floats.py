"""Conversions from and between floats."""

from adstack.conformance.case import Run, case


@case(rules=["types.float-to-int"], dtypes=["f32", "f64"])
def a_float_becomes_an_integer_by_truncation(qd, dtype):
    x, out = qd.field(dtype, shape=5), qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in x:
            out[i] = qd.cast(x[i], qd.i32)

    return Run(k, given={x: [2.75, -2.75, 0.99, -0.99, 1e6]}, expect={out: [2, -2, 0, 0, 1000000]})


@case(rules=["types.float-to-int"], dtypes=["f32", "f64"])
def what_is_too_large_saturates_and_nan_is_zero(qd, dtype):
    x = qd.field(dtype, shape=5)
    signed, unsigned = qd.field(qd.i32, shape=5), qd.field(qd.u32, shape=5)

    @qd.kernel
    def k():
        for i in x:
            signed[i] = qd.cast(x[i], qd.i32)
            unsigned[i] = qd.cast(x[i], qd.u32)

    given = {x: [3e9, -3e9, "inf", "-inf", "nan"]}
    expect = {signed: [2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0], unsigned: [3 * 10**9, 0, 2**32 - 1, 0, 0]}
    return Run(k, given=given, expect=expect)


@case(rules=["types.float-to-int"], params={"name": ["i8", "i16", "u8", "u16"]})
def narrow_integers_saturate_too(qd, name):
    bits = int(name[1:])
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if name[0] == "i" else (0, 2**bits - 1)
    x, out = qd.field(qd.f32, shape=3), qd.field(getattr(qd, name), shape=3)

    @qd.kernel
    def k():
        for i in x:
            out[i] = qd.cast(x[i], out.dtype)

    return Run(k, given={x: [1e6, -1e6, 7.9]}, expect={out: [high, low, 7]})


@case(rules=["types.float-to-float"])
def a_double_becomes_a_float_by_rounding_to_even(qd):
    x, out = qd.field(qd.f64, shape=4), qd.field(qd.f32, shape=4)

    @qd.kernel
    def k():
        for i in x:
            out[i] = qd.cast(x[i], qd.f32)

    given = {x: [1 + 2**-24, 1 + 3 * 2**-24, 1e300, 2.0**-150]}
    return Run(k, given=given, expect={out: [1, 1 + 2**-22, "inf", 0]})


@case(rules=["types.float-to-float"])
def a_float_becomes_a_half_and_back(qd):
    x, half, back = qd.field(qd.f32, shape=5), qd.field(qd.f16, shape=5), qd.field(qd.f32, shape=5)

    @qd.kernel
    def k():
        for i in x:
            half[i] = qd.cast(x[i], qd.f16)
        for i in x:
            back[i] = qd.cast(half[i], qd.f32)

    rounded = [2048, "inf", 2.0**-24, -0.0, 0.0999755859375]
    return Run(k, given={x: [2049, 65520, 2.0**-24, -0.0, 0.1]}, expect={half: rounded, back: rounded})


@case(rules=["types.float-to-float"])
def an_integer_becomes_a_float_by_one_rounding(qd):
    """2^60 + 2^36 + 1 lies just above the middle of two f32; by way of f64 it would land on it, and round down."""
    n, out = qd.field(qd.i64, shape=3), qd.field(qd.f32, shape=3)

    @qd.kernel
    def k():
        for i in n:
            out[i] = qd.cast(n[i], qd.f32)

    given = {n: [2**24 + 1, 2**60 + 2**36 + 1, -(2**63)]}
    return Run(k, given=given, expect={out: [2**24, 2**60 + 2**37, -(2**63)]})


@case(rules=["types.float-to-float"])
def the_largest_unsigned_number_becomes_a_double(qd):
    n, out = qd.field(qd.u64, shape=2), qd.field(qd.f64, shape=2)

    @qd.kernel
    def k():
        for i in n:
            out[i] = qd.cast(n[i], qd.f64)

    return Run(k, given={n: [2**64 - 1, 2**53 + 1]}, expect={out: [2**64, 2**53]})


@case(rules=["types.to-bool", "types.literals"])
def a_literal_becomes_true_unless_it_is_zero(qd):
    out, pair = qd.field(qd.u1, shape=6), qd.Vector.field(2, qd.u1, shape=())

    @qd.kernel
    def k() -> qd.u1:
        out[0] = 0.5
        out[1] = -0.25
        out[2] = 0.0
        out[3] = 7
        b = True
        b = 0.125
        out[4] = b
        out[5] = float("nan")
        pair[None] = qd.Vector([0.5, 0.0])
        return 0.5

    return Run(k, expect={out: [1, 1, 0, 1, 1, 1], pair: [1, 0]}, returns=1)


@case(rules=["types.to-bool"])
def a_number_becomes_true_unless_it_is_zero(qd):
    x, out = qd.field(qd.f32, shape=4), qd.field(qd.u1, shape=4)

    @qd.kernel
    def k():
        for i in x:
            out[i] = qd.cast(x[i], qd.u1)

    return Run(k, given={x: [0.0, -0.0, 0.5, "nan"]}, expect={out: [0, 0, 1, 1]})
