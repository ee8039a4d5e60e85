"""Integer arithmetic wraps in two's complement, at every width."""

from adstack.conformance.case import Run, case

SIGNED = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}
UNSIGNED = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}


@case(rules=["arith.wrap"], params={"name": list(SIGNED)})
def signed_sums_wrap(qd, name):
    dtype, top = getattr(qd, name), 2 ** (SIGNED[name] - 1)
    a, b, total, difference = (qd.field(dtype, shape=2) for _ in range(4))

    @qd.kernel
    def k():
        for i in a:
            total[i] = a[i] + b[i]
            difference[i] = a[i] - b[i]

    given = {a: [top - 1, -top], b: [1, 1]}
    return Run(k, given=given, expect={total: [-top, 1 - top], difference: [top - 2, top - 1]})


@case(rules=["arith.wrap"], params={"name": list(UNSIGNED)})
def unsigned_sums_wrap(qd, name):
    dtype, modulus = getattr(qd, name), 2 ** UNSIGNED[name]
    a, b, total, difference = (qd.field(dtype, shape=2) for _ in range(4))

    @qd.kernel
    def k():
        for i in a:
            total[i] = a[i] + b[i]
            difference[i] = a[i] - b[i]

    given = {a: [modulus - 1, 0], b: [1, 1]}
    return Run(k, given=given, expect={total: [0, 1], difference: [modulus - 2, modulus - 1]})


@case(rules=["arith.wrap"], params={"name": [*SIGNED, *UNSIGNED]})
def products_wrap(qd, name):
    bits = {**SIGNED, **UNSIGNED}[name]
    a, out = qd.field(getattr(qd, name), shape=2), qd.field(getattr(qd, name), shape=2)

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] * a[i]

    half = 2 ** (bits // 2)
    return Run(k, given={a: [half, half // 2 + 1]}, expect={out: [0, (half // 2 + 1) ** 2]})


@case(rules=["arith.wrap"], params={"name": list(SIGNED)})
def the_most_negative_number_is_its_own_negative(qd, name):
    least = -(2 ** (SIGNED[name] - 1))
    x, out = qd.field(getattr(qd, name), shape=2), qd.field(getattr(qd, name), shape=2)

    @qd.kernel
    def k():
        for i in x:
            out[i] = -x[i]

    return Run(k, given={x: [least, 5]}, expect={out: [least, -5]})


@case(rules=["arith.floordiv"], params={"name": ["i32", "i64"]})
def the_most_negative_number_by_minus_one_wraps(qd, name):
    least = -(2 ** (SIGNED[name] - 1))
    a, b, out = (qd.field(getattr(qd, name), shape=()) for _ in range(3))

    @qd.kernel
    def k():
        out[None] = a[None] // b[None]

    return Run(k, given={a: least, b: -1}, expect={out: least})


@case(rules=["arith.floordiv", "arith.mod"], params={"name": list(UNSIGNED)})
def unsigned_division_has_no_sign(qd, name):
    most = 2 ** UNSIGNED[name] - 1
    a, quotient, rest = (qd.field(getattr(qd, name), shape=()) for _ in range(3))

    @qd.kernel
    def k():
        quotient[None] = a[None] // 10
        rest[None] = a[None] % 10

    return Run(k, given={a: most}, expect={quotient: most // 10, rest: most % 10})


@case(rules=["arith.wrap"])
def products_of_64_bits_are_exact(qd):
    a, b, out = (qd.field(qd.i64, shape=2) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] * b[i]

    given = {a: [3037000499, -4294967297], b: [3037000499, 2147483647]}
    return Run(k, given=given, expect={out: [3037000499**2, -4294967297 * 2147483647]})
