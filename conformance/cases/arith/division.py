"""Integer // and % round toward minus infinity, like Python's."""

from adstack.conformance.case import Run, case


@case(rules=["arith.floordiv"])
def floor_division_of_negatives(qd):
    a, out = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] // 3

    return Run(k, given={a: [7, -7, 6, -6]}, expect={out: [2, -3, 2, -2]})


@case(rules=["arith.mod"], dtypes=["i8", "i16", "i32", "i64"])
def remainder_has_the_sign_of_the_divisor(qd, dtype):
    a, b, out = (qd.field(dtype, shape=4) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            out[i] = a[i] % b[i]

    return Run(k, given={a: [7, -7, 7, -7], b: [3, 3, -3, -3]}, expect={out: [1, 2, -2, -1]})
