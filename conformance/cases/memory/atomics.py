"""Atomic updates: nothing is lost, and the old value comes back."""

from adstack.conformance.case import Run, Total, case


@case(rules=["memory.atomic"], dtypes=["i32", "i64", "u32", "f32", "f64"])
def every_addend_counts(qd, dtype):
    total = qd.field(dtype, shape=2)

    @qd.kernel
    def k():
        for i in range(3000):
            qd.atomic_add(total[i % 2], 1)

    return Run(k, expect={total: [1500, 1500]})


@case(rules=["memory.atomic"])
def an_atomic_gives_the_old_value(qd):
    x, old = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for _ in range(1):
            old[0] = qd.atomic_add(x[None], 5)
            old[1] = qd.atomic_sub(x[None], 2)
            old[2] = qd.atomic_max(x[None], 100)
            old[3] = qd.atomic_min(x[None], 7)
            old[4] = x[None]

    return Run(k, given={x: 10}, expect={x: 7, old: [10, 15, 13, 100, 7]})


@case(rules=["memory.atomic"])
def bitwise_atomics(qd):
    x, old = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            old[0] = qd.atomic_and(x[None], 0b1110)
            old[1] = qd.atomic_or(x[None], 0b0001)
            old[2] = qd.atomic_xor(x[None], 0b1111)

    return Run(k, given={x: 0b1011}, expect={x: 0b0100, old: [0b1011, 0b1010, 0b1011]})


@case(rules=["memory.atomic"], dtypes=["i32", "f32", "f64"])
def the_largest_and_the_smallest_of_many(qd, dtype):
    x, high, low = qd.field(dtype, shape=100), qd.field(dtype, shape=()), qd.field(dtype, shape=())

    @qd.kernel
    def k():
        for i in x:
            qd.atomic_max(high[None], x[i])
            qd.atomic_min(low[None], x[i])

    values = [(37 * i) % 101 - 50 for i in range(100)]
    return Run(k, given={x: values}, expect={high: max(values), low: min(values)})


@case(rules=["memory.augmented"])
def augmented_assignments_update_elements(qd):
    x = qd.field(qd.i32, shape=7)

    @qd.kernel
    def k():
        for _ in range(1):
            x[0] += 5
            x[1] -= 5
            x[2] *= 5
            x[3] //= 5
            x[4] %= 5
            x[5] <<= 2
            x[6] >>= 2

    return Run(k, given={x: 13}, expect={x: [18, 8, 65, 2, 3, 52, 3]})


@case(rules=["memory.augmented"])
def many_iterations_add_to_one_element(qd):
    histogram = qd.field(qd.i32, shape=10)

    @qd.kernel
    def k():
        for i in range(1000):
            histogram[i * i % 10] += 1

    squares = [sum((i * i) % 10 == digit for i in range(10)) * 100 for digit in range(10)]
    return Run(k, expect={histogram: squares})


@case(rules=["memory.atomic-order"], dtypes=["f32", "f64"])
def a_float_total_is_a_sum_in_some_order(qd, dtype):
    x, total = qd.field(dtype, shape=500), qd.field(dtype, shape=())

    @qd.kernel
    def k():
        for i in x:
            total[None] += x[i]

    terms = [(-1) ** i / (i + 1) for i in range(500)]
    return Run(k, given={x: terms}, expect={total: Total(terms)})
