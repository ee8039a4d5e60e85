"""Comparisons, minimum and maximum, with the operands that are easy to get wrong."""

from adstack.conformance.case import Run, case


@case(rules=["arith.compare"], dtypes=["f32", "f64"])
def with_a_nan_only_unequal_holds(qd, dtype):
    a, b = qd.field(dtype, shape=3), qd.field(dtype, shape=3)
    out = qd.field(qd.i32, shape=(3, 6))

    @qd.kernel
    def k():
        for i in a:
            out[i, 0] = a[i] == b[i]
            out[i, 1] = a[i] != b[i]
            out[i, 2] = a[i] < b[i]
            out[i, 3] = a[i] <= b[i]
            out[i, 4] = a[i] > b[i]
            out[i, 5] = a[i] >= b[i]

    given = {a: ["nan", 1.0, "nan"], b: [1.0, "nan", "nan"]}
    return Run(k, given=given, expect={out: [[0, 1, 0, 0, 0, 0]] * 3})


@case(rules=["arith.compare"])
def a_comparison_counts_as_one_or_zero(qd):
    x, out = qd.field(qd.i32, shape=3), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in x:
            out[i] = (x[i] > 0) + (x[i] > 1)

    return Run(k, given={x: [0, 1, 2]}, expect={out: [0, 1, 2]})


@case(rules=["arith.minmax"], dtypes=["f32", "f64"])
def a_nan_loses_to_a_number(qd, dtype):
    a, b, high, low = (qd.field(dtype, shape=3) for _ in range(4))

    @qd.kernel
    def k():
        for i in a:
            high[i] = qd.max(a[i], b[i])
            low[i] = qd.min(a[i], b[i])

    given = {a: ["nan", 1.0, "nan"], b: [1.0, "nan", "nan"]}
    return Run(k, given=given, expect={high: [1, 1, "nan"], low: [1, 1, "nan"]})


@case(rules=["arith.minmax"], dtypes=["f32", "f64"])
def the_right_zero_is_taken_at_a_tie(qd, dtype):
    a, b, high, low = (qd.field(dtype, shape=2) for _ in range(4))

    @qd.kernel
    def k():
        for i in a:
            high[i] = qd.max(a[i], b[i])
            low[i] = qd.min(a[i], b[i])

    return Run(k, given={a: [0.0, -0.0], b: [-0.0, 0.0]}, expect={high: [-0.0, 0.0], low: [-0.0, 0.0]})


@case(rules=["arith.minmax"], dtypes=["i8", "i32", "i64", "u8", "u32", "u64", "f32"])
def minimum_and_maximum_of_three(qd, dtype):
    a, b, c, high, low = (qd.field(dtype, shape=3) for _ in range(5))

    @qd.kernel
    def k():
        for i in a:
            high[i] = qd.max(a[i], b[i], c[i])
            low[i] = qd.min(a[i], b[i], c[i])

    given = {a: [1, 2, 127], b: [2, 3, 5], c: [3, 1, 126]}
    return Run(k, given=given, expect={high: [3, 3, 127], low: [1, 1, 5]})


@case(rules=["arith.minmax"])
def unsigned_numbers_compare_without_a_sign(qd):
    a, b, out = (qd.field(qd.u32, shape=2) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            out[i] = qd.max(a[i], b[i])

    return Run(k, given={a: [1, 2**31], b: [2**32 - 1, 5]}, expect={out: [2**32 - 1, 2**31]})


@case(rules=["arith.select"])
def select_takes_one_of_two_values(qd):
    c, out = qd.field(qd.i32, shape=3), qd.field(qd.f32, shape=3)

    @qd.kernel
    def k():
        for i in c:
            out[i] = qd.select(c[i] > 1, 2.5, -2.5)

    return Run(k, given={c: [0, 1, 2]}, expect={out: [-2.5, -2.5, 2.5]})


@case(rules=["arith.minmax"])
def the_greater_of_constants_has_the_type_that_it_has_at_run_time(qd):
    steps, width = 1, 2.5
    out = qd.field(qd.f32, shape=5)

    @qd.kernel
    def k():
        dt = max(steps, width * 0.1)
        dt *= 0.5
        least = min(width, 2)
        least += 0.25
        count = max(steps, 3)
        count += 1
        listed = max([1, 0.5])
        listed /= 4
        out[0] = dt
        out[1] = least
        out[2] = count
        out[3] = listed
        for _ in qd.static(range(max(2, 3))):
            out[4] += 1

    return Run(k, expect={out: [0.5, 2.25, 4, 0.25, 3]})
