"""Loops: ranges, boxes, fields, and what runs in order."""

from adstack.conformance.case import Run, case


@case(rules=["control.range"])
def ranges_may_start_anywhere_and_be_empty(qd):
    out = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k(lo: qd.i32, hi: qd.i32):
        for i in range(lo, hi):
            out[i] += 1

    return [
        Run(k, args=(2, 5), expect={out: [0, 0, 1, 1, 1, 0, 0, 0]}),
        Run(k, args=(5, 2), expect={out: [0, 0, 1, 1, 1, 0, 0, 0]}),
        Run(k, args=(3, 3), expect={out: [0, 0, 1, 1, 1, 0, 0, 0]}),
    ]


@case(rules=["control.range"])
def negative_indices_of_a_loop_are_numbers(qd):
    total = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(-3, 2):
            total[None] += i * i

    return Run(k, expect={total: 9 + 4 + 1 + 0 + 1})


@case(rules=["control.range"])
def bounds_of_64_bits_stay_exact(qd):
    out = qd.field(qd.i64, shape=3)

    @qd.kernel
    def k(lo: qd.i64):
        for _ in range(1):
            n = 0
            for i in range(lo, lo + 3):
                out[n] = i
                n += 1

    return Run(k, args=(2**40,), expect={out: [2**40, 2**40 + 1, 2**40 + 2]})


@case(rules=["control.range"])
def a_range_is_evaluated_once(qd):
    out = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            n = 3
            for i in range(n):
                n += 10
                out[None] += 1

    return Run(k, expect={out: 3})


@case(rules=["parallel.serial-inside"])
def nested_loops_run_in_order(qd):
    """A prefix sum: each step needs the one before it."""
    x, out = qd.field(qd.i32, shape=(2, 5)), qd.field(qd.i32, shape=(2, 5))

    @qd.kernel
    def k():
        for i in range(2):
            s = 0
            for j in range(5):
                s += x[i, j]
                out[i, j] = s

    given = {x: [[1, 2, 3, 4, 5], [5, -5, 5, -5, 5]]}
    return Run(k, given=given, expect={out: [[1, 3, 6, 10, 15], [5, 0, 5, 0, 5]]})


@case(rules=["control.range"])
def inner_bounds_may_depend_on_outer_indices(qd):
    count = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for i in range(6):
            for j in range(i):
                for _ in range(j, i):
                    count[i] += 1

    return Run(k, expect={count: [n * (n + 1) // 2 for n in range(6)]})


@case(rules=["control.ndrange"])
def ndrange_covers_a_box(qd):
    out = qd.field(qd.i32, shape=(4, 5))

    @qd.kernel
    def k():
        for i, j in qd.ndrange(3, (2, 5)):
            out[i, j] = 10 * i + j

    row = [[0, 0, 10 * i + 2, 10 * i + 3, 10 * i + 4] for i in range(3)]
    return Run(k, expect={out: [*row, [0] * 5]})


@case(rules=["control.ndrange"])
def the_last_axis_of_ndrange_is_the_fastest(qd):
    out = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for _ in range(1):
            n = 0
            for i, j in qd.ndrange(2, 3):
                out[n] = 10 * i + j
                n += 1

    return Run(k, expect={out: [0, 1, 2, 10, 11, 12]})


@case(rules=["control.field-loop"])
def a_loop_over_a_field_visits_each_element_once(qd):
    x, count = qd.field(qd.f32, shape=(3, 7)), qd.field(qd.i32, shape=(3, 7))

    @qd.kernel
    def k():
        for i, j in x:
            count[i, j] += 1

    return Run(k, expect={count: 1})


@case(rules=["control.field-loop"])
def grouped_gives_the_index_as_a_vector(qd):
    x, out = qd.field(qd.f32, shape=(2, 3)), qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def k():
        for index in qd.grouped(x):
            out[index] = index[0] * 10 + index[1]

    return Run(k, expect={out: [[0, 1, 2], [10, 11, 12]]})


@case(rules=["control.field-loop"])
def a_loop_over_an_array_follows_its_shape(qd):
    a = qd.ndarray(qd.i32, shape=(2, 3))

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.i32, ndim=2)):
        for i, j in x:
            x[i, j] += i + j

    return Run(k, args=(a,), given={a: 5}, expect={a: [[5, 6, 7], [6, 7, 8]]})


@case(rules=["parallel.tasks"])
def tasks_of_a_kernel_are_ordered(qd):
    a, b, c = (qd.field(qd.i32, shape=64) for _ in range(3))

    @qd.kernel
    def k():
        for i in a:
            a[i] = i
        for i in b:
            b[i] = a[63 - i]
        c[0] = b[0] + 1
        for i in range(1, 64):
            c[i] = b[i] + c[0]

    return Run(k, expect={b: list(range(63, -1, -1)), c: [64, *(63 - i + 64 for i in range(1, 64))]})


@case(rules=["parallel.shared-local"])
def a_local_of_the_kernel_is_shared_by_its_parallel_loops(qd):
    @qd.kernel
    def k() -> qd.i32:
        s = 5
        for i in range(1000):
            s += i
        return s

    return Run(k, returns=5 + 999 * 1000 // 2)


@case(rules=["control.ndrange"])
def a_box_without_axes_has_one_point(qd):
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for I in qd.grouped(qd.ndrange()):
            x[I] += 3

    return Run(k, expect={x: 3})
