"""Shifts and bitwise operations."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["arith.bits"], dtypes=["i32", "i64", "u32", "u64"])
def and_or_xor(qd, dtype):
    a, b, both, either, one = (qd.field(dtype, shape=2) for _ in range(5))

    @qd.kernel
    def k():
        for i in a:
            both[i] = a[i] & b[i]
            either[i] = a[i] | b[i]
            one[i] = a[i] ^ b[i]

    given = {a: [0b1100, 0x7FFFFFFF], b: [0b1010, 0xFF]}
    expect = {both: [0b1000, 0xFF], either: [0b1110, 0x7FFFFFFF], one: [0b0110, 0x7FFFFF00]}
    return Run(k, given=given, expect=expect)


@case(rules=["arith.bits"])
def not_flips_every_bit(qd):
    x, out = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=3)
    u, flipped = qd.field(qd.u32, shape=2), qd.field(qd.u32, shape=2)

    @qd.kernel
    def k():
        for i in x:
            out[i] = ~x[i]
        for i in u:
            flipped[i] = ~u[i]

    given = {x: [0, -1, 5], u: [0, 0xFFFF0000]}
    return Run(k, given=given, expect={out: [-1, 0, -6], flipped: [2**32 - 1, 0x0000FFFF]})


@case(rules=["arith.shift"], params={"name": ["i32", "i64"]})
def shifts_to_the_right_keep_the_sign(qd, name):
    x, out = qd.field(getattr(qd, name), shape=4), qd.field(getattr(qd, name), shape=4)

    @qd.kernel
    def k():
        for i in x:
            out[i] = x[i] >> 2

    return Run(k, given={x: [-8, -7, 7, -1]}, expect={out: [-2, -2, 1, -1]})


@case(rules=["arith.shift"])
def shifts_of_unsigned_numbers_and_bit_shr_shift_in_zeros(qd):
    u, v = qd.field(qd.u32, shape=2), qd.field(qd.u32, shape=2)
    x, y = qd.field(qd.i32, shape=2), qd.field(qd.i32, shape=2)

    @qd.kernel
    def k():
        for i in u:
            v[i] = u[i] >> 4
            y[i] = qd.bit_shr(x[i], 28)

    given = {u: [0xF0000000, 0xFF], x: [-1, 2**30]}
    return Run(k, given=given, expect={v: [0x0F000000, 0xF], y: [15, 4]})


@case(rules=["arith.shift"])
def shifts_to_the_left_drop_high_bits(qd):
    x, out = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in x:
            out[i] = x[i] << (4 * i)

    return Run(k, given={x: [1, 1, -1, 0x7FFFFFFF]}, expect={out: [1, 16, -256, -4096]})


AMOUNTS = ["u32", "i64", "u64", "i8", "u1"]


@case(rules=["arith.shift", "types.promotion"], params={"amount": AMOUNTS})
def a_shift_has_the_type_of_what_is_shifted(qd, amount):
    """A common type with the amount would be unsigned, or wider: other bits would come from the left."""
    x, byte, by = qd.field(qd.i32, shape=2), qd.field(qd.u8, shape=2), qd.field(getattr(qd, amount), shape=2)
    right, left, narrow, again = (qd.field(qd.i64, shape=2) for _ in range(4))

    @qd.kernel
    def k():
        for i in x:
            right[i] = x[i] >> by[i]
            left[i] = x[i] << by[i]
            narrow[i] = byte[i] << by[i]
            y = x[i]
            y >>= by[i]
            again[i] = qd.bit_shr(y, by[i])

    given = {x: [-8, 2**31 - 1], byte: [200, 255], by: [1, 1]}
    expect = {right: [-4, 2**30 - 1], left: [-16, -2], narrow: [144, 254], again: [2**31 - 2, 2**29 - 1]}
    return Run(k, given=given, expect=expect)


@case(rules=["arith.shift"], params={"name": ["i64", "u64"]})
def amounts_of_a_wider_type_stay_past_the_width(qd, name):
    """Made narrower, 256 would be 0, and a shift by it none at all."""
    x, by = qd.field(qd.i8, shape=5), qd.field(getattr(qd, name), shape=5)
    left, right = qd.field(qd.i8, shape=5), qd.field(qd.i8, shape=5)

    @qd.kernel
    def k():
        for i in x:
            left[i] = x[i] << by[i]
            right[i] = x[i] >> by[i]

    far = -256 if name == "i64" else 2**64 - 256
    given = {x: [-1] * 5, by: [256, far, 8, 7, 2**32]}
    return Run(k, given=given, expect={left: [0, 0, 0, -128, 0], right: [0, 0, 0, -1, 0]})


@case(rules=["arith.shift", "types.literals"])
def a_literal_is_shifted_in_its_default_type_or_a_wider_one(qd):
    narrow, wide = qd.field(qd.u8, shape=()), qd.field(qd.i64, shape=())
    unsigned, out = qd.field(qd.u32, shape=()), qd.field(qd.i64, shape=3)

    @qd.kernel
    def k():
        out[0] = 1 << narrow[None]
        out[1] = 1 << wide[None]
        out[2] = 0x80000000 >> unsigned[None]

    return Run(k, given={narrow: 9, wide: 40, unsigned: 3}, expect={out: [512, 2**40, 2**28]})


@case(rules=["arith.shift"])
def shifts_past_the_width_give_zero(qd):
    x, by, left, right = (qd.field(qd.i32, shape=3) for _ in range(4))

    @qd.kernel
    def k():
        for i in x:
            left[i] = x[i] << by[i]
            right[i] = x[i] >> by[i]

    return Run(k, given={x: [1, 1, -1], by: [32, -1, 64]}, expect={left: [0, 0, 0], right: [0, 0, 0]})


@case(rules=["arith.shift"], options={"debug": True})
def shifts_past_the_width_are_errors_in_debug_mode(qd):
    x, out = qd.field(qd.i32, shape=2), qd.field(qd.i32, shape=2)

    @qd.kernel
    def k():
        for i in x:
            out[i] = 1 << x[i]

    return Run(k, given={x: [3, 32]}, raises=Raises("AssertionError", "shift"))


@case(rules=["arith.popcount"])
def set_bits_and_leading_zeros_are_counted(qd):
    x, ones, zeros = (qd.field(qd.i32, shape=5) for _ in range(3))

    @qd.kernel
    def k():
        for i in x:
            ones[i] = qd.math.popcnt(x[i])
            zeros[i] = qd.math.clz(x[i])

    given = {x: [0, 1, -1, 0x00F0, 2**30]}
    return Run(k, given=given, expect={ones: [0, 1, 32, 4, 1], zeros: [32, 31, 0, 24, 1]})
