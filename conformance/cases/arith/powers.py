"""Powers: exact for integers, products for small integral exponents."""

from adstack.conformance.case import Run, case


@case(rules=["arith.int-power"])
def integer_powers_are_integers(qd):
    b, e, out = (qd.field(qd.i32, shape=5) for _ in range(3))

    @qd.kernel
    def k():
        for i in b:
            out[i] = b[i] ** e[i]

    return Run(k, given={b: [3, -2, 7, 0, 2], e: [4, 5, 0, 0, 30]}, expect={out: [81, -32, 1, 1, 2**30]})


@case(rules=["arith.int-power"])
def integer_powers_wrap(qd):
    b, e, out = (qd.field(qd.i32, shape=3) for _ in range(3))

    @qd.kernel
    def k():
        for i in b:
            out[i] = b[i] ** e[i]

    wrapped = (3**21 + 2**31) % 2**32 - 2**31
    return Run(k, given={b: [2, 2, 3], e: [31, 32, 21]}, expect={out: [-(2**31), 0, wrapped]})


@case(rules=["arith.int-power"])
def a_negative_exponent_gives_zero_unless_the_base_is_a_unit(qd):
    b, e, out = (qd.field(qd.i32, shape=5) for _ in range(3))

    @qd.kernel
    def k():
        for i in b:
            out[i] = b[i] ** e[i]

    return Run(k, given={b: [2, 1, -1, -1, 0], e: [-1, -3, -3, -2, -1]}, expect={out: [0, 1, -1, 1, 0]})


@case(rules=["arith.float-power"], dtypes=["f32", "f64"])
def small_literal_exponents_are_products(qd, dtype):
    x, square, cube, inverse, one = (qd.field(dtype, shape=3) for _ in range(5))

    @qd.kernel
    def k():
        for i in x:
            square[i] = x[i] ** 2
            cube[i] = x[i] ** 3
            inverse[i] = x[i] ** -2
            one[i] = x[i] ** 0

    expect = {square: [2.25, 4, 64], cube: [3.375, -8, 512], inverse: ["4/9", 0.25, 0.015625], one: [1, 1, 1]}
    return Run(k, given={x: [1.5, -2, 8]}, expect=expect)
