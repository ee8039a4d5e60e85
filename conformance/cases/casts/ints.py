"""Conversions between integers, and of bits."""

from adstack.conformance.case import Run, case


@case(rules=["types.int-to-int"])
def a_wide_integer_becomes_a_narrow_one_modulo_its_range(qd):
    n = qd.field(qd.i64, shape=3)
    i32, u8, i8 = qd.field(qd.i32, shape=3), qd.field(qd.u8, shape=3), qd.field(qd.i8, shape=3)

    @qd.kernel
    def k():
        for i in n:
            i32[i] = qd.cast(n[i], qd.i32)
            u8[i] = qd.cast(n[i], qd.u8)
            i8[i] = qd.cast(n[i], qd.i8)

    given = {n: [2**32 + 200, -1, 2**31]}
    return Run(k, given=given, expect={i32: [200, -1, -(2**31)], u8: [200, 255, 0], i8: [-56, -1, 0]})


@case(rules=["types.int-to-int"])
def signed_numbers_widen_with_their_sign_and_unsigned_ones_with_zeros(qd):
    a, b = qd.field(qd.i8, shape=()), qd.field(qd.u8, shape=())
    wide, unsigned = qd.field(qd.i64, shape=2), qd.field(qd.u32, shape=2)

    @qd.kernel
    def k():
        wide[0] = qd.cast(a[None], qd.i64)
        wide[1] = qd.cast(b[None], qd.i64)
        unsigned[0] = qd.cast(a[None], qd.u32)
        unsigned[1] = qd.cast(b[None], qd.u32)

    return Run(k, given={a: -2, b: 254}, expect={wide: [-2, 254], unsigned: [2**32 - 2, 254]})


@case(rules=["types.bitcast"])
def bit_cast_keeps_the_bits(qd):
    x, bits, again = qd.field(qd.f32, shape=4), qd.field(qd.u32, shape=4), qd.field(qd.f32, shape=4)

    @qd.kernel
    def k():
        for i in x:
            bits[i] = qd.bit_cast(x[i], qd.u32)
        for i in x:
            again[i] = qd.bit_cast(bits[i], qd.f32)

    numbers = [1.0, -0.0, "inf", 2.0**-149]
    return Run(k, given={x: numbers}, expect={bits: [0x3F800000, 0x80000000, 0x7F800000, 1], again: numbers})
