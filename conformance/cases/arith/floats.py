"""Float operations are IEEE 754's: rounded once, ties to even, with subnormals, infinities and signed zeros."""

from fractions import Fraction

from adstack.conformance.case import Run, case


@case(rules=["arith.float"], dtypes=["f32", "f64"])
def quotients_are_rounded_once(qd, dtype):
    a, b, out = (qd.field(dtype, shape=4) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] / b[i]

    thirds = [Fraction(1, 3), Fraction(-2, 3), Fraction(10, 7), Fraction(123456, 991)]
    return Run(k, given={a: [1, -2, 10, 123456], b: [3, 3, 7, 991]}, expect={out: thirds})


@case(rules=["arith.float"], params={"bits": [24, 53]})
def halfway_sums_round_to_even(qd, bits):
    dtype = {24: qd.f32, 53: qd.f64}[bits]
    half = Fraction(1, 2**bits)
    a, b, out = (qd.field(dtype, shape=3) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] + b[i]

    given = {a: [1, 1 + 2 * half, 1], b: [half, half, half + 2 * half * half]}
    return Run(k, given=given, expect={out: [1, 1 + 4 * half, 1 + 2 * half]})


@case(rules=["arith.float"], params={"bits": [24, 53]})
def a_product_is_rounded_before_it_is_added(qd, bits):
    """(1 + e)(1 + e) - (1 + 2e) is 0 if the product is rounded, e * e if it is fused with the sum."""
    dtype = {24: qd.f32, 53: qd.f64}[bits]
    e = Fraction(1, 2 ** (bits // 2 + 1))
    a, b, out = (qd.field(dtype, shape=()) for _ in range(3))

    @qd.kernel
    def k():
        out[None] = a[None] * a[None] - b[None]

    return Run(k, given={a: 1 + e, b: 1 + 2 * e}, expect={out: 0})


@case(rules=["arith.float"], params={"exponent": [-126, -1022]})
def subnormals_are_kept(qd, exponent):
    """The least normal number, halved, is subnormal; doubled again it is what it was."""
    dtype = {-126: qd.f32, -1022: qd.f64}[exponent]
    x, half, again = (qd.field(dtype, shape=()) for _ in range(3))

    @qd.kernel
    def k():
        half[None] = x[None] * 0.5
        again[None] = half[None] + half[None]

    least = Fraction(1, 2**-exponent)
    return Run(k, given={x: least}, expect={half: least / 2, again: least})


@case(rules=["arith.float"], dtypes=["f32", "f64"])
def infinities_and_nans_come_from_where_they_must(qd, dtype):
    a, b, out = (qd.field(dtype, shape=5) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] / b[i]

    given = {a: [1, -1, 0, "inf", 1], b: [0, 0, 0, "inf", "-0"]}
    return Run(k, given=given, expect={out: ["inf", "-inf", "nan", "nan", "-inf"]})


@case(rules=["arith.float"], dtypes=["f32", "f64"])
def zeros_keep_their_signs(qd, dtype):
    a, b = qd.field(dtype, shape=3), qd.field(dtype, shape=3)
    product, total, difference = (qd.field(dtype, shape=3) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            product[i] = a[i] * b[i]
            total[i] = a[i] + b[i]
            difference[i] = a[i] - b[i]

    given = {a: [0.0, -0.0, -0.0], b: [-1.0, 0.0, -0.0]}
    expect = {product: [-0.0, -0.0, 0.0], total: [-1.0, 0.0, -0.0], difference: [1.0, -0.0, 0.0]}
    return Run(k, given=given, expect=expect)


@case(rules=["arith.float"], dtypes=["f16", "f32", "f64"])
def zeros_that_stand_in_the_program_are_zeros(qd, dtype):
    """Drivers may take `x + 0` for x, `0 - x` for -x, `0 / x` for 0, and anything for `x / 0`."""
    x = qd.field(dtype, shape=6)
    more, less, over, under, twice = (qd.field(dtype, shape=6) for _ in range(5))

    @qd.kernel
    def k():
        for i in x:
            more[i] = x[i] + 0.0
            less[i] = 0.0 - x[i]
            over[i] = x[i] / 0.0
            under[i] = 0.0 / x[i]
            twice[i] = x[i] / (0.0 - 0.0 * x[i])

    expect = {
        more: [0.0, 0.0, "inf", "-inf", "nan", -2.5],
        less: [0.0, 0.0, "-inf", "inf", "nan", 2.5],
        over: ["nan", "nan", "inf", "-inf", "nan", "-inf"],
        under: ["nan", "nan", 0.0, -0.0, "nan", -0.0],
        twice: ["nan", "nan", "nan", "nan", "nan", "-inf"],
    }
    return Run(k, given={x: [0.0, -0.0, "inf", "-inf", "nan", -2.5]}, expect=expect)


@case(rules=["arith.float"], dtypes=["f32", "f64"])
def sqrt_of_negatives_is_nan_and_of_minus_zero_minus_zero(qd, dtype):
    x, out = qd.field(dtype, shape=4), qd.field(dtype, shape=4)

    @qd.kernel
    def k():
        for i in x:
            out[i] = qd.sqrt(x[i])

    return Run(k, given={x: [-1.0, -0.0, "inf", 4.0]}, expect={out: ["nan", -0.0, "inf", 2.0]})


@case(rules=["arith.float"])
def half_precision_is_rounded_at_every_operation(qd):
    """2048 + 1 is halfway between two halves and rounds to 2048; computed in f32 and rounded last it would be 2050."""
    a, one, out = (qd.field(qd.f16, shape=()) for _ in range(3))

    @qd.kernel
    def k():
        out[None] = a[None] + one[None] + one[None]

    return Run(k, given={a: 2048, one: 1}, expect={out: 2048})


@case(rules=["arith.float"], dtypes=["f32", "f64"])
def negation_flips_the_sign_of_zero(qd, dtype):
    x, out = qd.field(dtype, shape=3), qd.field(dtype, shape=3)

    @qd.kernel
    def k():
        for i in x:
            out[i] = -x[i]

    return Run(k, given={x: [0.0, -0.0, 1.5]}, expect={out: [-0.0, 0.0, -1.5]})
